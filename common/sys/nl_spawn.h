/* Starting a process by its words. */
#pragma once

#include "common/sys/nl_stat.h"

/* Starts a program, found in PATH, with clean signals, in a process group of its own, with /dev/null as its
 * input. out_fd: its stdout, -1: /dev/null; err_fd: its stderr, -1: as stdout. Everybody else's descriptors
 * must be closed on exec. 0, or what errno would be. */
int nl_spawn(char *const *words, int out_fd, int err_fd, pid_t *pid);

/* The program that a recording starts and ends. */
#ifndef NR_CHILD_H
#define NR_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct nr_child {
    pid_t pid;             /* 0: none */
    int pidfd;             /* readable when it has ended */
    int has_ended, status; /* as of waitpid */
};

/* Starts a program by posix_spawn, found in PATH, in a process group of its own, with nothing to read and its output dropped. @return 0, -1
 * after a message. */
int nr_child_start(struct nr_child *child, char *const *command);

/* Whether it has ended by now; reaps it. */
int nr_child_has_ended(struct nr_child *child);

/* Ends it with its process group: SIGTERM, and SIGKILL after patience_ns. @return 1 when it had to be killed, otherwise 0. */
int nr_child_end(struct nr_child *child, int64_t patience_ns);

#endif

/* The program that a recording starts and ends. */
#ifndef NR_CHILD_H
#define NR_CHILD_H

#include "common/base/nl_usual.h"

struct nr_child {
    pid_t pid;             /* 0: none */
    int pidfd;             /* readable when it has ended */
    int guard_fd;          /* its end of file tells the guard that we have ended */
    int has_ended;         /* nothing of it is left */
    int status;            /* of the program itself, as waitpid() has it; -1: it runs */
    int is_background;     /* the program itself has ended, and what it started goes on */
};

/* Starts a program by posix_spawn, found in PATH, in a process group of its own, with nothing to read and its output dropped. What it
 * leaves behind becomes the caller's children: there can be one such program, and the caller has no other children. When the caller is
 * killed a guard ends the program's group. @return 0, -1 after a message. */
int nr_child_start(struct nr_child *child, char *const *command);

/* Whether it has ended by now, with all that it started: a daemon goes on when its first process has ended. */
int nr_child_has_ended(struct nr_child *child);

/* What of it is a child of the caller now: the program and, when their parents have ended, those it started. Those that end stay in the
 * list until nr_child_has_ended looks. @return their number, at most `max`. */
int nr_child_pids(pid_t *pids, int max);

/* Ends it with all that it started: SIGTERM, and SIGKILL after patience_ns. @return 1 when it had to be killed, otherwise 0. */
int nr_child_end(struct nr_child *child, int64_t patience_ns);

#endif

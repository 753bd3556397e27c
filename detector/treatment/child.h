/* A child of a node's first rank, commanded through shared memory. Started before MPI_Init: an initialised
 * MPI must not fork. */
#pragma once

#include "common/base/nl_usual.h"

struct nd_child_kind {
    const char *program; /* its name */
    const char *option;  /* that it is about, for messages: "--agent" */
    const char *called;  /* in messages: "the generator" */
    /* 1: it is killed when the owner ends; 0: it has something to put back, leaves his session, and looks
     * itself whether he lives */
    int dies_with_owner;
};

struct nd_child {
    const struct nd_child_kind *kind;
    pid_t pid;     /* 0: none */
    int *stat_fds; /* /proc/PID/task/TID/stat of the threads watched; owned */
    int n_stats;
};

enum { ND_CHILD_MAX_WORDS = 64 };

/* Where a program of ours is: `path`, or (NULL) beside this program, or else its name, for PATH. */
void nd_child_program(const char *name, const char *path, char *out, size_t size);

/* Starts the program as `PROGRAM --control-fd N WORDS...` (at most ND_CHILD_MAX_WORDS) and waits until
 * `ready`, in the page behind `fd`, is not 0 any more. `fd` is closed. 0, or -1 after a message; nd_child_end
 * is to be called all the same. */
int nd_child_start(struct nd_child *c, const struct nd_child_kind *kind, const char *path,
                   const char *const *words, int fd, const _Atomic int32_t *ready, int64_t timeout_ns);

/* Asks the program whether it would take these words (--dry-run); it says itself what it does not like. */
int nd_child_check(const struct nd_child_kind *kind, const char *path, const char *const *words);
int nd_child_is_gone(const struct nd_child *c); /* it stays to be waited for */
int nd_child_watch(struct nd_child *c, const int32_t *tids,
                   int n); /* the threads that nd_child_await_sleep waits for, yielding the CPU */
void nd_child_await_sleep(const struct nd_child *c, int64_t most_ns);
void nd_child_end(struct nd_child *c, int64_t patience_ns);

/* What /proc says of processes: fields of /proc/PID/stat, lists of numbers; and starting one. */
#pragma once

#include "common/base/nl_usual.h"

struct nl_stat {
    char name[64]; /* the command's name, cut by the kernel at 15 bytes */
    char state;    /* R, S, D, T, t, Z, ... */
    pid_t ppid;
    int is_kernel;                 /* a thread of the kernel */
    uint64_t dead_children_faults; /* page faults of its children that it has waited for: more of them, and
                                      another child has ended */
    int64_t ticks, dead_children_ticks; /* its CPU time, and that of those, in the kernel's ticks of 10 ms */
    int n_threads;
    uint64_t start_ticks; /* since boot; differs between two processes that had the same pid */
    int64_t rss_kib;
    int cpu;         /* where it ran last */
    unsigned policy; /* SCHED_... */
};

/* Takes a line apart. 0, -1 when it is none. */
int nl_stat_parse(const char *text, struct nl_stat *stat);

/* That of a process, or of a thread. 0, -1 with errno when there is none. */
int nl_stat_read(pid_t pid, struct nl_stat *stat);
int nl_stat_read_thread(pid_t pid, pid_t tid, struct nl_stat *stat);

/* Calls `take` for each number that names a file in a directory. 0, -1 when it cannot be read; a non-zero
 * result of `take` ends it. */
int nl_each_number(const char *directory, int (*take)(void *context, pid_t number), void *context);

/* The same for the next hundred entries or so of a directory that is open; what `take` said last goes to *rc.
 * @return 0 at its end, -1 with errno. */
long nl_next_numbers(int fd, int (*take)(void *context, pid_t number), void *context, int *rc);

/* Calls `take` for each number in a file of numbers (cgroup.procs, children). As above. */
int nl_each_line(const char *file, int (*take)(void *context, pid_t number), void *context);

/* A descriptor that can be read when the process has ended; -1 with errno where there is none, or the kernel
 * has no such thing. */
static inline int nl_pidfd(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

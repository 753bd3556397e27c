/* What /proc says about processes. Pids are used again, so a process is known by its pid and the moment of
 * its start. */
#pragma once

#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"

struct na_process {
    pid_t pid;
    uint64_t start_ticks; /* since boot, in the kernel's ticks of 10 ms; differs between two processes that
                             had the same pid */
};

static inline int na_is_same(struct na_process a, struct na_process b) {
    return a.pid == b.pid && a.start_ticks == b.start_ticks;
}

/* The process with this pid now; start_ticks 0 when there is none. */
struct na_process na_process_of(pid_t pid);

/* Whether it still is this process, and not a zombie. One that cannot be looked at, for want of descriptors
 * or memory, counts as living. */
int na_process_lives(struct na_process process);

/* 1 when `pid` is the calling process or one of its ancestors. */
int na_is_ancestor(pid_t pid);

/* Sends a signal to this process and no other that got its pid. 0, -1 with errno (ESRCH: it has ended). */
int na_process_signal(struct na_process process, int signal);

/* Writes a text into an existing file by a single write(). 0, -1 with errno. */
int na_write(const char *path, const char *text);

/* A growing set of processes. */
struct na_set { struct na_process *p; int n, room; };

/* Adds a living process (no zombie) unless it is in it. 1 added, 0 not, -1 no memory. */
int na_set_add(struct na_set *set, pid_t pid);
int na_set_has(const struct na_set *set, pid_t pid);

/* Adds all descendants of its members, until there are no new ones. Returns how many, -1 no memory. */
int na_set_add_descendants(struct na_set *set);

/* Adds the members of a cgroup, and of those below it. @param directory  full path. */
int na_set_add_cgroup(struct na_set *set, const char *directory);

/* Adds the children of a process, not itself. */
int na_set_add_children(struct na_set *set, pid_t pid);

/* Removes those that have ended; returns how many are left. */
int na_set_prune(struct na_set *set);

void na_set_free(struct na_set *set);

/* Where a process's cgroups are, of version 1 and 2. `root` is a folder in place of "/", as tests have it; ""
 * otherwise. */
#pragma once

#include "common/base/nl_usual.h"

/* A process's cgroup as the path under its hierarchy's root. controller: of version 1 ("freezer", "cpuacct");
 * "": version 2. 0, -1: none. */
int nl_cgroup_of(const char *root, pid_t pid, const char *controller, char *path, int size);

/* Where a hierarchy is mounted. 0, -1. */
int nl_cgroup_mount(const char *root, const char *controller, char *path, int size);

/* Where a cgroup is that people name: by its path, or below the mount of one of the hierarchies. directory:
 * PATH_MAX bytes. 0, -1. */
int nl_cgroup_find(const char *path, char *directory);

/* Calls `visit` with the folder of a process's own cgroup (depth 0) and of those above it as far as they can
 * be seen: to where the hierarchy is mounted, in a container its own one. 0, -1 when there is none. */
int nl_cgroup_each_up(const char *root, pid_t pid, const char *controller,
                      void (*visit)(void *context, const char *path, int depth), void *context);

/* Calls `take` for each process of a cgroup and of those below it; a result other than 0 ends it, and must
 * not be -1. 0, that result, or -1 with errno when it cannot be read. */
int nl_cgroup_members(const char *directory, int (*take)(void *context, pid_t pid), void *context);

/* A limit of CPU time that the cgroups of a process set (cpu.max, or cpu.cfs_quota_us of version 1): once it
 * is used up within a period nobody of the group runs until the next one, and no task on record has taken
 * that time. */

enum { NL_QUOTA_GROUPS = 8, NL_QUOTA_NAME_BYTES = 128 };

struct nl_quota {
    int64_t quota_ns,
        period_ns; /* the tightest one: so much CPU time in each period; quota_ns 0: there is none */
    int depth;     /* 0: it is of the process's own cgroup, 1 of that above it, ... */
    char group[NL_QUOTA_NAME_BYTES]; /* that cgroup's folder; its end, where it is longer */
    int version;                     /* of cgroups: 1, 2 */
    int n_stats;                     /* accounts of the groups that have one, of which descriptors are held */
    int stats[NL_QUOTA_GROUPS];
};

/* Looks at the cgroups of a process and those above it: 1 where there is a quota, which nl_quota_close must
 * follow; 0 where there is none. */
int nl_quota_open(struct nl_quota *q, const char *root, pid_t pid);

/* CPUs' worth of time that it gives, 0 where there is none. */
double nl_quota_cpus(const struct nl_quota *q);

/* How long the groups' CPUs have been stopped so far, summed over CPUs, ns; -1: not known. A few
 * microseconds; allocates nothing. The kernel counts a stop when it ends. */
int64_t nl_quota_throttled_ns(const struct nl_quota *q);

/* In words: "0.5 CPUs (50 ms of every 100 ms, /sys/fs/cgroup/x)". Returns text. */
const char *nl_quota_tell(const struct nl_quota *q, char *text, size_t size);

/* Closes the accounts; the rest stays. */
void nl_quota_close(struct nl_quota *q);

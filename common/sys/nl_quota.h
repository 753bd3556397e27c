/* A limit of CPU time that the cgroups of a process set (cpu.max, or cpu.cfs_quota_us of version 1): once it is used up within a period
 * nobody of the group runs until the next one, and no task on record has taken that time. */
#ifndef NL_QUOTA_H
#define NL_QUOTA_H

#include "common/base/nl_usual.h"

enum { NL_QUOTA_GROUPS = 8, NL_QUOTA_NAME_BYTES = 128 };

struct nl_quota {
    int64_t quota_ns, period_ns;     /* the tightest one: so much CPU time in each period; quota_ns 0: there is none */
    int depth;                       /* 0: it is of the process's own cgroup, 1 of that above it, ... */
    char group[NL_QUOTA_NAME_BYTES]; /* that cgroup's folder; its end, where it is longer */
    int version;                     /* of cgroups: 1, 2 */
    int n_stats;                     /* accounts of the groups that have one, of which descriptors are held */
    int stats[NL_QUOTA_GROUPS];
};

/* Looks at the cgroups of a process and those above it, as far as they can be seen. Local.
 * @param root  a folder in place of "/", as tests have it; "" otherwise.
 * @return 1 where there is a quota, which nl_quota_close must follow; 0 where there is none. */
int nl_quota_open(struct nl_quota *q, const char *root, pid_t pid);

/* CPUs' worth of time that it gives, 0 where there is none. */
double nl_quota_cpus(const struct nl_quota *q);

/* How long the groups' CPUs have been stopped so far, summed over CPUs, ns; -1: not known. A few microseconds; allocates nothing. The
 * kernel counts a stop when it ends. */
int64_t nl_quota_throttled_ns(const struct nl_quota *q);

/* In words: "0.5 CPUs (50 ms of every 100 ms, /sys/fs/cgroup/x)". Returns text. */
const char *nl_quota_tell(const struct nl_quota *q, char *text, size_t size);

/* Closes the accounts; the rest stays. */
void nl_quota_close(struct nl_quota *q);

#endif

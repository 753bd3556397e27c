/* How busy the CPUs of the ranks are before anything is measured, and with what: a node's first rank looks at
 * /proc twice. */
#pragma once

#include "detector/nodes/provenance.h"

#define ND_QUIET_LIMIT_PERCENT                                                                               \
    2. /* a CPU that is busy, or taken by the hypervisor, for no more than this is quiet */

enum { ND_QUIET_CPUS = 16, ND_QUIET_TASKS = 3, ND_QUIET_NAME_BYTES = 20 };

struct nd_quiet_task {
    char name[ND_QUIET_NAME_BYTES];
    int32_t pid;
    double percent;      /* of the CPU */
    int32_t is_realtime; /* 1: by its policy it goes before every rank */
};

struct nd_quiet_cpu {
    int32_t cpu;
    int32_t n_tasks;
    double busy_percent;  /* tasks and interrupts */
    double steal_percent; /* by the hypervisor */
    /* the busiest, as far as they lived throughout, may be seen and were there when last seen */
    struct nd_quiet_task tasks[ND_QUIET_TASKS];
};

/* One node. Contiguous, without pointers: it is sent as bytes. */
struct nd_quiet_node {
    char host[ND_HOST_BYTES];
    int32_t n_cpus; /* looked at; 0: the system does not say */
    int32_t n_listed;
    double busy_percent, steal_percent;      /* means over them */
    double resolution_percent;               /* a tick of the kernel's account in the time looked at */
    struct nd_quiet_cpu cpus[ND_QUIET_CPUS]; /* the busiest first */
};

struct nd_quiet;

/* `proc`: where /proc is; cpu_used: n_cpus flags; `own`: n_own processes that are ours, no news with their
 * children. Borrowed. */
struct nd_quiet *nd_quiet_open(const char *proc, const unsigned char *cpu_used, int n_cpus, const pid_t *own,
                               int n_own);

void nd_quiet_begin(struct nd_quiet *q); /* the first look; the second fills in everything but the host */
void nd_quiet_end(struct nd_quiet *q, struct nd_quiet_node *node);
void nd_quiet_close(struct nd_quiet *q);

/* Whether no CPU was above the limit, as far as that can be told. */
int nd_quiet_is(const struct nd_quiet_node *nodes, int n_nodes, double limit_percent);

/* What was above it: "CPU 1 is 23 % busy (R 20 %), steal 2 %; ..."; returns the number of such CPUs. */
int nd_quiet_tell(const struct nd_quiet_node *nodes, int n_nodes, double limit_percent, char *line,
                  size_t size);

/* Ranks that are bound to one CPU together: "2 ranks of n1 may use CPU 1 only". Number of such nodes, -1
 * without memory. */
int nd_crowd_tell(const struct nd_binding *bindings, int n_ranks, const struct nd_host *hosts, char *line,
                  size_t size);

/* Time the hypervisor took from this node's CPUs, from /proc/stat (resolution: one tick of USER_HZ, 10 ms).
 * cpu_used is borrowed. NULL when it cannot be read, or when a reading costs more than a hundredth of a half.
 */
struct nd_steal;
struct nd_steal *nd_steal_open(const unsigned char *cpu_used, int n_cpus, int64_t half_ns);
int64_t nd_steal_read(
    struct nd_steal *s); /* since boot over the CPUs, ns; -1 when it cannot be read. Allocates nothing */
void nd_steal_close(struct nd_steal *s);

/* The agent's CPU time between two moments: a table of sources, best first. Reading must not make the agent dearer: counters on its threads
 * cost some 1.3 us per context switch, which is a quarter of what collectd uses at 0.1 s, so they are taken only for agents that start
 * processes, whose CPU time nothing else gives exactly. */
#pragma once

#include "noisegen/agent/proc.h"

enum na_cpu_count { NA_CPU_NS, NA_CPU_SWITCHES, NA_CPU_MIGRATIONS, NA_CPU_COUNTS };

struct na_cpu {
    const struct na_cpu_source *row; /* NULL: not open */
    int is_final;                    /* there is nothing better, tried */
    char file[4096];                 /* cgroup */
    int *fds, n_fds, room_fds;       /* perf: a descriptor per thread and event */
    int has_switches;                /* perf: the kernel counts context switches and migrations for us, too */
    struct na_cpu_clock { struct na_process process; int64_t cpu_ns; } *clocks; /* at the begin */
    int n_clocks;
    int64_t begin_reaped_ns;
    int64_t begin[NA_CPU_COUNTS];    /* totals at the begin; -1: not known */
};

struct na_cpu_source {
    const char *name, *help;
    int counts_children; /* also those that begin and end between two readings, to the ns (or as fine as it counts) */
    int adds_cost;       /* to the agent itself */
    /* Whether it works for these processes, by trying; counts from now on. 0, -1. */
    int (*open)(struct na_cpu *c, const struct na_set *set);
    /* Totals since some moment, at the begin or the end of a stretch; what is not known is left alone. 0, -1. */
    int (*read)(struct na_cpu *c, const struct na_set *set, int is_begin, int64_t totals[NA_CPU_COUNTS]);
};

extern const struct na_cpu_source *const na_cpu_sources[]; /* best first; ends with NULL */

/* Opens the best source for these processes, which should stand still or have just been started, so that no thread is missed.
 * starts_processes: whether the agent is known to start short-lived ones; 0: a source that adds cost is not taken. */
void na_cpu_open(struct na_cpu *c, const struct na_set *set, int starts_processes);
void na_cpu_close(struct na_cpu *c);

/* Before the calling thread starts the process, so that nothing of it is missed. 0, -1: na_cpu_open afterwards. */
int na_cpu_open_child(struct na_cpu *c);

void na_cpu_begin(struct na_cpu *c, const struct na_set *set);

/* What was counted since the begin; -1 unknown. */
void na_cpu_end(struct na_cpu *c, const struct na_set *set, int64_t counts[NA_CPU_COUNTS]);

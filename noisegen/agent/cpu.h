/* The agent's CPU time between two moments: a table of sources, best first. Reading must not make the agent dearer: counters on its threads
 * cost some 1.3 us per context switch, which is a quarter of what collectd uses at 0.1 s, so they are taken only for agents that start
 * processes, whose CPU time nothing else gives exactly. */
#pragma once

#include "noisegen/agent/proc.h"

struct na_cpu_source;

/* What a process's CPU clock said at the begin. */
struct na_cpu_clock { struct na_process process; int64_t cpu_ns; };

struct na_cpu {
    const struct na_cpu_source *row; /* NULL: not open */
    char reason[512];  /* why not a better source */
    int is_final;      /* there is nothing better, tried */
    /* cgroup */
    char file[4096];
    /* perf: one descriptor per thread and event */
    int *fds;
    int n_fds;
    int has_switches; /* the kernel counts context switches and migrations for us, too */
    /* clocks */
    struct na_cpu_clock *clocks;
    int n_clocks;
    int64_t begin_reaped_ns;
    /* totals at the begin; -1: not known */
    int64_t begin_cpu_ns, begin_switches, begin_migrations;
};

struct na_cpu_source {
    const char *name, *help;
    int counts_children; /* also those that begin and end between two readings, to the ns (or as fine as it counts) */
    int adds_cost;       /* to the agent itself */
    /* Whether it works for these processes, by trying; counts from now on. 0, -1 with a line in `reason`. Required. */
    int (*open)(struct na_cpu *c, const struct na_set *set, char *reason, int reason_size);
    /* The same for a process that the calling thread is going to start, from its exec on. Not required. */
    int (*open_child)(struct na_cpu *c, char *reason, int reason_size);
    /* Totals since some moment: CPU time; context switches and migrations where they are known (else left alone). 0, -1. Not required. */
    int (*read)(struct na_cpu *c, int64_t *cpu_ns, int64_t *switches, int64_t *migrations);
    /* Instead of `read`, for sources that must know the processes: a begin, and the CPU time since then. */
    int (*begin)(struct na_cpu *c, const struct na_set *set);
    int64_t (*end)(struct na_cpu *c, const struct na_set *set);
    void (*close)(struct na_cpu *c);
};

/* Best first; ends with NULL. */
extern const struct na_cpu_source *const na_cpu_sources[];
extern const struct na_cpu_source na_cpu_cgroup, na_cpu_perf, na_cpu_clocks;

/* Opens the best source for these processes, which should stand still or have just been started, so that no thread is missed. 0, -1 none.
 * starts_processes: whether the agent is known to start short-lived ones; 0: a source that adds cost is not taken. */
int na_cpu_open(struct na_cpu *c, const struct na_set *set, int starts_processes);
void na_cpu_close(struct na_cpu *c);

/* Before the calling thread starts the process, so that nothing of it is missed. 0, -1: na_cpu_open afterwards. */
int na_cpu_open_child(struct na_cpu *c);

void na_cpu_begin(struct na_cpu *c, const struct na_set *set);

/* CPU time since the begin, ns, -1 unknown. switches, migrations: -1 unless the source knows them. */
int64_t na_cpu_end(struct na_cpu *c, const struct na_set *set, int64_t *switches, int64_t *migrations);

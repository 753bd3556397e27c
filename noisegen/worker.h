/* A worker: one thread that loads one CPU. */
#pragma once

#include "common/base/nl_usual.h"
#include "common/page/nl_control.h"
#include "common/sys/nl_place.h"
#include "noisegen/gen_options.h"
#include "noisegen/machine.h"
#include "noisegen/patterns/pace.h"
#include "noisegen/patterns/stretch.h"

/* What was delivered of one treatment under a detector. */
struct ng_level {
    double level_percent;
    int kind, pattern; /* indices into the options' lists */
    int is_used;
    int64_t n_halves; /* RUN commands */
    int64_t wall_ns;  /* from RUN to the next command, summed */
    struct ng_account account;
    struct ng_source *source; /* of a continued pattern; owned */
};

struct ng_worker {
    const struct ng_options *options;
    void *owner; /* the pool or session that it is one of */
    int index;   /* from 0 */
    int cpu;
    int trace_cpu; /* index of the trace's CPU to replay; -1: all lines */
    pthread_t thread;
    int n_loads; /* kinds that are ready: options->n_kinds, or fewer after a failure */
    struct ng_load loads[NG_MAX_KINDS];
    int kind_of_row[32];       /* from rows of ng_kinds to loads */
    struct ng_stretch stretch; /* open where a trace is replayed and the system allows it */
    int failed_kind;           /* index into the loads, -1: none */
    int counts_stretches;      /* what runs now is paid in stretches on the CPU instead of CPU time */
    struct ng_cpus cpus;
    struct ng_wake_cost wake, delay;
    struct ng_lateness lateness;
    struct ng_switches switches; /* since it was set up */
    struct ng_account account;   /* alone; under a detector the sum of the levels, at the end */
    struct ng_tally tallies[NG_MAX_KINDS];
    int64_t elapsed_ns;
    char failure[256]; /* one line; "": none */
    /* alone */
    struct ng_plan plan;
    struct ng_source *source; /* owned */
    enum ng_run_end end;
    /* under a detector */
    struct nl_control *page;
    uint32_t seen; /* number of the command being obeyed */
    struct ng_level levels[NL_CONTROL_MAX_LEVELS];
};

/* A worker that has done nothing yet. */
void ng_worker_init(struct ng_worker *worker, void *owner, const struct ng_options *options, int index,
                    int cpu);

/* On the worker's own thread: pins it, asks for punctual wake-ups and prepares its kinds there, so that their
 * memory lies near that CPU.
 * @return 0, -1 with worker->failure. */
int ng_worker_set_up(struct ng_worker *worker, struct nl_place *place);

/* What a pattern is asked for on this worker. level: currency per ns; a trace's bursts are stretched by
 * `scale` beside scale-burst, 0: so that it delivers `level`. shape: what the request points to; must outlive
 * it. */
struct ng_pattern_request ng_worker_request(const struct ng_worker *worker, const struct ng_pattern *pattern,
                                            double level, double scale, int64_t period_ns,
                                            struct ng_shape *shape);

/* Share of a CPU that a trace takes as it is recorded. */
double ng_trace_level(const struct nl_trace *trace, int trace_cpu);

/* Begins to pay for a pattern: traces in stretches where that is possible, everything else in CPU time. On
 * the worker's own thread. */
void ng_worker_choose_clock(struct ng_worker *worker, const struct ng_pattern *pattern);

/* The CPU clock of the thread with that of its kinds' children, ns; for struct ng_machine, context: the
 * worker. */
int64_t ng_worker_cpu_ns(void *worker);

/* After a run failed: fills worker->failure with the reason of the kind or the trace. */
void ng_worker_explain(struct ng_worker *worker, const struct ng_source *source);

/* Frees what the worker holds. */
void ng_worker_clean_up(struct ng_worker *worker);

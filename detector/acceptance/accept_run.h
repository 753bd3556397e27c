/* A launch: what all checks have in common, and how they hand in their figures. */
#pragma once

#include <jansson.h>

#include "common/sys/nl_preempted.h"
#include "common/base/nl_hist.h"
#include "common/base/nl_rng.h"
#include "common/base/nl_usual.h"
#include "detector/acceptance/accept_options.h"
#include "detector/acceptance/accept_record.h"
#include "detector/acceptance/transfer.h"
#include "detector/measure/starts.h"
#include "detector/nodes/launcher.h"
#include "detector/nodes/provenance.h"
#include "detector/nodes/team.h"

/* Who else had a node's CPUs during a launch: noiselab-record, started by the node's first rank and ended
 * with the last check. */

enum { NX_OTHERS_REASON_BYTES = 160 };

struct nx_others {
    pid_t
        pid; /* of noiselab-record; 0: none, this is not the node's first rank, or it could not be started */
    int fd;  /* what it says */
    int is_first;                        /* this rank answers for its node */
    int n_cpus;                          /* watched */
    int64_t waited_ns;                   /* for quiet CPUs before it began */
    int was_quiet;                       /* they were, in the end; or nobody asked */
    char reason[NX_OTHERS_REASON_BYTES]; /* why there is no record; "" */
};

enum nx_end { NX_END_COMPLETE, NX_END_WRONG_DATA, NX_END_INTERRUPTED, NX_END_FAILED };

/* A CPU that this rank looks at in quantum and detour. */
struct nx_core {
    int cpu;
    int slot; /* its turn when one is looked at at a time */
};

struct nx_run {
    const struct nx_options *o;
    const volatile int *stop_asked;
    struct nx_others *others;
    int parent_pid; /* of the launcher, which may be killed */
    struct nd_team team;
    int *node_of;                /* by rank: node, on all ranks */
    int *node_first, *node_last; /* by node: its first and last rank */
    int *node_ranks;             /* by node: number of its ranks */
    int shares_kernel;           /* 1: several nodes are parts of one machine */
    int n_allowed;               /* CPUs of this node; 0: unknown */
    struct nl_ticks ticks;
    struct nl_preempted waits; /* of this rank's own thread */
    struct nl_rng rng;         /* the same draws on all ranks */
    uint64_t seed;             /* rank 0's */
    struct nx_task tasks[NX_MAX_CHECKS];
    int n_tasks;
    struct nx_task *task; /* the one being measured */
    int repetition;       /* from 1; 0: over all */
    int n_made;           /* repetitions that were made whole */
    int order;            /* place of the task among those of its repetition, from 1 */
    /* cores */
    struct nx_core *cores; /* this rank's */
    int n_cores, n_slots;  /* slots: of all nodes */
    /* synchronised starts; opened when first needed (started.h) */
    struct nd_starter *starter;
    struct nd_start_options start;
    struct nd_start_plan plan; /* the slot, found with a barrier */
    /* figures not yet handed in */
    struct nx_row *rows;
    int n_rows, n_room;
    struct nx_hist **hists;
    int n_hists, n_hist_room;
    int has_no_memory; /* a figure was lost: the launch fails */
    int64_t n_wrong;   /* rank 0: data that arrived wrong, or results that are wrong */
    /* rank 0 */
    struct nd_binding *bindings; /* all ranks' */
    struct nd_host *hosts;
    struct nx_record *record;
    json_t *launch;
    struct nl_progress progress;
    struct nx_row_context context;             /* of the rows that are being written */
    int64_t begun_ns, start_ns, repetition_ns; /* CLOCK_MONOTONIC at the begin of all, of the first
                                                  repetition, and of the one under way */
};

/* A figure of which nothing is known but its variant ("": none). */
struct nx_row nx_row(const char *variant);

/* Fills in what n values came to: mean, SD, least, largest, median; NaN where n is too small. Sorts them. */
void nx_row_sum_up(struct nx_row *row, double *values, int64_t n);

/* Keeps a figure of this rank: `base` with a name, unit, value and number of values behind it (-1: not
 * known). Written after the repetition. Local; for lack of memory the launch fails later. */
void nx_put(struct nx_run *r, const struct nx_row *base, const char *metric, const char *unit, double value,
            int64_t n);

/* The histogram of that name, made when it is first asked for. `cpu` -1: none. NULL: no memory. Local. */
struct nl_hist *nx_hist(struct nx_run *r, const char *metric, const char *variant, int cpu, int64_t bytes);

/* Whether any rank says yes; then what the first that does has to say is everybody's reason. Collective. */
int nx_agree(struct nx_run *r, int is_true, char reason[NX_REASON_BYTES], const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether memory is short on any rank; then that is the reason. Collective. */
int nx_is_out_of_memory(struct nx_run *r, struct nx_task *t, int is_short);

/* `bytes` each way, all touched, and room for so many peers, who are zeros. Whether memory is short, as
 * nx_is_out_of_memory; to be closed in either case. Collective. */
int nx_buffers_lack(struct nx_run *r, struct nx_task *t, struct nx_buffers *b, int64_t bytes, int n_peers);
void nx_buffers_close(struct nx_buffers *b);

/* Lets rank 0 take what every rank has, rank by rank: `take` is called there for each. Collective; MPI's
 * error handler ends the run.
 * @param take  `data` is good until it returns. Not looked at elsewhere. */
void nx_collect(struct nx_run *r, const void *mine, int64_t bytes,
                void (*take)(struct nx_run *r, int rank, const void *data, int64_t bytes));

/* Whether so many bytes on every rank are more than the memory that is free; then a reason. The same on all
 * ranks. Collective. */
int nx_lacks_memory(struct nx_run *r, int64_t bytes, char reason[NX_REASON_BYTES]);

/* Everything. Collective.
 * @param others  of this rank; stopped at the end.
 * @param has_failed  1: this rank found something wrong before, and has said so. */
enum nx_end nx_run(const struct nx_options *o, int has_failed, struct nx_others *others,
                   const volatile int *stop_asked);

/* launch.json of noiselab-accept (docs/reference/formats.md). Rank 0 only. Keys that the detector's has mean
 * the same. */

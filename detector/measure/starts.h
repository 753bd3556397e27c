/* Synchronised starts: every rank begins each operation at the same instant of a common clock, and the run
 * measures how well it did so. After Kurnosov 2012 (MPIPerf: window) and Hunold & Carpen-Amarie 2018 (round);
 * unlike theirs no start is thrown away for its end: a slow completion is the noise one looks for. A start is
 * flagged late by its start error alone, and stays in all figures. */
#pragma once

#include "common/base/nl_hist.h"
#include "common/base/nl_rng.h"
#include "common/base/nl_usual.h"
#include "detector/measure/arrival.h"
#include "detector/measure/measure.h"
#include "detector/measure/start_modes.h"
#include "detector/nodes/team.h"
#include "detector/sync/clocks.h"
#include "detector/sync/sync.h"

/* One start over all ranks, times in ns since its common schedule. Contiguous, without pointers: it is sent
 * as bytes. */
struct nd_start_sum {
    int64_t first_start_ns, last_start_ns,
        second_start_ns; /* second: of the rank that started second last; INT64_MIN with one rank */
    int64_t last_end_ns, second_end_ns;
    int64_t overshoot_ns; /* largest: actual start minus the rank's own scheduled start */
    int32_t first_start_rank, last_start_rank, last_end_rank;
    int32_t n_late;                         /* ranks whose overshoot was above the bound */
    double arrival_sum, arrival_square_sum; /* of the starts, over ranks */
    double node_square; /* sum over nodes of (sum over its ranks)^2 / ranks of the node; 0 until
                           nd_start_sum_node */
};
static inline struct nd_start_sum nd_start_sum_of(int rank, int64_t start_ns, int64_t end_ns,
                                                  int64_t overshoot_ns, int64_t bound_ns) {
    double x = (double)start_ns;
    return (struct nd_start_sum){start_ns,  start_ns,
                                 INT64_MIN, end_ns,
                                 INT64_MIN, overshoot_ns,
                                 rank,      rank,
                                 rank,      overshoot_ns > bound_ns,
                                 x,         x * x,
                                 0};
}

static inline void nd_start_sum_node(struct nd_start_sum *s, int n_node_ranks) {
    s->node_square = s->arrival_sum * s->arrival_sum / n_node_ranks;
}

/* By how much the last was behind the second last; 0 with one rank. */
static inline int64_t nd_start_cost_ns(int64_t last_ns, int64_t second_ns) {
    return second_ns == INT64_MIN ? 0 : last_ns - second_ns;
}

/* What being first or last came to, per rank. */
struct nd_start_rank {
    int64_t first_starts, last_starts, last_ends, start_cost_ns, end_cost_ns;
};

enum {
    ND_BATCH = 32768, /* starts that are run without a break: a half, unless it is long */
    ND_SLICE = 4096   /* starts in one reduction after them */
};

/* When a long loop of starts may end before its count. */
enum nd_stop_rule {
    ND_STOP_NONE,
    ND_STOP_COUNT, /* variant 1: over 100 starts, or over 30 that were not late */
    ND_STOP_ERROR, /* variant 2: relative standard error <= 5 %, and 10 that were not late */
    ND_STOP_MEDIAN /* the 99 % interval of the median is at most so many percent wide on either side */
};
extern const char *const nd_stop_rule_names[]; /* by enum, ends with NULL */

struct nd_start_options {
    const struct nd_start_mode *mode;
    const struct nd_clock_kind *clock; /* NULL: chosen */
    const char *fake_clock;            /* NULL: none */
    struct nd_sync_options sync;
    int64_t sync_every_ns;              /* 0: only at the begin */
    int64_t slot_ns;                    /* 0: measured */
    int64_t plan_ns;                    /* how long that may take at most, about; 0: as long as it needs */
    double gamma;                       /* how much a slot grows when it was too short, 1.1..2 */
    double eps;                         /* share of late starts above which it does */
    int n_stage_starts, n_first_starts; /* window: k, k' */
    int64_t late_bound_ns;              /* 0: from the residual */
    enum nd_stop_rule stop_rule;
    double precision_percent; /* of the median */
    const struct nd_arrival *arrival;
    const char *arrival_trace; /* NULL: none */
    int64_t arrival_ns;        /* amount; 0: by the factor */
    double arrival_factor;     /* amount in times of the operation */
    int64_t work_ns;           /* balanced work between start and operation; 0: none */
    const char *raw;           /* file for every start; NULL: none */
};

/* One start on one rank; local clock but for scheduled_ns. */
struct nd_start_record {
    int64_t scheduled_ns; /* global: the common scheduled start; with barrier this rank's own begin, replaced
                             later */
    int64_t begun_ns;     /* the wait is over */
    int64_t start_ns;     /* the operation is called: begun_ns, or after the balanced work */
    int64_t end_ns;
};

/* What holds for one operation and size; the same on all ranks but for `delays`. */
struct nd_start_plan {
    int64_t slot_ns;      /* window: distance of starts; round: from the broadcast to the deadline */
    int64_t broadcast_ns; /* upper estimate of the time of broadcasting the start */
    int64_t work_steps;   /* of nd_work; 0: none */
    int meets_first;      /* 1: ranks can leave the operation before others have, so they meet before the next
                             deadline is set */
    int64_t guard_ns;     /* a wait longer than this and some slots means that another rank's clock jumped */
    double late_share;    /* of the starts with the slot that was found; 0..1 */
    int64_t *delays;      /* this rank's, ND_ARRIVAL_CYCLE of them, ns; NULL: none. Owned by the starter */
};

enum nd_start_measure {
    ND_MEASURE_GLOBAL,
    ND_MEASURE_ON_TIME,
    ND_MEASURE_AFTER_LAST,
    ND_MEASURE_SPREAD,
    ND_MEASURE_OVERSHOOT,
    ND_N_MEASURES
};
extern const char *const nd_start_measure_names[]; /* by enum */

/* Sums over the starts of a half; complete on rank 0 only. */
struct nd_start_half {
    int64_t n_starts, n_late;
    int64_t global_ns, after_last_ns, spread_ns;
    int64_t overshoot_p50_ns, overshoot_p99_ns, overshoot_max_ns; /* of the starts' worst rank */
    double within_ns2, between_ns2;                               /* means over starts */
    int64_t slot_ns;
};

struct nd_raw;

struct nd_starter {
    void (*run)(struct nd_starter *s, const struct nd_loop *loop,
                struct nd_loop_result *result); /* nd_starter_run: what runs its loops */
    const struct nd_start_options *o;
    const struct nd_team *team;
    struct nd_clock clock;
    struct nd_sync sync;
    int is_shared; /* 1: all ranks share one clock: nothing to synchronise */
    int corrects;  /* 1: slots that prove too short grow during a loop; set by the caller where no arms are
                      compared */
    int yields;    /* 1: more ranks than CPUs here: a waiting rank lets others run */
    int64_t late_bound_ns;
    struct nd_clock_pair batch_begin, batch_end;
    int has_batch_end;    /* 1: batch_end is that of an earlier batch */
    char clock_note[256]; /* why the counter was not chosen; "" where it was, or a clock was asked for */
    int is_broken;        /* a clock jumped or ran backwards: on this rank, and after a batch on all */
    int64_t jump_ns;      /* by how much, on the rank whose clock it was; 0: not known */
    int waited_long;      /* 1: this rank waited longer than the guard allows */
    int64_t n_wrong;      /* operations whose data were wrong (--check every), this rank */
    struct nd_start_plan *plan;      /* of the loop under way; borrowed */
    int64_t n_done;                  /* starts of this half so far: place in the cycle of delays */
    struct nd_start_record *records; /* ND_BATCH */
    int64_t *overshoots_ns;          /* ND_BATCH, of the records */
    struct nd_start_sum *sums, *node_sums,
        *all_sums; /* ND_SLICE; this rank's, its node's (leaders), all ranks' (rank 0) */
    MPI_Datatype sum_type;
    MPI_Op sum_op;
    /* this half */
    struct nd_start_half half;                  /* rank 0 */
    struct nl_hist *overshoots;                 /* this rank */
    int64_t overshoot_ns_sum, overshoot_ns_max; /* this rank */
    struct nl_hist *measures;                   /* rank 0: ND_N_MEASURES, the last unused */
    struct nl_hist *worst;                      /* rank 0: overshoot of the starts' worst rank */
    struct nd_start_rank *rank_sums;            /* rank 0: n_ranks */
    double mean_ns, square_ns; /* rank 0: running mean of the times of starts that were not late, and sum of
                                  squared deviations */
    int64_t n_on_time;
    /* the run */
    struct nl_hist *all_overshoots;      /* this rank: over all recorded halves */
    int64_t n_starts, n_late;            /* rank 0: recorded */
    int64_t zero_ns;                     /* global time of the launch's first half; 0: not yet */
    int64_t last_sync_ns, last_check_ns; /* rank 0, CLOCK_MONOTONIC */
    const struct nd_step *step;          /* of the half under way; NULL: not recorded */
    struct nd_raw *raw;                  /* NULL: none */
    int has_failed;                      /* the raw file could not be written */
    /* told after every synchronisation, on all ranks: `reason` is first, schedule or residual */
    void (*on_sync)(void *context, const struct nd_starter *s, const char *reason);
    void *context;
};

/* Clock synchronisation: every rank learns how its clock stands to that of rank 0. */
#pragma once

#include <mpi.h>

#include "detector/sync/clocks.h"
#include "detector/nodes/team.h"

/* This rank's clock against that of rank 0, "global time": local - global = offset_ns + drift * (local -
 * at_ns). */
struct nd_sync_model {
    int64_t at_ns;     /* local */
    int64_t offset_ns; /* at `at_ns`; hours apart is fine */
    double drift;      /* dimensionless */
};

static inline int64_t nd_sync_to_global(const struct nd_sync_model *m, int64_t local_ns) {
    return local_ns - m->offset_ns - (int64_t)(m->drift * (double)(local_ns - m->at_ns));
}

/* Exact to drift^2 x time since `at_ns`. */
static inline int64_t nd_sync_to_local(const struct nd_sync_model *m, int64_t global_ns) {
    int64_t local_ns = global_ns + m->offset_ns;
    return local_ns + (int64_t)(m->drift * (double)(local_ns - m->at_ns));
}

struct nd_sync;

/* A way to compare clocks: a row of nd_sync_methods (sync.c), which ends with NULL. */
struct nd_sync_method {
    const char *name, *what; /* in files; one line for --list syncs */
    /* Sets model, and of the report is_measured, rtt_ns and bound_ns, of every rank of `heads` (two at
     * least). Collective over them. */
    void (*run)(struct nd_sync *s);
};

extern const struct nd_sync_method *const nd_sync_methods[];

/* chosen so that two nodes over TCP know their drift to some tenths of a ppm after the first run, which lasts
 * under a second */
#define ND_SYNC_POINTS  160
#define ND_SYNC_SPAN_NS 800000000

struct nd_sync_options {
    const struct nd_sync_method *method; /* NULL: the first one, tree */
    int n_points;    /* of tree: offsets in the linear fit of an edge; 0: ND_SYNC_POINTS */
    int64_t span_ns; /* time over which they are taken; 0: ND_SYNC_SPAN_NS */
    int every_rank;  /* 1: synchronise every rank, also those that share a node's clock */
};

/* What the last synchronisation found for one rank. Gathered as bytes. */
struct nd_sync_report {
    /* 0: rank 0 itself, or the rank shares its node's clock: then rtt_ns and n_exchanges are 0, all else is
     * the head's */
    int is_measured;
    int64_t at_ns; /* global time of the synchronisation */
    int64_t offset_ns;
    double drift_ppm;
    int64_t rtt_ns; /* shortest round trip to the rank it was compared with */
    /* offset_ns is off by no more, however unlike the two ways of each round trip were: half of those it was
     * made from */
    double bound_ns;
    double residual_ns;  /* how far the model was off, by exchanges after it was made: the largest seen of a
                            few against rank 0's clock */
    int64_t n_exchanges; /* this rank asked for, those for the residual included */
};

struct nd_pingpong;
struct nd_edge;

struct nd_sync {
    struct nd_sync_options options;
    const struct nd_clock *clock;
    const struct nd_team *team;
    MPI_Comm heads;  /* ranks whose clocks are compared, by rank, the first of every clock; MPI_COMM_NULL
                        elsewhere */
    MPI_Comm domain; /* ranks that share one clock; rank 0 of it is in `heads` */
    int n_heads;     /* known everywhere; 1: all ranks share one clock */
    struct nd_sync_model model;
    struct nd_sync_report report;
    double
        residual_ns; /* of the last nd_sync_run or nd_sync_check, largest over ranks; the same on all ranks */
    int64_t run_ns;  /* how long the last nd_sync_run took on rank 0 */
    int n_runs;
    struct nd_pingpong *pingpong; /* exchanges over `heads`, and an eye on this rank's clock; owned */
    struct nd_edge
        *edge; /* memory of earlier runs (drift over a longer time), zeros before the first; owned */
};

/* Who shares a clock with whom: the ranks of a node, unless it is a fake one, differs from process to
 * process, or readings show that it is not one. Ranks that share a counter have one calibration. Collective.
 * 0 or -1 (no memory; the same on all ranks). */
int nd_sync_open(struct nd_sync *s, const struct nd_sync_options *o, const struct nd_clock *clock,
                 const struct nd_team *team);

/* Synchronises and then measures the residual; nothing where all ranks share one clock. A clock that parts
 * from CLOCK_MONOTONIC_RAW by more than 1000 ppm was set. Collective. 0, or -1 when a clock jumped or ran
 * backwards (the same on all ranks; said in a line). */
int nd_sync_run(struct nd_sync *s);

/* Measures the residual anew; cheap enough for every few seconds. Collective. 0 or -1 as above. */
int nd_sync_check(struct nd_sync *s);

/* Also after it failed. Collective. */
void nd_sync_close(struct nd_sync *s);

/* Who was last, by rank and time: a table of constant size, whose slices are joined in pairs when the run outgrows them. */
#pragma once

#include <mpi.h>

#include "common/base/nl_usual.h"

/* One start over all ranks, times in ns since its common schedule. Contiguous, without pointers: it is sent as bytes. */

struct nd_start_sum {
    int64_t first_start_ns, last_start_ns, second_start_ns; /* second: of the rank that started second last; INT64_MIN with one rank */
    int64_t last_end_ns, second_end_ns;
    int64_t overshoot_ns;      /* largest: actual start minus the rank's own scheduled start */
    int32_t first_start_rank, last_start_rank, last_end_rank;
    int32_t n_late;            /* ranks whose overshoot was above the bound */
    double arrival_sum, arrival_square_sum; /* of the starts, over ranks */
    double node_square;        /* sum over nodes of (sum over its ranks)^2 / ranks of the node; 0 until nd_start_sum_node */
};
static inline struct nd_start_sum nd_start_sum_of(int rank, int64_t start_ns, int64_t end_ns, int64_t overshoot_ns, int64_t bound_ns) {
    double x = (double)start_ns;
    return (struct nd_start_sum){start_ns, start_ns, INT64_MIN, end_ns, INT64_MIN, overshoot_ns, rank, rank, rank, overshoot_ns > bound_ns,
                                 x,        x * x,    0};
}

/* Joins b into a; associative and commutative: of equal times the lower rank counts. */
void nd_start_sum_join(struct nd_start_sum *a, const struct nd_start_sum *b);

static inline void nd_start_sum_node(struct nd_start_sum *s, int n_node_ranks) {
    s->node_square = s->arrival_sum * s->arrival_sum / n_node_ranks;
}

/* Variance of the arrivals between ranks of a node, and between nodes, ns^2. Source: one-way analysis of variance; Parsons (2015). */
void nd_start_sum_variance(const struct nd_start_sum *s, int n_ranks, double *within_ns2, double *between_ns2);

/* By how much the last was behind the second last; 0 with one rank. */
static inline int64_t nd_start_cost_ns(int64_t last_ns, int64_t second_ns) { return second_ns == INT64_MIN ? 0 : last_ns - second_ns; }

/* What being first or last came to, per rank. */
struct nd_start_rank { int64_t first_starts, last_starts, last_ends, start_cost_ns, end_cost_ns; };

/* Counts a start in those of its ranks. */
void nd_start_rank_count(struct nd_start_rank *ranks, const struct nd_start_sum *s);
void nd_start_rank_join(struct nd_start_rank *to, const struct nd_start_rank *from);

/* The reduction as MPI wants it. Collective over nothing; the caller frees both. */
void nd_start_sum_mpi(MPI_Datatype *type, MPI_Op *op);

enum {
    ND_LATENESS_SLICES = 240,
    ND_LATENESS_CELLS = 1 << 20, /* at most, 40 MiB; of more ranks the slices are fewer, and at least two */
};

struct nd_lateness {
    int n_ranks, n_slices;           /* slices in use */
    int most_slices;                 /* even */
    int64_t slice_ns;
    int64_t n_starts[ND_LATENESS_SLICES];
    struct nd_start_rank *cells;     /* most_slices x n_ranks; owned */
};

int nd_lateness_slices(int n_ranks);

struct nd_lateness *nd_lateness_open(int n_ranks, int64_t slice_ns);

/* Counts a start that was scheduled at `at_ns` since the launch's first half. */
void nd_lateness_add(struct nd_lateness *l, int64_t at_ns, const struct nd_start_sum *s);

void nd_lateness_close(struct nd_lateness *l); /* NULL is fine */

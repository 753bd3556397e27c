/* What is measured between two ranks, for every pair that stands for its nodes. */
#ifndef NX_PAIRS_H
#define NX_PAIRS_H

#include "detector/acceptance/accept_run.h"
#include "detector/acceptance/transfer.h"

/* One figure of a pair. */
struct nx_pair_figure {
    const char *metric, *unit;
    int64_t bytes;
    int64_t (*time)(const struct nx_link *l, int64_t n); /* of n exchanges, ns */
    double (*value)(int64_t bytes, double exchange_ns);
};

/* State of a check of pairs: figures and buffers. */
struct nx_pairs {
    struct nx_pair_figure figures[2 * NX_MAX_SIZES];
    int n_figures;
    void *send, *receive; /* of the largest message */
};

/* Allocates t->state with those of n figures whose buffers fit into memory; the others are left out, which t->reason then says.
 * Collective. As nx_check.open. */
int nx_pairs_open(struct nx_run *r, struct nx_task *t, const struct nx_pair_figure *figures, int n);

/* Measures all figures of all pairs: within each node (variant `within`: its first and its last rank, `within-near`: its first two);
 * between the first ranks of two nodes, one pair at a time (`between`) and all pairs of a round at once (`between-at-once`). Collective.
 * 0. */
int nx_pairs_measure(struct nx_run *r, struct nx_task *t);

void nx_pairs_close(struct nx_task *t);

#endif

/* What is measured between two ranks, for every pair that stands for its nodes. */
#pragma once

#include "detector/acceptance/accept_run.h"

struct nx_pair_figure {
    const char *metric, *unit;
    int64_t bytes;
    int64_t (*time)(const struct nx_link *l, int64_t n); /* of n exchanges, ns */
    double (*value)(int64_t bytes, double exchange_ns);
};

struct nx_pairs {
    struct nx_pair_figure figures[2 * NX_MAX_SIZES];
    int n_figures;
    struct nx_buffers buffers; /* of the largest message */
};

/* Fills t->state, a struct nx_pairs, with those of n figures whose buffers fit into memory; the others are
 * left out, which t->reason then says. Collective. As nx_check.open. */
int nx_pairs_open(struct nx_run *r, struct nx_task *t, const struct nx_pair_figure *figures, int n);

/* Measures all figures of all pairs: within each node (variant `within`: its first and its last rank,
 * `within-near`: its first two); between the first ranks of two nodes, one pair at a time (`between`) and all
 * pairs of a round at once (`between-at-once`). Collective. 0. */
int nx_pairs_measure(struct nx_run *r, struct nx_task *t);

void nx_pairs_close(void *state);

/* Which nodes are paired with which, so that every pair comes once: the rounds of a round-robin tournament,
 * in each of which every node has at most one partner, so that the pairs of a round can run at once. Pure. */

enum {
    NX_ALL_PAIRS_NODES = 64, /* up to so many nodes every pair is measured */
    NX_COVER_ROUNDS = 16,    /* beyond: so many rounds, spread over the tournament */
    NX_QUICK_ALONE_PAIRS =
        120 /* --quick: pairs that are also measured one by one, in whole rounds, at least one */
};

/* Rounds in which all pairs of n players come once: n - 1, or n with an odd number (one player rests in
 * each); 0 below two. */
int nx_rounds(int n);

/* Partner of a player (0..n-1) in a round (0..nx_rounds(n)-1); -1: it rests. Source: the circle method
 * (Kirkman 1847). */
int nx_partner(int n, int round, int player);

/* How many rounds are run with n nodes, and which is the k-th of them: all, or a covering set spread evenly.
 */
int nx_covering_rounds(int n);
int nx_covering_round(int n, int k);

/* How many of these rounds are also run one pair at a time. */
int nx_alone_rounds(int n, int is_quick);

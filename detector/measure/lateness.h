/* Who was last, by rank and time: a table of constant size, whose slices are joined in pairs when the run outgrows them. */
#ifndef ND_LATENESS_H
#define ND_LATENESS_H

#include "detector/measure/start_sum.h"

enum {
    ND_LATENESS_SLICES = 240,
    ND_LATENESS_CELLS = 1 << 20, /* at most, 32 MiB; of more ranks the slices are fewer, and at least two */
};

struct nd_lateness_cell {
    int64_t n_last_starts, n_last_ends, start_cost_ns, end_cost_ns;
};

struct nd_lateness {
    int n_ranks, n_slices;           /* slices in use */
    int most_slices;                 /* even */
    int64_t slice_ns;
    int64_t n_starts[ND_LATENESS_SLICES];
    struct nd_lateness_cell *cells;  /* most_slices x n_ranks; owned */
};

/* How many slices a table of so many ranks has. Pure. */
int nd_lateness_slices(int n_ranks);

/* An empty table with slices of that length at first. NULL when memory is short. Local. */
struct nd_lateness *nd_lateness_open(int n_ranks, int64_t slice_ns);

/* Counts a start that was scheduled at `at_ns` (since the launch's first half, not negative). */
void nd_lateness_add(struct nd_lateness *l, int64_t at_ns, const struct nd_start_sum *s);

void nd_lateness_close(struct nd_lateness *l); /* NULL is fine */

/* By how much the last was behind the second last; 0 with one rank. */
static inline int64_t nd_start_cost_ns(int64_t last_ns, int64_t second_ns) { return second_ns == INT64_MIN ? 0 : last_ns - second_ns; }

#endif

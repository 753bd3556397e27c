/* Planned looks at a run under way: is every cell decided, so that it may end? Rank 0 only; between halves, never in the measuring loop. */
#pragma once

#include "detector/halves/half_sum.h"
#include "detector/options/options.h"

/* What the interval of a look says about the slowdown. */
enum nd_decision {
    ND_OPEN,  /* the interval holds the margin, or the scatter is not known yet */
    ND_ABOVE, /* the slowdown is above the margin */
    ND_BELOW  /* it is below; not with margin 0 */
};
extern const char *const nd_decision_names[]; /* by enum */

/* One operation at one size under one treatment and level above 0, at a look. */
struct nd_look_cell {
    int config, arm;     /* indices into the options' lists */
    int64_t n;           /* complete pairs */
    double mean, sd;     /* of the log ratios on/off; sd negative: not known */
    double low, high;    /* repeated confidence interval of the mean; NaN: not known */
    enum nd_decision decision;
};

struct nd_look {
    int look;            /* from 1 */
    double fraction;     /* share of the planned rounds */
    int64_t rounds;
    double nominal_p;    /* one-sided */
    int n_cells, n_decided;
    struct nd_look_cell *cells;
};

struct nd_sequential;

/* Fills in the interval mean -+ t(nominal_p, n - 1) sd / sqrt(n) and the decision against the margin, both of log ratios. The interval is a
 * repeated one: it holds at all looks together (Jennison, Turnbull 1989). */
void nd_sequential_decide(struct nd_look_cell *cell, double nominal_p, double margin_percent);

/* All that the looks will need. NULL when memory is short. */
struct nd_sequential *nd_sequential_open(const struct nd_options *o);
void nd_sequential_half(struct nd_sequential *s, const struct nd_half *h);

/* Takes look number `look` (from 0). The result is the sequential's own, until the next look. */
const struct nd_look *nd_sequential_look(struct nd_sequential *s, int look);
void nd_sequential_close(struct nd_sequential *s);

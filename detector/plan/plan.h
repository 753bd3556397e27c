/* What is decided before and between halves: treated nodes, the pilot, looks. */
#pragma once

#include "detector/halves/half_sum.h"
#include "detector/measure/measure.h"
#include "detector/nodes/team.h"
#include "detector/options/options.h"

/* What the pilot found for one operation and size; equal on all ranks. */
struct nd_cell {
    int64_t n_operations; /* in each half */
    double
        pilot_ns; /* mean time of one operation in a loop, slowest rank, the fastest of the pilot's loops */
    int64_t typical_ns; /* median time of one operation (the mean, where operations are not timed), the rank
                           with the largest */
    int64_t detour_threshold_ns;
    int64_t slot_ns;    /* synchronised starts: what was found; 0 otherwise */
    int64_t work_steps; /* of nd_work in every operation or start; 0: none */
};

/* Planned looks at a run under way: is every cell decided, so that it may end? Rank 0 only. */

/* What the interval of a look says about the slowdown. */
enum nd_decision {
    ND_OPEN,  /* the interval holds the margin, or the scatter is not known yet */
    ND_ABOVE, /* the slowdown is above the margin */
    ND_BELOW  /* it is below; not with margin 0 */
};
extern const char *const nd_decision_names[]; /* by enum */

/* One operation at one size under one treatment and level above 0, at a look. */
struct nd_look_cell {
    int config, arm;  /* indices into the options' lists */
    int64_t n;        /* complete pairs */
    double mean, sd;  /* of the log ratios on/off; sd negative: not known */
    double low, high; /* repeated confidence interval of the mean; NaN: not known */
    enum nd_decision decision;
};

struct nd_look {
    int look;        /* from 1 */
    double fraction; /* share of the planned rounds */
    int64_t rounds;
    double nominal_p; /* one-sided */
    int n_cells, n_decided;
    struct nd_look_cell *cells;
};

struct nd_sequential;

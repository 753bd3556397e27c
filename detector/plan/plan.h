/* What is decided before and between halves: treated nodes, the pilot, looks. */
#pragma once

#include "detector/halves/half_sum.h"
#include "detector/measure/measure.h"
#include "detector/nodes/team.h"
#include "detector/options/options.h"

/* Whether a name means this host, whatever the case; where one of the two is without its domain, by what is
 * before the first dot. */
int nd_host_is_called(const char *host, const char *name);

/* Whether --noise-nodes means a node; `has_rank_0`: rank 0 runs on it. */
int nd_nodes_hold(const struct nd_nodes *nodes, const char *host, int has_rank_0);

/* Whether every name in the list means a node of this launch; rank 0 says what is wrong. Collective. 0, or -1
 * (the same on all ranks). */
int nd_nodes_check(const struct nd_nodes *nodes, const struct nd_team *team, const char *host);

/* Where in its period a node's noise begins, 0..1. `own`, `common`: drawn for this node, and for all. It is
 * number `index` of n. */
double nd_noise_phase(enum nd_phase phase, double own, double common, int index, int n);

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

/* Collective. 0, -1 when a rank received wrong data (on all ranks). `cell`: each rank's own; rank 0's must be
 * taken by all. */
int nd_pilot_run(const struct nd_team *team, struct nd_together *together, const struct nd_options *o,
                 int config, struct nd_op_state *state, const struct nl_ticks *ticks, struct nl_hist *scratch,
                 struct nd_starter *starter, struct nd_start_plan *plan, struct nd_cell *cell);

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

/* Fills in the interval mean -+ t(nominal_p, n - 1) sd / sqrt(n), which holds at all looks together
 * (Jennison, Turnbull 1989), and the decision against the margin; of log ratios. */
void nd_sequential_decide(struct nd_look_cell *cell, double nominal_p, double margin_percent);

struct nd_sequential *nd_sequential_open(const struct nd_options *o);
void nd_sequential_half(struct nd_sequential *s, const struct nd_half *h);

/* Takes look number `look` (from 0). The result holds until the next look. */
const struct nd_look *nd_sequential_look(struct nd_sequential *s, int look);
void nd_sequential_close(struct nd_sequential *s);

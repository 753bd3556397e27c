/* The pilot: how long an operation takes here, so that every half can hold a fixed number of them. */
#pragma once

#include "detector/measure/measure.h"
#include "detector/options/options.h"
#include "detector/nodes/team.h"

/* What the pilot found for one operation and size; equal on all ranks. */
struct nd_cell {
    int64_t n_operations;        /* in each half */
    double pilot_ns;             /* mean time of one operation in a loop, slowest rank, the fastest of the pilot's loops */
    int64_t typical_ns;          /* median time of one operation (the mean, where operations are not timed), the rank with the largest */
    int64_t detour_threshold_ns;
    int64_t slot_ns;             /* synchronised starts: what was found; 0 otherwise */
    int64_t work_steps;          /* of nd_work in every operation or start; 0: none */
};

/* Runs the pilot and checks the operation's result data. Collective.
 * @param starter, plan  for synchronised starts, planned already; NULL otherwise
 * @param cell    what was found; each rank's own figures: rank 0's must be taken by all
 * @return 0, -1 when a rank received wrong data (the same on all ranks). */
int nd_pilot_run(const struct nd_team *team, struct nd_together *together, const struct nd_options *o, int config,
                 struct nd_op_state *state, const struct nl_ticks *ticks, struct nl_hist *scratch, struct nd_starter *starter,
                 struct nd_start_plan *plan, struct nd_cell *cell);

/* How long one operation takes, before there is a plan. */
#pragma once

#include "detector/plan/plan.h"

/* Collective. 0, -1 when a rank received wrong data (on all ranks). `cell`: each rank's own; rank 0's must be
 * taken by all. */
int nd_pilot_run(const struct nd_team *team, struct nd_together *together, const struct nd_options *o,
                 int config, struct nd_op_state *state, const struct nl_ticks *ticks, struct nl_hist *scratch,
                 struct nd_starter *starter, struct nd_start_plan *plan, struct nd_cell *cell);

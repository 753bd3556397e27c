/* The starter of synchronised starts: clocks, slots, and what becomes of the records. */
#pragma once

#include "detector/measure/starts.h"

/* Collective. 0, or -1 after a message (the same on all ranks). `n_allowed` CPUs of this node: do ranks share
 * them? 0 unknown. */
int nd_starter_open(struct nd_starter *s, const struct nd_start_options *o, const struct nd_team *team,
                    int n_allowed, void (*on_sync)(void *, const struct nd_starter *, const char *),
                    void *context);

/* Finds the slot of an operation. Collective. 0, or -1 after a message: the slot asked for can never be met,
 * or a clock jumped. */
int nd_starter_plan(struct nd_starter *s, const struct nd_loop *loop, struct nd_start_plan *plan,
                    const char *name, uint64_t seed);
void nd_starter_run(struct nd_starter *s, const struct nd_loop *loop, struct nd_loop_result *result);

/* Synchronises anew when it is time, or when the clocks have parted. Collective; call it between halves. */
void nd_starter_keep_in_step(struct nd_starter *s);

void nd_starter_accept(struct nd_starter *s);

void nd_starter_close(struct nd_starter *s);

/* Half-width of the order-statistic interval of the median, percent of it; 100 when there are too few. */
double nd_median_precision_percent(const struct nl_hist *h);

/* How much what a record costs at scale would differ if another record of the same length had been taken. */
#pragma once

#include "noisegen/top/walk.h"

/* The interval around a slowdown that was walked, as factors of it; high -1: the record is too short for an
 * end, because what comes once in a step of all nodes may not be in it. */
struct nt_spread_ends {
    double low, high;
};

struct nt_spread;

/* The record, as nt_walk_open took it, and its windows, the steps that begin just before an interruption
 * (nt_walk_windows), which are added up by time that they lose and by the block of the record in which they
 * begin. base_ns: what every step takes beyond its work. @return 0, -1 without memory. */
int nt_spread_open(struct nt_spread **spread, const struct nt_event *events, const struct nt_window *windows,
                   size_t n, int64_t span_ns, double base_ns, int n_nodes, int64_t every_ns, uint64_t seed);

/* Goes on for n_draws draws of as many blocks as there are, with replacement. Before the first one the
 * windows are made to say what was walked: a step of stall_ns on average. Each takes some 1 us. */
void nt_spread_go(struct nt_spread *spread, double stall_ns, int n_draws);

/* Of the draws so far the middle 95 %, and what the walk itself may be wrong by: error, the standard error of
 * the slowdown that was walked, as a share of it. */
struct nt_spread_ends nt_spread_result(struct nt_spread *spread, double error);

void nt_spread_close(struct nt_spread *spread);

/* How good synchronised starts are here: operations of known length against what was measured (MPIPerf's WaitPatternUp and
 * WaitPatternNull). */
#pragma once

#include "detector/options/options.h"
#include "detector/measure/starts.h"

/* What a self-test operation should have come to, by name; -1 where nobody knows. ns. */
int64_t nd_self_test_expected_ns(const char *operation, int n_ranks);

/* Prints the table, one line per operation, and the verdict.
 * @param measures  n_configs x n_arms x ND_N_MEASURES histograms, overshoots included; only the arm off counts.
 * @return 1 good enough, 0 not. Rank 0 only. */
int nd_self_test_judge(FILE *out, const struct nd_options *o, const struct nd_starter *s, const struct nl_hist *measures, int n_arms);

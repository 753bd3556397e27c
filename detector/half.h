/* One half of the schedule, from the switch of the agent to the accounts. */
#pragma once

#include "detector/run_state.h"

/* half.c, collective: runs one half on all ranks and leaves this rank's figures in `s`. `is_recorded` 0:
 * warm-up. */
void nd_run_half(struct nd_run *r, const struct nd_step *step, int is_recorded, struct nd_sample *s);

/* Takes the time of a half, the slowest rank's for its n_operations, into what is expected of the next ones;
 * the same on all ranks. */
void nd_run_follow(struct nd_run *r, const struct nd_step *step, int64_t wall_ns, int64_t n_operations);

/* Sets the numbers of operations anew where halves have left their planned length. Between rounds: those of a
 * pair have the same. */
void nd_run_set_operations(struct nd_run *r);

/* Adds the half to sums, histograms and starts of its arm, and writes its row. */
void nd_run_keep_half(struct nd_run *r, const struct nd_step *step, const struct nd_sample *s);

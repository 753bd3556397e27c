/* Progress for people: how far, how long still, and how large the slowdown is so far. Only rank 0 has one, and it looks between halves,
 * outside of what is timed. Nothing follows from these looks: a run ends when it was planned to, or at the planned looks of --stop-when,
 * which are counted. */
#pragma once

#include "detector/halves/half_sum.h"
#include "detector/options/options.h"

struct nd_progress;

/* @param n_halves halves planned. NULL when memory is short. */
struct nd_progress *nd_progress_open(const struct nd_options *o, int64_t n_halves);

/* The first recorded half begins: time counts from here. */
void nd_progress_begin(struct nd_progress *p);

/* Takes a half into account, and shows a line where one is due. */
void nd_progress_half(struct nd_progress *p, const struct nd_half *h);

/* Shows a line where one is due: while a half goes on. Returns when the next one is, CLOCK_MONOTONIC; INT64_MAX: never. */
int64_t nd_progress_tick(struct nd_progress *p, int64_t now_ns);

/* Takes a look into account, which the lines after it name: how many of the cells are decided. */
void nd_progress_look(struct nd_progress *p, int look, int n_decided, int n_cells);

/* "; so far at 1 %: barrier +1.4 % [+1.2, +1.6], ..." into `text`: of one arm (from 1) the slowdown of each operation, the mean of the log
 * ratios of its pairs with its 98 % interval by Student's t; as many operations as fit. "" where no operation has seven pairs. The
 * analysis has other estimates, which bursts that come by chance disturb less. Returns text. */
const char *nd_progress_tell_arm(const struct nd_progress *p, int arm, char *text, size_t size);

/* Ends the line. NULL is fine. */
void nd_progress_close(struct nd_progress *p);

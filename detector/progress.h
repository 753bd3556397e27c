/* Progress for people: how far, how long still, and what the run could find by now. Only rank 0 has one. */
#ifndef ND_PROGRESS_H
#define ND_PROGRESS_H

#include "channels.h"
#include "options.h"

struct nd_progress;

/* @param n_halves halves planned. NULL when memory is short. */
struct nd_progress *nd_progress_open(const struct nd_options *o, int64_t n_halves);

/* The first recorded half begins: time counts from here. */
void nd_progress_begin(struct nd_progress *p);

/* Share of the run that is behind, 0..1, after `elapsed_ns`: by halves, or by the time that it may take, whichever is nearer to the end. */
double nd_progress_share(const struct nd_progress *p, int64_t elapsed_ns);

/* Takes a half into account, and prints a line when the last one is two seconds old. */
void nd_progress_half(struct nd_progress *p, const struct nd_half *h);

/* Takes a look into account, which the lines after it name: how many of the cells are decided. */
void nd_progress_look(struct nd_progress *p, int look, int n_decided, int n_cells);

/* Detection limit of the `time` channel so far, in percent slowdown, for one configuration: the largest over the levels; negative when
 * fewer than two pairs are complete. (z_0.99 + z_0.95) standard errors of the mean log ratio: Currie 1968, normal approximation. */
double nd_progress_limit_percent(const struct nd_progress *p, int config);

/* Ends the line. NULL is fine. */
void nd_progress_close(struct nd_progress *p);

#endif

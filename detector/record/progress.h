/* How far a launch is, on stderr. */
#pragma once

#include "detector/record/record.h"

/* Progress for people, on rank 0 between halves: how far, and how long still. */
struct nd_progress;
struct nd_progress *nd_progress_open(const struct nd_options *o, int64_t n_halves);
void nd_progress_begin(struct nd_progress *p);
void nd_progress_half(struct nd_progress *p);
int64_t
nd_progress_tick(struct nd_progress *p,
                 int64_t now_ns); /* shows a line where one is due. When the next one is; INT64_MAX: never */
void nd_progress_look(struct nd_progress *p, int look, int n_decided, int n_cells);
void nd_progress_close(struct nd_progress *p);

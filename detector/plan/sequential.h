/* Looks of a launch that may end early. */
#pragma once

#include "detector/plan/plan.h"

/* Fills in the interval mean -+ t(nominal_p, n - 1) sd / sqrt(n), which holds at all looks together
 * (Jennison, Turnbull 1989), and the decision against the margin; of log ratios. */
void nd_sequential_decide(struct nd_look_cell *cell, double nominal_p, double margin_percent);

struct nd_sequential *nd_sequential_open(const struct nd_options *o);
void nd_sequential_half(struct nd_sequential *s, const struct nd_half *h);

/* Takes look number `look` (from 0). The result holds until the next look. */
const struct nd_look *nd_sequential_look(struct nd_sequential *s, int look);
void nd_sequential_close(struct nd_sequential *s);

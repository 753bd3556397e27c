/* How alpha is spent over the looks of a launch. */
#pragma once

#include "detector/design/schedule.h"

/* Rounds after which the looks are taken: equally spaced, the last one at the end. */
void nd_look_rounds(int64_t n_rounds, int n_looks, int64_t *rounds);

/* Nominal one-sided p of each look: crossing at p_k or below, at any look, has probability `alpha` without an
 * effect. By recursive integration of the joint normal distribution (Armitage, McPherson, Rowe 1969;
 * Jennison, Turnbull 2000, chapter 19). `fractions`: n shares of the run, rising. 0, or -1 when memory is
 * short. */
int nd_spending_bounds(const struct nd_spending *spending, double alpha, const double *fractions, int n,
                       double *nominal_p);

/* Upper tail of the standard normal distribution, and where it is p. */
double nd_normal_tail(double z);
double nd_normal_quantile(double p);

/* The same of Student's, df >= 1, p <= 0.5. By the incomplete beta function's continued fraction (modified
 * Lentz). */
double nd_student_tail(double t, double df);
double nd_student_quantile(double p, double df);

/* Boundaries of tests that look at a run several times, and the quantiles they need. Pure functions, local to a rank. */
#pragma once

#include "common/base/nl_usual.h"

enum { ND_MAX_LOOKS = 20 };

/* How the error is shared out over the run (Lan, DeMets 1983). */
struct nd_spending {
    const char *name;
    const char *help;
    /* One-sided error that may have been made by the share t (0..1) of the run, of `alpha` in all. */
    double (*spent)(double alpha, double t);
};

extern const struct nd_spending *const nd_spendings[]; /* ends with NULL */

/* Rounds after which the looks are taken: equally spaced over the run, the last one at its end.
 * @param n_looks 1..ND_MAX_LOOKS, at most n_rounds. */
void nd_look_rounds(int64_t n_rounds, int n_looks, int64_t *rounds);

/* Nominal one-sided p of each look: crossing at p_k or below, at any look, has probability `alpha` without an effect.
 * By recursive integration of the joint normal distribution (Armitage, McPherson, Rowe 1969; Jennison, Turnbull 2000, chapter 19).
 * @param fractions n shares of the run, rising, at most 1, at least 0.001 apart.
 * @return 0, or -1 when memory is short. */
int nd_spending_bounds(const struct nd_spending *spending, double alpha, const double *fractions, int n, double *nominal_p);

/* Upper tail of the standard normal distribution, and where it is p (0 < p < 1). */
double nd_normal_tail(double z);
double nd_normal_quantile(double p);

/* The same of Student's distribution; df >= 1, 0 < p <= 0.5. By the incomplete beta function's continued fraction (modified Lentz). */
double nd_student_tail(double t, double df);
double nd_student_quantile(double p, double df);

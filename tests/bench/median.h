/* The median of a bench's paired ratios. */
#pragma once

#include "common/base/nl_usual.h"

NL_ORDER(compare, double)

/* Sorts them. */
static inline double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare);
    return values[n / 2];
}

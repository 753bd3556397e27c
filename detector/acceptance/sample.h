/* What a few figures of one kind come to. */
#pragma once

#include "common/base/nl_usual.h"

struct nx_sample {
    int64_t n;
    double mean, sd, min, max, median; /* NaN where n is too small: all with 0, sd with 1 */
};

/* Sums up n values; sorts them. Local. */
struct nx_sample nx_sample_of(double *values, int64_t n);

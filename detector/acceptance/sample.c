#include "detector/acceptance/sample.h"

NL_ORDER(compare, double)

struct nx_sample nx_sample_of(double *values, int64_t n) {
    struct nx_sample s = {n, NAN, NAN, NAN, NAN, NAN};
    double sum = 0, squares = 0;
    if (n < 1) return s;
    qsort(values, (size_t)n, sizeof *values, compare);
    for (int64_t i = 0; i < n; i++) sum += values[i];
    s.mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (n > 1) s.sd = sqrt(squares / (double)(n - 1));
    s.min = values[0];
    s.max = values[n - 1];
    s.median = (values[(n - 1) / 2] + values[n / 2]) / 2;
    return s;
}

/* Latency histogram in the log-linear layout of HdrHistogram (Tene): exact below 128, then 128 bins for every
 * power of two, so a bin is at most 1/128 = 0.78 % of its lower bound wide. The whole range of int64 is
 * covered: no overflow bin hides the tail. */
#pragma once

#include "common/base/nl_usual.h"

#define NL_HIST_SUB_BITS 7
#define NL_HIST_SUB      (1 << NL_HIST_SUB_BITS)
/* Values 0..127 take the first 128 bins, each of the 56 powers of two 2^7..2^62 another 128. */
#define NL_HIST_BINS ((63 - NL_HIST_SUB_BITS + 1) * NL_HIST_SUB)

struct nl_hist {
    uint64_t bins[NL_HIST_BINS];
};

/* Bin of a value in ns; negative values count as 0. */
static inline int nl_hist_index(int64_t value_ns) {
    if (value_ns < NL_HIST_SUB) return value_ns < 0 ? 0 : (int)value_ns;
    int shift = 63 - __builtin_clzll((uint64_t)value_ns) - NL_HIST_SUB_BITS;
    return (shift << NL_HIST_SUB_BITS) + (int)(value_ns >> shift);
}

static inline void nl_hist_add(struct nl_hist *h, int64_t value_ns) { h->bins[nl_hist_index(value_ns)]++; }

/* Lower bound of a bin, ns: the bin holds lo(i) <= value < lo(i + 1). */
int64_t nl_hist_lo(int index);

/* First value above a bin, ns (INT64_MAX for the last). */
int64_t nl_hist_hi(int index);

/* Adds all counts of `from` to `to`. */
void nl_hist_join(struct nl_hist *to, const struct nl_hist *from);

/* Number of values counted. */
uint64_t nl_hist_total(const struct nl_hist *h);

/* The middle of the bin that holds the q-quantile (0 <= q <= 1), ns; -1 when the histogram is empty. */
int64_t nl_hist_quantile(const struct nl_hist *h, double q);

/* Lower bound of the highest bin in use, ns; -1 when empty. */
int64_t nl_hist_max(const struct nl_hist *h);

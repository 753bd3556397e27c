#include "common/base/nl_hist.h"

int64_t nl_hist_lo(int index) {
    if (index < NL_HIST_SUB) return index;
    int shift = (index >> NL_HIST_SUB_BITS) - 1;
    return (int64_t)((index & (NL_HIST_SUB - 1)) + NL_HIST_SUB) << shift;
}

int64_t nl_hist_hi(int index) { return index + 1 < NL_HIST_BINS ? nl_hist_lo(index + 1) : INT64_MAX; }

void nl_hist_join(struct nl_hist *to, const struct nl_hist *from) {
    for (int i = 0; i < NL_HIST_BINS; i++)
        to->bins[i] += from->bins[i];
}

uint64_t nl_hist_total(const struct nl_hist *h) {
    uint64_t total = 0;
    for (int i = 0; i < NL_HIST_BINS; i++)
        total += h->bins[i];
    return total;
}

int64_t nl_hist_quantile(const struct nl_hist *h, double q) {
    uint64_t total = nl_hist_total(h);
    if (total == 0) return -1;
    /* the smallest value with at least q of all values at or below it */
    double wanted = q * (double)total;
    uint64_t seen = 0;
    int last = 0;
    for (int i = 0; i < NL_HIST_BINS; i++) {
        if (!h->bins[i]) continue;
        seen += h->bins[i];
        last = i;
        if ((double)seen >= wanted) break;
    }
    int64_t lo = nl_hist_lo(last);
    return lo + (nl_hist_hi(last) - lo - 1) / 2;
}

int64_t nl_hist_max(const struct nl_hist *h) {
    for (int i = NL_HIST_BINS - 1; i >= 0; i--)
        if (h->bins[i]) return nl_hist_lo(i);
    return -1;
}

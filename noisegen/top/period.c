/* The period of a few bursts. */
#include "noisegen/top/period.h"
#include "noisegen/top/top.h"

enum { FEWEST = 4 /* bursts */, MOST = NT_LAST_BURSTS };

#define FAR_APART   4.0  /* times between bursts of one activity and between activities differ by more */
#define NEAR        0.10 /* of the period: so far off a burst may be */
#define MOST_OF_ALL 0.75 /* of the bursts, which keep to it */

/* Few numbers, nearly in order often: by insertion, which takes a fifth of the time of qsort. */
static void sort(int64_t *numbers, int n) {
    for (int i = 1, at; i < n; i++) {
        int64_t number = numbers[i];
        for (at = i; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

/* Where the sorted times between bursts have their widest gap, the lower ones are within an activity. Returns
 * the longest of these; 0: none are. */
static int64_t activity_gap(const int64_t *sorted, int n) {
    double widest = FAR_APART;
    int64_t gap_ns = 0;
    /* at least FEWEST - 1 times are left between activities */
    for (int i = 0; i + FEWEST - 1 < n; i++) {
        double ratio = (double)sorted[i + 1] / (double)(sorted[i] > 0 ? sorted[i] : 1);
        if (ratio > widest) widest = ratio, gap_ns = sorted[i];
    }
    return gap_ns;
}

int64_t nt_period(const int64_t *starts_ns, int n) {
    int64_t times[MOST], sorted[MOST];
    int n_times = 0, n_near = 0;
    if (n > MOST || n < FEWEST) return 0;
    for (int i = 1; i < n; i++) sorted[i - 1] = starts_ns[i] - starts_ns[i - 1];
    sort(sorted, n - 1);
    int64_t gap_ns = activity_gap(sorted, n - 1), first_ns = starts_ns[0], last_ns = first_ns;
    for (int i = 1; i < n; i++) {
        if (starts_ns[i] - starts_ns[i - 1] <= gap_ns) continue;
        times[n_times++] = starts_ns[i] - last_ns;
        last_ns = starts_ns[i];
    }
    if (n_times < FEWEST - 1) return 0;
    memcpy(sorted, times, (size_t)n_times * sizeof *sorted);
    sort(sorted, n_times);
    double period_ns = (double)sorted[n_times / 2], n_periods = 0;
    for (int i = 0; i < n_times && period_ns > 0; i++) {
        double multiple = round((double)times[i] / period_ns);
        n_periods += multiple;
        n_near += multiple >= 1 && fabs((double)times[i] - multiple * period_ns) <= NEAR * period_ns;
    }
    return n_near >= MOST_OF_ALL * n_times && n_periods > 0
               ? (int64_t)((double)(last_ns - first_ns) / n_periods)
               : 0;
}

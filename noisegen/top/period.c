/* The period of a few bursts. */
#include "noisegen/top/period.h"
#include "noisegen/top/top.h"

enum { FEWEST = 4 /* bursts */, MOST = NT_LAST_BURSTS, RUN = 8 };

#define FAR_APART   4.0  /* times between bursts of one activity and between activities differ by more */
#define NEAR        0.10 /* of the period: so far off a burst may be */
#define MOST_OF_ALL 0.75 /* of the bursts, which keep to it */

/* Few numbers: runs of a few by insertion, then merged, which takes a tenth of the time of qsort. */
static void sort(int64_t *numbers, int n) {
    int64_t merged[MOST], *from = numbers, *to = merged;
    for (int first = 0; first < n; first += RUN)
        for (int i = first + 1, at; i < n && i < first + RUN; i++) {
            int64_t number = numbers[i];
            for (at = i; at > first && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
            numbers[at] = number;
        }
    for (int run = RUN; run < n; run *= 2) {
        for (int first = 0; first < n; first += 2 * run) {
            int left = first, right = first + run < n ? first + run : n, middle = right,
                end = middle + run < n ? middle + run : n;
            for (int at = first; at < end; at++) {
                int takes_left = left < middle && (right >= end || from[left] <= from[right]);
                to[at] = takes_left ? from[left++] : from[right++];
            }
        }
        int64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != numbers) memcpy(numbers, from, (size_t)n * sizeof *numbers);
}

/* The one that would be at place k if they were sorted (Hoare 1961); they change their order. */
static int64_t nth(int64_t *numbers, int n, int k) {
    for (int low = 0, high = n - 1; low < high;) {
        int64_t pivot = numbers[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (numbers[i] < pivot) i++;
            while (numbers[j] > pivot) j--;
            if (i > j) break;
            int64_t swapped = numbers[i];
            numbers[i++] = numbers[j];
            numbers[j--] = swapped;
        }
        if (k <= j) high = j;
        else if (k >= i) low = i;
        else break;
    }
    return numbers[k];
}

/* Where the times between bursts, in order, have their widest gap, the lower ones are within an activity.
 * Returns the longest of these; 0: none are. The times are sorted where there may be a gap. */
static int64_t activity_gap(int64_t *times, int n) {
    double widest = FAR_APART;
    int64_t gap_ns = 0, least_ns = times[0], most_ns = times[0];
    for (int i = 1; i < n; i++) {
        if (times[i] < least_ns) least_ns = times[i];
        if (times[i] > most_ns) most_ns = times[i];
    }
    if ((double)most_ns <= FAR_APART * (double)(least_ns > 0 ? least_ns : 1)) return 0;
    sort(times, n);
    /* at least FEWEST - 1 times are left between activities */
    for (int i = 0; i + FEWEST - 1 < n; i++) {
        double ratio = (double)times[i + 1] / (double)(times[i] > 0 ? times[i] : 1);
        if (ratio > widest) widest = ratio, gap_ns = times[i];
    }
    return gap_ns;
}

int64_t nt_period(const int64_t *starts_ns, int n) {
    int64_t times[MOST], copy[MOST];
    int n_times = 0, n_near = 0;
    if (n > MOST || n < FEWEST) return 0;
    for (int i = 1; i < n; i++) copy[i - 1] = starts_ns[i] - starts_ns[i - 1];
    int64_t gap_ns = activity_gap(copy, n - 1), first_ns = starts_ns[0], last_ns = first_ns;
    for (int i = 1; i < n; i++) {
        if (starts_ns[i] - starts_ns[i - 1] <= gap_ns) continue;
        times[n_times++] = starts_ns[i] - last_ns;
        last_ns = starts_ns[i];
    }
    if (n_times < FEWEST - 1) return 0;
    memcpy(copy, times, (size_t)n_times * sizeof *copy);
    double period_ns = (double)nth(copy, n_times, n_times / 2), n_periods = 0;
    for (int i = 0; i < n_times && period_ns > 0; i++) {
        double multiple = round((double)times[i] / period_ns);
        n_periods += multiple;
        n_near += multiple >= 1 && fabs((double)times[i] - multiple * period_ns) <= NEAR * period_ns;
    }
    return n_near >= MOST_OF_ALL * n_times && n_periods > 0
               ? (int64_t)((double)(last_ns - first_ns) / n_periods)
               : 0;
}

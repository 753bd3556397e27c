#include "detector/program/beats.h"

#define LITTLE_MORE 1.5  /* times the least scatter */
#define REPEATS     0.3  /* autocorrelation from which on beats repeat */
#define AS_GOOD     0.95 /* a shorter period is taken where it explains so much of what the best one does */

/* Relative scatter of the counts; INFINITY for what is no beat. */
static double scatter(const struct nd_beat_counts *row) {
    double sum = 0, squares = 0;
    int n_empty = 0;
    for (int i = 0; i < ND_BEAT_WINDOWS; i++) {
        sum += (double)row->n[i];
        n_empty += row->n[i] == 0;
    }
    if (row->is_polling || 2 * n_empty > ND_BEAT_WINDOWS) return INFINITY;
    double mean = sum / ND_BEAT_WINDOWS;
    for (int i = 0; i < ND_BEAT_WINDOWS; i++) squares += ((double)row->n[i] - mean) * ((double)row->n[i] - mean);
    return sqrt(squares / (ND_BEAT_WINDOWS - 1)) / mean + 0.5 / mean;
}

static int64_t total(const struct nd_beat_counts *row) {
    int64_t sum = 0;
    for (int i = 0; i < ND_BEAT_WINDOWS; i++) sum += row->n[i];
    return sum;
}

int nd_beats_choose(const struct nd_beat_counts *rows, int n_rows) {
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < n_rows; i++) least = fmin(least, scatter(&rows[i]));
    if (isinf(least)) return -1;
    for (int i = 0; i < n_rows; i++) {
        if (scatter(&rows[i]) > LITTLE_MORE * least) continue;
        if (best < 0 || rows[i].is_synchronising > rows[best].is_synchronising ||
            (rows[i].is_synchronising == rows[best].is_synchronising && total(&rows[i]) > total(&rows[best])))
            best = i;
    }
    return best;
}

static int by_size(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t nd_beats_median_ns(const int64_t *at_ns, int n) {
    if (n < 2) return 0;
    int64_t *gaps = malloc(sizeof *gaps * (size_t)(n - 1)), median = (at_ns[n - 1] - at_ns[0]) / (n - 1);
    if (!gaps) return median;
    for (int i = 1; i < n; i++) gaps[i - 1] = at_ns[i] - at_ns[i - 1];
    qsort(gaps, (size_t)(n - 1), sizeof *gaps, by_size);
    median = gaps[(n - 1) / 2];
    free(gaps);
    return median;
}

/* Distances between beats, without their mean; logarithms, so that one long delay is not all that they have in common. */
static double *distances(const int64_t *at_ns, int n) {
    double *d = malloc(sizeof *d * (size_t)(n - 1)), mean = 0;
    if (!d) return NULL;
    for (int i = 1; i < n; i++) {
        d[i - 1] = log((double)(at_ns[i] - at_ns[i - 1]) + 1);
        mean += d[i - 1] / (n - 1);
    }
    for (int i = 0; i < n - 1; i++) d[i] -= mean;
    return d;
}

static double autocorrelation(const double *d, int n, int lag) {
    double sum = 0, squares = 0;
    for (int i = 0; i + lag < n; i++) sum += d[i] * d[i + lag];
    for (int i = 0; i < n; i++) squares += d[i] * d[i];
    return squares > 0 ? sum / squares * n / (n - lag) : 0;
}

int64_t nd_beats_period(const int64_t *at_ns, int n) {
    enum { LEAST = 32, SHARE = 4 };
    if (n < LEAST) return 1;
    int most = (n - 1) / SHARE;
    double *d = distances(at_ns, n), *r = d ? calloc((size_t)most + 1, sizeof *r) : NULL, best = 0;
    int64_t period = 1;
    for (int lag = 1; r && lag <= most; lag++) {
        r[lag] = autocorrelation(d, n - 1, lag);
        best = fmax(best, r[lag]);
    }
    if (best >= REPEATS)
        for (period = 1; r[period] < AS_GOOD * best;) period++;
    free(d);
    free(r);
    return period;
}

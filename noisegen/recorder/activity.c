#include "noisegen/recorder/activity.h"
#include "noisegen/recorder/summary.h"

#define DEFAULT_GAP_NS INT64_C(100000) /* where nothing repeats */
#define SMALL_SHARE    0.2 /* of the usual activity's CPU time: what is smaller has no say in the period */
#define NEAR           0.15            /* of a period */
#define REGULAR        0.5             /* share of CPU time from which on there is a period */
#define AS_GOOD        0.8             /* of the best regularity */

#define Z_99           2.5758

enum {
    MIN_ACTIVITIES = 5 /* fewer agree by chance */,
    MAX_GAPS = 24,
    CHUNK = 32,
    MOST_FITTED = 256 /* for a line */
};

static int compare_activities(const void *a, const void *b) {
    const struct nr_activity *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

size_t nr_activities(const struct nr_burst *bursts, size_t n, int64_t gap_ns, int by_cpu,
                     struct nr_activity *activities) {
    enum { MAX_CPUS = 4096 };
    static _Thread_local int64_t last[MAX_CPUS + 1]; /* by CPU: its last activity + 1 */
    size_t n_activities = 0;
    memset(last, 0, sizeof last);
    for (size_t i = 0; i < n; i++) {
        const struct nr_burst *b = &bursts[i];
        int64_t *slot = &last[by_cpu && b->cpu >= 0 && b->cpu < MAX_CPUS ? b->cpu : MAX_CPUS],
                length_ns = b->end_ns - b->start_ns;
        struct nr_activity *a = *slot > 0 ? &activities[*slot - 1] : NULL;
        if (!a || b->start_ns - a->end_ns > gap_ns) {
            a = &activities[n_activities++];
            *slot = (int64_t)n_activities;
            *a = (struct nr_activity){
                .start_ns = b->start_ns, .end_ns = b->end_ns, .cpu = by_cpu ? b->cpu : -1, .longest_ns = -1};
        }
        if (b->end_ns > a->end_ns) a->end_ns = b->end_ns;
        a->busy_ns += length_ns;
        a->n_bursts++;
        if (length_ns <= a->longest_ns) continue;
        a->longest_ns = length_ns;
        a->name = b->name;
    }
    if (by_cpu) qsort(activities, n_activities, sizeof *activities, compare_activities);
    return n_activities;
}

/* ---- the period ---- */

NL_ORDER(compare_numbers, double)

/* The median; sorts the numbers. */
static double median(double *numbers, size_t n) {
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    return n % 2 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
}

/* The activity size in the middle of the CPU time: half of it lies in smaller ones. */
static double usual_busy_ns(const struct nr_activity *a, size_t n, double *scratch) {
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++) total += scratch[i] = (double)a[i].busy_ns;
    qsort(scratch, n, sizeof *scratch, compare_numbers);
    size_t i = 0;
    for (; i + 1 < n && (sum += scratch[i]) < total / 2; i++) {}
    return scratch[i];
}

/* Drops the small activities; returns how many are left. */
static size_t keep_main(struct nr_activity *a, size_t n, double *scratch) {
    double least_ns = SMALL_SHARE * usual_busy_ns(a, n, scratch);
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        if ((double)a[i].busy_ns >= least_ns) a[n_kept++] = a[i];
    return n_kept;
}

static double distance(const struct nr_activity *a, size_t i) {
    return (double)(a[i + 1].start_ns - a[i].start_ns);
}

/* Share of the CPU time of activities whose next one comes one or two periods later. */
static double regularity(const struct nr_activity *a, size_t n, double period_ns) {
    double near = 0, total = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        double ratio = distance(a, i) / period_ns, whole = ratio < 1.5 ? 1 : 2;
        total += (double)a[i].busy_ns;
        if (fabs(ratio - whole) <= NEAR) near += (double)a[i].busy_ns;
    }
    return total > 0 ? near / total : 0;
}

/* How far starts keep to one phase: the length of the mean of their unit vectors (Rayleigh), in chunks, so
 * that a clock may drift. Late starts (the CPU was busy) spoil the distances to both neighbours, but not
 * this. 0 where there are too few. */
static double concentration(const struct nr_activity *a, size_t n, double period_ns) {
    double sum = 0;
    size_t n_chunks = n / CHUNK;
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        double x = 0, y = 0;
        for (size_t i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++) {
            double angle = 2 * M_PI * (double)(a[i].start_ns - a[chunk * CHUNK].start_ns) / period_ns;
            x += cos(angle);
            y += sin(angle);
        }
        sum += hypot(x, y) / CHUNK;
    }
    return n_chunks > 0 ? sum / (double)n_chunks : 0;
}

static double score(const struct nr_activity *a, size_t n, double period_ns) {
    return fmax(regularity(a, n, period_ns), concentration(a, n, period_ns));
}

/* The period near a first guess at which the first chunk keeps best to one phase; of equally good ones (its
 * parts) the longest. */
static double scanned(const struct nr_activity *a, size_t n, double guess_ns) {
    double best_ns = guess_ns, best = 0;
    if (n < CHUNK) return guess_ns;
    double span_ns = (double)(a[CHUNK - 1].start_ns - a[0].start_ns);
    for (double cycles = span_ns / (2 * guess_ns); cycles <= 2 * span_ns / guess_ns; cycles += 0.1) {
        double now = concentration(a, CHUNK, span_ns / cycles);
        if (now * 0.9 <= best) continue; /* rising frequency: a later one must be better by far */
        best = now;
        best_ns = span_ns / cycles;
    }
    for (double step = 0.05; step > 0.001; step /= 2) { /* to the top of that peak */
        double cycles = span_ns / best_ns, below = span_ns / (cycles - step),
               above = span_ns / (cycles + step);
        if (concentration(a, CHUNK, below) > concentration(a, CHUNK, best_ns)) best_ns = below;
        if (concentration(a, CHUNK, above) > concentration(a, CHUNK, best_ns)) best_ns = above;
    }
    return best_ns;
}

/* Start i in whole periods after the last one that counted. Numbers follow the phase: the number is that of
 * the nearest cycle, and the phase moves a fifth of the way towards each start. */
static double cycles_to(const struct nr_activity *a, size_t i, int64_t first_ns, double period_ns,
                        double *phase_ns) {
    double start_ns = (double)(a[i].start_ns - first_ns), cycles = round((start_ns - *phase_ns) / period_ns);
    *phase_ns += cycles * period_ns;
    *phase_ns += 0.2 * (start_ns - *phase_ns);
    return cycles;
}

/* The median of the slopes of start against number between activities that are half of the
 * recording apart. */
static double refined(const struct nr_activity *a, size_t n, double period_ns, double *slopes,
                      double *numbers) {
    size_t half = n / 2, n_slopes = 0;
    double phase_ns = 0;
    numbers[0] = 0; /* the same one for the second part of an activity */
    for (size_t i = 1; i < n; i++)
        numbers[i] = numbers[i - 1] + cycles_to(a, i, a[0].start_ns, period_ns, &phase_ns);
    for (size_t i = 0; i + half < n; i++)
        if (numbers[i + half] > numbers[i])
            slopes[n_slopes++] =
                (double)(a[i + half].start_ns - a[i].start_ns) / (numbers[i + half] - numbers[i]);
    return n_slopes > 0 ? median(slopes, n_slopes) : period_ns;
}

struct candidate { int64_t gap_ns; double period_ns, regularity; };

/* ---- the line through the starts ---- */

/* What the line leaves of a start. */
static double left_ns(const struct nr_activity *a, size_t i, const double *numbers, double period_ns) {
    return (double)(a[i].start_ns - a[0].start_ns) - period_ns * numbers[i];
}

/* A robust spread of how far the next start but k - 1 is off. */
static double spread_at(const struct nr_activity *a, size_t n, size_t k, const double *numbers,
                        double period_ns, double *scratch) {
    for (size_t i = 0; i + k < n; i++)
        scratch[i] = fabs(left_ns(a, i + k, numbers, period_ns) - left_ns(a, i, numbers, period_ns));
    return n > k ? 1.4826 * median(scratch, n - k) : 0;
}

/* Of a program whose delays add up: by how much the variance grows with the distance, per start, over n of
 * them. */
static double drift_error(const struct nr_activity *a, size_t n, const double *numbers, double period_ns,
                          double *scratch) {
    size_t k = n / 8 > 4 ? n / 8 : 4;
    double near = spread_at(a, n, 1, numbers, period_ns, scratch),
           far = spread_at(a, n, k, numbers, period_ns, scratch);
    double growth = far * far - near * near;
    return n > k && growth > 0 ? sqrt(growth / (double)(k - 1) / (double)n) : 0;
}

/* One start for each whole number (what comes later in the same cycle is a part of the first), at most
 * MOST_FITTED, evenly over all. How many. */
static size_t number_starts(struct nr_activity *a, size_t n, double period_ns, double *numbers) {
    double phase_ns = 0, number = 0;
    int64_t first_ns = a[0].start_ns;
    size_t n_kept = 0, n_starts = 0, step = (n + MOST_FITTED - 1) / MOST_FITTED;
    for (size_t i = 0; i < n; i++) {
        double before_ns = phase_ns, cycles = cycles_to(a, i, first_ns, period_ns, &phase_ns);
        if (i > 0 && cycles < 1) phase_ns = before_ns;
        if (i > 0 && cycles < 1) continue;
        number += cycles;
        if (n_starts++ % step) continue;
        numbers[n_kept] = number;
        a[n_kept++] = a[i];
    }
    return n_kept;
}

/* Starts that others made wait by far are left out: what is late says nothing of the clock. Returns how many
 * stay. */
static size_t keep_punctual(struct nr_activity *a, size_t n, double *numbers, double period_ns,
                            double *scratch) {
    size_t n_kept = 0;
    const struct nr_activity first = a[0];
    for (size_t i = 0; i < n; i++) scratch[i] = left_ns(a, i, numbers, period_ns);
    double middle = median(scratch, n);
    for (size_t i = 0; i < n; i++) scratch[i] = fabs(left_ns(a, i, numbers, period_ns) - middle);
    double most = 4 * 1.4826 * median(scratch, n);
    for (size_t i = 0; i < n; i++) {
        double left = (double)(a[i].start_ns - first.start_ns) - period_ns * numbers[i];
        if (fabs(left - middle) > most) continue;
        numbers[n_kept] = numbers[i];
        a[n_kept++] = a[i];
    }
    for (size_t i = 0; i < n_kept; i++) numbers[i] -= i > 0 ? numbers[0] : 0;
    if (n_kept > 0) numbers[0] = 0;
    return n_kept;
}

/* The slope and half of its 99 % interval; `slopes`: room for n * n / 2. 0 where there is none. */
static double theil_sen(const struct nr_activity *a, size_t n, const double *numbers, double *slopes,
                        double *error_ns) {
    size_t n_slopes = 0;
    double count = (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            slopes[n_slopes++] = (double)(a[j].start_ns - a[i].start_ns) / (numbers[j] - numbers[i]);
    *error_ns = 0;
    if (n_slopes == 0) return 0;
    double slope = median(slopes, n_slopes), middle = (double)n_slopes / 2,
           far = Z_99 * sqrt(count * (count - 1) * (2 * count + 5) / 18) / 2;
    double low = slopes[middle > far ? (size_t)(middle - far) : 0];
    double high = slopes[middle + far < (double)n_slopes ? (size_t)(middle + far) : n_slopes - 1];
    *error_ns = fmax(high - slope, slope - low);
    return slope;
}

/* Sets period and error by the activities that the chosen gap leads to. 0, -1 without memory. */
static int fit_line(struct nr_activity *a, size_t n, double *scratch, struct nr_rhythm *rhythm) {
    double numbers[MOST_FITTED], error_ns;
    n = number_starts(a, n, rhythm->period_ns, numbers);
    double *slopes = malloc((n * n / 2 + 1) * sizeof *slopes);
    if (!slopes) return -1;
    double period_ns = theil_sen(a, n, numbers, slopes, &error_ns);
    if (period_ns > 0) {
        n = keep_punctual(a, n, numbers, period_ns, scratch);
        rhythm->period_ns = theil_sen(a, n, numbers, slopes, &error_ns);
        double drift_ns = Z_99 * drift_error(a, n, numbers, rhythm->period_ns, scratch);
        rhythm->period_error_ns = sqrt(error_ns * error_ns + drift_ns * drift_ns);
    }
    free(slopes);
    return 0;
}

/* The period that a gap leads to. `activities` and `scratch` (2 n) are working memory. */
static struct candidate try_gap(const struct nr_burst *bursts, size_t n, int64_t gap_ns,
                                struct nr_activity *activities, double *scratch) {
    struct candidate c = {.gap_ns = gap_ns};
    size_t n_main = keep_main(activities, nr_activities(bursts, n, gap_ns, 0, activities), scratch);
    if (n_main < MIN_ACTIVITIES) return c;
    for (size_t i = 0; i + 1 < n_main; i++) scratch[i] = distance(activities, i);
    c.period_ns = median(scratch, n_main - 1);
    if (c.period_ns <= 0) return c;
    const double guesses_ns[] = {c.period_ns, scanned(activities, n_main, c.period_ns)};
    for (int i = 0; i < 2; i++) {
        double period_ns = refined(activities, n_main, guesses_ns[i], scratch, scratch + n),
               now = score(activities, n_main, period_ns);
        if (i > 0 && now <= c.regularity) continue;
        c.period_ns = period_ns;
        c.regularity = now;
    }
    return c;
}

static int find_rhythm(const struct nr_burst *bursts, size_t n, int64_t gap_ns,
                       struct nr_activity *activities, double *scratch, struct nr_rhythm *rhythm) {
    static const int steps[] = {1, 2, 5};
    struct candidate candidates[MAX_GAPS], best = {0};
    int n_candidates = 0, n_same = 0;
    double best_regularity = 0, gap_logs = 0;
    int64_t decade_ns = 10000;
    for (int i = 0; i < MAX_GAPS; i++) {
        if (i > 0 && i % 3 == 0) decade_ns *= 10;
        candidates[n_candidates++] =
            try_gap(bursts, n, gap_ns > 0 ? gap_ns : decade_ns * steps[i % 3], activities, scratch);
        best_regularity = fmax(best_regularity, candidates[n_candidates - 1].regularity);
        /* a wider gap joins everything */
        if (gap_ns > 0 || candidates[n_candidates - 1].period_ns <= 0) break;
    }
    *rhythm =
        (struct nr_rhythm){.gap_ns = gap_ns > 0 ? gap_ns : DEFAULT_GAP_NS, .regularity = best_regularity};
    if (best_regularity < REGULAR) return 0;
    for (int i = 0; i < n_candidates; i++)
        if (candidates[i].regularity >= AS_GOOD * best_regularity && candidates[i].period_ns > best.period_ns)
            best = candidates[i];
    for (int i = 0; i < n_candidates; i++) {
        const struct candidate *c = &candidates[i];
        if (fabs(c->period_ns / best.period_ns - 1) > 0.02 || c->regularity < AS_GOOD * best_regularity)
            continue;
        gap_logs += log((double)c->gap_ns);
        n_same++;
    }
    rhythm->period_ns = best.period_ns;
    rhythm->regularity = best.regularity;
    if (gap_ns == 0) rhythm->gap_ns = (int64_t)exp(gap_logs / n_same);
    size_t n_main = keep_main(activities, nr_activities(bursts, n, best.gap_ns, 0, activities), scratch);
    return fit_line(activities, n_main, scratch, rhythm);
}

int nr_rhythm(const struct nr_burst *bursts, size_t n, int64_t gap_ns, struct nr_rhythm *rhythm) {
    struct nr_activity *activities = malloc((n + 1) * sizeof *activities);
    double *scratch = malloc((2 * n + 2) * sizeof *scratch);
    int status = activities && scratch ? find_rhythm(bursts, n, gap_ns, activities, scratch, rhythm) : -1;
    NL_FREE(activities, scratch);
    return status;
}

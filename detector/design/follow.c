#include "detector/design/follow.h"

#define MEMORY       0.995 /* fading of the sums, per off half: about 200 count */
#define PRIOR_HALVES 8     /* weight of "as foretold" at the beginning */
#define LONGEST                                                                                              \
    4 /* an off half counts as at most so many times what was expected: one long pause is no sign of the     \
         next */
#define LEAST_RATIO 0.8
#define MOST_RATIO  1.5
#define OFF_BY                                                                                               \
    0.25 /* halves further than this from their planned length get another number of operations ... */
#define LEAST_FRESH 4 /* ... once so many off halves have been seen with the present one */

#define FIRST_EARLIEST  0.1 /* the first burst begins after this share of a period ... */
#define LAST_END        0.7 /* ... and the last one ends before this share of its own */
#define MOST_LACKING    4
#define LEAST_PERIOD_NS 1e5 /* that the generator takes */
#define MOST_PERIOD_NS  6e11

void nd_follow_init(struct nd_follow *f, int64_t half_ns, double expected_ns) {
    *f = (struct nd_follow){.planned_ns = half_ns,
                            .expected_ns = expected_ns,
                            .took_ns = PRIOR_HALVES * expected_ns,
                            .foretold_ns = PRIOR_HALVES * expected_ns};
}

double nd_follow_typical_ns(const struct nd_follow *f) {
    double sorted_ns[ND_FOLLOW_HALVES];
    int n = f->n_seen < ND_FOLLOW_HALVES ? (int)f->n_seen : ND_FOLLOW_HALVES;
    if (n == 0) return f->expected_ns;
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && sorted_ns[j - 1] > f->recent_ns[i]; j--)
            sorted_ns[j] = sorted_ns[j - 1];
        sorted_ns[j] = f->recent_ns[i];
    }
    return n % 2 ? sorted_ns[n / 2] : (sorted_ns[n / 2 - 1] + sorted_ns[n / 2]) / 2;
}

double nd_follow_mean_ns(const struct nd_follow *f) {
    double ratio = f->took_ns / f->foretold_ns;
    if (ratio < LEAST_RATIO) ratio = LEAST_RATIO;
    if (ratio > MOST_RATIO) ratio = MOST_RATIO;
    return ratio * nd_follow_typical_ns(f);
}

void nd_follow_off(struct nd_follow *f, int64_t wall_ns) {
    double foretold_ns = nd_follow_typical_ns(f), took_ns = (double)wall_ns;
    if (wall_ns <= 0) return;
    f->recent_ns[f->n_seen % ND_FOLLOW_HALVES] = took_ns;
    f->n_seen++;
    f->n_fresh++;
    if (f->n_seen == 1) return; /* what the pilot expected says nothing about the tail */
    if (took_ns > LONGEST * foretold_ns) took_ns = LONGEST * foretold_ns;
    f->took_ns = MEMORY * f->took_ns + took_ns;
    f->foretold_ns = MEMORY * f->foretold_ns + foretold_ns;
}

int64_t nd_follow_operations(const struct nd_follow *f, int64_t n_operations) {
    double mean_ns = nd_follow_mean_ns(f), off_by = mean_ns / (double)f->planned_ns - 1;
    if (f->n_fresh < LEAST_FRESH || (off_by <= OFF_BY && off_by >= -OFF_BY)) return n_operations;
    double n = (double)n_operations * (double)f->planned_ns / mean_ns;
    return n < 1 ? 1 : (int64_t)n;
}

void nd_follow_rescale(struct nd_follow *f, int64_t from, int64_t to) {
    double by = (double)to / (double)from;
    for (int i = 0; i < ND_FOLLOW_HALVES; i++)
        f->recent_ns[i] *= by;
    f->expected_ns *= by;
    f->took_ns *= by;
    f->foretold_ns *= by;
    f->n_fresh = 0;
}

void nd_follow_draw(const struct nd_follow *f, int64_t n, double level_percent, double stretch,
                    int64_t lead_ns, double u, struct nd_bursts *bursts) {
    double mean_ns = nd_follow_mean_ns(f), typical_ns = nd_follow_typical_ns(f),
           period_ns = mean_ns * stretch / (double)n;
    if (period_ns < LEAST_PERIOD_NS) period_ns = LEAST_PERIOD_NS;
    if (period_ns > MOST_PERIOD_NS) period_ns = MOST_PERIOD_NS;
    double burst_ns = period_ns * level_percent / 100;
    /* most halves are a little shorter than the mean, which a few long ones raise */
    double safe_ns = typical_ns < mean_ns ? period_ns * typical_ns / mean_ns : period_ns;
    double earliest_ns = FIRST_EARLIEST * safe_ns, latest_ns = LAST_END * safe_ns - burst_ns;
    if (latest_ns < earliest_ns) earliest_ns = latest_ns = burst_ns < safe_ns ? (safe_ns - burst_ns) / 4 : 0;
    *bursts = (struct nd_bursts){.n = n,
                                 .first_ns = lead_ns + (int64_t)(earliest_ns + u * (latest_ns - earliest_ns)),
                                 .period_ns = (int64_t)period_ns,
                                 .burst_ns = (int64_t)burst_ns};
}

double nd_follow_stretch(double share) { return share >= 0.75 ? 4 : 1 / (1 - share); }

double nd_ledger_extra_ns(const struct nd_ledger *l, double dose_ns) {
    double lacking_ns = l->asked_ns - l->delivered_ns - l->owed_ns;
    return lacking_ns > dose_ns ? dose_ns : lacking_ns < -dose_ns ? -dose_ns : lacking_ns;
}

void nd_ledger_half(struct nd_ledger *l, double dose_ns, double delivered_ns) {
    l->asked_ns += dose_ns;
    l->delivered_ns += delivered_ns;
    double most_ns = MOST_LACKING * dose_ns + (l->owed_ns > 0 ? l->owed_ns : 0);
    if (l->asked_ns - l->delivered_ns > most_ns) l->asked_ns = l->delivered_ns + most_ns;
}

#include "detector/starts/self_test.h"

/* Good enough: what a study of microseconds needs. The residual of the clocks is allowed on top, because no start can be better. */
#define MOST_MEDIAN_NS 200 /* of the overshoot, and of an operation that takes no time */
#define MOST_LATE_SHARE 0.05
#define MOST_ERROR_SHARE 0.01 /* of the time of waitpattern-up */

int64_t nd_self_test_expected_ns(const char *operation, int n_ranks) {
    if (strcmp(operation, "waitpattern-up") == 0) return (int64_t)n_ranks * 1000;
    if (strcmp(operation, "waitpattern-null") == 0 || strcmp(operation, "empty") == 0) return 0;
    return -1;
}

static void print_expected(FILE *out, int64_t expected_ns) {
    if (expected_ns < 0) fprintf(out, " %10s", "-");
    else fprintf(out, " %10.3f", (double)expected_ns * 1e-3);
}

/* Says what is wrong with one operation; returns whether nothing is. */
static int judge_one(FILE *out, double residual_ns, const char *name, double late_share, int64_t p50_ns,
                     int64_t median_ns, int64_t expected_ns) {
    int is_good = 1;
    double most_ns = MOST_MEDIAN_NS + residual_ns;
    if ((double)p50_ns > most_ns) {
        fprintf(out, "not good: %s: median overshoot %.3f us, more than %.3f us\n", name, (double)p50_ns * 1e-3, most_ns * 1e-3);
        is_good = 0;
    }
    if (late_share > MOST_LATE_SHARE) {
        fprintf(out, "not good: %s: %.2g %% of the starts were late, more than %g %%\n", name, 100 * late_share, 100 * MOST_LATE_SHARE);
        is_good = 0;
    }
    double error_ns = (double)llabs(median_ns - expected_ns), allowed_ns = MOST_ERROR_SHARE * (double)expected_ns + most_ns;
    if (expected_ns >= 0 && error_ns > allowed_ns) {
        fprintf(out, "not good: %s took %.3f us at the median instead of %.3f us\n", name, (double)median_ns * 1e-3,
                (double)expected_ns * 1e-3);
        is_good = 0;
    }
    return is_good;
}

int nd_self_test_judge(FILE *out, const struct nd_options *o, const struct nd_starter *s, const struct nl_hist *measures, int n_arms) {
    double residual_ns = s->sync.residual_ns;
    int is_good = 1;
    fprintf(out, "starts: %s on %s, %d ranks on %d node%s, residual of the clocks %.0f ns, late above %.3g us\n", o->start.mode->name,
            s->clock.kind->name, s->team->n_ranks, s->team->n_nodes, s->team->n_nodes == 1 ? "" : "s", residual_ns,
            (double)s->late_bound_ns * 1e-3);
    fprintf(out, "%-25s %9s %7s %9s %9s %9s %10s %10s\n", "operation", "starts", "late %", "over p50", "p99", "max us", "median us",
            "expected");
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < o->n_configs; i++) {
            const struct nl_hist *m = &measures[(size_t)(i * n_arms) * ND_N_MEASURES];
            int64_t n = (int64_t)nl_hist_total(&m[ND_MEASURE_GLOBAL]), n_on_time = (int64_t)nl_hist_total(&m[ND_MEASURE_ON_TIME]);
            int64_t p50_ns = nl_hist_quantile(&m[ND_MEASURE_OVERSHOOT], 0.5), median_ns = nl_hist_quantile(&m[ND_MEASURE_GLOBAL], 0.5);
            int64_t expected_ns = nd_self_test_expected_ns(o->configs[i].name, s->team->n_ranks);
            double late_share = n > 0 ? (double)(n - n_on_time) / (double)n : 1;
            if (pass == 1) {
                is_good &= judge_one(out, residual_ns, o->configs[i].name, late_share, p50_ns, median_ns, expected_ns);
                continue;
            }
            fprintf(out, "%-25s %9lld %7.3g %9.3f %9.3f %9.3f %10.3f", o->configs[i].name, (long long)n, 100 * late_share,
                    (double)p50_ns * 1e-3, (double)nl_hist_quantile(&m[ND_MEASURE_OVERSHOOT], 0.99) * 1e-3,
                    (double)nl_hist_max(&m[ND_MEASURE_OVERSHOOT]) * 1e-3, (double)median_ns * 1e-3);
            print_expected(out, expected_ns);
            fputc('\n', out);
        }
    fprintf(out, "start synchronisation is %s\n", is_good ? "good enough" : "NOT good enough");
    return is_good;
}

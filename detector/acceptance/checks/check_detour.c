#include "detector/acceptance/scanning.h"

static void add_figures(struct nx_run *r, const struct nx_scan *s, const struct nx_row *base) {
    double looked_ns = (double)s->looked_ns;
    nx_put(r, base, "lost", "percent", 100. * (double)s->lost_ns / looked_ns, s->n_detours);
    nx_put(r, base, "detours", "per_s", 1e9 * (double)s->n_detours / looked_ns, s->n_detours);
    nx_put(r, base, "longest", "ns", (double)s->longest_ns, s->n_detours);
    nx_put(r, base, "base", "ns", s->base_ns, s->n_turns);
}

static const struct nx_scanning detours = {
    .scan = nx_scan_detours, .metric = "detour", .keeps_detours = 1, .add = add_figures};

static int open_detour(struct nx_run *r, struct nx_task *t) { return nx_scanning_open(r, t, &detours); }

static const struct {
    const char *metric;
    double q;
} quantiles[] = {{"p50", 0.5},     {"p90", 0.9},       {"p99", 0.99},
                 {"p99.9", 0.999}, {"p99.99", 0.9999}, {"p99.999", 0.99999}};

/* Quantiles of the detours of all repetitions: one alone has few. */
static void finish_detour(struct nx_run *r, struct nx_task *t) {
    for (int i = 0; i < r->n_hists; i++) {
        const struct nx_hist *h = r->hists[i];
        int64_t n = (int64_t)nl_hist_total(&h->hist);
        if (strcmp(h->name.check, t->check->name) != 0 || n == 0) continue;
        struct nx_row row = nx_row(h->name.variant);
        row.rank = r->team.rank;
        row.cpu = h->name.cpu;
        for (size_t k = 0; k < sizeof quantiles / sizeof *quantiles; k++)
            nx_put(r, &row, quantiles[k].metric, "ns", (double)nl_hist_quantile(&h->hist, quantiles[k].q), n);
    }
}

const struct nx_check nx_check_detour = {
    .name = "detour",
    .help = "interruptions of a tight loop on every CPU, all CPUs at once and one at a time: share of time "
            "lost, number per second, "
            "quantiles, longest",
    .unit = "percent",
    .least_ranks = 1,
    .quick_share = 9,
    .full_share = 20,
    .open = open_detour,
    .measure = nx_scanning_measure,
    .finish = finish_detour,
    .state_bytes = sizeof(struct nx_scanning),
    .close = nx_scanning_close,
};

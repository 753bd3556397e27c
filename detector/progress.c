#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nl_clock.h"

#define LINE_EVERY_NS INT64_C(2000000000)
static const double z_alpha = 2.3263, z_power = 1.6449; /* alpha 0.01 one-sided, power 0.95 */

/* Running mean and variance (Welford 1962). */
struct moments {
    int64_t n;
    double mean, m2;
};

struct nd_progress {
    const struct nd_options *options;
    int64_t n_halves, n_done;
    int64_t start_ns, last_line_ns;
    int shows, redraws;
    int n_arms;
    double *current;       /* n_configs x n_arms: values of the pair in progress, NaN: not yet */
    struct moments *pairs; /* n_configs x n_levels: log ratios */
};

struct nd_progress *nd_progress_open(const struct nd_options *o, int64_t n_halves) {
    struct nd_progress *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->options = o;
    p->n_halves = n_halves;
    p->n_arms = o->n_arms + 1;
    p->current = calloc((size_t)(o->n_configs * p->n_arms), sizeof *p->current);
    p->pairs = calloc((size_t)(o->n_configs * p->n_arms), sizeof *p->pairs);
    if (!p->current || !p->pairs) {
        nd_progress_close(p);
        return NULL;
    }
    p->redraws = isatty(STDERR_FILENO);
    p->shows = o->progress == ND_ON || (o->progress == ND_AUTO && p->redraws);
    p->start_ns = p->last_line_ns = nl_mono_ns();
    return p;
}

static void add_pair(struct moments *m, double d) {
    double delta = d - m->mean;
    m->n++;
    m->mean += delta / (double)m->n;
    m->m2 += delta * (d - m->mean);
}

static void take_half(struct nd_progress *p, const struct nd_half *h) {
    double *now = p->current + h->step.config * p->n_arms;
    struct moments *pairs = p->pairs + h->step.config * p->n_arms;
    int arm = h->step.level + 1; /* ND_OFF is -1 */
    if (h->step.order == 0)
        for (int i = 0; i < p->n_arms; i++) now[i] = NAN;
    now[arm] = nd_channels[0].value(h);
    for (int i = 1; i < p->n_arms; i++)
        if ((i == arm || arm == 0) && !isnan(now[0]) && !isnan(now[i])) add_pair(&pairs[i], now[i] - now[0]);
}

double nd_progress_limit_percent(const struct nd_progress *p, int config) {
    double worst = -1;
    for (int i = 1; i < p->n_arms; i++) {
        const struct moments *m = &p->pairs[config * p->n_arms + i];
        if (m->n < 2) return -1;
        double limit = (z_alpha + z_power) * sqrt(m->m2 / (double)(m->n - 1) / (double)m->n);
        if (limit > worst) worst = limit;
    }
    return worst < 0 ? -1 : 100 * expm1(worst);
}

static void print_line(const struct nd_progress *p, int64_t now_ns) {
    char text[512];
    double share = (double)p->n_done / (double)p->n_halves;
    double left_s = (double)(now_ns - p->start_ns) * 1e-9 * (1 - share) / share;
    int n = snprintf(text, sizeof text, "noiselab-detect: %3.0f %%, %.0f s left", 100 * share, left_s);
    const char *before = "; detection limit (time) so far: ";
    for (int i = 0; i < p->options->n_configs && n < 400; i++) {
        double limit = nd_progress_limit_percent(p, i);
        if (limit < 0) continue;
        const struct nd_config *c = &p->options->configs[i];
        char bytes[32] = "";
        if (c->bytes) snprintf(bytes, sizeof bytes, " %lld B", (long long)c->bytes);
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s%s %.2g %%", before, c->op->name, bytes, limit);
        before = ", ";
    }
    fprintf(stderr, p->redraws ? "\r\033[K%s" : "%s\n", text);
}

void nd_progress_half(struct nd_progress *p, const struct nd_half *h) {
    p->n_done++;
    if (p->n_arms > 1) take_half(p, h);
    int64_t now_ns = nl_mono_ns();
    if (!p->shows || now_ns - p->last_line_ns < LINE_EVERY_NS) return;
    p->last_line_ns = now_ns;
    print_line(p, now_ns);
}

void nd_progress_close(struct nd_progress *p) {
    if (!p) return;
    if (p->shows && p->redraws && p->n_done) fputc('\n', stderr);
    free(p->current);
    free(p->pairs);
    free(p);
}

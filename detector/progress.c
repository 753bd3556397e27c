#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nl_clock.h"
#include "pairs.h"

#define LINE_EVERY_NS INT64_C(2000000000)
static const double z_alpha = 2.3263, z_power = 1.6449; /* alpha 0.01 one-sided, power 0.95 */

struct nd_progress {
    const struct nd_options *options;
    int64_t n_halves, n_done;
    int64_t start_ns, last_line_ns;
    int64_t limit_ns; /* that the run may take; 0: as long as it takes */
    int shows, redraws;
    int n_arms;
    struct nd_pairs *pairs;
    char look[96]; /* what the last look said */
};

struct nd_progress *nd_progress_open(const struct nd_options *o, int64_t n_halves) {
    struct nd_progress *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->options = o;
    p->n_halves = n_halves;
    p->n_arms = o->n_arms + 1;
    p->pairs = nd_pairs_open(o->n_configs, p->n_arms);
    if (!p->pairs) {
        nd_progress_close(p);
        return NULL;
    }
    p->redraws = isatty(STDERR_FILENO);
    p->shows = o->progress == ND_ON || (o->progress == ND_AUTO && p->redraws);
    /* switching an agent takes what it takes */
    p->limit_ns = nd_options_has_agent(o) ? 0 : nd_options_limit_ns(o);
    nd_progress_begin(p);
    return p;
}

void nd_progress_begin(struct nd_progress *p) { p->start_ns = p->last_line_ns = nl_mono_ns(); }

double nd_progress_share(const struct nd_progress *p, int64_t elapsed_ns) {
    double by_halves = (double)p->n_done / (double)p->n_halves;
    double by_time = p->limit_ns > 0 ? (double)elapsed_ns / (double)p->limit_ns : 0;
    return fmin(1, fmax(by_halves, by_time));
}

double nd_progress_limit_percent(const struct nd_progress *p, int config) {
    double worst = -1;
    for (int i = 1; i < p->n_arms; i++) {
        const struct nd_moments *m = nd_pairs_of(p->pairs, config, i);
        if (m->n < 2) return -1;
        double limit = (z_alpha + z_power) * sqrt(m->m2 / (double)(m->n - 1) / (double)m->n);
        if (limit > worst) worst = limit;
    }
    return worst < 0 ? -1 : 100 * expm1(worst);
}

static void print_line(const struct nd_progress *p, int64_t now_ns) {
    char text[512];
    double share = nd_progress_share(p, now_ns - p->start_ns);
    double left_s = (double)(now_ns - p->start_ns) * 1e-9 * (1 - share) / share;
    int n = snprintf(text, sizeof text, "noiselab-detect: %3.0f %%, %s%.0f s left%s", 100 * share, p->options->sequential.stops ? "at most " : "", left_s, p->look);
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
    if (p->n_arms > 1) nd_pairs_half(p->pairs, h->step.config, &h->step, nd_channels[0].value(h));
    int64_t now_ns = nl_mono_ns();
    if (!p->shows || now_ns - p->last_line_ns < LINE_EVERY_NS) return;
    p->last_line_ns = now_ns;
    print_line(p, now_ns);
}

void nd_progress_look(struct nd_progress *p, int look, int n_decided, int n_cells) {
    snprintf(p->look, sizeof p->look, "; look %d of %d: %d of %d decided", look, p->options->sequential.n_looks, n_decided, n_cells);
}

void nd_progress_close(struct nd_progress *p) {
    if (!p) return;
    if (p->shows && p->redraws && p->n_done) fputc('\n', stderr);
    nd_pairs_close(p->pairs);
    free(p);
}

#include "detector/record/record.h"
#include "common/base/nl_progress.h"
#include "detector/halves/half_sum.h"
#include "detector/design/schedule.h"

static const double tail = 0.01; /* on either side of the interval */
enum { LEAST_PAIRS = 7 };        /* fewer are no verdict at that level, and their interval is no news */

struct nd_progress {
    const struct nd_options *options;
    struct nl_progress lines;
    int64_t n_halves, n_done;
    int64_t limit_ns; /* that the run may take; 0: as long as it takes */
    int n_arms;
    int arm_shown; /* in the last line; the next one shows the one before it */
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
    nl_progress_open(&p->lines, o->progress);
    /* switching an agent takes what it takes */
    p->limit_ns = nd_options_has_agent(o) && !o->design->has_stretches ? 0 : nd_options_limit_ns(o);
    nd_progress_begin(p);
    return p;
}

void nd_progress_begin(struct nd_progress *p) { nl_progress_begin(&p->lines, nl_mono_ns()); }

/* Share of the run that is behind, 0..1: by halves, or by the time that it may take, whichever is nearer to the end. */
static double share_behind(const struct nd_progress *p, int64_t elapsed_ns) {
    double by_halves = (double)p->n_done / (double)p->n_halves;
    double by_time = p->limit_ns > 0 ? (double)elapsed_ns / (double)p->limit_ns : 0;
    return fmin(1, fmax(by_halves, by_time));
}

/* What an arm is called in a line: "1 %", "spin 1 %", "collectd". */
static void name_arm(const struct nd_options *o, int arm, char *name, size_t size) {
    struct nd_arm_words words;
    nd_arm_tell(o, arm - 1, &words);
    if (!words.has_level) snprintf(name, size, "%s", words.kind);
    else snprintf(name, size, "%s%s%g %%", o->n_kinds > 1 ? words.kind : "", o->n_kinds > 1 ? " " : "", words.level_percent);
}

/* A log ratio in percent, two digits or whole, of at most three. Returns text. */
static const char *percent(double log_ratio, char *text, size_t size) {
    double value = 100 * expm1(log_ratio);
    if (value >= 999.5) snprintf(text, size, "over +999");
    else snprintf(text, size, fabs(value) < 99.5 ? "%+.2g" : "%+.0f", value);
    return text;
}

/* The slowdown of one operation so far; the length of the text, 0 where there are fewer pairs than a verdict needs. */
static int tell_cell(const struct nd_progress *p, int config, int arm, char *text, size_t size) {
    const struct nd_config *c = &p->options->configs[config];
    const struct nd_moments *m = nd_pairs_of(p->pairs, config, arm);
    char bytes[32] = "", mean[32], low[32], high[32];
    if (m->n < LEAST_PAIRS) return 0;
    double half_width = nd_student_quantile(tail, (double)(m->n - 1)) * sqrt(m->m2 / (double)(m->n - 1) / (double)m->n);
    if (c->bytes && p->options->n_bytes > 1) snprintf(bytes, sizeof bytes, " %lld B", (long long)c->bytes);
    return snprintf(text, size, "%s%s %s %% [%s, %s]", c->name, bytes, percent(m->mean, mean, sizeof mean),
                    percent(m->mean - half_width, low, sizeof low), percent(m->mean + half_width, high, sizeof high));
}

const char *nd_progress_tell_arm(const struct nd_progress *p, int arm, char *text, size_t size) {
    char name[64], before[96], cell[128];
    size_t used = 0;
    text[0] = '\0';
    name_arm(p->options, arm, name, sizeof name);
    snprintf(before, sizeof before, "; so far at %s: ", name);
    for (int i = 0; i < p->options->n_configs; i++) {
        int n = tell_cell(p, i, arm, cell, sizeof cell);
        if (n == 0) continue;
        if (used + strlen(before) + (size_t)n >= size) break; /* whole figures or none */
        used += (size_t)snprintf(text + used, size - used, "%s%s", before, cell);
        snprintf(before, sizeof before, ", ");
    }
    return text;
}

/* The arms take turns, the last one (the highest level, or the agent) first. */
static int next_arm(struct nd_progress *p) {
    p->arm_shown = p->arm_shown > 1 ? p->arm_shown - 1 : p->n_arms - 1;
    return p->arm_shown;
}

static void show_line(struct nd_progress *p, int64_t now_ns, double share) {
    static const char program[] = "noiselab-detect";
    char text[512], estimates[320] = "";
    int n = nl_progress_tell(&p->lines, now_ns, share, p->options->sequential.stops ? "at most " : "", text, sizeof text);
    n += snprintf(text + n, sizeof text - (size_t)n, "%s", p->look);
    int room = p->lines.width - n - (int)sizeof program - 1;
    if (p->n_arms > 1 && room > 0)
        nd_progress_tell_arm(p, next_arm(p), estimates, (size_t)room < sizeof estimates ? (size_t)room + 1 : sizeof estimates);
    snprintf(text + n, sizeof text - (size_t)n, "%s", estimates);
    nl_progress_show(&p->lines, now_ns, share, program, text);
}

void nd_progress_half(struct nd_progress *p, const struct nd_half *h) {
    p->n_done++;
    if (p->n_arms > 1) nd_pairs_half(p->pairs, h->step.config, &h->step, nd_channels[0].value(h));
    nd_progress_tick(p, nl_mono_ns());
}

int64_t nd_progress_tick(struct nd_progress *p, int64_t now_ns) {
    double share = share_behind(p, now_ns - p->lines.begin_ns);
    if (nl_progress_is_due(&p->lines, now_ns, share)) show_line(p, now_ns, share);
    return nl_progress_next_ns(&p->lines);
}

void nd_progress_look(struct nd_progress *p, int look, int n_decided, int n_cells) {
    snprintf(p->look, sizeof p->look, "; look %d of %d: %d of %d decided", look, p->options->sequential.n_looks, n_decided, n_cells);
}

void nd_progress_close(struct nd_progress *p) {
    if (!p) return;
    nl_progress_close(&p->lines);
    nd_pairs_close(p->pairs);
    free(p);
}

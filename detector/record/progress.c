#include "detector/record/progress.h"
#include "detector/record/record.h"
#include "common/base/nl_progress.h"

struct nd_progress {
    const struct nd_options *options;
    struct nl_progress lines;
    int64_t n_halves, n_done;
    int64_t limit_ns; /* that the run may take; 0: as long as it takes */
    char look[96];    /* what the last look said */
};

struct nd_progress *nd_progress_open(const struct nd_options *o, int64_t n_halves) {
    struct nd_progress *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->options = o;
    p->n_halves = n_halves;
    nl_progress_open(&p->lines, o->progress);
    /* switching an agent takes what it takes */
    p->limit_ns = nd_options_has_agent(o) && !o->design->has_stretches ? 0 : nd_options_limit_ns(o);
    nd_progress_begin(p);
    return p;
}

void nd_progress_begin(struct nd_progress *p) { nl_progress_begin(&p->lines, nl_mono_ns()); }

/* Share of the run that is behind, 0..1: by halves, or by the time that it may take, whichever is nearer to
 * the end. */
static double share_behind(const struct nd_progress *p, int64_t elapsed_ns) {
    double by_halves = (double)p->n_done / (double)p->n_halves;
    double by_time = p->limit_ns > 0 ? (double)elapsed_ns / (double)p->limit_ns : 0;
    return fmin(1, fmax(by_halves, by_time));
}

static void show_line(struct nd_progress *p, int64_t now_ns, double share) {
    char text[256];
    int n = nl_progress_tell(&p->lines, now_ns, share, p->options->sequential.stops ? "at most " : "", text,
                             sizeof text);
    snprintf(text + n, sizeof text - (size_t)n, "%s", p->look);
    nl_progress_show(&p->lines, now_ns, share, "noiselab-detect", text);
}

void nd_progress_half(struct nd_progress *p) {
    p->n_done++;
    nd_progress_tick(p, nl_mono_ns());
}

int64_t nd_progress_tick(struct nd_progress *p, int64_t now_ns) {
    double share = share_behind(p, now_ns - p->lines.begin_ns);
    if (nl_progress_is_due(&p->lines, now_ns, share)) show_line(p, now_ns, share);
    return nl_progress_next_ns(&p->lines);
}

void nd_progress_look(struct nd_progress *p, int look, int n_decided, int n_cells) {
    snprintf(p->look, sizeof p->look, "; look %d of %d: %d of %d decided", look,
             p->options->sequential.n_looks, n_decided, n_cells);
}

void nd_progress_close(struct nd_progress *p) {
    if (!p) return;
    nl_progress_close(&p->lines);
    free(p);
}

#include "noisegen/patterns/pattern.h"
#include "common/base/nl_rng.h"
#include "common/base/nl_units.h"

/* Longer rounds would leave the range of the clock; no option takes a longer time either. */
#define MAX_ROUND_NS (10. * 366 * 86400 * 1e9)

/* Streams of the seed that no period of a jittered plan uses. */
#define POISSON_STREAM (UINT64_C(1) << 62)

/* Everything behind a source; each pattern uses its own part. */
struct state {
    double period_ns, share;
    double due_ns;       /* of the last burst */
    struct nl_rng rng;   /* poisson */
    int64_t n_groups, i; /* bursts: groups begun, bursts of this group done */
    int64_t group;
    double spacing_ns;
    struct nl_trace_reader reader; /* replay */
    const int *kind_of_row;
    double scale_period, scale_burst, loop_ns;
    int is_looped, trace_cpu;
    int64_t n_loops;
};

static struct ng_source *new_source(const struct ng_pattern_request *r,
                                    int (*next)(void *, struct ng_burst *)) {
    struct ng_source *source = calloc(1, sizeof *source);
    struct state *s = calloc(1, sizeof *s);
    if (!source || !s) {
        NL_FREE(source, s);
        return NULL;
    }
    s->period_ns = (double)r->period_ns;
    s->share = r->level * (double)r->period_ns;
    source->context = s;
    source->next = next;
    return source;
}

void ng_source_free(struct ng_source *source) {
    if (!source) return;
    NL_FREE(source->context, source);
}

/* ---- poisson ---- */

static int next_poisson(void *context, struct ng_burst *burst) {
    struct state *s = context;
    s->due_ns -= log(1 - nl_rng_uniform(&s->rng)) * s->period_ns;
    *burst = (struct ng_burst){.due_ns = (int64_t)s->due_ns, .share = s->share, .kind = -1};
    return 1;
}

static struct ng_source *open_poisson(const struct ng_pattern_request *r) {
    struct ng_source *source = new_source(r, next_poisson);
    if (source) nl_rng_init(&((struct state *)source->context)->rng, r->shape->seed, POISSON_STREAM);
    return source;
}

/* ---- bursts of bursts ---- */

static double spacing_ns(const struct ng_pattern_request *r) {
    return r->shape->spacing_ns > 0 ? (double)r->shape->spacing_ns : (double)r->period_ns / 10;
}

static int next_of_group(void *context, struct ng_burst *burst) {
    struct state *s = context;
    double begin_ns = (double)s->n_groups * (double)s->group * s->period_ns;
    *burst = (struct ng_burst){
        .due_ns = (int64_t)(begin_ns + (double)s->i * s->spacing_ns), .share = s->share, .kind = -1};
    if (++s->i < s->group) return 1;
    s->i = 0;
    s->n_groups++;
    return 1;
}

static struct ng_source *open_bursts(const struct ng_pattern_request *r) {
    struct ng_source *source = new_source(r, next_of_group);
    if (!source) return NULL;
    struct state *s = source->context;
    s->group = r->shape->group;
    s->spacing_ns = spacing_ns(r);
    return source;
}

static const char *problem_of_bursts(const struct ng_pattern_request *r, char *buf, size_t size) {
    double group_ns = (double)r->shape->group * (double)r->period_ns,
           burst_ns = r->is_counted ? 0 : r->level * (double)r->period_ns;
    char spacing[32], burst[32], group[32];
    nl_format_duration((int64_t)spacing_ns(r), spacing, sizeof spacing);
    nl_format_duration((int64_t)burst_ns, burst, sizeof burst);
    nl_format_duration((int64_t)group_ns, group, sizeof group);
    if (spacing_ns(r) <= burst_ns)
        snprintf(buf, size, "--pattern: spacing: bursts of %s every %s would be one long burst", burst,
                 spacing);
    else if ((double)(r->shape->group - 1) * spacing_ns(r) + burst_ns > group_ns)
        snprintf(buf, size, "--pattern: spacing: %lld bursts every %s do not fit into %s (group x --period)",
                 (long long)r->shape->group, spacing, group);
    else
        return NULL;
    return buf;
}

/* ---- replay ---- */

static int next_of_trace(void *context, struct ng_burst *burst) {
    struct state *s = context;
    struct nl_trace_line line;
    for (;;) {
        int got = nl_trace_next(&s->reader, &line);
        if (got < 0) return -1;
        if (got == 0) {
            if (!s->is_looped) return 0;
            nl_trace_rewind(&s->reader);
            s->n_loops++;
            continue;
        }
        if (s->trace_cpu >= 0 && line.cpu_index != s->trace_cpu) continue;
        /* the difference first: a start by the wall clock has more digits than a double */
        double at_ns =
            ((double)(line.start_ns - s->reader.trace->first_ns) + (double)s->n_loops * s->loop_ns) *
            s->scale_period;
        *burst = (struct ng_burst){
            .due_ns = (int64_t)at_ns,
            .share = (double)line.duration_ns * s->scale_burst,
            .kind = s->kind_of_row && line.kind_row >= 0 ? s->kind_of_row[line.kind_row] : -1};
        return 1;
    }
}

static struct ng_source *open_replay(const struct ng_pattern_request *r) {
    struct ng_source *source = new_source(r, next_of_trace);
    if (!source) return NULL;
    struct state *s = source->context;
    nl_trace_open(&s->reader, r->trace);
    s->kind_of_row = r->kind_of_row;
    s->scale_period = r->shape->scale_period;
    s->scale_burst = r->shape->scale_burst;
    s->loop_ns = (double)r->trace->span_ns;
    s->is_looped = r->shape->is_looped;
    s->trace_cpu = r->trace_cpu;
    return source;
}

enum {
    LEAST_DISTANCE_NS = 200
}; /* reading a burst takes about half of that, and nothing would ever be caught up with */

static const char *problem_of_replay(const struct ng_pattern_request *r, char *buf, size_t size) {
    const struct nl_trace *t = r->trace;
    if (r->is_counted) return "--rate: a trace says how long its bursts are (see scale-burst)";
    if ((double)t->span_ns * r->shape->scale_period > MAX_ROUND_NS) {
        snprintf(buf, size, "--replay: one round of '%s' would last longer than ten years (see scale-period)",
                 t->path);
        return buf;
    }
    double distance_ns = (double)t->span_ns * r->shape->scale_period / (double)t->n_bursts;
    /* one burst alone is over when it is done */
    if (distance_ns < LEAST_DISTANCE_NS && (t->n_bursts > 1 || (r->shape->is_looped && t->has_span))) {
        snprintf(buf, size,
                 "--replay: the bursts of '%s' begin %.3g ns apart on average, wanted %d ns or more (see "
                 "scale-period)",
                 t->path, distance_ns, LEAST_DISTANCE_NS);
        return buf;
    }
    if (!r->shape->is_looped || t->has_span || t->n_bursts > 1) return NULL;
    snprintf(
        buf, size,
        "--pattern: loop: '%s' holds one burst, so how long one round is must be said in it ('# span_ns: N')",
        t->path);
    return buf;
}

/* ---- the table ---- */

static const struct ng_pattern periodic = {.name = "periodic",
                                           .help = "one burst at the begin of every period"};

static const struct ng_pattern jittered = {.name = "jittered",
                                           .help = "one burst at a random place within every period",
                                           .uses = NG_SHAPE_JITTER | NG_SHAPE_SEED};

static const struct ng_pattern poisson = {
    .name = "poisson",
    .help = "bursts at random times, one per period on average, independent of each other",
    .uses = NG_SHAPE_SEED,
    .is_continued = 1,
    .open = open_poisson};

static const struct ng_pattern bursts = {
    .name = "bursts",
    .help = "groups of bursts that follow each other quickly, then a long pause",
    .uses = NG_SHAPE_GROUP,
    .is_continued = 1,
    .problem = problem_of_bursts,
    .open = open_bursts};

static const struct ng_pattern replay = {.name = "replay",
                                         .help = "the bursts of a recorded trace (--replay FILE)",
                                         .uses = NG_SHAPE_TRACE,
                                         .is_continued = 1,
                                         .problem = problem_of_replay,
                                         .open = open_replay};

const struct ng_pattern *const ng_patterns[] = {&periodic, &jittered, &poisson, &bursts, &replay, NULL};

const struct ng_pattern *ng_pattern_find(const char *name) { return nl_find(ng_patterns, name); }

void ng_pattern_fill(const struct ng_pattern *pattern, const struct ng_pattern_request *r,
                     struct ng_source *source, struct ng_plan *plan) {
    plan->period_ns = r->period_ns;
    plan->level = r->level;
    plan->is_counted = r->is_counted;
    plan->jitter = pattern->uses & NG_SHAPE_JITTER ? r->shape->jitter : 0;
    plan->random_seed = r->shape->seed;
    plan->source = source;
}

void ng_source_skip(const struct ng_pattern *pattern, const struct ng_pattern_request *r,
                    struct ng_source *source, double share) {
    double repeat_ns = 0;
    if (pattern->uses & NG_SHAPE_GROUP) repeat_ns = (double)r->shape->group * (double)r->period_ns;
    if (pattern->uses & NG_SHAPE_TRACE) repeat_ns = (double)r->trace->span_ns * r->shape->scale_period;
    if (repeat_ns <= 0 || share <= 0) return;
    source->position_ns = (int64_t)(share * repeat_ns);
    struct ng_burst burst;
    int got;
    while ((got = source->next(source->context, &burst)) > 0) {
        if (burst.due_ns < source->position_ns) continue;
        source->ring[0] = burst;
        source->n_read = 1;
        return;
    }
    source->is_ended = 1;
    source->has_failed = got < 0;
}

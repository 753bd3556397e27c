/* The table of patterns: when bursts come. Periodic and jittered bursts follow a formula (pace.h); the others
 * come from a source. */
#pragma once

#include "noisegen/patterns/pace.h"
#include "common/trace/nl_trace.h"

/* Which options a pattern listens to; any other pattern-specific option is refused for it. */
enum {
    NG_SHAPE_JITTER = 1, /* jitter */
    NG_SHAPE_GROUP = 2,  /* group, spacing */
    NG_SHAPE_TRACE = 4,  /* --replay and its keys */
    NG_SHAPE_SEED = 8    /* --seed */
};

/* The shape of all patterns; each uses its own part. */
struct ng_shape {
    double jitter;       /* share of the room within the period, 0..1 */
    int64_t group;       /* bursts in a group */
    int64_t spacing_ns;  /* from burst to burst within a group; 0: a tenth of the period */
    double scale_period; /* of the times of a trace */
    double scale_burst;  /* of the durations of a trace */
    int is_looped;       /* the trace begins again after its end */
    uint64_t seed;
};

/* What a pattern is asked for. */
struct ng_pattern_request {
    const struct ng_shape *shape;
    int64_t period_ns;
    double level; /* currency per ns */
    int is_counted;
    const struct nl_trace *trace; /* for replay; NULL otherwise */
    int trace_cpu;                /* index of the trace's CPU to replay, -1: lines of all CPUs */
    const int
        *kind_of_row; /* replay: for each row of ng_kinds the index of its load; NULL: bursts name none */
};

struct ng_pattern {
    const char *name; /* Required. As in --pattern. */
    const char *help; /* Required. One line. */
    unsigned uses;    /* NG_SHAPE_... */
    int is_continued; /* 1: under a detector it goes on from half to half; 0: every half begins it anew */

    /* Not required. Why the request cannot be met, NULL when it can. The text may lie in `buf`. */
    const char *(*problem)(const struct ng_pattern_request *request, char *buf, size_t size);

    /* Not required: without it, bursts follow the formula. Makes a source; to be freed by ng_source_free.
     * @return NULL without memory. */
    struct ng_source *(*open)(const struct ng_pattern_request *request);
};

/* The rows, ended by NULL; the first is the default. */
extern const struct ng_pattern *const ng_patterns[];

/* The pattern of that name, NULL when there is none. */
const struct ng_pattern *ng_pattern_find(const char *name);

/* Fills in what the pattern decides of a plan: period, level, jitter, seed, source (as given, may be NULL).
 */
void ng_pattern_fill(const struct ng_pattern *pattern, const struct ng_pattern_request *request,
                     struct ng_source *source, struct ng_plan *plan);

/* Begins the source later: at `share` (0..1) of its repetition, a group or a round of the trace. Reads and
 * forgets what lies before. */
void ng_source_skip(const struct ng_pattern *pattern, const struct ng_pattern_request *request,
                    struct ng_source *source, double share);

/* NULL is fine. */
void ng_source_free(struct ng_source *source);

#include "noisegen/phase.h"
#include "noisegen/gen_options.h"
#include "common/base/nl_rng.h"

#define SECOND_NS    INT64_C(1000000000)
#define PHASE_STREAM (UINT64_C(1) << 61) /* streams of the seed that no pattern uses */

/* After how long the pattern is where it was. */
static int64_t repeat_ns(const struct ng_options *o) {
    const struct ng_pattern *pattern = o->patterns[0];
    if (pattern->uses & NG_SHAPE_GROUP) return o->shape.group * o->period_ns;
    return pattern->open ? SECOND_NS : o->period_ns;
}

/* A number for this node: its place among the nodes, otherwise its name. */
static uint64_t node_number(const struct ng_options *o) {
    char name[256] = "";
    if (o->n_nodes > 0) return (uint64_t)o->node;
    gethostname(name, sizeof name - 1);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *p = name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return hash >> 8;
}

int64_t ng_phase_start_ns(const struct ng_options *o, int64_t monotonic_ns, int64_t realtime_ns) {
    if (o->phase == NG_PHASE_OFFSET) return monotonic_ns + o->phase_ns;
    int64_t repeat = repeat_ns(o);
    int64_t wait_ns = repeat - realtime_ns % repeat;
    if (o->phase == NG_PHASE_STAGGERED) wait_ns += (int64_t)((double)repeat * o->node / o->n_nodes);
    if (o->phase == NG_PHASE_RANDOM) {
        struct nl_rng rng;
        nl_rng_init(&rng, o->shape.seed, PHASE_STREAM + node_number(o));
        wait_ns += (int64_t)((double)repeat * nl_rng_uniform(&rng));
    }
    return monotonic_ns + wait_ns;
}

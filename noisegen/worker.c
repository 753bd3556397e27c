#include "noisegen/worker.h"

void ng_worker_init(struct ng_worker *w, void *owner, const struct ng_options *o, int index, int cpu) {
    memset(w, 0, sizeof *w);
    w->owner = owner;
    w->options = o;
    w->index = index;
    w->cpu = cpu;
    w->trace_cpu = o->trace && o->trace->n_cpus > 0 ? index % o->trace->n_cpus : -1;
    w->stretch.fd = -1;
    w->failed_kind = -1;
    w->cpus.last = -1;
    for (int row = 0; ng_kinds[row]; row++)
        for (int i = 0; i < o->n_kinds; i++)
            if (o->kinds[i] == ng_kinds[row]) w->kind_of_row[row] = i;
}

static int prepare_kinds(struct ng_worker *w, struct nl_place *place) {
    const struct ng_options *o = w->options;
    struct ng_kind_options kind_options = o->kind_options;
    int *cpus = calloc(NG_MAX_CPUS, sizeof *cpus);
    if (!cpus) return nl_say(w->failure, sizeof w->failure, "no memory");
    kind_options.cpu = w->cpu;
    kind_options.cpus = cpus;
    kind_options.n_cpus = nl_place_cpus(place, cpus, NG_MAX_CPUS);
    for (; w->n_loads < o->n_kinds; w->n_loads++) {
        const struct ng_kind *kind = o->kinds[w->n_loads];
        char reason[192] = "";
        void *state = NULL;
        if (ng_kind_open(kind, &kind_options, &state, reason, sizeof reason)) {
            snprintf(w->failure, sizeof w->failure, "--kind: %s on CPU %d: %s", kind->name, w->cpu, reason);
            break;
        }
        w->loads[w->n_loads] = (struct ng_load){
            .work = kind->work, .state = state, .units_per_wake_up = kind->units_per_wake_up};
    }
    free(cpus);
    return w->n_loads < o->n_kinds ? -1 : 0;
}

int ng_worker_set_up(struct ng_worker *w, struct nl_place *place) {
    if (nl_place_pin(place, w->cpu))
        return nl_say(w->failure, sizeof w->failure, "the system refuses to bind to CPU %d", w->cpu);
    ng_machine_be_punctual();
    ng_cpus_note(&w->cpus);
    return prepare_kinds(w, place);
}

double ng_trace_level(const struct nl_trace *t, int trace_cpu) {
    int64_t busy_ns = 0;
    for (int i = 0; i < (t->n_cpus > 0 ? t->n_cpus : 1); i++)
        if (trace_cpu < 0 || trace_cpu == i) busy_ns += t->busy_ns[i];
    return (double)busy_ns / (double)t->span_ns;
}

static int64_t mean_distance_ns(const struct nl_trace *t, int trace_cpu, double scale_period) {
    int64_t n = trace_cpu >= 0 ? t->bursts[trace_cpu] : t->n_bursts;
    double distance_ns = (double)t->span_ns * scale_period / (double)n;
    return distance_ns < 1e6 ? 1000000 : distance_ns > 60e9 ? INT64_C(60000000000) : (int64_t)distance_ns;
}

struct ng_pattern_request ng_worker_request(const struct ng_worker *w, const struct ng_pattern *pattern,
                                            double level, double scale, int64_t period_ns,
                                            struct ng_shape *shape) {
    const struct ng_options *o = w->options;
    *shape = o->shape;
    struct ng_pattern_request r = {.shape = shape,
                                   .period_ns = period_ns,
                                   .level = level,
                                   .is_counted = o->rate_per_s > 0,
                                   .trace_cpu = w->trace_cpu,
                                   .kind_of_row = w->kind_of_row};
    if (!(pattern->uses & NG_SHAPE_TRACE)) return r;
    double recorded = ng_trace_level(o->trace, w->trace_cpu) / shape->scale_period;
    if (scale == 0)
        shape->scale_burst = level / recorded;
    else
        shape->scale_burst *= scale;
    r.trace = o->trace;
    r.level = recorded * shape->scale_burst;
    r.period_ns = mean_distance_ns(o->trace, w->trace_cpu, shape->scale_period);
    return r;
}

int64_t ng_worker_cpu_ns(void *worker) {
    struct ng_worker *w = worker;
    int64_t extra_ns = 0;
    for (int i = 0; i < w->n_loads; i++)
        if (w->options->kinds[i]->extra_cpu_ns)
            extra_ns += w->options->kinds[i]->extra_cpu_ns(w->loads[i].state);
    if (w->page)
        atomic_store_explicit(&w->page->workers[w->index].extra_cpu_ns, extra_ns, memory_order_relaxed);
    return (w->counts_stretches ? ng_stretch_ns(&w->stretch) : nl_thread_cpu_ns()) + extra_ns;
}

void ng_worker_choose_clock(struct ng_worker *w, const struct ng_pattern *pattern) {
    int is_replayed = (pattern->uses & NG_SHAPE_TRACE) != 0;
    if (is_replayed && w->stretch.fd < 0) ng_stretch_open(&w->stretch);
    w->counts_stretches = is_replayed && w->stretch.fd >= 0;
}

void ng_worker_explain(struct ng_worker *w, const struct ng_source *source) {
    if (source && source->has_failed)
        nl_say(w->failure, sizeof w->failure, "--replay: '%.160s' changed or cannot be read any more",
               w->options->trace->path);
    else if (w->failed_kind >= 0) {
        const struct ng_kind *kind = w->options->kinds[w->failed_kind];
        char text[192];
        const char *reason =
            kind->failure ? kind->failure(w->loads[w->failed_kind].state, text, sizeof text) : NULL;
        if (reason)
            snprintf(w->failure, sizeof w->failure, "--kind: %s on CPU %d: %s", kind->name, w->cpu, reason);
    }
    if (!w->failure[0]) snprintf(w->failure, sizeof w->failure, "the load on CPU %d cannot go on", w->cpu);
}

void ng_worker_clean_up(struct ng_worker *w) {
    for (; w->n_loads > 0; w->n_loads--)
        ng_kind_close(w->options->kinds[w->n_loads - 1], w->loads[w->n_loads - 1].state);
    ng_stretch_close(&w->stretch);
    ng_source_free(w->source);
    w->source = NULL;
    for (int i = 0; i < NL_CONTROL_MAX_LEVELS; i++) {
        ng_source_free(w->levels[i].source);
        w->levels[i].source = NULL;
    }
}

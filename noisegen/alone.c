#include "noisegen/alone.h"
#include "noisegen/worker.h"
#include "common/sys/nl_place.h"
#include "common/base/nl_units.h"
#include "noisegen/patterns/pace.h"
#include "noisegen/certificate.h"
#include "noisegen/phase.h"

/* What all threads share. */
struct pool {
    const struct ng_options *options;
    struct nl_place *place;
    struct ng_worker *workers;
    int n_workers;
    int64_t start_ns;
    pthread_barrier_t ready, go;
    _Atomic int n_failed; /* before the start */
};

/* ---- placement ---- */

/* The CPUs of the trace, which must all be allowed here. */
static int place_as_recorded(const struct nl_trace *t, const struct nl_place *place, int *cpus, char *reason,
                             size_t size) {
    char list[256];
    int max = NL_CONTROL_MAX_WORKERS;
    if (t->n_cpus > max) return nl_say(reason, size, "the trace names %d CPUs, more than %d", t->n_cpus, max);
    for (int i = 0; i < t->n_cpus; i++) {
        cpus[i] = t->cpus[i];
        if (nl_place_is_allowed(place, cpus[i])) continue;
        return nl_say(reason, size,
                      "CPU %d of the trace is not among the allowed CPUs (%s): say where with --on", cpus[i],
                      nl_place_list(place, list, sizeof list));
    }
    return t->n_cpus;
}

/* Finds the CPUs to load, out of those that cgroup and binding (taskset, srun) allow. Returns their number,
 * -1 on error. */
static int place(const struct ng_options *o, struct nl_place *place, int *cpus) {
    char reason[512];
    int n = 0;
    nl_place_restrict_to_binding(place);
    if (o->on) {
        n = nl_place_resolve(place, o->on, o->rank_cpus, o->n_ranks, cpus, NL_CONTROL_MAX_WORKERS, reason,
                             sizeof reason);
    } else if (o->trace && o->trace->n_cpus > 0) {
        n = place_as_recorded(o->trace, place, cpus, reason, sizeof reason);
    } else {
        cpus[0] = nl_place_first(place);
        n = 1;
    }
    if (n < 0) return nl_error("--on: %s", reason);
    if (o->on && o->trace && o->trace->n_cpus > 0 && o->trace->n_cpus != n)
        return nl_error("--on: %d CPU%s, but the trace has bursts for %d: as many are needed, in rising "
                        "order of the trace's numbers",
                        n, n == 1 ? "" : "s", o->trace->n_cpus);
    return n;
}

/* ---- the plan of one worker ---- */

static int64_t duration_ns(const struct ng_options *o) {
    if (o->duration_ns > 0) return o->duration_ns;
    return (int64_t)((double)o->trace->span_ns * o->shape.scale_period); /* one round */
}

/* What one CPU is asked for, in the currency of the plan per ns. */
static double level_of(const struct ng_options *o) {
    return o->rate_per_s > 0 ? o->rate_per_s * 1e-9 : o->level_percent / 100;
}

static int make_plan(struct ng_worker *w, int with_source) {
    const struct ng_options *o = w->options;
    const struct ng_pattern *pattern = o->patterns[0];
    struct ng_shape shape;
    char text[512];
    struct ng_pattern_request request = ng_worker_request(w, pattern, level_of(o), 1, o->period_ns, &shape);
    shape.seed += (uint64_t)w->index << 40; /* the CPUs of a node must not all draw the same times */
    const char *problem = pattern->problem ? pattern->problem(&request, text, sizeof text) : NULL;
    if (problem) return nl_error("%s", problem);
    if (o->trace && 100 * request.level > o->duty_cap_percent)
        return nl_error("--replay: the trace loads CPU %d with %.4g %%, which is above the duty cap of %g %% "
                        "(see scale-burst, scale-period)",
                        w->cpu, 100 * request.level, o->duty_cap_percent);
    w->plan = (struct ng_plan){.length_ns = duration_ns(o),
                               .duty_cap = o->duty_cap_percent / 100,
                               .carry_bursts = (double)o->carry_bursts,
                               .is_bounded = 1};
    if (with_source && pattern->open && !(w->source = pattern->open(&request))) return nl_error("no memory");
    ng_pattern_fill(pattern, &request, w->source, &w->plan);
    return 0;
}

/* ---- running ---- */

static int sleep_until(void *context, int64_t deadline_ns) {
    struct ng_worker *w = context;
    int stopped = ng_machine_sleep_until(NULL, deadline_ns);
    ng_cpus_note(&w->cpus);
    return stopped;
}

static void carry_out(struct ng_worker *w) {
    const struct ng_machine machine = {.context = w,
                                       .now_ns = ng_machine_now_ns,
                                       .cpu_ns = ng_worker_cpu_ns,
                                       .sleep_until = sleep_until,
                                       .interrupted = ng_machine_interrupted,
                                       .loads = w->loads};
    const struct ng_run run = {.account = &w->account,
                               .tallies = w->tallies,
                               .wake = &w->wake,
                               .delay = &w->delay,
                               .lateness = &w->lateness,
                               .failed_kind = &w->failed_kind};
    const struct ng_switches before = ng_switches_since(NULL);
    ng_worker_choose_clock(w, w->options->patterns[0]);
    w->end = w->options->kinds[0]->pacing == NG_PACING_PUBLISHED ? ng_run_published(&w->plan, &machine, &run)
                                                                 : ng_run_deadline(&w->plan, &machine, &run);
    int64_t elapsed_ns = nl_mono_ns() - w->plan.start_ns;
    w->switches = ng_switches_since(&before);
    w->elapsed_ns = elapsed_ns > 0 ? elapsed_ns : 0;
    if (w->end != NG_RUN_FAILED) return;
    ng_worker_explain(w, w->source);
    ng_machine_stop(); /* the load is not what was asked for any more: the others end, too */
}

/* Both clocks at one moment: of a few attempts the one that was interrupted least. */
static void read_clocks(int64_t *monotonic_ns, int64_t *realtime_ns) {
    int64_t shortest_ns = INT64_MAX;
    for (int i = 0; i < 16; i++) {
        int64_t before_ns = nl_mono_ns(), real_ns = nl_now_ns(CLOCK_REALTIME),
                took_ns = nl_mono_ns() - before_ns;
        if (took_ns >= shortest_ns) continue;
        shortest_ns = took_ns;
        *monotonic_ns = before_ns + took_ns / 2;
        *realtime_ns = real_ns;
    }
}

/* The life of a worker, on its own thread. All of them start together, or none does. */
static void *run_worker(void *worker) {
    struct ng_worker *w = worker;
    struct pool *pool = w->owner;
    if (ng_worker_set_up(w, pool->place)) atomic_fetch_add(&pool->n_failed, 1);
    pthread_barrier_wait(&pool->ready);
    if (w->index == 0) {
        int64_t monotonic_ns = 0, realtime_ns = 0;
        read_clocks(&monotonic_ns, &realtime_ns);
        pool->start_ns = ng_phase_start_ns(pool->options, monotonic_ns, realtime_ns);
    }
    pthread_barrier_wait(&pool->go);
    if (atomic_load(&pool->n_failed) > 0) return NULL;
    w->plan.start_ns = pool->start_ns;
    carry_out(w);
    return NULL;
}

/* Runs all workers; 0, -1 after a message when none was started. */
static int run_pool(struct pool *pool) {
    unsigned n = (unsigned)pool->n_workers;
    if (pthread_barrier_init(&pool->ready, NULL, n) || pthread_barrier_init(&pool->go, NULL, n))
        return nl_error("no memory");
    for (int i = 1; i < pool->n_workers; i++) {
        if (pthread_create(&pool->workers[i].thread, NULL, run_worker, &pool->workers[i]) == 0) continue;
        /* those that did start wait at a barrier that will never be full; the process ends with them */
        nl_error("the system refuses to start %d threads", pool->n_workers);
        exit(NL_EXIT_USAGE);
    }
    run_worker(&pool->workers[0]);
    for (int i = 1; i < pool->n_workers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    if (atomic_load(&pool->n_failed) == 0) return 0;
    const struct ng_worker *w = pool->workers;
    while (!w->failure[0])
        w++;
    return nl_error("%s", w->failure);
}

/* ---- what is said ---- */

static int report(const struct ng_certificate *c, const char *failure) {
    char line[2048], *json = c->options->json ? ng_certificate_json(c, 2, 0) : NULL;
    const char *text = c->options->json ? json : ng_certificate_line(c, line, sizeof line);
    struct ng_account total = ng_certificate_total(c);
    int is_lost = !text || puts(text) < 0 || fflush(stdout) || ferror(stdout), status = NL_EXIT_USAGE;
    if (is_lost)
        nl_error("cannot write the certificate: %s", strerror(errno));
    else if (failure[0])
        nl_error("%s", failure);
    else
        status = ng_certificate_ok(c) == 0 ? NL_EXIT_FAIL : NL_EXIT_OK;
    if (status == NL_EXIT_FAIL)
        nl_error("delivered %.4g times the requested load, outside the tolerance of %g %%",
                 ng_delivered(&total, c->options->rate_per_s > 0) / total.requested,
                 c->options->tolerance_percent);
    free(json);
    return status;
}

static int certify(const struct pool *pool) {
    char ended[300] = "complete";
    const char *failure = "";
    struct ng_certificate c = {
        .options = pool->options, .workers = pool->workers, .n_workers = pool->n_workers, .ended = ended};
    c.period_ns = pool->workers[0].plan.period_ns;
    for (int i = 0; i < pool->n_workers; i++) {
        const struct ng_worker *w = &pool->workers[i];
        if (w->elapsed_ns > c.elapsed_ns) c.elapsed_ns = w->elapsed_ns;
        if (w->end == NG_RUN_INTERRUPTED && !failure[0]) snprintf(ended, sizeof ended, "interrupted");
        if (w->end != NG_RUN_FAILED || failure[0]) continue;
        failure = w->failure;
        snprintf(ended, sizeof ended, "failed: %s", failure);
    }
    return report(&c, failure);
}

static void describe_bursts(const struct ng_worker *w, char *buf, size_t size) {
    const struct ng_options *o = w->options;
    char period[32], burst[32];
    const struct ng_plan *p = &w->plan;
    if (o->trace) { /* so that a person sees what a file in another unit, or of another kind, would do */
        int64_t n = w->trace_cpu >= 0 ? o->trace->bursts[w->trace_cpu] : o->trace->n_bursts;
        double round_s = (double)o->trace->span_ns * o->shape.scale_period * 1e-9;
        int64_t longest_ns = (int64_t)((double)o->trace->longest_ns[w->trace_cpu >= 0 ? w->trace_cpu : 0] *
                                       o->shape.scale_burst);
        snprintf(buf, size, "replay of %" PRId64 " burst%s%s; %.4g bursts per second, longest %s", n,
                 n == 1 ? "" : "s", o->shape.is_looped ? ", again and again" : "", (double)n / round_s,
                 nl_format_duration(longest_ns, burst, sizeof burst));
        return;
    }
    nl_format_duration(p->period_ns, period, sizeof period);
    if (o->rate_per_s > 0)
        snprintf(burst, sizeof burst, "%.4g %.16s", ng_share(p, 0, 1), o->kinds[0]->unit);
    else
        nl_format_duration((int64_t)ng_share(p, 0, 1), burst, sizeof burst);
    snprintf(buf, size, "%" PRId64 " bursts of %s, one every %s%s", ng_n_periods(p), burst, period,
             o->patterns[0] == ng_patterns[0] ? "" : " on average");
    if (o->patterns[0] != ng_patterns[0])
        snprintf(buf + strlen(buf), size - strlen(buf), " (%s)", o->patterns[0]->name);
}

static void describe_plan(const struct ng_worker *w) {
    const struct ng_options *o = w->options;
    char duration[32], dose[64], bursts[160];
    if (o->rate_per_s > 0)
        snprintf(dose, sizeof dose, "%g %s per second", o->rate_per_s, o->kinds[0]->unit);
    else
        snprintf(dose, sizeof dose, "%.4g %%", 100 * w->plan.level);
    describe_bursts(w, bursts, sizeof bursts);
    printf("would load CPU %d with %s for %s: %s, %s\n", w->cpu, dose,
           nl_format_duration(w->plan.length_ns, duration, sizeof duration), o->kinds[0]->name, bursts);
}

int ng_alone(const struct ng_options *o) {
    int cpus[NL_CONTROL_MAX_WORKERS], status = NL_EXIT_USAGE, failed = 0;
    struct pool pool = {.options = o};
    if (nl_place_open(&pool.place)) {
        nl_error("cannot read this machine's topology");
        return status;
    }
    int n = place(o, pool.place, cpus);
    if (n > 0 && !NL_NEW(pool.workers, n)) nl_error("no memory");
    for (; pool.workers && pool.n_workers < n && !failed; pool.n_workers++) {
        struct ng_worker *w = &pool.workers[pool.n_workers];
        ng_worker_init(w, &pool, o, pool.n_workers, cpus[pool.n_workers]);
        failed = make_plan(w, !o->dry_run);
    }
    for (int i = 0; i < pool.n_workers && !failed && o->dry_run; i++)
        describe_plan(&pool.workers[i]);
    if (pool.workers && !failed) {
        if (!o->dry_run) ng_machine_stop_on_signals();
        status = o->dry_run ? NL_EXIT_OK : run_pool(&pool) == 0 ? certify(&pool) : status;
    }
    for (int i = 0; i < pool.n_workers; i++)
        ng_worker_clean_up(&pool.workers[i]);
    free(pool.workers);
    nl_place_close(pool.place);
    return status;
}

/* Source thread: the kernel's record of every context switch of given threads, which needs no privilege for
 * one's own processes. With NR_VIEW_THREADS it tells when the threads were off their CPUs, otherwise when
 * they were on them.
 *
 * Threads and children that a watched task starts later are watched too where there is one event per task and
 * CPU (the kernel passes on no other kind with a ring); on machines where that takes too many events, only
 * what ran at the beginning is. */
#include "noisegen/recorder/source.h"

enum { MAX_EVENTS = 900 /* descriptors: the usual limit is 1024 */ };

/* By task: when it went on or off the CPU. */
struct watched {
    uint32_t tid;
    int8_t is_on;        /* 1 on a CPU, 0 off it, -1: not known */
    int8_t is_preempted; /* off: although it could run */
    int8_t is_initial; /* nothing is known yet, but it was watched from the beginning: its first record tells
                          what it did since then */
    int8_t is_lost;      /* nothing is known since records were lost, and that was counted */
    int cpu;
    int64_t since_ns;
};

struct state {
    struct watched *watched;
    int n, capacity;
    struct nr_map index; /* by tid: index + 1 */
};

static int is_off_view(const struct nr_recorder *r) { return r->config.view == NR_VIEW_THREADS; }

/* The entry of a task; NULL when there is no room for a new one. No allocation. */
static struct watched *find(struct state *s, uint32_t tid) {
    uint64_t *number = nr_map_at(&s->index, tid);
    if (!number) return NULL;
    if (*number == 0) {
        if (s->n == s->capacity) return NULL;
        s->watched[s->n] = (struct watched){.tid = tid, .is_on = -1, .cpu = -1};
        *number = (uint64_t)++s->n;
    }
    return &s->watched[*number - 1];
}

/* What is to be watched, while it is opened. */
struct opening { struct nr_recorder *r; const pid_t *tids; int n; };

/* One event per task and CPU, those of a CPU with one ring. @return 0, -1 with errno. */
static int open_inheriting(void *context, int64_t bytes) {
    const struct opening *o = context;
    struct nr_recorder *r = o->r;
    for (int cpu = 0; cpu < r->n_cpus; cpu++) {
        if (!r->is_online[cpu]) continue;
        int ring = -1;
        for (int i = 0; i < o->n; i++) {
            struct perf_event_attr attributes = nr_ring_attributes(1);
            /* what perf_event_paranoid 2 allows; switches come all the same */
            attributes.exclude_kernel = attributes.exclude_hv = 1;
            attributes.inherit = 1;
            attributes.read_format = 0; /* not together with inherit */
            int status = ring < 0 ? nr_rings_add(&r->rings, &attributes, o->tids[i], cpu, bytes)
                                  : nr_rings_redirect(&r->rings, &attributes, o->tids[i], cpu, ring);
            if (status && errno == ESRCH) continue; /* it ended meanwhile */
            if (status) return -1;
            if (ring < 0) ring = r->rings.n - 1;
        }
    }
    return 0;
}

static int open_single(void *context, int64_t bytes) {
    const struct opening *o = context;
    for (int i = 0; i < o->n; i++) {
        struct perf_event_attr attributes = nr_ring_attributes(1);
        attributes.exclude_kernel = attributes.exclude_hv = 1;
        if (nr_rings_add(&o->r->rings, &attributes, o->tids[i], -1, bytes) && errno != ESRCH) return -1;
    }
    return 0;
}

/* The threads to watch: those given, or all that are marked as the agent. @return their number, -1. */
static int collect(const struct nr_recorder *r, pid_t **tids) {
    *tids = NULL;
    if (is_off_view(r)) {
        *tids = malloc(((size_t)r->config.n_tids + 1) * sizeof **tids);
        if (!*tids) return -1;
        if (r->config.n_tids > 0) memcpy(*tids, r->config.tids, (size_t)r->config.n_tids * sizeof **tids);
        return r->config.n_tids;
    }
    struct nr_proc_task *seen;
    int n_seen = nr_proc_tasks(0, &seen), n = 0;
    if (n_seen < 0) return -1;
    *tids = malloc(((size_t)n_seen + 1) * sizeof **tids);
    for (int i = 0; *tids && i < n_seen; i++)
        if (nr_tasks_at(&r->tasks, (uint32_t)seen[i].tid)->group == NR_AGENT) (*tids)[n++] = seen[i].tid;
    free(seen);
    return *tids ? n : -1;
}

static int open_tids(struct nr_recorder *r, struct state *s, const pid_t *tids, int n, char *why,
                     size_t size) {
    struct opening opening = {r, tids, n};
    int n_online = 0;
    for (int cpu = 0; cpu < r->n_cpus; cpu++) n_online += r->is_online[cpu];
    s->capacity = n + 4096;
    if (!NL_NEW(s->watched, s->capacity) || nr_map_reserve(&s->index, (size_t)s->capacity))
        return nl_say(why, size, "no memory");
    int is_inheriting = !is_off_view(r) && n * n_online <= MAX_EVENTS;
    if (nr_rings_share(&r->rings, is_inheriting ? open_inheriting : open_single, &opening,
                       r->config.ring_bytes)) {
        if (errno != EACCES && errno != EPERM)
            return nl_say(why, size, "perf_event_open: %s", strerror(errno));
        return nl_say(why, size,
                      "not allowed to watch these threads: they must be your own, and "
                      "kernel.perf_event_paranoid at most 2 (here %d)",
                      (int)nr_proc_number("/proc/sys/kernel/perf_event_paranoid", -1));
    }
    if (r->rings.n == 0) return nl_say(why, size, "the threads have ended");
    if (nr_rings_enable(&r->rings)) return nl_say(why, size, "cannot begin: %s", strerror(errno));
    r->enabled_ns = nl_mono_ns();
    for (int i = 0; i < n; i++) find(s, (uint32_t)tids[i])->is_initial = 1;
    return 0;
}

static int open_thread(struct nr_recorder *r, char *why, size_t size) {
    struct state *s = r->state = calloc(1, sizeof *s);
    pid_t *tids = NULL;
    int n = collect(r, &tids);
    int status = !s || n < 0 ? nl_say(why, size, "no memory")
                 : n == 0    ? nl_say(why, size, "there is no thread to watch yet")
                             : open_tids(r, s, tids, n, why, size);
    free(tids);
    return status;
}

/* The stretch that a task's state lasted until now. */
static void finish(struct nr_recorder *r, const struct watched *w, int64_t until_ns) {
    int64_t since_ns = w->since_ns > 0 ? w->since_ns : r->enabled_ns;
    if (!is_off_view(r)) {
        if (w->is_on == 1) nr_take_task_burst(r, since_ns, until_ns, w->cpu, w->tid);
        return;
    }
    if (w->is_on == 0)
        nr_take_burst(r, (struct nr_burst){.start_ns = since_ns,
                                           .end_ns = until_ns,
                                           .cpu = w->cpu,
                                           .name = NR_NO_NAME,
                                           .group = w->is_preempted ? NR_PREEMPTED : NR_YIELDED});
}

static void follow(struct nr_recorder *r, const struct nr_record *record) {
    struct state *s = r->state;
    if (record->type == NR_RECORD_BIRTH || record->type == NR_RECORD_NAME) {
        nr_tasks_follow(&r->tasks, record);
        return;
    }
    if (record->type == NR_RECORD_LOST) { /* of what all watched tasks did since, nothing is known */
        for (int i = 0; i < s->n; i++) {
            struct watched *w = &s->watched[i];
            r->totals.cut += w->is_on >= 0 || w->is_initial;
            *w = (struct watched){.tid = w->tid, .is_on = -1, .cpu = -1, .is_lost = 1};
        }
        return;
    }
    struct watched *w = find(s, record->tid);
    if (!w) {
        r->totals.cut++;
        return;
    }
    int is_in = record->type == NR_RECORD_IN, was_on = w->is_on;
    if (record->type == NR_RECORD_EXIT && was_on != 1) return;
    if (is_in) r->totals.ins++;
    else
        r->totals.outs++; /* an end is the last one: the kernel stops watching before the last switch */
    if (was_on < 0 && w->is_initial) {
        w->is_on = (int8_t)!is_in;
        w->cpu = record->cpu;
    }
    /* the record between is missing */
    if (w->is_on == is_in || (was_on < 0 && !is_in && !w->is_initial && !w->is_lost)) r->totals.cut++;
    if (w->is_on == !is_in) finish(r, w, record->time_ns);
    *w = (struct watched){.tid = w->tid,
                          .is_on = (int8_t)is_in,
                          .cpu = record->cpu,
                          .since_ns = record->time_ns,
                          .is_preempted = (int8_t)record->is_preempted};
    if (record->type == NR_RECORD_EXIT) w->is_on = -1; /* its number may get another owner */
}

static void drain(struct nr_recorder *r, int64_t until_ns) {
    struct nr_record record;
    nr_rings_look(&r->rings);
    while (nr_rings_next(&r->rings, until_ns, &record)) follow(r, &record);
    nr_rings_done(&r->rings);
}

static void end(struct nr_recorder *r) {
    struct state *s = r->state;
    for (int i = 0; i < s->n; i++) {
        struct watched *w = &s->watched[i];
        if (w->is_on < 0) continue;
        finish(r, w, r->end_ns);
        w->since_ns = r->end_ns;
    }
}

static void close_thread(struct nr_recorder *r) {
    struct state *s = r->state;
    nr_rings_close(&r->rings);
    if (s) {
        free(s->watched);
        nr_map_free(&s->index);
    }
    free(s);
    r->state = NULL;
}

const struct nr_source nr_source_thread = {
    .name = "thread",
    .what = "every context switch of given threads, by perf_event_open: needs no privilege for one's own "
            "processes (perf_event_paranoid <= 2)",
    .has_bursts = 1,
    .open = open_thread,
    .end = end,
    .drain = drain,
    .close = close_thread,
};

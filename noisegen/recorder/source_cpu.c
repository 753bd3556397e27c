/* Source cpu: the kernel's record of every context switch of a CPU: which task ran, from when to when. */
#include "noisegen/recorder/source.h"

enum {
    OTHER_RING_BYTES = 512 << 10 /* of a CPU that is not watched: births, names and ends only */,
    MOST_OF_MEMORY = 32
};

enum knowledge {
    NOBODY,   /* a record is missing */
    SOMEBODY, /* since recording began: the next record will tell who */
    KNOWN,
    LEFT /* the CPU is idle, or on its way to somebody */
};

struct runner {
    enum knowledge knowledge;
    uint32_t tid;
    int64_t since_ns;
    uint32_t waits; /* a task that was preempted here and has not come back: the CPU is not idle meanwhile; 0:
                       none */
};

/* A switch is over sooner; whoever waited that long has gone to another CPU. */
#define LONGEST_SWITCH_NS 100000

/* Rings take at most a 32nd of the memory. */
static int64_t ring_bytes(const struct nr_recorder *r, int n_watched) {
    int64_t bytes = r->config.ring_bytes, memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    while (bytes > OTHER_RING_BYTES && bytes * n_watched > memory / MOST_OF_MEMORY) bytes /= 2;
    return bytes;
}

static void say_why(char *why, size_t size, int cpu, int error) {
    if (error == EACCES || error == EPERM)
        snprintf(why, size,
                 "not allowed to watch CPU %d: needs root, the capability CAP_PERFMON or "
                 "kernel.perf_event_paranoid at most 0 (here %d)",
                 cpu, (int)nr_proc_number("/proc/sys/kernel/perf_event_paranoid", -1));
    else snprintf(why, size, "perf_event_open on CPU %d: %s", cpu, strerror(error));
}

/* Runs for a moment on every watched CPU: the switches to this program and back show who is there, even a
 * task that never sleeps. Where that is refused, the first switch tells. */
static void visit_cpus(const struct nr_recorder *r) {
    size_t size = CPU_ALLOC_SIZE(r->n_cpus);
    cpu_set_t *before = CPU_ALLOC(r->n_cpus), *one = CPU_ALLOC(r->n_cpus);
    if (before && one && sched_getaffinity(0, size, before) == 0) {
        for (int cpu = 0; cpu < r->n_cpus; cpu++) {
            if (!r->is_watched[cpu]) continue;
            CPU_ZERO_S(size, one);
            CPU_SET_S((size_t)cpu, size, one);
            sched_setaffinity(0, size, one);
        }
        sched_setaffinity(0, size, before);
    }
    CPU_FREE(before);
    CPU_FREE(one);
}

struct opening {
    struct nr_recorder *recorder;
    int cpu; /* which failed */
};

/* A ring for each CPU: of `bytes` where switches are watched. */
static int open_rings(void *context, int64_t bytes) {
    struct opening *opening = context;
    struct nr_recorder *r = opening->recorder;
    for (int cpu = 0; cpu < r->n_cpus; cpu++) {
        struct perf_event_attr attributes = nr_ring_attributes(r->is_watched[cpu]);
        if (!r->is_online[cpu]) continue;
        int64_t most = r->is_watched[cpu] || bytes < OTHER_RING_BYTES ? bytes : OTHER_RING_BYTES;
        /* ENODEV: it went offline */
        if (nr_rings_add(&r->rings, &attributes, -1, cpu, most) == 0 || errno == ENODEV) continue;
        opening->cpu = cpu;
        return -1;
    }
    return 0;
}

static int open_cpu(struct nr_recorder *r, char *why, size_t size) {
    int n_watched = 0;
    for (int cpu = 0; cpu < r->n_cpus; cpu++) n_watched += r->is_watched[cpu];
    struct runner *runners = calloc((size_t)r->n_cpus, sizeof *runners);
    r->state = runners;
    if (!runners) return nl_say(why, size, "no memory");
    struct opening opening = {.recorder = r};
    if (nr_rings_share(&r->rings, open_rings, &opening, ring_bytes(r, n_watched)) ||
        nr_rings_enable(&r->rings)) {
        say_why(why, size, opening.cpu, errno);
        return -1;
    }
    r->enabled_ns = nl_mono_ns();
    for (int cpu = 0; cpu < r->n_cpus; cpu++)
        runners[cpu] = (struct runner){.knowledge = SOMEBODY, .since_ns = r->enabled_ns};
    visit_cpus(r);
    return 0;
}

/* The idle task has no records of its own on some kernels: it has the time between a task that left and the
 * next one. Where somebody waits the CPU is not idle, and that time is the switch itself, which the kernel's
 * account of CPU time gives to the task it switches to: so do we. */
static void take_gap(struct nr_recorder *r, struct runner *runner, int64_t now_ns, int cpu) {
    if (runner->waits && now_ns - runner->since_ns < LONGEST_SWITCH_NS) return;
    nr_take_task_burst(r, runner->since_ns, now_ns, cpu, 0);
    runner->since_ns = now_ns;
    runner->waits = 0;
}

/* A rank that leaves although it could run waits for its CPU until it runs again, here or elsewhere. */
static void begin_waiting(struct nr_recorder *r, const struct nr_record *record) {
    struct nr_task *task = nr_tasks_at(&r->tasks, record->tid);
    if (!record->is_preempted || task->group != NR_RANK || task->waits_on ||
        r->n_waiting[record->cpu] == UINT8_MAX)
        return;
    task->waits_on = (uint16_t)(record->cpu + 1);
    r->n_waiting[record->cpu]++;
}

static void end_waiting(struct nr_recorder *r, const struct nr_record *record) {
    struct nr_task *task = nr_tasks_at(&r->tasks, record->tid);
    if (task->waits_on == 0) return;
    if (task->waits_on <= r->n_cpus && r->n_waiting[task->waits_on - 1] > 0)
        r->n_waiting[task->waits_on - 1]--;
    task->waits_on = 0;
}

static void come(struct nr_recorder *r, struct runner *runner, const struct nr_record *record) {
    if (runner->knowledge == KNOWN) r->totals.cut++; /* who left did so unseen */
    if (runner->knowledge == LEFT) take_gap(r, runner, record->time_ns, record->cpu);
    else runner->since_ns = record->time_ns;
    runner->knowledge = KNOWN;
    runner->tid = record->tid;
    end_waiting(r, record);
    /* it waits no more, wherever it was preempted */
    for (int cpu = 0; cpu < r->n_cpus; cpu++)
        if (((struct runner *)r->state)[cpu].waits == record->tid) ((struct runner *)r->state)[cpu].waits = 0;
}

static void leave(struct nr_recorder *r, struct runner *runner, const struct nr_record *record) {
    /* a task that ends has lost its number by then */
    if (runner->knowledge == KNOWN && (runner->tid == record->tid || record->tid == UINT32_MAX))
        nr_take_task_burst(r, runner->since_ns, record->time_ns, record->cpu, runner->tid);
    else if (runner->knowledge == SOMEBODY)
        nr_take_task_burst(r, runner->since_ns, record->time_ns, record->cpu, record->tid);
    else r->totals.cut++;
    runner->knowledge = LEFT;
    runner->since_ns = record->time_ns;
    begin_waiting(r, record);
    if (record->is_preempted && runner->waits == 0) runner->waits = record->tid;
}

static void follow(struct nr_recorder *r, const struct nr_record *record) {
    struct runner *runner = &((struct runner *)r->state)[record->cpu];
    switch (record->type) {
    case NR_RECORD_IN:
        r->totals.ins++;
        come(r, runner, record);
        return;
    case NR_RECORD_OUT:
        r->totals.outs++;
        leave(r, runner, record);
        return;
    case NR_RECORD_LOST:
        if (runner->knowledge != NOBODY) r->totals.cut++;
        *runner = (struct runner){.knowledge = NOBODY};
        r->n_waiting[record->cpu] = 0; /* who waits is not known any more */
        return;
    case NR_RECORD_BIRTH:
    case NR_RECORD_NAME: nr_tasks_follow(&r->tasks, record); return;
    case NR_RECORD_EXIT: return;
    }
}

static void drain(struct nr_recorder *r, int64_t until_ns) {
    struct nr_record record;
    nr_rings_look(&r->rings);
    while (nr_rings_next(&r->rings, until_ns, &record))
        if (record.cpu < r->n_cpus) follow(r, &record);
    nr_rings_done(&r->rings);
}

/* Who runs at the end of the stretch has run in it until now. */
static void end(struct nr_recorder *r) {
    struct runner *runners = r->state;
    for (int cpu = 0; cpu < r->n_cpus; cpu++) {
        if (!r->is_watched[cpu] || runners[cpu].knowledge == NOBODY) continue;
        uint32_t tid = runners[cpu].knowledge == KNOWN  ? runners[cpu].tid
                       : runners[cpu].knowledge == LEFT ? 0
                                                        : UINT32_MAX;
        nr_take_task_burst(r, runners[cpu].since_ns, r->end_ns, cpu, tid);
        runners[cpu].since_ns = r->end_ns;
    }
}

static void close_cpu(struct nr_recorder *r) {
    nr_rings_close(&r->rings);
    free(r->state);
    r->state = NULL;
}

const struct nr_source nr_source_cpu = {
    .name = "cpu",
    .what = "every context switch of a CPU, by perf_event_open: who ran, from when to when (root, "
            "CAP_PERFMON or perf_event_paranoid <= 0)",
    .has_bursts = 1,
    .sees_all = 1,
    .open = open_cpu,
    .end = end,
    .drain = drain,
    .close = close_cpu,
};

/* Source cpu: the kernel's record of every context switch of a CPU. */
#include "noisegen/top/watch.h"
#include "noisegen/top/processes.h"
#include "noisegen/top/tell.h"

enum {
    RING_BYTES = 512 << 10,
    OTHER_RING_BYTES = 128 << 10 /* of a CPU that is not watched: births, names and ends */,
    MOST_OF_MEMORY = 64,
    PORTION = 128 /* records of switches */,
    BREATH = 32 /* of these, some 5 us; 50 us where each is of another task */
};

/* ---- opening ---- */

static int open_rings(void *context, int64_t bytes) {
    struct nt_watch *w = context;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) {
        struct perf_event_attr attributes = nr_ring_attributes(w->is_watched[cpu]);
        if (!w->is_online[cpu]) continue;
        nt_breathe(w);
        int64_t most = w->is_watched[cpu] || bytes < OTHER_RING_BYTES ? bytes : OTHER_RING_BYTES;
        if (nr_rings_add(&w->rings, &attributes, -1, cpu, most) && errno != ENODEV) return -1;
    }
    return 0;
}

/* Is on every CPU for a moment, once: the switches to this thread and back tell who is there, even somebody
 * who never sleeps. */
static void visit_cpus(const struct nt_watch *w) {
    size_t size = CPU_ALLOC_SIZE(w->n_cpus);
    cpu_set_t *before = CPU_ALLOC(w->n_cpus), *one = CPU_ALLOC(w->n_cpus);
    if (before && one && sched_getaffinity(0, size, before) == 0) {
        for (int cpu = 0; cpu < w->n_cpus; cpu++) {
            if (!w->is_watched[cpu]) continue;
            CPU_ZERO_S(size, one);
            CPU_SET_S((size_t)cpu, size, one);
            sched_setaffinity(0, size, one);
        }
        sched_setaffinity(0, size, before);
    }
    CPU_FREE(before);
    CPU_FREE(one);
}

static int open_cpu(struct nt_watch *w, char *why, size_t size) {
    int64_t bytes = RING_BYTES, memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    while (bytes > OTHER_RING_BYTES && bytes * w->n_watched > memory / MOST_OF_MEMORY) bytes /= 2;
    w->rings.joins = 1;
    if (nr_rings_share(&w->rings, open_rings, w, bytes) || nr_rings_enable(&w->rings)) {
        int error = errno;
        nr_rings_close(&w->rings);
        if (error != EACCES && error != EPERM)
            return nl_say(why, size, "perf_event_open: %s", strerror(error));
        return nl_say(why, size,
                      "not allowed to watch CPUs: needs root, CAP_PERFMON or kernel.perf_event_paranoid at "
                      "most 0 (here %d)",
                      (int)nr_proc_number("/proc/sys/kernel/perf_event_paranoid", -1));
    }
    w->enabled_ns = nl_mono_ns();
    for (int cpu = 0; cpu < w->n_cpus; cpu++)
        w->runners[cpu] = (struct nt_runner){.knowledge = NT_SOMEBODY, .since_ns = w->enabled_ns};
    visit_cpus(w);
    return 0;
}

/* ---- records ---- */

/* What each switch does is in one piece: calls would take a quarter of it. */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

/* Who is behind the numbers of a record; -1: nobody, or a task that is gone. */
ALWAYS_INLINE int32_t whose(struct nt_watch *w, uint32_t pid) {
    return nt_process(w, pid < w->n_numbers ? (pid_t)pid : -1);
}

ALWAYS_INLINE void ran(struct nt_watch *w, const struct nt_runner *runner, int cpu, int64_t until_ns) {
    struct nt_thread *thread = runner->thread;
    int32_t process = runner->process;
    int64_t since_ns = runner->since_ns;
    if (process < 0) return;
    nt_ran(w, process, cpu, since_ns, until_ns);
    if (!thread) return;
    if (!thread->is_in_burst || thread->process != process) {
        thread->process = process;
        thread->is_in_burst = 1;
        thread->start_ns = since_ns;
        thread->busy_ns = 0;
    }
    thread->busy_ns += until_ns - since_ns;
}

ALWAYS_INLINE void come(struct nt_watch *w, struct nt_runner *runner, uint32_t pid, uint32_t tid,
                        int64_t at_ns) {
    runner->since_ns = at_ns;
    runner->knowledge = NT_IDLE;
    if (tid == 0) return;
    runner->tid = tid;
    runner->process = whose(w, pid);
    runner->thread = nt_thread(w, tid);
    runner->knowledge = NT_KNOWN;
}

ALWAYS_INLINE void leave(struct nt_watch *w, struct nt_runner *runner, int cpu, uint32_t pid, uint32_t tid,
                         int64_t at_ns, int is_preempted) {
    int is_gone = tid == UINT32_MAX; /* a task that ends has lost its number by then */
    if (runner->knowledge == NT_SOMEBODY && !is_gone) come(w, runner, pid, tid, runner->since_ns);
    if (runner->knowledge == NT_KNOWN && (is_gone || runner->tid == tid)) {
        struct nt_thread *thread = runner->thread;
        ran(w, runner, cpu, at_ns);
        if (thread && thread->is_in_burst && !is_preempted) {
            nt_count_burst(w, thread->process, thread->start_ns, thread->busy_ns);
            thread->is_in_burst = 0;
        }
    }
    runner->knowledge = NT_IDLE;
    runner->since_ns = at_ns;
}

/* The switches of one CPU that come next, at most BREATH. Their number. */
static int follow_switches(struct nt_watch *w, int64_t until_ns) {
    const struct nr_switch *s;
    int cpu, n = nr_rings_switches(&w->rings, until_ns, BREATH, &s, &cpu);
    if (n == 0 || cpu >= w->n_cpus) return n;
    struct nt_runner *runner = &w->runners[cpu];
    for (const struct nr_switch *end = s + n; s < end; s++) {
        leave(w, runner, cpu, s->out_pid, s->out_tid, s->out_ns, nr_is_preempted(&s->out));
        come(w, runner, s->in_pid, s->in_tid, s->in_ns);
    }
    return n;
}

static void follow(struct nt_watch *w, const struct nr_record *record) {
    struct nt_runner *runner = &w->runners[record->cpu];
    switch (record->type) {
    case NR_RECORD_IN: come(w, runner, record->pid, record->tid, record->time_ns); return;
    case NR_RECORD_OUT:
        leave(w, runner, record->cpu, record->pid, record->tid, record->time_ns, record->is_preempted);
        if (record->in_ns > 0) come(w, runner, record->in_pid, record->in_tid, record->in_ns);
        return;
    case NR_RECORD_LOST: runner->knowledge = NT_NOBODY; return;
    case NR_RECORD_BIRTH:
        if (record->pid != record->parent_pid && record->pid < w->n_numbers)
            nt_born(w, (pid_t)record->pid, (pid_t)record->parent_pid);
        return;
    case NR_RECORD_NAME:
        if (record->pid == record->tid && record->pid < w->n_numbers)
            nt_renamed(w, (pid_t)record->pid, record->name);
        return;
    case NR_RECORD_EXIT:
        if (record->pid == record->tid && record->pid < w->n_numbers)
            nt_ended(w, (pid_t)record->pid, (pid_t)record->parent_pid);
        return;
    }
}

static void look(struct nt_watch *w, int64_t until_ns) {
    struct nr_record record;
    for (int n = PORTION, n_done = 0; n >= PORTION;) { /* each portion gives its room back to the kernel */
        nr_rings_look(&w->rings);
        for (n = 0; n < PORTION;) {
            int n_taken = follow_switches(w, until_ns);
            if (n_taken == 0 && !nr_rings_next(&w->rings, until_ns, &record)) break;
            if (n_taken == 0 && record.cpu < w->n_cpus) follow(w, &record);
            n += n_taken > 0 ? n_taken : 1;
            n_done += n_taken > 0 ? n_taken : 1;
            if (n_done < BREATH) continue;
            n_done = 0;
            nt_breathe(w);
        }
        nr_rings_done(&w->rings);
    }
    w->n_lost = (int64_t)nr_rings_lost(&w->rings);
    /* who runs now has run until now */
    for (int cpu = 0; cpu < w->n_cpus && until_ns == w->end_ns; cpu++) {
        struct nt_runner *runner = &w->runners[cpu];
        if (runner->knowledge != NT_KNOWN || runner->since_ns >= until_ns) continue;
        ran(w, runner, cpu, until_ns);
        runner->since_ns = until_ns;
    }
}

static void close_cpu(struct nt_watch *w) { nr_rings_close(&w->rings); }

const struct nt_source nt_source_cpu = {
    .name = "cpu", .sees_bursts = 1, .open = open_cpu, .look = look, .close = close_cpu};

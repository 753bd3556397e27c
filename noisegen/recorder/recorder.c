#include "noisegen/recorder/recorder.h"
#include "noisegen/recorder/source.h"
#include "noisegen/recorder/sources.h"

enum { DEFAULT_RING_BYTES = 8 << 20 };

const char *const nr_group_names[NR_N_GROUPS] = {
    [NR_OTHER] = "other",         [NR_AGENT] = "agent",       [NR_SCRAPER] = "scraper",
    [NR_GENERATOR] = "generator", [NR_NOISELAB] = "noiselab", [NR_RANK] = "rank",
    [NR_KERNEL] = "kernel",       [NR_IDLE] = "idle",         [NR_UNKNOWN] = "unknown",
    [NR_PREEMPTED] = "preempted", [NR_YIELDED] = "yielded",   [NR_IRQ] = "irq",
    [NR_SOFTIRQ] = "softirq",     [NR_STEAL] = "steal",
};

void nr_take_burst(struct nr_recorder *r, struct nr_burst burst) {
    if (burst.start_ns < r->begin_ns) burst.start_ns = r->begin_ns;
    if (burst.end_ns > r->end_ns) burst.end_ns = r->end_ns;
    if (burst.end_ns <= burst.start_ns) return;
    burst.arm = (uint8_t)r->arm;
    r->totals.group_ns[burst.group] += burst.end_ns - burst.start_ns;
    r->totals.group_waited_ns[burst.group] += (burst.end_ns - burst.start_ns) * burst.n_waiting;
    nr_tally_burst(&r->tally, &burst);
    int is_kept = r->config.keep >> burst.group & 1,
        is_beside = !is_kept && (r->config.beside >> burst.group & 1);
    if (!is_kept && !is_beside) return;
    int has_room = is_beside ? r->n_beside < r->config.max_bursts / 2 : 1;
    if (has_room && r->n_bursts < r->config.max_bursts) {
        r->bursts[r->n_bursts++] = burst;
        r->n_beside += is_beside;
    } else if (is_beside) {
        r->totals.beside_not_kept++;
    } else {
        r->totals.not_kept++;
    }
}

void nr_take_task_burst(struct nr_recorder *r, int64_t start_ns, int64_t end_ns, int cpu, uint32_t tid) {
    const struct nr_task *task = nr_tasks_at(&r->tasks, tid);
    if (cpu < 0 || cpu >= r->n_cpus || !r->is_watched[cpu]) return;
    struct nr_burst burst = {.start_ns = start_ns,
                             .end_ns = end_ns,
                             .cpu = cpu,
                             .tid = tid < INT32_MAX ? (int32_t)tid : 0,
                             .name = task->name,
                             .group = task->group,
                             .n_waiting = r->n_waiting ? r->n_waiting[cpu] : 0};
    nr_take_burst(r, burst);
}

/* ---- opening ---- */

static int is_online(int cpu) {
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", cpu);
    return nr_proc_number(path, 1) == 1; /* without this file it cannot go offline */
}

static int set_up_cpus(struct nr_recorder *r) {
    int n = r->n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    if (!NL_NEW(r->is_watched, n) || !NL_NEW(r->is_online, n) || !NL_NEW(r->n_waiting, n) ||
        !NL_NEW(r->times, n) || !NL_NEW(r->times_before, n) || !NL_NEW(r->stat_text, NR_STAT_BYTES(n)))
        return nl_error("cannot watch %d CPUs: %s", r->n_cpus, strerror(errno));
    for (int cpu = 0; cpu < r->n_cpus; cpu++) {
        r->is_online[cpu] = (uint8_t)is_online(cpu);
        r->is_watched[cpu] = r->config.n_cpus == 0 && r->is_online[cpu];
    }
    for (int i = 0; i < r->config.n_cpus; i++) {
        int cpu = r->config.cpus[i];
        if (cpu < 0 || cpu >= r->n_cpus || !r->is_online[cpu])
            return nl_error("there is no CPU %d here, or it is offline", cpu);
        r->is_watched[cpu] = 1;
    }
    nr_read_cpu_times(r->stat_text, r->times, r->n_cpus);
    r->knows_steal = nr_knows_steal(r->times, r->n_cpus);
    return 0;
}

/* Names and groups of what runs already. */
static int learn_tasks(struct nr_recorder *r) {
    if (nr_tasks_open(&r->tasks, r->config.name) || nr_tasks_scan(&r->tasks, -1))
        return nl_error("cannot read the tasks in /proc: %s", strerror(errno));
    for (int i = 0; i < r->config.n_pids; i++) {
        if (nr_mark(r, r->config.pids[i], NR_AGENT, 1) > 0) continue;
        return nl_error("there is no process %d", (int)r->config.pids[i]);
    }
    return 0;
}

int nr_open(struct nr_recorder **recorder, const struct nr_config *config) {
    struct nr_recorder *r = *recorder = calloc(1, sizeof *r);
    if (!r) return nl_error("no memory for a recorder");
    r->config = *config;
    pthread_mutex_init(&r->lock, NULL);
    if (r->config.ring_bytes == 0) r->config.ring_bytes = DEFAULT_RING_BYTES;
    /* untouched pages take no memory */
    if (config->max_bursts > 0) r->bursts = calloc((size_t)config->max_bursts, sizeof *r->bursts);
    int failed = config->max_bursts > 0 && !r->bursts ? nl_error("no memory for a recorder") : 0;
    /* the second scan: what was born between the look at /proc and the first record */
    if (failed || set_up_cpus(r) || learn_tasks(r) || nr_source_choose(r, config->source) ||
        nr_tasks_scan(&r->tasks, -1) || nr_tally_reserve(&r->tally)) {
        nr_close(r);
        *recorder = NULL;
        return -1;
    }
    if (r->source == &nr_source_cpu && nr_is_in_pid_namespace())
        nl_warn("this is a PID namespace: tasks outside of it run unseen and count as idle");
    return 0;
}

void nr_close(struct nr_recorder *r) {
    if (r->source) r->source->close(r);
    nr_tasks_close(&r->tasks);
    nr_tally_free(&r->tally);
    pthread_mutex_destroy(&r->lock);
    NL_FREE(r->is_watched, r->is_online, r->n_waiting, r->times, r->times_before, r->bursts, r->stat_text);
    free(r);
}

const char *nr_source(const struct nr_recorder *r) { return r->source->name; }

const char *nr_reason(const struct nr_recorder *r) { return r->reason; }

int nr_mark(struct nr_recorder *r, pid_t pid, enum nr_group group, int with_tree) {
    NL_LOCKED(&r->lock);
    int64_t now_ns = nl_mono_ns();
    int n = nr_tasks_mark(&r->tasks, pid, group, now_ns);
    if (n > 0 && with_tree) nr_tasks_scan(&r->tasks, now_ns);
    return n > 0 ? n : 0;
}

int nr_is_alive(struct nr_recorder *r, enum nr_group group) {
    struct nr_proc_task *seen;
    int n = nr_proc_tasks(0, &seen), is_alive = 0;
    nr_drain(r);
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < n; i++)
        is_alive |= !strchr("ZX", seen[i].stat.state) &&
                    nr_tasks_at(&r->tasks, (uint32_t)seen[i].tid)->group == group;
    pthread_mutex_unlock(&r->lock);
    if (n >= 0) free(seen);
    return is_alive;
}

/* ---- measured stretches ---- */

static void drain_until(struct nr_recorder *r, int64_t until_ns) {
    if (!r->source->drain) return;
    r->source->drain(r, until_ns);
    r->totals.lost = (int64_t)nr_rings_lost(&r->rings);
}

void nr_drain(struct nr_recorder *r) { drain_until(r, nl_mono_ns()); }

int nr_begin(struct nr_recorder *r, int arm) {
    nr_drain(r);
    pthread_mutex_lock(&r->lock);
    int status = nr_tally_reserve(&r->tally);
    r->arm = arm;
    r->before = r->totals;
    nr_read_cpu_times(r->stat_text, r->times_before, r->n_cpus);
    r->end_ns = 0; /* nothing counts until the begin is set */
    if (status == 0 && r->source->begin) r->source->begin(r);
    r->begin_ns = nl_mono_ns();
    drain_until(r, r->begin_ns); /* what happened on the way here lies before the stretch */
    r->end_ns = INT64_MAX;
    if (r->origin_ns == 0) r->origin_ns = r->begin_ns;
    pthread_mutex_unlock(&r->lock);
    if (status) nl_error("no memory for the table of tasks");
    return status;
}

/* Interrupts and steal of the watched CPUs in this stretch. */
static void add_cpu_times(struct nr_recorder *r) {
    for (int cpu = 0; cpu < r->n_cpus; cpu++) {
        const struct nr_cpu_times *now = &r->times[cpu], *before = &r->times_before[cpu];
        const struct { enum nr_group group; int64_t ns; } parts[] = {{NR_IRQ, now->irq_ns - before->irq_ns},
                     {NR_SOFTIRQ, now->softirq_ns - before->softirq_ns},
                     {NR_STEAL, now->steal_ns - before->steal_ns}};
        for (int i = 0; r->is_watched[cpu] && i < 3; i++) {
            struct nr_row *row = nr_tally_row(&r->tally, r->arm, cpu, NR_NO_NAME, parts[i].group);
            if (!row) continue;
            row->wall_ns += parts[i].ns;
            row->has_wall = 1;
            r->totals.group_ns[parts[i].group] += parts[i].ns;
        }
    }
}

/* What happened since `before`, field by field: all fields are sums. */
static struct nr_totals difference(const struct nr_totals *now, const struct nr_totals *before) {
    struct nr_totals d = *now;
    int64_t *to = (int64_t *)&d;
    const int64_t *from = (const int64_t *)before;
    for (size_t i = 0; i < sizeof d / sizeof *to; i++) to[i] -= from[i];
    return d;
}

int nr_end(struct nr_recorder *r, struct nr_totals *half) {
    int64_t end_ns = nl_mono_ns();
    drain_until(r, end_ns);
    NL_LOCKED(&r->lock);
    r->end_ns = end_ns;
    r->source->end(r);
    if (nr_read_cpu_times(r->stat_text, r->times, r->n_cpus) == 0) add_cpu_times(r);
    r->totals.wall_ns += end_ns - r->begin_ns;
    if (half) *half = difference(&r->totals, &r->before);
    return 0;
}

int nr_fds(const struct nr_recorder *r, struct pollfd *fds, int max) {
    int n = 0;
    for (; n < r->rings.n && n < max; n++)
        fds[n] = (struct pollfd){.fd = r->rings.rings[n].fd, .events = POLLIN};
    return n;
}

/* ---- results ---- */

const char *nr_task_name(const struct nr_recorder *r, uint32_t name) {
    return r->tasks.names[name < r->tasks.n_names ? name : NR_NO_NAME];
}

/* Source proc: the CPU time of every task that can be seen, before and after, where switches may not be
 * recorded. No times within it, so no bursts; what ended meanwhile took its account with it. Both looks
 * allocate, so it is for a recorder that runs beside what is measured. */
#include "noisegen/recorder/source.h"

struct account { pid_t tid; uint64_t start_ticks; int64_t run_ns; };

struct state { struct account *before; int n; };

static int compare_tids(const void *a, const void *b) {
    const struct account *x = a, *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static int64_t run_ns(const struct nr_proc_task *task) { return nr_proc_run_ns_of(task->pid, task->tid); }

static int open_proc(struct nr_recorder *r, char *why, size_t size) {
    if (nr_proc_run_ns_of(getpid(), getpid()) < 0)
        return nl_say(why, size, "the kernel keeps no account in /proc/PID/task/TID/schedstat");
    r->state = calloc(1, sizeof(struct state));
    return r->state ? 0 : nl_say(why, size, "no memory");
}

static void begin(struct nr_recorder *r) {
    struct state *s = r->state;
    struct nr_proc_task *seen;
    int n = nr_proc_tasks(0, &seen);
    if (n < 0) return;
    free(s->before);
    s->n = 0;
    s->before = calloc((size_t)n + 1, sizeof *s->before);
    for (int i = 0; s->before && i < n; i++)
        s->before[s->n++] = (struct account){
            .tid = seen[i].tid, .start_ticks = seen[i].stat.start_ticks, .run_ns = run_ns(&seen[i])};
    if (s->before) qsort(s->before, (size_t)s->n, sizeof *s->before, compare_tids);
    free(seen);
}

/* Whoever was not there at the first look has had all its time since. */
static int64_t had_before_ns(const struct state *s, const struct nr_proc_task *task) {
    const struct account key = {.tid = task->tid};
    const struct account *was =
        s->n > 0 ? bsearch(&key, s->before, (size_t)s->n, sizeof key, compare_tids) : NULL;
    return was && was->start_ticks == task->stat.start_ticks && was->run_ns > 0 ? was->run_ns : 0;
}

static void end(struct nr_recorder *r) {
    struct state *s = r->state;
    struct nr_proc_task *seen;
    if (!s->before || nr_tasks_scan(&r->tasks, -1)) return;
    int n = nr_proc_tasks(0, &seen);
    for (int i = 0; i < n; i++) {
        const struct nr_proc_task *task = &seen[i];
        int64_t ns = run_ns(task) - had_before_ns(s, task);
        if (ns <= 0 || task->stat.cpu < 0 || task->stat.cpu >= r->n_cpus || !r->is_watched[task->stat.cpu])
            continue;
        const struct nr_task *known = nr_tasks_at(&r->tasks, (uint32_t)task->tid);
        struct nr_row *row =
            nr_tally_row(&r->tally, r->arm, task->stat.cpu, known->name, (enum nr_group)known->group);
        r->totals.group_ns[known->group] += ns;
        if (!row) continue;
        row->cpu_ns = (row->cpu_ns < 0 ? 0 : row->cpu_ns) + ns;
        nr_tally_process(&r->tally, row, task->pid, ns);
    }
    if (n >= 0) free(seen);
}

static void close_proc(struct nr_recorder *r) {
    struct state *s = r->state;
    if (s) free(s->before);
    free(s);
    r->state = NULL;
}

const struct nr_source nr_source_proc = {
    .name = "proc",
    .what = "CPU time of every visible task before and after, by /proc: no bursts, no trace",
    .is_cpu_time = 1,
    .sees_all = 1,
    .open = open_proc,
    .begin = begin,
    .end = end,
    .close = close_proc,
};

#include "noisegen/recorder/source.h"

static int is_there(const struct nr_suspects *s, pid_t tid) {
    for (int i = 0; i < s->n; i++)
        if (s->a[i].tid == tid && s->a[i].fd >= 0) return 1;
    return 0;
}

static void drop_gone(struct nr_suspects *s) {
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->a[i].fd >= 0) s->a[n++] = s->a[i];
    s->n = n;
}

void nr_suspects_update(struct nr_suspects *s, struct nr_recorder *r) {
    struct nr_proc_task *seen;
    drop_gone(s);
    if (nr_tasks_scan(&r->tasks, -1)) return;
    int n_seen = nr_proc_tasks(0, &seen);
    for (int i = 0; i < n_seen; i++) {
        const struct nr_task *task = nr_tasks_at(&r->tasks, (uint32_t)seen[i].tid);
        if (task->group < NR_AGENT || task->group > NR_RANK || task->group == NR_NOISELAB || is_there(s, seen[i].tid)) continue;
        if (s->n == NR_MAX_SUSPECTS) break;
        struct nr_suspect *new = &s->a[s->n];
        *new = (struct nr_suspect){.pid = seen[i].pid, .tid = seen[i].tid, .name = task->name, .group = task->group, .cpu = seen[i].cpu};
        new->fd = nr_proc_open_schedstat(new->pid, new->tid);
        if (new->fd < 0) continue;
        new->run_ns = nr_proc_run_ns(new->fd);
        nr_proc_switches(new->pid, new->tid, &new->switches, &new->involuntary);
        s->n++;
    }
    if (n_seen >= 0) free(seen);
}

void nr_suspects_close(struct nr_suspects *s) {
    for (int i = 0; i < s->n; i++)
        if (s->a[i].fd >= 0) close(s->a[i].fd);
    s->n = 0;
}

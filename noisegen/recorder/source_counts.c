/* Source counts: CPU time and switches of the suspects before and after a measured stretch. No times within it, so no bursts. */
#include "noisegen/recorder/source.h"

static int open_counts(struct nr_recorder *r, char *why, size_t size) {
    struct nr_suspects *suspects = calloc(1, sizeof *suspects);
    r->state = suspects;
    if (suspects) return 0;
    return nl_say(why, size, "no memory");
}

static void begin(struct nr_recorder *r) {
    struct nr_suspects *suspects = r->state;
    nr_suspects_update(suspects, r);
    for (int i = 0; i < suspects->n; i++) {
        struct nr_suspect *s = &suspects->a[i];
        s->run_ns = nr_proc_run_ns(s->fd);
        nr_proc_switches(s->pid, s->tid, &s->switches, &s->involuntary);
    }
}

static void add(struct nr_recorder *r, const struct nr_suspect *s, enum nr_group group, int64_t n, int64_t cpu_ns) {
    struct nr_row *row = nr_tally_row(&r->tally, r->arm, s->cpu, s->name, group);
    r->totals.group_bursts[group] += n;
    r->totals.group_ns[group] += cpu_ns > 0 ? cpu_ns : 0;
    if (!row) return;
    row->n_bursts += n;
    if (cpu_ns >= 0) row->cpu_ns = (row->cpu_ns < 0 ? 0 : row->cpu_ns) + cpu_ns;
}

static void end(struct nr_recorder *r) {
    struct nr_suspects *suspects = r->state;
    for (int i = 0; i < suspects->n; i++) {
        const struct nr_suspect *s = &suspects->a[i];
        int64_t voluntary = 0, involuntary = 0, run_ns = nr_proc_run_ns(s->fd);
        if (run_ns < 0 || nr_proc_switches(s->pid, s->tid, &voluntary, &involuntary)) continue; /* it ended: its account went with it */
        voluntary -= s->switches;
        involuntary -= s->involuntary;
        r->totals.group_preempted[s->group] += involuntary;
        add(r, s, (enum nr_group)s->group, voluntary + involuntary, run_ns - s->run_ns);
        if (s->group != NR_RANK) continue;
        add(r, s, NR_PREEMPTED, involuntary, -1);
        add(r, s, NR_YIELDED, voluntary, -1);
    }
}

static void close_counts(struct nr_recorder *r) {
    if (r->state) nr_suspects_close(r->state);
    free(r->state);
    r->state = NULL;
}

const struct nr_source nr_source_counts = {
    .name = "counts", .what = "CPU time and switches of suspected threads before and after a measured stretch: no bursts, no trace",
    .is_cpu_time = 1, .open = open_counts, .begin = begin, .end = end, .close = close_counts,
};

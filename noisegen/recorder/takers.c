#include "noisegen/recorder/source.h"
#include "noisegen/recorder/summary.h"

enum { MOST_IN_RHYTHM = 1 << 16 /* bursts of a task in which a period is looked for */, MOST_CPUS_NAMED = 8, LEAST_CPU_SHARE = 20 };

/* Tasks that go by one name, and their time by CPU. */
struct named { struct nr_taker taker; int64_t *by_cpu; };

/* Whether a task goes by that name: of the kernel's threads what follows the slash does not count. */
static int goes_by(const char *called, const char *name, int is_kernel) {
    size_t n = strlen(called);
    return strncmp(called, name, n) == 0 && (!name[n] || (is_kernel && n > 0 && name[n] == '/'));
}

static struct named *find(const struct nr_recorder *r, struct named *all, size_t *n, const struct nr_row *row) {
    const char *name = nr_task_name(r, row->name);
    int is_kernel = row->group == NR_KERNEL;
    for (size_t i = 0; i < *n; i++)
        if (goes_by(all[i].taker.task, name, is_kernel)) return &all[i];
    struct named *one = &all[*n];
    if (!(one->by_cpu = calloc((size_t)r->n_cpus, sizeof *one->by_cpu))) return NULL;
    one->taker = (struct nr_taker){.n_bursts = -1, .typical_ns = -1, .longest_ns = -1};
    snprintf(one->taker.task, sizeof one->taker.task, "%.*s", is_kernel ? (int)strcspn(name, "/") : 15, name);
    return &all[(*n)++];
}

/* The busiest CPUs of a task. */
static void name_cpus(struct named *one, int n_cpus) {
    char *out = one->taker.cpus;
    for (int n = 0, used = 0; n < MOST_CPUS_NAMED && used + 8 < (int)sizeof one->taker.cpus; n++) {
        int most = 0;
        for (int cpu = 1; cpu < n_cpus; cpu++)
            if (one->by_cpu[cpu] > one->by_cpu[most]) most = cpu;
        if (one->by_cpu[most] <= 0 || one->by_cpu[most] < one->taker.busy_ns / LEAST_CPU_SHARE) return;
        used += sprintf(out + used, "%s%d", n > 0 ? "," : "", most);
        one->by_cpu[most] = 0;
    }
}

static int compare_named(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    if (x->taker.busy_ns != y->taker.busy_ns) return x->taker.busy_ns > y->taker.busy_ns ? -1 : 1;
    return strcmp(x->taker.task, y->taker.task);
}

NL_ORDER_BY(compare_lengths, struct nr_activity, busy_ns)

/* Bursts, lengths and period of the tasks that go by one name. */
static int find_rhythm(const struct nr_burst *own, size_t n, struct nr_taker *taker) {
    struct nr_rhythm rhythm;
    struct nr_activity *activities = malloc((n + 1) * sizeof *activities);
    int failed = !activities || nr_rhythm(own, n < MOST_IN_RHYTHM ? n : MOST_IN_RHYTHM, 0, &rhythm);
    if (!failed) {
        size_t n_activities = nr_activities(own, n, rhythm.gap_ns, 0, activities);
        qsort(activities, n_activities, sizeof *activities, compare_lengths);
        taker->n_bursts = (int64_t)n_activities;
        taker->typical_ns = activities[n_activities / 2].busy_ns;
        taker->longest_ns = activities[n_activities - 1].busy_ns;
        taker->period_ns = rhythm.period_ns;
    }
    free(activities);
    return failed ? -1 : 0;
}

int nr_takers(const struct nr_recorder *r, const struct nr_burst *bursts, size_t n, struct nr_taker *takers, int most) {
    size_t n_all = 0, n_own;
    struct nr_burst *own = malloc((n + 1) * sizeof *own);
    struct named *all = calloc(r->tally.n_rows + 1, sizeof *all);
    int failed = !own || !all, n_shown = 0;
    for (uint32_t i = 0; !failed && i < r->tally.n_rows; i++) {
        const struct nr_row *row = &r->tally.rows[i];
        int64_t ns = row->has_wall ? row->wall_ns : row->cpu_ns;
        if (row->group >= NR_IRQ || !(r->config.keep >> row->group & 1) || ns <= 0) continue;
        struct named *one = find(r, all, &n_all, row);
        failed = !one;
        if (one) one->taker.busy_ns += ns;
        if (one && row->cpu >= 0) one->by_cpu[row->cpu] += ns;
    }
    if (!failed) qsort(all, n_all, sizeof *all, compare_named);
    for (; !failed && n_shown < most && n_shown < (int)n_all; n_shown++) {
        struct nr_taker *taker = &takers[n_shown];
        name_cpus(&all[n_shown], r->n_cpus);
        *taker = all[n_shown].taker;
        n_own = 0;
        for (size_t k = 0; k < n; k++)
            if (goes_by(taker->task, nr_task_name(r, bursts[k].name), bursts[k].group == NR_KERNEL)) own[n_own++] = bursts[k];
        if (n_own > 0) failed = find_rhythm(own, n_own, taker);
    }
    for (size_t i = 0; i < n_all; i++) free(all[i].by_cpu);
    NL_FREE(own, all);
    return failed ? -1 : n_shown;
}

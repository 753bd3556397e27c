#include "noisegen/recorder/summary.h"
#include "noisegen/recorder/source.h"

enum { MOST_IN_RHYTHM = 1 << 16 /* bursts of a task in which a period is looked for */, MOST_CPUS_NAMED = 8, LEAST_CPU_SHARE = 20 };

/* One task's time on one CPU. */
struct part {
    uint32_t name; /* that all its names have become */
    int32_t cpu;
    int64_t busy_ns;
};

struct parts { struct part *all; size_t n; };

static void shorten(char out[16], const char *name, int is_kernel) {
    snprintf(out, 16, "%s", name);
    char *slash = is_kernel ? strchr(out, '/') : NULL;
    if (slash && slash > out) *slash = '\0';
}

static int is_kernel_name(const struct nr_recorder *r, uint32_t name) {
    for (uint32_t i = 0; i < r->tally.n_rows; i++)
        if (r->tally.rows[i].name == name && r->tally.rows[i].group == NR_KERNEL) return 1;
    return 0;
}

/* For each name the one that stands for it: of the kernel's threads the first that is the same but for what follows the slash. NULL without
 * memory. */
static uint32_t *same_names(const struct nr_recorder *r) {
    uint32_t *same = calloc(r->tasks.n_names + 1, sizeof *same);
    char mine[16], other[16];
    for (uint32_t i = 0; same && i < r->tasks.n_names; i++) {
        same[i] = i;
        if (!strchr(nr_task_name(r, i), '/') || !is_kernel_name(r, i)) continue;
        shorten(mine, nr_task_name(r, i), 1);
        for (uint32_t k = 0; k < i && same[i] == i; k++) {
            shorten(other, nr_task_name(r, k), 1);
            if (same[k] == k && strcmp(mine, other) == 0) same[i] = k;
        }
    }
    return same;
}

static uint32_t same_name(const struct nr_recorder *r, const uint32_t *same, uint32_t name) {
    return same[name < r->tasks.n_names ? name : 0];
}

static int compare_parts(const void *a, const void *b) {
    const struct part *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Parts of one name and CPU become one. */
static void join_parts(struct parts *parts) {
    size_t n = 0;
    qsort(parts->all, parts->n, sizeof *parts->all, compare_parts);
    for (size_t i = 0; i < parts->n; i++) {
        struct part *last = n > 0 ? &parts->all[n - 1] : NULL;
        if (last && compare_parts(last, &parts->all[i]) == 0) last->busy_ns += parts->all[i].busy_ns;
        else parts->all[n++] = parts->all[i];
    }
    parts->n = n;
}

/* Of bursts, or where there are none of the account. */
static int collect_parts(const struct nr_recorder *r, const struct nr_burst *bursts, size_t n, const uint32_t *same, struct parts *parts) {
    *parts = (struct parts){.all = malloc(((n > 0 ? n : r->tally.n_rows) + 1) * sizeof *parts->all)};
    if (!parts->all) return -1;
    for (size_t i = 0; i < n; i++)
        parts->all[parts->n++] =
            (struct part){same_name(r, same, bursts[i].name), bursts[i].cpu, bursts[i].end_ns - bursts[i].start_ns};
    for (uint32_t i = 0; n == 0 && i < r->tally.n_rows; i++) {
        const struct nr_row *row = &r->tally.rows[i];
        int is_task = row->group < NR_UNKNOWN && row->group != NR_IDLE && row->group != NR_NOISELAB && row->group != NR_RANK;
        if (is_task && row->cpu_ns > 0) parts->all[parts->n++] = (struct part){same_name(r, same, row->name), row->cpu, row->cpu_ns};
    }
    join_parts(parts);
    return 0;
}

static int busiest_first(const void *a, const void *b) {
    const struct part *x = a, *y = b;
    if (x->busy_ns != y->busy_ns) return x->busy_ns > y->busy_ns ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* The CPUs of one task's parts. */
static void name_cpus(struct part *parts, size_t n, int64_t busy_ns, char *out, size_t size) {
    size_t used = 0, n_named = 0;
    out[0] = '\0';
    qsort(parts, n, sizeof *parts, busiest_first);
    for (size_t i = 0; i < n && n_named < MOST_CPUS_NAMED && used + 8 < size; i++) {
        if (parts[i].cpu < 0 || parts[i].busy_ns < busy_ns / LEAST_CPU_SHARE) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%d", n_named++ > 0 ? "," : "", parts[i].cpu);
    }
}

/* A taker, and the name that its tasks go by. */
struct named { struct nr_taker taker; uint32_t name; };

static int compare_named(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    if (x->taker.busy_ns != y->taker.busy_ns) return x->taker.busy_ns > y->taker.busy_ns ? -1 : 1;
    return strcmp(x->taker.task, y->taker.task);
}

static int compare_lengths(const void *a, const void *b) {
    const struct nr_activity *x = a, *y = b;
    return (x->busy_ns > y->busy_ns) - (x->busy_ns < y->busy_ns);
}

/* Bursts, lengths and period of the tasks that go by one name. */
static int find_rhythm(const struct nr_burst *own, size_t n, struct nr_taker *taker) {
    struct nr_rhythm rhythm;
    struct nr_activity *activities = malloc((n + 1) * sizeof *activities);
    if (!activities || nr_rhythm(own, n < MOST_IN_RHYTHM ? n : MOST_IN_RHYTHM, 0, &rhythm)) {
        free(activities);
        return -1;
    }
    size_t n_activities = nr_activities(own, n, rhythm.gap_ns, 0, activities);
    qsort(activities, n_activities, sizeof *activities, compare_lengths);
    taker->n_bursts = (int64_t)n_activities;
    taker->typical_ns = activities[n_activities / 2].busy_ns;
    taker->longest_ns = activities[n_activities - 1].busy_ns;
    taker->period_ns = rhythm.period_ns;
    free(activities);
    return 0;
}

/* One for each name, the busiest first; NULL without memory. */
static struct named *name_takers(const struct nr_recorder *r, struct parts *parts, size_t *n_named) {
    struct named *all = calloc(parts->n + 1, sizeof *all);
    *n_named = 0;
    for (size_t i = 0, end; all && i < parts->n; i = end) {
        struct named *one = &all[(*n_named)++];
        *one = (struct named){.taker = {.n_bursts = -1, .typical_ns = -1, .longest_ns = -1}, .name = parts->all[i].name};
        for (end = i; end < parts->n && parts->all[end].name == one->name; end++) one->taker.busy_ns += parts->all[end].busy_ns;
        shorten(one->taker.task, nr_task_name(r, one->name), is_kernel_name(r, one->name));
        name_cpus(parts->all + i, end - i, one->taker.busy_ns, one->taker.cpus, sizeof one->taker.cpus);
    }
    if (all) qsort(all, *n_named, sizeof *all, compare_named);
    return all;
}

int nr_takers(const struct nr_recorder *r, const struct nr_burst *bursts, size_t n, struct nr_taker *takers, int most) {
    struct parts parts = {0};
    struct named *all = NULL;
    size_t n_all = 0;
    struct nr_burst *own = malloc((n + 1) * sizeof *own);
    uint32_t *same = same_names(r);
    int failed = !same || !own || collect_parts(r, bursts, n, same, &parts) || !(all = name_takers(r, &parts, &n_all));
    int n_shown = n_all < (size_t)most ? (int)n_all : most;
    for (int i = 0; !failed && i < n_shown; i++) {
        size_t n_own = 0;
        for (size_t k = 0; k < n; k++)
            if (same_name(r, same, bursts[k].name) == all[i].name) own[n_own++] = bursts[k];
        if (n_own > 0) failed = find_rhythm(own, n_own, &all[i].taker);
        takers[i] = all[i].taker;
    }
    NL_FREE(same, parts.all, own, all);
    return failed ? -1 : n_shown;
}

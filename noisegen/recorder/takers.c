#include "noisegen/recorder/takers.h"
#include "common/sys/nl_cgroup.h"
#include "noisegen/recorder/source.h"
#include "noisegen/recorder/summary.h"
#include "noisegen/recorder/activity.h"

enum {
    MOST_IN_RHYTHM = 1 << 16 /* bursts of a task in which a period is looked for */,
    MOST_NAMED = 8,
    LEAST_CPU_SHARE = 20,
    LEAST_APART = 8 /* a process with less than this part of its name's time is not kept apart */,
    PIECE_GAP_NS = 100000 /* who waits for the CPU has it for a slice, which is longer */
};
#define MAIN_SHARE 0.2 /* of the usual burst: what is shorter is not what the task does */

/* What one process, or all of a name, had: in all, and by CPU. */
struct portion {
    pid_t pid;
    int64_t ns;
};

/* Tasks that go by one name. */
struct named {
    char name[16];
    int is_kernel;
    int64_t busy_ns;
    int64_t *by_cpu;
    struct portion *processes; /* with any time, the busiest first */
    int n_processes, n_room;
};

/* Whether a task goes by that name: of the kernel's threads what follows the slash does not count. */
static int goes_by(const char *called, const char *name, int is_kernel) {
    size_t n = strlen(called);
    return strncmp(called, name, n) == 0 && (!name[n] || (is_kernel && n > 0 && name[n] == '/'));
}

static struct named *find(const struct nr_recorder *r, struct named *all, size_t *n,
                          const struct nr_row *row) {
    const char *name = nr_task_name(r, row->name);
    int is_kernel = row->group == NR_KERNEL;
    for (size_t i = 0; i < *n; i++)
        if (goes_by(all[i].name, name, is_kernel)) return &all[i];
    struct named *one = &all[*n];
    if (!(one->by_cpu = calloc((size_t)r->n_cpus, sizeof *one->by_cpu))) return NULL;
    one->is_kernel = is_kernel;
    snprintf(one->name, sizeof one->name, "%.*s", is_kernel ? (int)strcspn(name, "/") : 15, name);
    return &all[(*n)++];
}

/* The busiest CPUs of a task. */
static void name_cpus(int64_t *by_cpu, int n_cpus, int64_t busy_ns, struct nr_taker *taker) {
    for (int n = 0, used = 0; n < NR_TAKER_CPUS && used + 8 < (int)sizeof taker->cpus; n++) {
        int most = 0;
        for (int cpu = 1; cpu < n_cpus; cpu++)
            if (by_cpu[cpu] > by_cpu[most]) most = cpu;
        if (by_cpu[most] <= 0 || by_cpu[most] < busy_ns / LEAST_CPU_SHARE) return;
        used += sprintf(taker->cpus + used, "%s%d", n > 0 ? "," : "", most);
        taker->on[n].cpu = most;
        taker->on[n].busy_ns = by_cpu[most];
        taker->n_cpus = n + 1;
        by_cpu[most] = 0;
    }
}

static int compare_named(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    if (x->busy_ns != y->busy_ns) return x->busy_ns > y->busy_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_portions(const void *a, const void *b) {
    const struct portion *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

NL_ORDER_BY(compare_lengths, struct nr_activity, busy_ns)
NL_ORDER(compare_times, int64_t)

static pid_t process_of(const struct nr_recorder *r, const struct nr_burst *b) {
    return b->tid > 0 ? nr_tasks_at(&r->tasks, (uint32_t)b->tid)->pid : 0;
}

/* Adds what a process had; bursts and accounts of one come one after another, mostly. 0, -1 without
 * memory. */
static int add_portion(struct named *one, pid_t pid, int64_t ns) {
    for (int i = one->n_processes - 1; pid > 0 && i >= 0; i--) {
        if (one->processes[i].pid != pid) continue;
        one->processes[i].ns += ns;
        return 0;
    }
    if (pid <= 0) return 0;
    if (NL_GROW(one->processes, one->n_processes, one->n_room)) return -1;
    one->processes[one->n_processes++] = (struct portion){pid, ns};
    return 0;
}

/* The processes of a name: of its bursts, or by the tasks' accounts. */
static int find_processes(const struct nr_recorder *r, struct named *one, const struct nr_burst *own,
                          size_t n) {
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++)
        failed = add_portion(one, process_of(r, &own[i]), own[i].end_ns - own[i].start_ns);
    const struct nr_map *map = &r->tally.processes;
    for (size_t i = 0; n == 0 && i < map->capacity && !failed; i++) {
        const struct nr_map_entry *e = &map->entries[i];
        if (!e->key) continue;
        const struct nr_row *row = &r->tally.rows[(e->key >> 32) - 1];
        if (goes_by(one->name, nr_task_name(r, row->name), row->group == NR_KERNEL))
            failed = add_portion(one, (pid_t)(uint32_t)e->key, (int64_t)e->count);
    }
    if (one->n_processes > 0)
        qsort(one->processes, (size_t)one->n_processes, sizeof *one->processes, compare_portions);
    return failed ? -1 : 0;
}

/* The bursts that make up the task's time, of activities sorted by length: those of a fifth of the usual one
 * or more. Returns how long that is. */
static double sum_main(const struct nr_activity *sorted, size_t n, struct nr_taker *taker) {
    double total_ns = 0, sum_ns = 0, usual_ns = 0;
    for (size_t i = 0; i < n; i++)
        total_ns += (double)sorted[i].busy_ns;
    for (size_t i = 0; i < n && sum_ns < total_ns / 2; i++)
        sum_ns += usual_ns = (double)sorted[i].busy_ns;
    for (size_t i = 0; i < n; i++) {
        if ((double)sorted[i].busy_ns < MAIN_SHARE * usual_ns) continue;
        taker->n_main++;
        taker->main_ns += sorted[i].busy_ns;
    }
    return MAIN_SHARE * usual_ns;
}

/* In how many pieces they were on CPUs: a scheduler gives a burst of 20 ms to a busy CPU a few ms at a time.
 * `activities`: by start, as they were joined of `own`; `pieces_ns`: room for as many as `own`. */
static void find_pieces(const struct nr_burst *own, const struct nr_activity *activities, size_t n,
                        double least_ns, int64_t *pieces_ns, struct nr_taker *taker) {
    size_t n_pieces = 0;
    for (size_t i = 0, k = 0; i < n; k += (size_t)activities[i++].n_bursts) {
        if ((double)activities[i].busy_ns < least_ns) continue;
        int64_t end_ns = own[k].end_ns;
        pieces_ns[n_pieces++] = end_ns - own[k].start_ns;
        for (size_t j = k + 1; j < k + (size_t)activities[i].n_bursts; j++) {
            int64_t length_ns = own[j].end_ns - own[j].start_ns, apart_ns = own[j].start_ns - end_ns;
            if (apart_ns > PIECE_GAP_NS) {
                pieces_ns[n_pieces++] = length_ns;
                taker->parted_ns += apart_ns;
            } else
                pieces_ns[n_pieces - 1] += length_ns;
            if (own[j].end_ns > end_ns) end_ns = own[j].end_ns;
        }
    }
    taker->n_pieces = (int64_t)n_pieces;
    taker->n_lengths = n_pieces < NR_LENGTHS ? (int)n_pieces : NR_LENGTHS;
    qsort(pieces_ns, n_pieces, sizeof *pieces_ns, compare_times);
    for (size_t part = 0, n_parts = (size_t)taker->n_lengths; part < n_parts; part++) {
        size_t from = part * n_pieces / n_parts, to = (part + 1) * n_pieces / n_parts;
        int64_t sum_ns = 0;
        for (size_t i = from; i < to; i++)
            sum_ns += pieces_ns[i];
        taker->lengths_ns[part] = sum_ns / (int64_t)(to - from);
    }
}

/* Bursts, lengths and period of a task. */
static int find_rhythm(const struct nr_burst *own, size_t n, struct nr_taker *taker) {
    struct nr_rhythm rhythm;
    struct nr_activity *activities = malloc((n + 1) * sizeof *activities);
    int64_t *pieces_ns = malloc((n + 1) * sizeof *pieces_ns);
    int failed =
        !activities || !pieces_ns || nr_rhythm(own, n < MOST_IN_RHYTHM ? n : MOST_IN_RHYTHM, 0, &rhythm);
    if (!failed) {
        size_t n_activities = nr_activities(own, n, rhythm.gap_ns, 0, activities);
        qsort(activities, n_activities, sizeof *activities, compare_lengths);
        taker->n_bursts = (int64_t)n_activities;
        taker->typical_ns = activities[n_activities / 2].busy_ns;
        taker->longest_ns = activities[n_activities - 1].busy_ns;
        taker->period_ns = rhythm.period_ns;
        double least_ns = sum_main(activities, n_activities, taker);
        n_activities = nr_activities(own, n, rhythm.gap_ns, 0, activities);
        find_pieces(own, activities, n_activities, least_ns, pieces_ns, taker);
    }
    NL_FREE(activities, pieces_ns);
    return failed ? -1 : 0;
}

static void name_processes(const struct portion *processes, int n, struct nr_taker *taker) {
    for (int i = 0, used = 0; i < n && i < MOST_NAMED && used + 12 < (int)sizeof taker->pids; i++)
        used += sprintf(taker->pids + used, "%s%d", i > 0 ? "," : "", (int)processes[i].pid);
}

/* What is under this process: the end of a long path tells more. */
static void name_cgroup(struct nr_taker *taker) {
    char path[PATH_MAX];
    if (nl_cgroup_of("", taker->pid, "", path, sizeof path) &&
        nl_cgroup_of("", taker->pid, "name=systemd", path, sizeof path))
        return;
    size_t n = strlen(path), room = sizeof taker->cgroup - 1;
    memcpy(taker->cgroup, n > room ? path + n - room : path, n > room ? room + 1 : n + 1);
}

/* One process of a name (by_cpu: of its bursts), or all but the first `n_apart`; `own`: room for
 * its bursts. */
static int fill(const struct nr_recorder *r, const struct named *one, int process, int n_apart,
                const struct nr_burst *bursts, size_t n, struct nr_burst *own, struct nr_taker *taker) {
    int64_t *by_cpu = calloc((size_t)r->n_cpus, sizeof *by_cpu);
    size_t n_own = 0;
    int is_one = process >= 0, first = is_one ? process : n_apart;
    if (!by_cpu) return -1;
    *taker =
        (struct nr_taker){.n_bursts = -1, .typical_ns = -1, .longest_ns = -1, .is_kernel = one->is_kernel};
    memcpy(taker->task, one->name, sizeof taker->task);
    taker->n_processes = is_one ? 1 : one->n_processes - n_apart;
    taker->busy_ns = is_one ? one->processes[process].ns : one->busy_ns;
    for (int i = 0; !is_one && i < n_apart; i++)
        taker->busy_ns -= one->processes[i].ns;
    for (size_t k = 0; k < n; k++) {
        pid_t pid = process_of(r, &bursts[k]);
        int is_apart = 0;
        if (!goes_by(one->name, nr_task_name(r, bursts[k].name), bursts[k].group == NR_KERNEL)) continue;
        for (int i = 0; !is_one && i < n_apart; i++)
            is_apart |= one->processes[i].pid == pid;
        if (is_one ? one->processes[process].pid != pid : is_apart) continue;
        own[n_own++] = bursts[k];
        if (bursts[k].cpu >= 0) by_cpu[bursts[k].cpu] += bursts[k].end_ns - bursts[k].start_ns;
    }
    if (n_own == 0) memcpy(by_cpu, one->by_cpu, (size_t)r->n_cpus * sizeof *by_cpu);
    name_cpus(by_cpu, r->n_cpus, n_own == 0 ? one->busy_ns : taker->busy_ns, taker);
    free(by_cpu);
    if (one->n_processes > first)
        name_processes(one->processes + first, is_one ? 1 : one->n_processes - n_apart, taker);
    if (is_one || one->n_processes == 1) taker->pid = one->processes[first].pid;
    if (taker->pid > 0 && !one->is_kernel) name_cgroup(taker);
    return n_own > 0 ? find_rhythm(own, n_own, taker) : 0;
}

/* How many processes of a name have a large part of its time, and are kept apart; 0: one alone, or none. */
static int n_kept_apart(const struct named *one) {
    int n = 0;
    if (one->is_kernel || one->n_processes < 2) return 0;
    while (n < one->n_processes && one->processes[n].ns >= one->busy_ns / LEAST_APART)
        n++;
    return n > NR_APART ? 0 : n;
}

/* The takers of one name. Their number, -1 without memory. */
static int take_named(const struct nr_recorder *r, struct named *one, const struct nr_burst *bursts, size_t n,
                      struct nr_burst *own, struct nr_taker *takers, int most) {
    size_t n_own = 0;
    int n_taken = 0;
    for (size_t k = 0; k < n; k++)
        if (goes_by(one->name, nr_task_name(r, bursts[k].name), bursts[k].group == NR_KERNEL))
            own[n_own++] = bursts[k];
    if (find_processes(r, one, own, n_own)) return -1;
    int n_apart = n_kept_apart(one);
    if (n_apart > most) n_apart = 0;
    for (; n_taken < n_apart; n_taken++)
        if (fill(r, one, n_taken, n_apart, bursts, n, own, &takers[n_taken])) return -1;
    if (n_apart > 0 && (one->n_processes == n_apart || n_taken == most)) return n_taken;
    return fill(r, one, -1, n_apart, bursts, n, own, &takers[n_taken]) ? -1 : n_taken + 1;
}

int nr_takers(const struct nr_recorder *r, const struct nr_burst *bursts, size_t n, struct nr_taker *takers,
              int most) {
    size_t n_all = 0;
    struct nr_burst *own = malloc((n + 1) * sizeof *own);
    struct named *all = calloc(r->tally.n_rows + 1, sizeof *all);
    int failed = !own || !all, n_shown = 0;
    for (uint32_t i = 0; !failed && i < r->tally.n_rows; i++) {
        const struct nr_row *row = &r->tally.rows[i];
        int64_t ns = row->has_wall ? row->wall_ns : row->cpu_ns;
        if (row->group >= NR_IRQ || !(r->config.keep >> row->group & 1) || ns <= 0) continue;
        struct named *one = find(r, all, &n_all, row);
        failed = !one;
        if (one) one->busy_ns += ns;
        if (one && row->cpu >= 0) one->by_cpu[row->cpu] += ns;
    }
    if (!failed) qsort(all, n_all, sizeof *all, compare_named);
    for (size_t i = 0; !failed && i < n_all && n_shown < most; i++) {
        int n_taken = take_named(r, &all[i], bursts, n, own, takers + n_shown, most - n_shown);
        failed = n_taken < 0;
        n_shown += failed ? 0 : n_taken;
    }
    for (size_t i = 0; i < n_all; i++)
        NL_FREE(all[i].by_cpu, all[i].processes);
    NL_FREE(own, all);
    return failed ? -1 : n_shown;
}

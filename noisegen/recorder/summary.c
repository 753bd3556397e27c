#include "noisegen/recorder/summary.h"
#include "common/base/nl_hist.h"
#include "common/base/nl_json.h"
#include "common/base/nl_units.h"
#include "common/base/nl_words.h"
#include "noisegen/recorder/source.h"
#include "common/sys/nl_account_json.h"
#include "noisegen/recorder/activity.h"
#include "noisegen/recorder/takers.h"

/* What a row of tasks.HOST.csv says of times, ns; -1: not known. */
struct nr_task_times {
    int64_t cpu_ns, wall_ns;
    struct nr_quantiles bursts;
};

#include "common/contract/tasks.h"

static int compare_bursts(const void *a, const void *b) {
    const struct nr_burst *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* By start; to be freed. */
static struct nr_burst *sorted_bursts(const struct nr_recorder *r) {
    size_t n = (size_t)r->n_bursts;
    struct nr_burst *sorted = malloc((n + 1) * sizeof *sorted);
    if (sorted && n > 0) memcpy(sorted, r->bursts, n * sizeof *sorted);
    if (sorted) qsort(sorted, n, sizeof *sorted, compare_bursts);
    return sorted;
}

static int64_t scaled(int64_t ns, double share) {
    return share >= 0 && share < 1 ? (int64_t)((double)ns * share) : ns;
}

/* Share of a CPU's busy time in an arm that the hypervisor took: /proc/stat's steal by the time on the CPU of
 * all but the idle task. */
static double steal_share(const struct nr_recorder *r, int arm, int cpu) {
    int64_t busy_ns = 0, steal_ns = 0;
    for (uint32_t i = 0; i < r->tally.n_rows; i++) {
        const struct nr_row *row = &r->tally.rows[i];
        if ((arm >= 0 && row->arm != arm) || row->cpu != cpu) continue;
        if (row->group == NR_STEAL) steal_ns += row->wall_ns;
        if (row->group < NR_UNKNOWN && row->group != NR_IDLE) busy_ns += row->wall_ns;
    }
    return busy_ns > steal_ns ? (double)steal_ns / (double)busy_ns : 0;
}

/* What of a task's time on a CPU was CPU time, the hypervisor's share (steal) taken off, in an arm (-1: in
 * all); -1: not known here. */
static double cpu_share(const struct nr_recorder *r, int arm, int cpu) {
    if (r->source->is_cpu_time) return 1;
    return r->source == &nr_source_cpu && r->knows_steal ? 1 - steal_share(r, arm, cpu) : -1;
}

/* Share of time on a CPU that was CPU time. What steal leaves is an estimate, by ticks and over all that the
 * CPU did; it is never below the kernel's account of the processes. */
static double cpu_time_share(const struct nr_recorder *r, const struct nr_summary *s, int cpu) {
    double share = cpu_share(r, -1, cpu);
    return share >= 0 && share < s->least_share ? s->least_share : share;
}

/* The least it can have been, by the account; bursts are all there are. */
static double least_share(const struct nr_burst *bursts, int64_t n, int64_t account_ns) {
    double wall_ns = 0;
    for (int64_t i = 0; i < n; i++)
        wall_ns += (double)(bursts[i].end_ns - bursts[i].start_ns);
    if (account_ns <= 0 || wall_ns <= 0) return 0;
    return (double)account_ns < wall_ns ? (double)account_ns / wall_ns : 1;
}

static int block_of(const struct nr_recorder *r, const struct nr_summary *s, int64_t start_ns) {
    int64_t since_ns = start_ns - r->origin_ns;
    int block = s->span_ns > 0 && since_ns > 0 ? (int)((double)since_ns / (double)s->span_ns * NR_BLOCKS) : 0;
    return block < NR_BLOCKS ? block : NR_BLOCKS - 1;
}

static void sum_bursts(const struct nr_recorder *r, const struct nr_burst *bursts, int64_t n,
                       struct nr_summary *s) {
    s->n_bursts = n;
    s->has_cpus = 1;
    for (int64_t i = 0; i < n; i++) {
        const struct nr_burst *b = &bursts[i];
        int64_t length_ns = b->end_ns - b->start_ns;
        double share = cpu_time_share(r, s, b->cpu);
        s->wall_ns += length_ns;
        s->cpu_ns = s->cpu_ns < 0 || share < 0 ? -1 : s->cpu_ns + scaled(length_ns, share);
        s->blocks_ns[block_of(r, s, b->start_ns)] += length_ns;
        if (b->cpu < 0) s->has_cpus = 0;
    }
    /* where no burst is seen the account of the tasks is the time on CPUs */
    for (int group = 0; n == 0 && group < NR_UNKNOWN; group++)
        if (group != NR_NOISELAB && group != NR_RANK && group != NR_IDLE)
            s->cpu_ns = s->wall_ns += s->totals.group_ns[group];
}

/* A trace's bursts must not overlap on a CPU; the time of several threads within one activity may be more
 * than lies before the next. */
static void keep_apart(struct nr_activity *trace, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && trace[j].start_ns < trace[i].start_ns + trace[i].busy_ns; j++)
            if (trace[j].cpu == trace[i].cpu) trace[i].busy_ns = trace[j].start_ns - trace[i].start_ns;
}

/* Their durations in CPU time; those without any are left out. How many stay. */
static size_t in_cpu_time(const struct nr_recorder *r, const struct nr_summary *s, struct nr_activity *all,
                          size_t n) {
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct nr_activity a = all[i];
        a.busy_ns = scaled(a.busy_ns, cpu_time_share(r, s, a.cpu));
        if (a.busy_ns > 0) all[n_kept++] = a;
    }
    return n_kept;
}

static int make_trace(const struct nr_recorder *r, const struct nr_burst *bursts, size_t n,
                      struct nr_summary *s) {
    s->trace = malloc((n + 1) * sizeof *s->trace);
    s->stalls = malloc((n + 1) * sizeof *s->stalls);
    if (!s->trace || !s->stalls) return -1;
    s->n_activities = (int64_t)nr_activities(bursts, n, s->rhythm.gap_ns, 0, s->trace);
    s->n_trace =
        in_cpu_time(r, s, s->trace, nr_activities(bursts, n, s->rhythm.gap_ns, s->has_cpus, s->trace));
    keep_apart(s->trace, s->n_trace);
    s->n_stalls =
        in_cpu_time(r, s, s->stalls, nr_activities(bursts, n, NR_STALL_GAP_NS, s->has_cpus, s->stalls));
    return 0;
}

int nr_summarise(const struct nr_recorder *r, int64_t group_gap_ns, int64_t account_ns,
                 struct nr_summary *s) {
    const struct nr_burst *bursts = r->bursts;
    int64_t n = r->n_bursts;
    *s = (struct nr_summary){.totals = r->totals,
                             .account_ns = account_ns,
                             .ended_status = -1,
                             .least_share = least_share(bursts, n, account_ns)};
    s->span_ns = s->totals.wall_ns;
    struct nr_burst *sorted = sorted_bursts(r);
    if (!sorted) return -1;
    s->n_takers = nr_takers(r, sorted, (size_t)n, s->takers, NR_MOST_TAKERS);
    sum_bursts(r, sorted, n, s);
    int failed = s->n_takers < 0 || nr_rhythm(sorted, (size_t)n, group_gap_ns, &s->rhythm) ||
                 make_trace(r, sorted, (size_t)n, s);
    free(sorted);
    return failed ? -1 : 0;
}

void nr_summary_account(const struct nr_recorder *r, struct nr_summary *s,
                        const struct nl_account_sum *account, const struct nl_account_cpu *cpus) {
    s->has_account = 1;
    s->account = *account;
    s->cpus = cpus;
    int64_t ended_ns = account->all.tasks_ns - s->wall_ns;
    if (r->source != &nr_source_proc || ended_ns <= 0) return;
    s->cpu_ns = s->wall_ns = account->all.tasks_ns;
    /* it may be those that are there */
    if (100 * (double)ended_ns <= account->resolution_percent * (double)account->span_ns) return;
    int at = s->n_takers < NR_MOST_TAKERS ? s->n_takers++ : NR_MOST_TAKERS - 1;
    for (; at > 0 && s->takers[at - 1].busy_ns < ended_ns; at--)
        s->takers[at] = s->takers[at - 1];
    s->takers[at] = (struct nr_taker){
        .task = "(ended)", .busy_ns = ended_ns, .n_bursts = -1, .typical_ns = -1, .longest_ns = -1};
}

double nr_duty_percent(const struct nr_summary *s) {
    return s->span_ns > 0 ? 100 * (double)(s->cpu_ns >= 0 ? s->cpu_ns : s->wall_ns) / (double)s->span_ns : 0;
}

int nr_hides_some(const struct nr_summary *s) {
    return s->has_account && nl_account_is_blind(&s->account, 0) && (s->is_of_all || s->account.blind[0]);
}

/* The comments at the begin of a trace. */
static void write_trace_head(const struct nr_recorder *r, FILE *file, const char *host, int64_t span_ns,
                             int64_t not_kept) {
    const struct nr_totals *t = &r->totals;
    fprintf(file, "# source: %s\n", r->source->name);
    if (r->reason[0]) fprintf(file, "# source_reason: %s\n", r->reason);
    fprintf(file,
            "# origin_monotonic_ns: %" PRId64 "\n# host: %s\n# lost: %" PRId64 "\n# cut: %" PRId64
            "\n# not_kept: %" PRId64 "\n# span_ns: %" PRId64 "\n# start_ns\tduration_ns\tcpu\tkind\ttask\n",
            r->origin_ns, host, t->lost, t->cut, not_kept, span_ns > 0 ? span_ns : 1);
}

/* A line of it; cpu -1: not known. */
static void write_burst(const struct nr_recorder *r, FILE *file, int64_t start_ns, int64_t length_ns, int cpu,
                        uint32_t name) {
    fprintf(file, "%" PRId64 "\t%" PRId64 "\t", start_ns - r->origin_ns, length_ns);
    if (cpu >= 0)
        fprintf(file, "%d\t-\t", cpu);
    else
        fputs("-\t-\t", file);
    nl_put_name(file, nr_task_name(r, name));
    fputc('\n', file);
}

int nr_write_trace(const struct nr_recorder *r, const struct nr_summary *s, FILE *file, const char *what,
                   const char *host) {
    fprintf(file,
            "# noiselab-record: %s\n# group_gap_ns: %" PRId64 "\n# period_ns: %.0f\n# steal_ns: %" PRId64
            "\n# percent of one CPU: %.6f\n",
            what, s->rhythm.gap_ns, s->rhythm.period_ns, s->totals.group_ns[NR_STEAL], nr_duty_percent(s));
    write_trace_head(r, file, host, s->span_ns, r->totals.not_kept);
    for (size_t i = 0; i < s->n_trace; i++) {
        const struct nr_activity *a = &s->trace[i];
        write_burst(r, file, a->start_ns, a->busy_ns, s->has_cpus ? a->cpu : -1, a->name);
    }
    return fflush(file) || ferror(file) ? -1 : 0;
}

/* ---- printing ---- */

enum { SHOWN_TAKERS = 5 };

static const char *duration(int64_t ns, char *buffer, size_t size) {
    return ns < 0 ? "-" : nl_format_duration(ns, buffer, size);
}

static double percent_of_cpu(const struct nr_summary *s, int64_t ns) {
    return s->span_ns > 0 ? 100 * (double)ns / (double)s->span_ns : 0;
}

static double bursts_per_s(const struct nr_summary *s, const struct nr_taker *t) {
    return s->span_ns > 0 ? 1e9 * (double)t->n_bursts / (double)s->span_ns : 0;
}

/* Who ran: the tasks with the most time. */
static void print_takers(const struct nr_summary *s) {
    char typical[32], longest[32], period[32];
    for (int i = 0; i < s->n_takers && i < SHOWN_TAKERS; i++) {
        const struct nr_taker *t = &s->takers[i];
        printf("%-12s %-15s %.4g %% of a CPU", i == 0 ? "who ran" : "", t->task,
               percent_of_cpu(s, t->busy_ns));
        if (t->pid > 0)
            printf(", PID %d", (int)t->pid);
        else if (t->n_processes > 1)
            printf(", %d processes", t->n_processes);
        if (t->n_bursts > 0)
            printf(", %.3g bursts per second of %s (longest %s), %s%s", bursts_per_s(s, t),
                   duration(t->typical_ns, typical, sizeof typical),
                   duration(t->longest_ns, longest, sizeof longest),
                   t->period_ns > 0 ? "period " : "no period",
                   t->period_ns > 0 ? duration((int64_t)t->period_ns, period, sizeof period) : "");
        printf("%s%s\n", t->cpus[0] ? ", CPU " : "", t->cpus);
    }
}

/* Where the time of the CPUs went, and what nobody accounts for. */
static void print_account(const struct nr_summary *s) {
    const struct nl_account_sum *a = &s->account;
    if (a->span_ns == 0) {
        printf("%-12s not known: /proc/stat cannot be read, so nothing here is known to be all\n",
               "unaccounted");
        return;
    }
    printf("%-12s %.3g %% of a CPU: %d CPUs were busy for %.4g %%, tasks had %.4g %%, noiselab and what is "
           "left out %.4g %%, interrupts "
           "%.3g %%, steal %.3g %%",
           "unaccounted", nl_account_percent_of_cpu(a, a->all.unaccounted_ns), (int)a->n_cpus,
           nl_account_percent_of_cpu(a, a->all.busy_ns), nl_account_percent_of_cpu(a, a->all.tasks_ns),
           nl_account_percent_of_cpu(a, a->all.own_ns), nl_account_percent_of_cpu(a, a->all.interrupts_ns),
           nl_account_percent_of_cpu(a, a->all.steal_ns));
    if (nl_account_is_blind(a, 0) && a->worst.cpu >= 0)
        printf("; most on CPU %d, %.3g %%", (int)a->worst.cpu,
               nl_account_percent_of_cpu(a, a->worst.unaccounted_ns));
    printf(" (resolution %.2g %%)\n", a->resolution_percent * a->n_cpus);
}

void nr_print_summary(const struct nr_recorder *r, const struct nr_summary *s, const char *what) {
    char a[32];
    printf("%-12s %s, %.3f s\n", "recorded", what, (double)s->span_ns / 1e9);
    printf("%-12s %s%s%s%s\n", "source", nr_source(r), nr_reason(r)[0] ? " (" : "", nr_reason(r),
           nr_reason(r)[0] ? ")" : "");
    printf("%-12s %s%.4f %% of one CPU (on CPUs %s", "duty", nr_hides_some(s) ? "at least " : "",
           nr_duty_percent(s), duration(s->wall_ns, a, sizeof a));
    if (s->cpu_ns >= 0 && s->cpu_ns != s->wall_ns)
        printf(", without the hypervisor's share %s", duration(s->cpu_ns, a, sizeof a));
    if (s->account_ns >= 0) printf("; by the kernel's account %s", duration(s->account_ns, a, sizeof a));
    printf(")\n");
    if (r->source->has_bursts) {
        printf("%-12s ", "period");
        if (s->rhythm.period_ns > 0)
            printf("%.6g ms +- %s (99 %%)\n", s->rhythm.period_ns / 1e6,
                   duration((int64_t)ceil(s->rhythm.period_error_ns), a, sizeof a));
        else
            printf("none found\n");
        printf("%-12s %" PRId64 ", of %" PRId64 " bursts: those closer than %s are one\n", "activities",
               s->n_activities, s->n_bursts, duration(s->rhythm.gap_ns, a, sizeof a));
        printf("%-12s %" PRId64 " records lost, %" PRId64 " bursts cut by that, %" PRId64 " found no room\n",
               "losses", s->totals.lost, s->totals.cut, s->totals.not_kept);
    }
    print_takers(s);
    if (s->has_account) print_account(s);
}

static json_t *known(int64_t value) { return value >= 0 ? json_integer((json_int_t)value) : json_null(); }

static json_t *taker_json(const struct nr_summary *s, const struct nr_taker *t) {
    json_t *pid = t->pid > 0 ? json_integer(t->pid) : json_null();
    json_t *period = t->period_ns > 0 ? json_real(t->period_ns) : json_null();
    json_t *json = json_pack("{s:o, s:o, s:i, s:s, s:o, s:b, s:I, s:f}", "task", nl_json_text(t->task), "pid",
                             pid, "processes", t->n_processes, "pids", t->pids, "cgroup",
                             nl_json_text(t->cgroup[0] ? t->cgroup : NULL), "kernel", t->is_kernel, "busy_ns",
                             (json_int_t)t->busy_ns, "percent_of_cpu", percent_of_cpu(s, t->busy_ns));
    nl_json_set(json, "bursts", known(t->n_bursts), "burst_ns", known(t->typical_ns), "longest_ns",
                known(t->longest_ns), "main_bursts", json_integer((json_int_t)t->n_main), "main_busy_ns",
                json_integer((json_int_t)t->main_ns), "main_pieces", json_integer((json_int_t)t->n_pieces),
                "main_parted_ns", json_integer((json_int_t)t->parted_ns), "main_piece_lengths",
                NL_JSON_LIST(i, t->n_lengths, json_integer((json_int_t)t->lengths_ns[i])), "period_ns",
                period, "cpus", json_string(t->cpus), "on_cpus",
                NL_JSON_LIST(i, t->n_cpus, json_pack("[i, I]", t->on[i].cpu, (json_int_t)t->on[i].busy_ns)),
                NULL);
    return json;
}

static json_t *takers_json(const struct nr_summary *s) {
    json_t *array = json_array();
    for (const struct nr_taker *t = s->takers; t < s->takers + s->n_takers; t++)
        json_array_append_new(array, taker_json(s, t));
    return array;
}

/* What each CPU was away for in one piece: how many of these began in each block of the recording, and how
 * many were how long, by bins of nl_hist. */
static void add_activities(json_t *json, const struct nr_recorder *r, const struct nr_summary *s) {
    static struct nl_hist hist;
    int64_t counts[NR_BLOCKS] = {0};
    for (size_t i = 0; i < s->n_stalls; i++) {
        counts[block_of(r, s, s->stalls[i].start_ns)]++;
        nl_hist_add(&hist, s->stalls[i].busy_ns);
    }
    nl_json_set(json, "block_busy_ns", NL_JSON_LIST(i, NR_BLOCKS, json_integer((json_int_t)s->blocks_ns[i])),
                "block_activities", NL_JSON_LIST(i, NR_BLOCKS, json_integer((json_int_t)counts[i])),
                "cpu_activity_lengths",
                NL_JSON_LIST(i, NL_HIST_BINS,
                             hist.bins[i]
                                 ? json_pack("[I, I]", (json_int_t)nl_hist_lo(i), (json_int_t)hist.bins[i])
                                 : NULL),
                NULL);
}

/* How a command ended by itself. */
static json_t *ended(int status) {
    char words[32];
    if (status < 0) return json_null();
    if (WIFSIGNALED(status))
        snprintf(words, sizeof words, "signal %d", WTERMSIG(status));
    else
        snprintf(words, sizeof words, "status %d", WEXITSTATUS(status));
    return json_string(words);
}

void nr_print_json(const struct nr_recorder *r, const struct nr_summary *s) {
    const struct nr_totals *t = &s->totals;
    const struct nr_rhythm *rhythm = &s->rhythm;
    int has_period = rhythm->period_ns > 0;
    json_t *json =
        json_pack("{s:I, s:s, s:o, s:f, s:I, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
                  "s:I, s:o, s:o}",
                  "span_ns", (json_int_t)s->span_ns, "source", nr_source(r), "source_reason",
                  nl_json_text(nr_reason(r)), "percent_of_cpu", nr_duty_percent(s), "wall_on_cpu_ns",
                  (json_int_t)s->wall_ns, "cpu_ns", known(s->cpu_ns), "account_ns", known(s->account_ns),
                  "steal_ns", (json_int_t)t->group_ns[NR_STEAL], "period_ns",
                  has_period ? json_real(rhythm->period_ns) : json_null(), "period_error_ns",
                  has_period ? json_real(rhythm->period_error_ns) : json_null(), "group_gap_ns",
                  (json_int_t)rhythm->gap_ns, "groups", (json_int_t)s->n_activities, "bursts",
                  (json_int_t)s->n_bursts, "lost", (json_int_t)t->lost, "cut", (json_int_t)t->cut, "not_kept",
                  (json_int_t)t->not_kept, "ins", (json_int_t)t->ins, "outs", (json_int_t)t->outs, "ended",
                  ended(s->ended_status), "tasks", takers_json(s));
    json_object_set_new(json, "account",
                        s->has_account ? nl_account_json(&s->account, s->cpus, r->n_cpus) : json_null());
    if (s->n_bursts > 0) add_activities(json, r, s);
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(json);
}

/* tasks.HOST.csv and bursts.HOST.trace. */

static int compare_rows(const void *a, const void *b) {
    const struct nr_row *x = *(const struct nr_row *const *)a, *y = *(const struct nr_row *const *)b;
    if (x->arm != y->arm) return x->arm < y->arm ? -1 : 1;
    if (x->cpu != y->cpu) return x->cpu < y->cpu ? -1 : 1;
    return (x->wall_ns < y->wall_ns) - (x->wall_ns > y->wall_ns);
}

static int64_t cpu_ns(const struct nr_recorder *r, const struct nr_row *row) {
    if (row->cpu_ns >= 0) return row->cpu_ns;
    if (row->group > NR_UNKNOWN || row->group == NR_IDLE || !row->has_wall) return -1;
    double share = cpu_share(r, row->arm, row->cpu);
    return share >= 0 ? (int64_t)((double)row->wall_ns * share) : -1;
}

/* Time on the CPU; -1: not known. */
static int64_t wall_ns(const struct nr_recorder *r, const struct nr_row *row) {
    int is_seen = row->has_wall && !r->source->is_cpu_time;
    return is_seen || row->group >= NR_IRQ ? row->wall_ns : -1;
}

int nr_write_tasks(const struct nr_recorder *r, FILE *file, const char *launch, const char *host,
                   const struct nr_arm_words *arms) {
    size_t n_bins;
    uint32_t n = r->tally.n_rows;
    const struct nr_row **rows = malloc((n + 1) * sizeof *rows);
    if (!rows) return -1;
    struct nr_map_entry *sorted = nr_tally_sorted_bins(&r->tally, &n_bins);
    for (uint32_t i = 0; i < n; i++)
        rows[i] = &r->tally.rows[i];
    qsort(rows, n, sizeof *rows, compare_rows);
    fputs(NL_TASKS_HEADER, file);
    for (uint32_t i = 0; i < n; i++) {
        const struct nr_row *row = rows[i];
        struct nr_task_times times = {cpu_ns(r, row), wall_ns(r, row),
                                      nr_tally_quantiles(sorted, n_bins, (uint32_t)(row - r->tally.rows))};
        nl_put_tasks(file, r, launch, host, &arms[row->arm], row, &times);
    }
    NL_FREE(rows, sorted);
    return fflush(file) || ferror(file) ? -1 : 0;
}

/* Those of these groups. */
static int write_groups(const struct nr_recorder *r, FILE *file, const char *host, uint32_t groups,
                        int64_t not_kept) {
    int64_t n = r->n_bursts, span_ns = r->end_ns == INT64_MAX ? 0 : r->end_ns - r->origin_ns;
    struct nr_burst *sorted = sorted_bursts(r);
    if (!sorted) return -1;
    for (int64_t i = 0; i < n; i++)
        if (sorted[i].end_ns - r->origin_ns > span_ns) span_ns = sorted[i].end_ns - r->origin_ns;
    write_trace_head(r, file, host, span_ns, not_kept);
    for (int64_t i = 0; i < n; i++)
        if (groups >> sorted[i].group & 1)
            write_burst(r, file, sorted[i].start_ns, sorted[i].end_ns - sorted[i].start_ns, sorted[i].cpu,
                        sorted[i].name);
    free(sorted);
    return fflush(file) || ferror(file) ? -1 : 0;
}

int nr_write_bursts(const struct nr_recorder *r, FILE *file, const char *host) {
    return write_groups(r, file, host, r->config.keep, r->totals.not_kept);
}

int nr_write_beside(const struct nr_recorder *r, FILE *file, const char *host) {
    return write_groups(r, file, host, r->config.beside & ~r->config.keep, r->totals.beside_not_kept);
}

/* From what ran in an interval to its sample. */
#include "noisegen/top/tell.h"
#include "common/sys/nl_whole.h"
#include "noisegen/top/watch.h"
#include "noisegen/top/period.h"
#include "noisegen/top/processes.h"
#include "noisegen/top/scale.h"

enum {
    PORTION = 512 /* stretches, some 10 us; 50 us where each is of another task */,
    PORTION_ROWS = 16,
    PORTION_TASKS = 256 /* of those that ran, some 30 us */,
    PORTION_PAIRS = 1024 /* of tasks and CPUs, some 10 us; 50 us where each is of another task */,
    MOST_NAMES = 256 /* looked for in one interval, 10 us each */,
    TWENTIETH = 20
};

#define JOIN_NS        5000 /* interruptions closer than this are one: a switch lies between */
#define PERIOD_EACH_NS INT64_C(10000000000)
#define STAT_EACH_NS   INT64_C(10000000000)
#define MOST_OF_A_CPU  0.5 /* whoever has more than this share is taken for the program */

/* ---- what ran ---- */

static uint64_t pair_of(int32_t process, int cpu) {
    return ((uint64_t)process + 1) << 20 | (uint64_t)(cpu + 1);
}

static void add_pair(struct nt_watch *w, int32_t process, int cpu, int64_t ns) {
    if (w->pairs.n * 2 >= w->pairs.capacity) nr_map_reserve(&w->pairs, w->pairs.n + 1024);
    uint64_t *pair_ns = nr_map_at(&w->pairs, pair_of(process, cpu));
    if (pair_ns) *pair_ns += (uint64_t)ns;
}

/* What it had where it was last: most processes stay there. */
static void settle_pair(struct nt_watch *w, int32_t process) {
    struct nt_process *p = &w->processes[process];
    if (p->here_ns > 0) add_pair(w, process, p->here, p->here_ns);
    p->run_ns += p->here_ns;
    p->here_ns = 0;
}

void nt_moved(struct nt_watch *w, int32_t process, int cpu) {
    settle_pair(w, process);
    w->processes[process].here = cpu;
}

void nt_children_ran(struct nt_watch *w, int32_t process, int cpu, int64_t length_ns) {
    length_ns = nt_add_stretch(w, process, cpu, w->end_ns - length_ns, w->end_ns);
    w->processes[process].run_ns += length_ns;
    w->processes[process].ended_ns += length_ns;
}

/* An interruption goes to the record, as far as it is not there. */
static void record_cut(struct nt_watch *w, int cpu) {
    struct nt_runner *r = &w->runners[cpu];
    nt_train_add(w, cpu, r->cut_told_ns, r->cut_end_ns);
    r->cut_told_ns = r->cut_end_ns;
    int64_t length_ns = r->cut_end_ns - r->cut_start_ns;
    if (length_ns > w->longest_ns[cpu]) w->longest_ns[cpu] = length_ns;
    w->latest_ns[cpu] = length_ns;
    w->latest_end_ns[cpu] = r->cut_end_ns;
}

static void end_cut(struct nt_watch *w, int cpu) {
    if (w->runners[cpu].cut_end_ns == 0) return;
    record_cut(w, cpu);
    w->n_cuts[cpu]++;
    w->runners[cpu].cut_end_ns = 0;
}

/* Up to a portion of the stretches. */
static void settle(struct nt_watch *w, const struct nt_stretch *s, const struct nt_stretch *end) {
    for (; s < end; s++) {
        struct nt_runner *r = &w->runners[s->cpu];
        int is_program = w->processes[s->process].is_program;
        int64_t length_ns = s->end_ns - s->start_ns;
        w->accounted_ns[s->cpu] += length_ns;
        if (r->cut_end_ns != 0 && (is_program || s->start_ns - r->cut_end_ns > JOIN_NS)) end_cut(w, s->cpu);
        if (is_program) continue;
        w->lost_ns[s->cpu] += length_ns;
        if (r->cut_end_ns == 0) r->cut_start_ns = r->cut_told_ns = s->start_ns;
        r->cut_end_ns = s->end_ns;
    }
}

void nt_settle(struct nt_watch *w) {
    for (int first = 0; first < w->n_stretches; first += PORTION) {
        int n = w->n_stretches - first < PORTION ? w->n_stretches - first : PORTION;
        settle(w, w->stretches + first, w->stretches + first + n);
        nt_breathe(w);
    }
    w->n_stretches = 0;
}

/* ---- who is the program ---- */

/* Where nobody said: on each CPU whoever has more than half of it; for all of their time, on all CPUs. */
static void assume_program(struct nt_watch *w) {
    int64_t interval_ns = w->end_ns - w->begin_ns;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) {
        int32_t before = w->program_of[cpu];
        if (before >= 0 && !w->has_named_program) w->processes[before].is_program = 0;
        w->program_of[cpu] = -1;
    }
    for (int i = 0; i < w->n_active; i++) {
        if (i % PORTION_TASKS == PORTION_TASKS - 1) nt_breathe(w);
        settle_pair(w, w->active[i]);
    }
    for (size_t i = 0; i < w->pairs.capacity; i++) {
        if (i % PORTION_PAIRS == PORTION_PAIRS - 1) nt_breathe(w);
        const struct nr_map_entry *pair = &w->pairs.entries[i];
        int32_t process = (int32_t)(pair->key >> 20) - 1;
        int cpu = (int)(pair->key & 0xfffff) - 1;
        if (pair->key == 0 || (w->has_named_program && !w->processes[process].is_program)) continue;
        if (!w->has_named_program && (double)pair->count < MOST_OF_A_CPU * (double)interval_ns) continue;
        int32_t best = w->program_of[cpu];
        if (best >= 0 && *nr_map_at(&w->pairs, pair_of(best, cpu)) >= pair->count) continue;
        w->program_of[cpu] = process;
    }
    for (int cpu = 0; cpu < w->n_cpus; cpu++) {
        if (w->program_of[cpu] < 0) continue;
        w->processes[w->program_of[cpu]].is_program = 1;
        nt_find_name(w, w->program_of[cpu]);
    }
}

static void say_program(struct nt_watch *w, struct nt_sample *s) {
    size_t n = 0;
    int n_names = 0;
    char names[160] = "";
    for (int i = 0; i < s->n_cpus; i++) {
        const struct nt_cpu *c = &s->cpus[i];
        char name[NT_NAME_BYTES + 32];
        snprintf(name, sizeof name, "%s (%" PRId64 ")", c->program, c->program_pid);
        if (c->program_pid == 0 || strstr(names, name)) continue;
        if (n_names++ < 3) n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", name);
    }
    if (n_names > 3) snprintf(names + n, sizeof names - n, " and %d more", n_names - 3);
    if (w->has_named_program)
        snprintf(s->program, sizeof s->program, n ? "program: %s" : "program: it did not run", names);
    else if (n == 0)
        snprintf(s->program, sizeof s->program,
                 "program: none assumed (no task has half of a CPU): every task disturbs");
    else
        snprintf(s->program, sizeof s->program, "program: assumed to be %s, with more than half of a CPU",
                 names);
}

/* ---- /proc/stat ---- */

static int read_stat(struct nt_watch *w, struct nt_stat *stat) {
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    if (nl_read("/proc/stat", w->stat_text, NR_STAT_BYTES(w->n_cpus)) <= 0) return -1;
    for (char *line = w->stat_text; line && strncmp(line, "cpu", 3) == 0;
         line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (!isdigit((unsigned char)line[3])) continue;
        char *p;
        int64_t v[8] = {0}; /* user nice system idle iowait irq softirq steal */
        long cpu = strtol(line + 3, &p, 10);
        if (cpu >= w->n_cpus) continue;
        for (int i = 0; i < 8; i++) v[i] = (int64_t)strtoll(p, &p, 10) * tick_ns;
        stat[cpu] = (struct nt_stat){.busy_ns = v[0] + v[1] + v[2], .irq_ns = v[5] + v[6], .steal_ns = v[7]};
    }
    return 0;
}

/* What the kernel's own account has, and no task that is seen: a difference counts where it is more than
 * ticks of 10 ms can be wrong. */
static double unaccounted(int64_t busy_ns, int64_t accounted_ns, int64_t wall_ns) {
    double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK), more_ns = (double)(busy_ns - accounted_ns);
    double ticks = (double)(busy_ns > accounted_ns ? busy_ns : accounted_ns) / tick_ns;
    return more_ns > tick_ns * (2 + 3 * sqrt(ticks)) ? 100 * more_ns / (double)wall_ns : 0;
}

void nt_read_stat(struct nt_watch *w) {
    if (w->stat_ns > 0 && w->end_ns - w->stat_ns < STAT_EACH_NS && w->has_stat) return;
    struct nt_stat *before = w->stat_before;
    w->stat_before = w->stat;
    w->stat = before;
    if (read_stat(w, w->stat)) return;
    int64_t now_ns = nl_mono_ns(), wall_ns = now_ns - w->stat_ns;
    for (int cpu = 0; cpu < w->n_cpus && w->stat_ns > 0; cpu++) {
        const struct nt_stat *now = &w->stat[cpu], *then = &w->stat_before[cpu];
        w->steal_percent[cpu] =
            w->knows_steal ? 100 * (double)(now->steal_ns - then->steal_ns) / (double)wall_ns : -1;
        w->irq_percent[cpu] = 100 * (double)(now->irq_ns - then->irq_ns) / (double)wall_ns;
        w->unaccounted_percent[cpu] =
            unaccounted(now->busy_ns - then->busy_ns, w->accounted_ns[cpu], wall_ns);
        w->has_stat = 1;
    }
    memset(w->accounted_ns, 0, (size_t)w->n_cpus * sizeof *w->accounted_ns);
    w->stat_ns = now_ns;
}

/* ---- CPUs ---- */

static void tell_cpus(struct nt_watch *w, struct nt_sample *s) {
    double wall_ns = (double)s->interval_ns;
    int sees = w->source->sees_bursts;
    s->n_cpus = 0;
    s->lost_percent = s->unaccounted_percent = 0;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) {
        if (!w->is_watched[cpu]) continue;
        const struct nt_process *program = w->program_of[cpu] >= 0 ? &w->processes[w->program_of[cpu]] : NULL;
        struct nt_cpu *c = &s->cpus[s->n_cpus++];
        double unseen = w->unaccounted_percent[cpu] > 0 ? w->unaccounted_percent[cpu] : 0;
        *c = (struct nt_cpu){.cpu = cpu,
                             .lost_percent = 100 * (double)w->lost_ns[cpu] / wall_ns + unseen,
                             .longest_ns = sees ? w->longest_ns[cpu] : -1,
                             .latest_ns = sees && w->latest_end_ns[cpu] ? w->latest_ns[cpu] : -1,
                             .latest_ago_ns =
                                 sees && w->latest_end_ns[cpu] ? w->end_ns - w->latest_end_ns[cpu] : -1,
                             .interruptions_per_second = sees ? (double)w->n_cuts[cpu] / wall_ns * 1e9 : -1,
                             .steal_percent = w->steal_percent[cpu],
                             .interrupts_percent = w->irq_percent[cpu],
                             .unaccounted_percent = w->unaccounted_percent[cpu]};
        /* the two are of different times, and accounts of the source proc come late */
        if (c->lost_percent > 100) c->lost_percent = 100;
        if (program) {
            c->program_pid = program->pid;
            memcpy(c->program, program->name, sizeof c->program);
        }
        s->lost_percent += c->lost_percent;
        s->unaccounted_percent += unseen;
    }
    if (s->n_cpus > 0) s->lost_percent /= s->n_cpus;
}

/* ---- tasks ---- */

static double length_of(const struct nt_process *p) {
    return p->n_bursts > 0 ? (double)p->burst_ns / (double)p->n_bursts : (double)p->run_ns;
}

static double key_of(const struct nt_process *p, enum nt_sort sort) {
    switch (sort) {
    case NT_BY_BURSTS: return (double)p->n_bursts;
    case NT_BY_LENGTH: return length_of(p);
    case NT_BY_LONGEST: return (double)(p->longest_ns > 0 ? p->longest_ns : p->run_ns);
    case NT_BY_PID: return -(double)p->pid;
    default: return (double)p->run_ns;
    }
}

static int by_key(const void *a, const void *b) {
    const struct nt_order *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

enum { MOST_CPUS = 8 /* named in a row */ };

/* Where the tasks of the rows ran, from the pairs in one pass. */
struct on_cpus {
    struct {
        uint64_t ns;
        int cpu;
    } busiest[MOST_CPUS]; /* first */
    int n;
    int is_cut; /* there are more */
};

/* Children that have ended come one by one, so that a CPU may be there already. */
static void ran_on(struct on_cpus *on, uint64_t ns, int cpu) {
    int at = 0;
    while (at < on->n && on->busiest[at].cpu != cpu) at++;
    if (at == on->n && on->n < MOST_CPUS) on->busiest[on->n++].ns = 0;
    else if (at == on->n) {
        on->is_cut = 1;
        if (on->busiest[--at].ns >= ns) return;
        on->busiest[at].ns = 0;
    }
    ns += on->busiest[at].ns;
    for (; at > 0 && on->busiest[at - 1].ns < ns; at--) on->busiest[at] = on->busiest[at - 1];
    on->busiest[at].ns = ns;
    on->busiest[at].cpu = cpu;
}

/* Adds a number to a list that has room for `size` bytes, its end included; one that does not fit is left
 * out. Returns its length then. */
static size_t list_number(char *text, size_t at, size_t size, int number) {
    char digits[16];
    size_t n = sizeof digits;
    do digits[--n] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    if (at > 0) digits[--n] = ',';
    if (at + sizeof digits - n >= size) return at;
    memcpy(text + at, digits + n, sizeof digits - n);
    return at + sizeof digits - n;
}

static void tell_cpus_of(struct nt_watch *w, struct nt_sample *s) {
    struct on_cpus *on;
    if (!NL_NEW(on, s->n_tasks + 1)) return;
    for (size_t i = 0; i < w->pairs.capacity; i++) {
        if (i % PORTION_PAIRS == PORTION_PAIRS - 1) nt_breathe(w);
        const struct nr_map_entry *pair = &w->pairs.entries[i];
        if (pair->key == 0) continue;
        const struct nt_process *p = &w->processes[(pair->key >> 20) - 1];
        if (p->heir > 0) p = &w->processes[p->heir - 1];
        if (p->row > 0) ran_on(&on[p->row - 1], pair->count, (int)(pair->key & 0xfffff) - 1);
    }
    for (int row = 0; row < s->n_tasks; row++) {
        char *text = s->tasks[row].cpus;
        size_t at = 0, size = sizeof s->tasks[row].cpus - 3;
        uint64_t least =
            s->tasks[row].process >= 0 ? (uint64_t)w->processes[s->tasks[row].process].run_ns / TWENTIETH : 0;
        for (int i = 0; i < on[row].n && on[row].busiest[i].ns >= least; i++) {
            size_t before = at;
            at = list_number(text, at, size, on[row].busiest[i].cpu);
            on[row].is_cut |= at == before; /* there is no room for it */
        }
        if (on[row].is_cut) strcpy(text + at, "..");
        if (s->tasks[row].process >= 0) w->processes[s->tasks[row].process].row = 0;
    }
    free(on);
}

static int64_t period_of(const struct nt_watch *w, struct nt_process *p) {
    int64_t starts[NT_LAST_BURSTS];
    if (!w->source->sees_bursts) return -1;
    if (!p->last) return 0;
    if (p->period_at == p->n_last) return p->period_ns;
    /* of as many as are kept, which takes longest, each ten seconds; of fewer each burst may show one */
    if (p->period_at >= NT_LAST_BURSTS && w->end_ns - p->period_told_ns < PERIOD_EACH_NS) return p->period_ns;
    int n = p->n_last < NT_LAST_BURSTS ? (int)p->n_last : NT_LAST_BURSTS;
    for (int i = 0; i < n; i++)
        starts[i] = p->last[(p->n_last - (uint32_t)n + (uint32_t)i) % NT_LAST_BURSTS].start_ns;
    p->period_at = p->n_last;
    p->period_told_ns = w->end_ns;
    return p->period_ns = nt_period(starts, n);
}

static void tell_task(struct nt_watch *w, struct nt_task *row, int32_t process, double wall_ns,
                      int is_brief) {
    nt_find_name(w, process);
    if (!is_brief) nt_find_place(w, process);
    struct nt_process *p = &w->processes[process];
    *row = (struct nt_task){.pid = p->pid,
                            .bursts_per_second = (double)p->n_bursts / wall_ns * 1e9,
                            .length_ns = (int64_t)length_of(p),
                            .longest_ns =
                                w->source->sees_bursts ? (p->n_bursts ? p->longest_ns : p->run_ns) : -1,
                            .period_ns = is_brief ? -1 : period_of(w, p),
                            .share_percent = 100 * (double)p->run_ns / wall_ns,
                            .ended_percent = 100 * (double)p->ended_ns / wall_ns,
                            .is_program = p->is_program,
                            .process = process};
    memcpy(row->command, p->name, sizeof row->command);
    if (is_brief) {
        if (p->is_kernel) strcpy(row->unit, "kernel");
        return;
    }
    memcpy(row->unit, p->unit, sizeof row->unit);
    snprintf(row->user, sizeof row->user, "%s", p->uid == (uid_t)-1 ? "" : nt_user_name(w, p->uid));
}

/* What nobody had who can be seen, as a row of its own, at its place by share. */
static void tell_unaccounted(struct nt_sample *s) {
    int at = 0;
    if (s->unaccounted_percent <= 0) return;
    while (at < s->n_tasks && !s->tasks[at].is_program && s->tasks[at].share_percent > s->unaccounted_percent)
        at++;
    if (s->n_tasks < NT_MOST_ROWS) s->n_tasks++;
    if (at == NT_MOST_ROWS) at--;
    memmove(&s->tasks[at + 1], &s->tasks[at], (size_t)(s->n_tasks - 1 - at) * sizeof s->tasks[0]);
    s->tasks[at] = (struct nt_task){.command = "unaccounted",
                                    .bursts_per_second = -1,
                                    .length_ns = -1,
                                    .longest_ns = -1,
                                    .period_ns = -1,
                                    .share_percent = s->unaccounted_percent,
                                    .process = -1};
}

/* Has no row. */
static void tell_other(struct nt_sample *s, const struct nt_process *p) {
    s->n_others++;
    s->others_percent += 100 * (double)p->run_ns / (double)s->interval_ns;
    s->others_bursts_per_second += (double)p->n_bursts / (double)s->interval_ns * 1e9;
}

/* Puts a task at its place among the n rows that come first so far; the one that comes last leaves where
 * there are `most`. To sort thousands, of which twenty are shown, would be a long burst. @return who has no
 * row, -1: nobody. */
static int32_t place_row(struct nt_order *rows, int *n, int most, struct nt_order row) {
    if (*n == most && (most == 0 || by_key(&row, &rows[most - 1]) > 0)) return row.process;
    int32_t left = *n == most ? rows[most - 1].process : -1;
    int at = *n == most ? most - 1 : (*n)++;
    for (; at > 0 && by_key(&row, &rows[at - 1]) < 0; at--) rows[at] = rows[at - 1];
    rows[at] = row;
    return left;
}

static void tell_tasks(struct nt_watch *w, struct nt_sample *s, const struct nt_wish *wish) {
    struct nt_order rows[MOST_NAMES];
    int n = 0, most = wish->n_rows < MOST_NAMES ? wish->n_rows : MOST_NAMES;
    s->n_others = 0;
    s->others_percent = s->others_bursts_per_second = 0;
    for (int i = 0; i < w->n_active; i++) {
        const struct nt_process *p = &w->processes[w->active[i]];
        if (i % PORTION_TASKS == PORTION_TASKS - 1) nt_breathe(w);
        if (p->run_ns <= 0) continue;
        /* those of the program come last */
        int32_t left =
            place_row(rows, &n, most,
                      (struct nt_order){key_of(p, wish->sort) - (p->is_program ? 1e30 : 0), w->active[i]});
        if (left >= 0) tell_other(s, &w->processes[left]);
    }
    nt_breathe(w);
    for (s->n_tasks = 0; s->n_tasks < n;) {
        int32_t process = rows[s->n_tasks].process;
        tell_task(w, &s->tasks[s->n_tasks++], process, (double)s->interval_ns, wish->is_brief);
        if (s->n_tasks % PORTION_ROWS == 0) nt_breathe(w);
        w->processes[process].row = s->n_tasks;
    }
    if (!wish->is_brief) tell_cpus_of(w, s);
    tell_unaccounted(s);
}

/* ---- an interval ---- */

/* Names that decide who is of the program. */
static void find_names(struct nt_watch *w) {
    int n_left = MOST_NAMES;
    for (int i = 0; w->config.command && i < w->n_active && n_left > 0; i++) {
        if (w->processes[w->active[i]].is_named) continue;
        nt_find_name(w, w->active[i]);
        n_left--;
    }
}

void nt_tell(struct nt_watch *w, const struct nt_wish *wish) {
    struct nt_sample *s = w->sample;
    s->interval_ns = w->end_ns - w->begin_ns;
    s->source = w->source->name;
    s->n_lost = w->n_lost;
    clock_gettime(CLOCK_REALTIME, &s->at);
    find_names(w);
    assume_program(w);
    nt_settle(w);
    for (int cpu = 0; cpu < w->n_cpus; cpu++) {
        struct nt_runner *r = &w->runners[cpu];
        if (r->cut_end_ns == w->end_ns) record_cut(w, cpu); /* it lasts */
        else end_cut(w, cpu);
    }
    nt_breathe(w);
    nt_read_stat(w);
    nt_breathe(w);
    nt_fold_ended(w);
    nt_breathe(w);
    tell_cpus(w, s);
    nt_breathe(w);
    tell_tasks(w, s, wish);
    nt_breathe(w);
    say_program(w, s);
    nt_breathe(w);
    nt_train_turn(w);
    nt_scale(w, wish, &s->scale);
}

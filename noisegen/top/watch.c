/* A watch, from its opening to its end. */
#include "noisegen/top/watch.h"
#include "noisegen/top/processes.h"
#include "noisegen/top/scale.h"
#include "noisegen/top/tell.h"

enum { BREATH_NS = 1000000, PORTION_TASKS = 256 /* some 30 us */ };

#define LONGEST_RUN_NS 400000 /* between two sleeps: below half a millisecond */
#define PORTION_NS     100000 /* what is done between two looks at the clock takes less */

static const struct nt_source *const sources[] = {&nt_source_cpu, &nt_source_proc, NULL};

const struct nt_source_words nt_source_words[] = {
    {"cpu",
     "every context switch, by perf_event_open (root, CAP_PERFMON or kernel.perf_event_paranoid at most 0)"},
    {"proc", "the scheduler's account of every task, by /proc: shares and counts, no single bursts"},
    {0},
};

const char *const nt_sort_names[] = {"share", "bursts", "length", "longest", "pid", NULL};

/* ---- sleep ---- */

void nt_sleep_begins(struct nt_watch *w) {
    int64_t ran_ns = nl_thread_cpu_ns() - w->slept_cpu_ns;
    if (ran_ns > w->own_longest_ns) w->own_longest_ns = ran_ns;
}

void nt_sleep_ends(struct nt_watch *w) {
    w->slept_cpu_ns = nl_thread_cpu_ns();
    w->awake_ns = nl_mono_ns();
    w->own_wakeups++;
}

/* The clock of this thread costs a system call, which takes more than what lies between two looks at it: it
 * is asked only where the time since then would be too long. */
void nt_breathe_before(struct nt_watch *w, int64_t work_ns) {
    int64_t now_ns = nl_mono_ns();
    if (now_ns - w->awake_ns + work_ns < LONGEST_RUN_NS) return;
    int64_t ran_ns = nl_thread_cpu_ns() - w->slept_cpu_ns;
    w->awake_ns = now_ns - ran_ns;
    if (ran_ns + work_ns < LONGEST_RUN_NS) return;
    nt_sleep_begins(w);
    nl_sleep_ns(BREATH_NS);
    nt_sleep_ends(w);
}

void nt_breathe(struct nt_watch *w) { nt_breathe_before(w, PORTION_NS); }

/* ---- opening ---- */

static int set_up_cpus(struct nt_watch *w) {
    int n = w->n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    if (!NL_NEW(w->is_online, n) || !NL_NEW(w->is_watched, n) || !NL_NEW(w->runners, n) ||
        !NL_NEW(w->lost_ns, n) || !NL_NEW(w->n_cuts, n) || !NL_NEW(w->longest_ns, n) ||
        !NL_NEW(w->latest_ns, n) || !NL_NEW(w->latest_end_ns, n) || !NL_NEW(w->stat_text, NR_STAT_BYTES(n)) ||
        !NL_NEW(w->stat, n) || !NL_NEW(w->stat_before, n) || !NL_NEW(w->accounted_ns, n) ||
        !NL_NEW(w->steal_percent, n) || !NL_NEW(w->irq_percent, n) || !NL_NEW(w->unaccounted_percent, n) ||
        !NL_NEW(w->program_of, n) || !NL_NEW(w->stretches, NT_STRETCHES) || !NL_NEW(w->sample, 1) ||
        !NL_NEW(w->sample->cpus, n) || nr_map_reserve(&w->pairs, 512))
        return nl_error("cannot watch %d CPUs: %s", n, strerror(errno));
    for (int cpu = 0; cpu < n; cpu++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", cpu);
        w->is_online[cpu] = nr_proc_number(path, 1) == 1; /* without this file it cannot go offline */
        w->steal_percent[cpu] = w->irq_percent[cpu] = w->unaccounted_percent[cpu] = -1;
        w->program_of[cpu] = -1;
    }
    struct nr_cpu_times *times;
    if (NL_NEW(times, n) && nr_read_cpu_times(w->stat_text, times, n) == 0)
        w->knows_steal = nr_knows_steal(times, n);
    free(times);
    return 0;
}

/* Tasks of a machine of which only a part is seen run unseen. */
static void say_hidden(struct nt_watch *w) {
    size_t size = sizeof w->sample->hidden;
    char *hidden = w->sample->hidden, turns[96] = "";
    if (w->n_in_turn > 0)
        snprintf(turns, sizeof turns, "; %d quiet tasks are each looked at in one interval of %d",
                 w->n_in_turn, w->n_turns);
    if (w->source != &nt_source_cpu)
        snprintf(hidden, size,
                 "hidden: single interruptions, periods, tasks that live less than the interval%s%s%s%s",
                 turns, w->reason[0] ? " (source cpu: " : "", w->reason, w->reason[0] ? ")" : "");
    else if (nr_is_in_pid_namespace())
        snprintf(hidden, size, "hidden: tasks outside of this PID namespace are unaccounted");
}

static int choose_source(struct nt_watch *w) {
    for (int i = 0; sources[i]; i++) {
        int is_named = strcmp(w->config.source, sources[i]->name) == 0;
        char why[256];
        if (!is_named && strcmp(w->config.source, "auto") != 0) continue;
        w->source = sources[i];
        if (sources[i]->open(w, why, sizeof why) == 0) return 0;
        w->source = NULL;
        if (is_named || !sources[i + 1]) return nl_error("source %s: %s", sources[i]->name, why);
        memcpy(w->reason, why, sizeof w->reason);
    }
    return nl_error("there is no source '%s'", w->config.source);
}

int nt_watch_cpus(struct nt_watch *w, const int *cpus, int n) {
    for (int i = 0; i < n; i++)
        if (cpus[i] < 0 || cpus[i] >= w->n_cpus || !w->is_online[cpus[i]]) return -1;
    w->n_watched = 0;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) w->is_watched[cpu] = n == 0 && w->is_online[cpu];
    for (int i = 0; i < n; i++) w->is_watched[cpus[i]] = 1;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) w->n_watched += w->is_watched[cpu];
    nt_train_reset(w); /* the record is of those that were watched */
    return 0;
}

int nt_watch_open(struct nt_watch **watch, const struct nt_config *config) {
    struct nt_watch *w = *watch = calloc(1, sizeof *w);
    if (!w) return nl_error("no memory");
    w->config = *config;
    nt_breathe(w); /* to be started alone takes a millisecond */
    int status = set_up_cpus(w);
    nt_breathe(w);
    if (status == 0 && nt_watch_cpus(w, config->cpus, config->n_cpus))
        status = nl_error("--cpus: one of them is not here, or offline");
    if (status == 0 && (nt_processes_open(w) || nt_train_open(w) || choose_source(w) || nt_find_program(w)))
        status = -1;
    if (status == 0) say_hidden(w);
    else nt_watch_close(w), *watch = NULL;
    return status;
}

void nt_watch_close(struct nt_watch *w) {
    if (w->source) w->source->close(w);
    nt_processes_close(w);
    nt_train_close(w);
    nr_map_free(&w->pairs);
    if (w->sample) free(w->sample->cpus);
    NL_FREE(w->is_online, w->is_watched, w->runners, w->lost_ns, w->n_cuts, w->longest_ns, w->latest_ns,
            w->latest_end_ns, w->stat_text, w->stat, w->stat_before, w->accounted_ns, w->steal_percent,
            w->irq_percent, w->unaccounted_percent, w->program_of, w->stretches, w->sample);
    free(w);
}

/* ---- intervals ---- */

int nt_watch_fds(const struct nt_watch *w, struct pollfd *fds, int max) {
    int n = 0;
    for (; n < w->rings.n && n < max; n++)
        fds[n] = (struct pollfd){.fd = w->rings.rings[n].fd, .events = POLLIN};
    return n;
}

void nt_watch_drain(struct nt_watch *w) {
    /* the account of /proc is looked at once per interval */
    if (w->source->sees_bursts) w->source->look(w, nl_mono_ns());
}

/* What is added up anew. */
static void clear_interval(struct nt_watch *w) {
    for (int i = 0; i < w->n_active; i++) {
        struct nt_process *p = &w->processes[w->active[i]];
        if (i % PORTION_TASKS == PORTION_TASKS - 1) nt_breathe(w);
        p->run_ns = p->here_ns = p->ended_ns = p->n_bursts = p->burst_ns = p->longest_ns = 0;
        p->is_active = 0;
    }
    w->n_active = 0;
    nt_breathe(w);
    if (w->pairs.entries) memset(w->pairs.entries, 0, w->pairs.capacity * sizeof *w->pairs.entries);
    w->pairs.n = 0;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) w->lost_ns[cpu] = w->n_cuts[cpu] = w->longest_ns[cpu] = 0;
}

void nt_watch_begin(struct nt_watch *w) {
    w->end_ns = nl_mono_ns();
    w->source->look(w, w->end_ns);
    w->n_stretches = 0;
    clear_interval(w);
    nt_forget_ended(w);
    nt_read_stat(w);
    w->begin_ns = w->end_ns;
    w->own_longest_ns = w->own_wakeups = 0;
    w->own_cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void tell_own(struct nt_watch *w, struct nt_sample *s) {
    int64_t cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    s->own = (struct nt_own){.cpu_percent = 100 * (double)(cpu_ns - w->own_cpu_ns) / (double)s->interval_ns,
                             .longest_ns = w->own_longest_ns,
                             .wakeups_per_second = (double)w->own_wakeups / (double)s->interval_ns * 1e9,
                             .cpu_ns = cpu_ns};
    w->own_cpu_ns = cpu_ns;
    w->own_longest_ns = w->own_wakeups = 0;
}

const struct nt_sample *nt_watch_sample(struct nt_watch *w, const struct nt_wish *wish) {
    w->end_ns = nl_mono_ns();
    w->source->look(w, w->end_ns);
    if (w->n_turns > 0) say_hidden(w);
    nt_tell(w, wish);
    tell_own(w, w->sample);
    clear_interval(w);
    nt_forget_ended(w); /* all of them have been told */
    nt_breathe(w);
    w->begin_ns = w->end_ns;
    return w->sample;
}

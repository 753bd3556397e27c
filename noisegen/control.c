#include "noisegen/control.h"
#include "noisegen/worker.h"
#include "common/page/nl_control.h"
#include "common/sys/nl_place.h"
#include "noisegen/patterns/pace.h"
#include "common/sys/nl_stat.h"
#include "noisegen/certificate.h"

/* The ranks of the node under a detector: when one of them is gone, no load may go on, whether or not the
 * owner can say so. */

/* Ranks may end a little before the owner says QUIT. */
static const struct timespec patience = {.tv_nsec = 500000000};

/* between two looks at ranks that have no descriptor: an old kernel, or too many open files */
enum { LOOK_MS = 100 };

/* Gone, or waiting for a parent to take note. */
static int has_ended(pid_t pid) {
    struct nl_stat s;
    return nl_stat_read(pid, &s) ? kill(pid, 0) && errno == ESRCH : s.state == 'Z' || s.state == 'X';
}

/* Whether one of the ranks without a descriptor is gone. */
static int is_one_gone(const struct nl_control *page, const struct pollfd *fds, int n) {
    for (int i = 0; i < n; i++)
        if (fds[i].fd < 0 && has_ended(page->rank_pids[i])) return 1;
    return 0;
}

static void *watch(void *argument) {
    struct nl_control *page = argument;
    int n = page->n_ranks, is_gone = 0, n_without = 0;
    struct pollfd *fds = calloc((size_t)n, sizeof *fds);
    if (!fds) return NULL;
    for (int i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = nl_pidfd(page->rank_pids[i]), .events = POLLIN};
        is_gone |= fds[i].fd < 0 && errno == ESRCH;
        n_without += fds[i].fd < 0;
    }
    /* one that could not be opened is negative, and poll passes it over */
    while (!is_gone) {
        int rc = poll(fds, (nfds_t)n, n_without > 0 ? LOOK_MS : -1);
        is_gone = rc > 0 || (rc < 0 && errno != EINTR) || is_one_gone(page, fds, n);
    }
    nl_control_close(page);
    nanosleep(&patience, NULL);
    _exit(NL_EXIT_OK);
}

/* Once, after PLACE: watches the page's rank_pids from a thread that sleeps. When one ends the load ends at
 * once, and the process half a second later unless it has been told to quit by then. Without memory nothing
 * is watched. */
static void ng_ranks_watch(struct nl_control *page) {
    static int is_watched;
    pthread_t thread;
    if (is_watched || page->n_ranks < 1 || page->n_ranks > NL_CONTROL_MAX_RANKS) return;
    is_watched = pthread_create(&thread, NULL, watch, page) == 0;
    if (is_watched) pthread_detach(thread);
}

/* Whose CPU time is it? A level's account pays for its bursts and their wake-ups, from the moment before the
 * sleep that follows the answer to RUN up to the moment before the sleep that the next command ends. The
 * command, its answer and that last sleep are not charged: every half has them, also those without load. The
 * owner waits for the first sleep, so what is charged falls into its half.
 *
 * Every worker sleeps on the page's futex itself, so that a command reaches all of them at once; the first
 * worker is the main thread, which also places and quits. */

struct session {
    const struct ng_options *options;
    struct nl_control *page;
    struct ng_worker *workers; /* NULL: not placed yet */
    int n_workers, n_threads;
    uint32_t seen; /* number of the command being obeyed by the main thread */
    int64_t started_ns;
    struct ng_switches before; /* of the main thread, when it began */
    struct nl_place *place;    /* while workers are placed ... */
    pthread_barrier_t ready;   /* ... and set up */
};

/* -1, after the owner was told why. */
#define refuse(page, ...)                                                                                    \
    ({                                                                                                       \
        char reason_[512];                                                                                   \
        nl_say(reason_, sizeof reason_, __VA_ARGS__);                                                        \
        nl_control_refuse(page, reason_);                                                                    \
        -1;                                                                                                  \
    })

/* ---- the machine of a controlled worker: sleeps end when a command comes ---- */

static int interrupted(void *context) {
    const struct ng_worker *w = context;
    return atomic_load_explicit(&w->page->command_number, memory_order_relaxed) != w->seen;
}

static int sleep_until(void *context, int64_t deadline_ns) {
    struct ng_worker *w = context;
    int commanded = nl_control_wait(w->page, w->seen, deadline_ns);
    ng_cpus_note(&w->cpus);
    return commanded;
}

/* ---- RUN, on every worker ---- */

/* What a RUN says to this worker, copied at once: the page may hold the next command as soon as the last
 * worker has answered. */
static struct nl_dose dose_of(const struct ng_worker *w) {
    struct nl_dose dose = w->page->dose;
    int64_t most = INT64_MAX / 4 / (dose.period_ns > 0 ? dose.period_ns : 1);
    if (!dose.is_active[w->index]) dose.level_percent = dose.extra_ns = 0;
    if (dose.n_periods > most) dose.n_periods = most;
    return dose;
}

static int check_dose(const struct ng_worker *w, const struct nl_dose *r) {
    const struct ng_options *o = w->options;
    if (r->account < 0 || r->account >= NL_CONTROL_MAX_LEVELS)
        refuse(w->page, "level index %d is not from 0 to %d", r->account, NL_CONTROL_MAX_LEVELS - 1);
    else if (r->kind < 0 || r->kind >= o->n_kinds)
        refuse(w->page, "kind %d is not one of the %d asked for with --kind", r->kind, o->n_kinds);
    else if (r->pattern < 0 || r->pattern >= o->n_patterns)
        refuse(w->page, "pattern %d is not one of the %d asked for with --pattern", r->pattern,
               o->n_patterns);
    else if (!(r->level_percent >= 0 && r->level_percent <= 100))
        refuse(w->page, "a level of %g %% is not from 0 to 100", r->level_percent);
    else if (r->level_percent > o->duty_cap_percent)
        refuse(w->page, "a level of %g %% is above the duty cap", r->level_percent);
    else if (r->period_ns < 100000 ||
             r->period_ns >
                 INT64_C(600000000000)) /* wider than the owner's options: it lets periods follow the half */
        refuse(w->page, "the period is not from 0.1 ms to 600 s");
    else if (r->n_periods < 0 || r->slot_ns < 0)
        refuse(w->page, "a negative number of periods, or a negative slot");
    else
        return 0;
    return -1;
}

/* The account of a dose; NULL after a refusal. */
static struct ng_level *level_of(struct ng_worker *w, const struct nl_dose *r) {
    struct ng_level *level = &w->levels[r->account];
    if (level->is_used && (level->level_percent != r->level_percent || level->kind != r->kind ||
                           level->pattern != r->pattern)) {
        refuse(w->page, "level index %d is the account of %s at %g %%, not of %s at %g %%", r->account,
               w->options->kinds[level->kind]->name, level->level_percent, w->options->kinds[r->kind]->name,
               r->level_percent);
        return NULL;
    }
    level->is_used = 1;
    level->level_percent = r->level_percent;
    level->kind = r->kind;
    level->pattern = r->pattern;
    return level;
}

/* Makes the plan; -1 after a refusal. The jitter of every half is drawn anew. */
static int make_plan(struct ng_worker *w, struct ng_level *level, const struct nl_dose *r,
                     struct ng_plan *plan) {
    const struct ng_pattern *pattern = w->options->patterns[r->pattern];
    struct ng_shape shape;
    char text[256];
    /* the trace's CPUs are dealt out to those that this treatment loads */
    int place_index = 0;
    for (int i = 0; i < w->index; i++)
        place_index += r->is_active[i] != 0;
    if (w->options->trace && w->options->trace->n_cpus > 0)
        w->trace_cpu = place_index % w->options->trace->n_cpus;
    struct ng_pattern_request request =
        ng_worker_request(w, pattern, r->level_percent / 100, 0, r->period_ns, &shape);
    int has_load = r->level_percent > 0;
    const char *problem = has_load && pattern->problem ? pattern->problem(&request, text, sizeof text) : NULL;
    /* accounts must not all draw the same times */
    shape.seed = r->seed + ((uint64_t)r->account << 32) + ((uint64_t)w->index << 40);
    if (!pattern->is_continued) shape.seed += (uint64_t)level->n_halves;
    if (has_load && !problem && pattern->open && !level->source) {
        level->source = pattern->open(&request);
        if (level->source)
            ng_source_skip(pattern, &request, level->source, r->skip);
        else
            problem = "no memory";
    }
    if (problem) return refuse(w->page, "%s", problem);
    *plan = (struct ng_plan){.start_ns = r->first_burst_ns,
                             .length_ns = r->n_periods * r->period_ns,
                             .duty_cap = w->options->duty_cap_percent / 100,
                             .carry_bursts = (double)w->options->carry_bursts,
                             .kind = r->kind};
    ng_pattern_fill(pattern, &request, level->source, plan);
    if (plan->source && r->slot_ns > 0 && plan->length_ns > 0) {
        plan->length_ns = r->slot_ns;
        plan->is_slotted = 1;
    }
    if (!has_load) plan->level = 0;
    return 0;
}

/* Runs until the next command. The answer goes out first, so that the owner need not wait for us. */
static void obey_run(struct ng_worker *w) {
    const struct nl_dose dose = dose_of(w);
    if (atomic_load(&w->page->is_closed)) {
        /* it may be half written: the owner's signal handler closes the page at any moment */
        atomic_store(&w->page->workers[w->index].is_burst_due, 0);
        nl_control_answer(w->page, w->index, w->seen);
        return;
    }
    struct nl_control_worker *said = &w->page->workers[w->index];
    struct ng_level *level = check_dose(w, &dose) ? NULL : level_of(w, &dose);
    struct ng_plan plan;
    if (w->failure[0]) refuse(w->page, "%s", w->failure);
    if (!level || w->failure[0] || make_plan(w, level, &dose, &plan)) {
        nl_control_answer(w->page, w->index, w->seen);
        return;
    }
    const struct ng_machine machine = {.context = w,
                                       .now_ns = ng_machine_now_ns,
                                       .cpu_ns = ng_worker_cpu_ns,
                                       .sleep_until = sleep_until,
                                       .interrupted = interrupted,
                                       .loads = w->loads};
    const struct ng_run run = {.account = &level->account,
                               .tallies = w->tallies,
                               .wake = &w->wake,
                               .delay = &w->delay,
                               .lateness = &w->lateness,
                               .log = &w->page->bursts[w->index],
                               .failed_kind = &w->failed_kind,
                               .n_run_shared = &w->page->bursts_run,
                               .requested_shared = &said->requested_ns};
    level->n_halves++;
    level->account.requested += (double)dose.extra_ns;
    level->account.owed += (double)dose.extra_ns;
    ng_worker_choose_clock(w, w->options->patterns[dose.pattern]);
    int64_t begin_ns = nl_mono_ns();
    /* said before the half, so that an analysis may select halves by it: what happens within the half cannot
     * have decided it */
    int64_t next_ns = ng_first_start_ns(&plan, &level->account, ng_wake_cost_ns(&w->wake));
    atomic_store(&said->is_burst_due, next_ns < INT64_MAX && next_ns - dose.first_burst_ns < dose.half_ns);
    atomic_store(&said->requested_ns, (int64_t)level->account.requested);
    nl_control_answer(w->page, w->index, w->seen);
    if (ng_run_deadline(&plan, &machine, &run) == NG_RUN_FAILED) ng_worker_explain(w, plan.source);
    atomic_store(&said->owed_ns, (int64_t)level->account.owed);
    level->wall_ns += nl_mono_ns() - begin_ns;
}

/* Sets a worker up on its own thread, and waits for the others. */
static void set_up_worker(struct ng_worker *w) {
    struct session *s = w->owner;
    w->page = s->page;
    w->seen = s->seen;
    if (ng_worker_set_up(w, s->place)) refuse(w->page, "%s", w->failure);
    atomic_store(&w->page->workers[w->index].tid, (int32_t)syscall(SYS_gettid));
    atomic_store(&w->page->workers[w->index].extra_cpu_ns, 0);
    pthread_barrier_wait(&s->ready);
}

/* A further worker: obeys until it is placed anew or told to quit. */
static void *serve(void *argument) {
    struct ng_worker *w = argument;
    uint32_t command;
    set_up_worker(w);
    const struct ng_switches before = ng_switches_since(NULL);
    do {
        nl_control_wait(w->page, w->seen, NG_FOREVER);
        w->seen = atomic_load(&w->page->command_number);
        command = w->page->command;
        if (command == NL_COMMAND_RUN)
            obey_run(w);
        else if (command == NL_COMMAND_IDLE)
            nl_control_answer(w->page, w->index, w->seen);
    } while (command != NL_COMMAND_PLACE && command != NL_COMMAND_QUIT);
    w->switches = ng_switches_since(&before);
    return NULL;
}

/* ---- PLACE ---- */

/* Waits for the threads, which have seen PLACE or QUIT as well, and frees the workers. */
static void join_threads(struct session *s) {
    for (int i = 1; i <= s->n_threads; i++)
        pthread_join(s->workers[i].thread, NULL);
    s->n_threads = 0;
}

static void free_workers(struct session *s) {
    for (int i = 0; s->workers && i < s->n_workers; i++)
        ng_worker_clean_up(&s->workers[i]);
    free(s->workers);
    s->workers = NULL;
    s->n_workers = 0;
}

static int start_workers(struct session *s) {
    s->workers = calloc((size_t)s->page->n_cpus, sizeof *s->workers);
    if (!s->workers) return refuse(s->page, "no memory");
    s->n_workers = s->page->n_cpus;
    for (int i = 0; i < s->n_workers; i++)
        ng_worker_init(&s->workers[i], s, s->options, i, s->page->cpus[i]);
    if (pthread_barrier_init(&s->ready, NULL, (unsigned)s->n_workers)) return refuse(s->page, "no memory");
    for (int i = 1; i < s->n_workers; i++) {
        if (pthread_create(&s->workers[i].thread, NULL, serve, &s->workers[i])) {
            /* those that did start wait at a barrier that will never be full: the owner sees us gone */
            nl_error("the system refuses to start %d threads", s->n_workers);
            _exit(NL_EXIT_USAGE);
        }
        s->n_threads++;
    }
    set_up_worker(&s->workers[0]);
    return pthread_barrier_destroy(&s->ready);
}

static int check_cpus(const struct session *s) {
    struct nl_control *page = s->page;
    char allowed[256];
    if (page->n_cpus < 1 || page->n_cpus > NL_CONTROL_MAX_WORKERS)
        return refuse(page, "%d CPUs are not from 1 to %d", page->n_cpus, NL_CONTROL_MAX_WORKERS);
    for (int i = 0; i < page->n_cpus; i++)
        if (!nl_place_is_allowed(s->place, page->cpus[i]))
            return refuse(page, "CPU %d is not among the allowed CPUs (%s)", page->cpus[i],
                          nl_place_list(s->place, allowed, sizeof allowed));
    return 0;
}

static void obey_place(struct session *s) {
    atomic_store(&s->page->n_workers, 1); /* the others end with this command */
    join_threads(s);
    free_workers(s);
    if (nl_place_open(&s->place)) {
        refuse(s->page, "cannot read this machine's topology");
        return;
    }
    if (check_cpus(s) == 0) start_workers(s);
    nl_place_close(s->place);
    ng_ranks_watch(s->page);
    /* from here on everybody has to answer; this command counts as answered */
    for (int i = 1; i < s->n_workers; i++)
        nl_control_answer(s->page, i, s->seen);
    atomic_store(&s->page->n_workers, s->n_workers > 0 ? s->n_workers : 1);
}

/* ---- QUIT ---- */

static void obey_quit(struct session *s) {
    const struct ng_switches switches = ng_switches_since(&s->before);
    struct ng_certificate c = {.options = s->options,
                               .workers = s->workers,
                               .n_workers = s->n_workers,
                               .period_ns = s->page->dose.period_ns,
                               .elapsed_ns = nl_mono_ns() - s->started_ns,
                               .n_levels = NL_CONTROL_MAX_LEVELS,
                               .ended = "complete"};
    char failed[300];
    join_threads(s);
    for (int i = 0; i < s->n_workers; i++) {
        struct ng_worker *w = &s->workers[i];
        for (int k = 0; k < NL_CONTROL_MAX_LEVELS; k++)
            ng_account_add(&w->account, &w->levels[k].account);
        w->elapsed_ns = c.elapsed_ns;
        if (!w->failure[0]) continue;
        snprintf(failed, sizeof failed, "failed: %s", w->failure);
        c.ended = failed;
    }
    if (s->n_workers > 0) s->workers[0].switches = switches;
    char *text = ng_certificate_json(&c, 0, sizeof s->page->text);
    if (!text)
        refuse(s->page, "no memory for the certificate");
    else if (strlen(text) >= sizeof s->page->text)
        refuse(s->page, "the certificate does not fit into the page");
    else
        strcpy(s->page->text, text);
    free(text);
    for (int i = 1; i < s->n_workers; i++)
        nl_control_answer(s->page, i, s->seen);
}

/* ---- the main thread ---- */

/* Obeys the command that has come; returns 1 after QUIT. */
static int obey(struct session *s) {
    struct nl_control *page = s->page;
    s->seen = atomic_load(&page->command_number);
    uint32_t command = page->command; /* the next one may be written as soon as this one is answered */
    if (command == NL_COMMAND_RUN && s->workers) {
        s->workers[0].seen = s->seen;
        obey_run(&s->workers[0]);
        return 0;
    }
    if (command == NL_COMMAND_RUN)
        refuse(page, "RUN before PLACE");
    else if (command == NL_COMMAND_PLACE)
        obey_place(s);
    else if (command == NL_COMMAND_QUIT)
        obey_quit(s);
    else if (command != NL_COMMAND_IDLE)
        refuse(page, "unknown command %u", command); /* any command ends a RUN */
    nl_control_answer(page, 0, s->seen);
    return command == NL_COMMAND_QUIT;
}

int ng_controlled(const struct ng_options *o) {
    int status = NL_EXIT_USAGE;
    struct session s = {
        .options = o, .page = nl_control_attach(o->control_fd), .before = ng_switches_since(NULL)};
    if (!s.page) {
        nl_error("--control-fd: %d is not a control page of this version", o->control_fd);
        return status;
    }
    if (s.page->owner_pid != (int32_t)getppid()) {
        nl_error("--control-fd: the page's owner is not the parent of this process");
        goto out;
    }
    /* a Ctrl-C reaches the whole process group; the owner decides when the load ends, and it still wants the
     * certificate */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    ng_machine_be_punctual();
    s.started_ns = nl_mono_ns();
    atomic_store(&s.page->workers[0].tid, (int32_t)getpid());
    atomic_store(&s.page->generator_pid, (int32_t)getpid());
    /* `seen` is 0: a command may have come before we were ready */
    do
        nl_control_wait(s.page, s.seen, NG_FOREVER);
    while (!obey(&s));
    status = NL_EXIT_OK;
out:
    free_workers(&s);
    nl_page_unmap(s.page);
    return status;
}

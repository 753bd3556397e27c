#include "noisegen/agent/session.h"
#include "common/base/nl_json.h"
#include "common/sys/nl_futex.h"
#include "common/sys/nl_place.h"
#include "noisegen/agent/guardian.h"
#include "noisegen/agent/scraper.h"
#include "noisegen/agent/who.h"

#define WRITE_EVERY_NS INT64_C(30000000000)
#define LOOK_NS INT64_C(200000000) /* how often we look whether the owner lives when nobody would wake us */

/* ---- where we run, and the scraper ---- */

static int bind_thread(void *set, pid_t tid) {
    sched_setaffinity(tid, sizeof(cpu_set_t), set); /* where that is refused it stays where it is */
    return 0;
}

/* Binds us, the watch's thread too, to a CPU that no rank has: what we do at a half's ends, and the scraper,
 * must not disturb them. */
static void choose_cpu(struct na_session *s) {
    static int rank_cpus[NL_AGENT_MAX_RANKS];
    char ignored[256];
    struct nl_place *place;
    cpu_set_t set;
    s->cpu = -1;
    for (int i = 0; i < s->page->n_ranks; i++) rank_cpus[i] = s->page->ranks[i].cpu;
    if (nl_place_open(&place) == 0) {
        int cpu;
        if (nl_place_resolve(place, "spare", rank_cpus, s->page->n_ranks, &cpu, 1, ignored, sizeof ignored) ==
            1)
            s->cpu = cpu;
        nl_place_close(place);
    }
    /* we began where the rank is bound that started us: with nothing to spare, anywhere is better
     * than there */
    memset(&set, 0xff, sizeof set);
    if (s->cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET(s->cpu, &set);
    }
    nl_each_number("/proc/self/task", bind_thread, &set);
    if (s->options->scrape && !s->options->scrape_cpu && s->cpu < 0)
        na_warn(
            &s->agent,
            "every CPU has a rank: the scraper runs beside them (see --scrape-period TIME:scrape-cpu=LIST)");
    s->scraper.cpus = s->options->scrape_cpu ? s->options->scrape_cpus : set;
}

static void mark_scrape(void *context, pid_t pid) {
    na_who_mark(context, pid, NR_SCRAPER);
}

/* Checks the scrape command, as the ways check theirs. */
static int check_scraper(struct na_session *s, char *reason, int size) {
    const struct na_options *o = s->options;
    if (!o->scrape) return 0;
    if (na_command_make(&s->scraper.command, o->scrape, o->is_shell, reason, size)) return -1;
    if (o->scrape_cpu && na_try_cpus(&o->scrape_cpus))
        return nl_say(reason, size, "--scrape-period: scrape-cpu: '%s': none of these CPUs may be used here",
                      o->scrape_cpu);
    s->scraper.period_ns = o->scrape_period_ns;
    s->scraper.children = &s->children;
    s->scraper.running = &s->agent.not_agent[1];
    s->scraper.started = mark_scrape;
    s->scraper.context = &s->who;
    return 0;
}

static int64_t scraper_cpu_ns(const struct na_session *s) {
    return s->options->scrape ? na_reaped().aside_cpu_ns : -1;
}

/* ---- the commands; each returns enum nl_agent_status, with a line in `reason` unless it is DONE ---- */

_Static_assert(NL_AGENT_REFUSED == -1, "nl_say returns it");

static void drain_record(void *context) {
    struct na_session *s = context;
    NL_LOCKED(&s->who.lock);
    if (s->who.recorder) nr_drain(s->who.recorder);
}

/* Of two versions one stands still while the other is on, so that bursts in an arm are of that arm's. */
static void mark_agent(struct na_session *s) {
    for (int i = 0; i < s->agent.set.n; i++) na_who_mark(&s->who, s->agent.set.p[i].pid, NR_AGENT);
    for (int i = 0; i < s->against.set.n; i++) na_who_mark(&s->who, s->against.set.p[i].pid, NR_AGENT);
}

static int open_record(struct na_session *s, char *reason, int size) {
    pthread_mutex_lock(&s->who.lock);
    int rc = na_who_open(&s->who, s->options, s->page);
    s->watch.n_extra = s->who.recorder ? nr_fds(s->who.recorder, s->watch.extra, NA_WATCH_FDS) : 0;
    pthread_mutex_unlock(&s->who.lock);
    mark_agent(s);
    na_watch_again(&s->watch);
    return rc ? nl_say(reason, size, "--who %s: not possible on this node (its own message says why)",
                       na_who_names[s->options->who])
              : 0;
}

/* Ranks are never confined: they are what is measured. */
static void spare_ranks(struct na_session *s) {
    struct na_undo *u = s->agent.undo;
    const int most = (int)(sizeof u->spared / sizeof *u->spared);
    for (int i = 0; i < s->page->n_ranks && i < most; i++) u->spared[u->n_spared++] = s->page->ranks[i].pid;
}

static int place(struct na_session *s, char *reason, int size) {
    struct nl_agent *p = s->page;
    char log[PATH_MAX + 320];
    if (s->is_placed) return nl_say(reason, size, "placed already");
    if (s->is_restored) return NL_AGENT_DONE; /* closed: it was restored for good */
    if (p->n_ranks < 0 || p->n_ranks > NL_AGENT_MAX_RANKS || p->n_arms < 0 || p->n_arms > NL_AGENT_MAX_ARMS)
        return nl_say(reason, size, "%d ranks and %d arms are not from 0 to %d and %d", p->n_ranks, p->n_arms,
                      NL_AGENT_MAX_RANKS, NL_AGENT_MAX_ARMS);
    if (s->agent.way->members) s->agent.way->members(&s->agent);
    for (int i = 0; i < p->n_ranks; i++) {
        if (!na_set_has(&s->agent.set, p->ranks[i].pid)) continue;
        return nl_say(reason, size, "a rank (process %d) is one of the agent's processes", p->ranks[i].pid);
    }
    choose_cpu(s);
    spare_ranks(s);
    snprintf(log, sizeof log, "%s/agent.%s.log", p->directory, p->host);
    if (p->directory[0] && na_watch_log(&s->watch, log))
        return nl_say(reason, size, "cannot write %s: %s", log, strerror(errno));
    if (na_agent_place(&s->agent, reason, size)) return NL_AGENT_REFUSED;
    if (s->against.way && na_agent_place(&s->against, reason, size)) return NL_AGENT_REFUSED;
    s->is_placed = 1;
    if (open_record(s, reason, size)) return NL_AGENT_REFUSED;
    if (s->options->scrape && na_scraper_open(&s->scraper))
        return nl_say(reason, size, "the system refuses to start a thread for the scraper");
    return NL_AGENT_DONE;
}

/* Scraping begins after its agent is on. A started agent is on when it answers its scraper. */
static int begin_scraping(struct na_session *s, char *reason, int size) {
    int is_first = !s->was_scraped || (s->agent.way == &na_way_command && !s->options->freezes);
    if (!s->options->scrape) return 0;
    if (na_scraper_start(&s->scraper, is_first, s->options->timeout_ns, &s->page->is_closed, reason, size))
        return -1;
    s->was_scraped = 1;
    return 0;
}

/* After its lease there are no more halves: those without the agent would have it. */
static int is_refused(const struct na_session *s, char *reason, int size) {
    if (s->is_overdue)
        nl_say(reason, size,
               "no command came for %.3g s while it was frozen (was the measurement stopped?): it was let "
               "run again",
               (double)s->page->lease_ns / 1e9);
    return s->is_overdue;
}

/* The version that the arm is called after, or off with both. */
static int switch_to(struct na_session *s, int on, char *reason, int size) {
    char ignored[NA_REASON_BYTES];
    if (!s->against.way) return na_agent_switch(&s->agent, on, reason, size);
    int is_other = on && s->page->arm > 0 && s->page->arm < s->page->n_arms &&
                   strcmp(s->page->arms[s->page->arm].kind, s->against.name) == 0;
    struct na_agent *wanted = is_other ? &s->against : &s->agent, *still = is_other ? &s->agent : &s->against;
    int status = na_agent_switch(still, 0, reason, size);
    if (on) s->active = wanted;
    if (status != NL_AGENT_DONE) return status;
    /* one that died stays dead; the other one's halves are not compared with anything then */
    if (on && na_agent_look(still, "while the other version was to be on", ignored, sizeof ignored) !=
                  NL_AGENT_DONE)
        return nl_say(reason, size, "%s", ignored), NL_AGENT_DIED;
    return na_agent_switch(wanted, on, reason, size);
}

static int turn(struct na_session *s, int on, char *reason, int size) {
    int64_t begin_ns = nl_mono_ns();
    s->page->switch_ns = 0;
    if (s->is_restored) return NL_AGENT_DONE; /* closed: nothing is switched any more */
    if (is_refused(s, reason, size)) return NL_AGENT_REFUSED;
    if (!s->is_placed) return nl_say(reason, size, "%s before PLACE", on ? "ON" : "OFF");
    if (!on && s->options->scrape) na_scraper_stop(&s->scraper);
    if (on && s->options->settings)
        s->agent.arm = s->page->arm > 0 && s->page->arm < s->page->n_arms
                           ? na_settings_find(s->options->settings, s->page->arms[s->page->arm].kind) : NULL;
    int status = switch_to(s, on, reason, size);
    if (on && status == NL_AGENT_DONE && begin_scraping(s, reason, size)) status = NL_AGENT_REFUSED;
    s->page->switch_ns = nl_mono_ns() - begin_ns;
    if (!on || status != NL_AGENT_DONE) return status;
    mark_agent(s);
    if (s->active->cpu.row && s->account != s->active->cpu.row) {
        s->account = s->active->cpu.row;
        if (s->n_halves_on > 0)
            na_warn(&s->agent,
                    "it starts short-lived processes: their CPU time is exact to 10 ms in the first %lld "
                    "halves, counted by %s since",
                    (long long)s->n_halves_on, s->account->name);
    }
    return status;
}

static int on(struct na_session *s, char *reason, int size) { return turn(s, 1, reason, size); }

static int off(struct na_session *s, char *reason, int size) { return turn(s, 0, reason, size); }

/* Whether an agent that should be on has ended: NL_AGENT_DIED with a line in `reason`. */
static int look(struct na_session *s, const char *word, char *reason, int size) {
    char moment[64];
    int was_on = s->active->is_on == 1;
    nl_say(moment, sizeof moment, "%s half %lld of arm %d", word, (long long)s->page->half, s->page->arm);
    int status = na_agent_look(s->active, moment, reason, size);
    return was_on ? status : NL_AGENT_DONE;
}

static int begin(struct na_session *s, char *reason, int size) {
    if (!s->is_placed || s->page->arm < 0 || s->page->arm >= (s->page->n_arms > 0 ? s->page->n_arms : 1))
        return nl_say(reason, size, s->is_placed ? "arm %d is not one of those named" : "BEGIN before PLACE",
                      s->page->arm);
    if (is_refused(s, reason, size)) return NL_AGENT_REFUSED;
    if (look(s, "before", reason, size)) return NL_AGENT_DIED;
    na_agent_begin(s->active);
    s->begin_scraper_ns = scraper_cpu_ns(s);
    na_who_begin(&s->who, s->page->arm);
    s->begin_cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    s->begin_ns = nl_mono_ns();
    return NL_AGENT_DONE;
}

static int end(struct na_session *s, char *reason, int size) {
    char problem[NA_REASON_BYTES];
    struct nl_agent_account *a = &s->page->account;
    int64_t now_ns = nl_mono_ns();
    if (s->begin_ns == 0) return nl_say(reason, size, "END before BEGIN");
    if (is_refused(s, reason, size)) return NL_AGENT_REFUSED;
    memset(a, 0xff, sizeof *a); /* -1: unknown */
    a->wall_ns = now_ns - s->begin_ns;
    a->observer_cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID) - s->begin_cpu_ns;
    na_who_end(&s->who, a);
    na_agent_end(s->active, a);
    if (s->options->scrape) a->scraper_cpu_ns = scraper_cpu_ns(s) - s->begin_scraper_ns;
    s->begin_ns = 0;
    s->n_halves_on += s->active->is_on == 1;
    if (look(s, "in", reason, size)) return NL_AGENT_DIED;
    if (nl_mono_ns() - s->who.written_ns > WRITE_EVERY_NS &&
        na_who_write(&s->who, 0, problem, sizeof problem))
        na_warn(&s->agent, "%s", problem);
    return NL_AGENT_DONE;
}

static void restore(struct na_session *s) {
    if (s->is_restored) return;
    /* the agent first: a thawed agent matters more than anything */
    na_undo_thaw_every(s->agent.undo);
    if (s->options->scrape && s->scraper.is_up) na_scraper_stop(&s->scraper);
    if (s->agent.way->members) s->agent.way->members(&s->agent);
    na_set_prune(&s->agent.set);
    na_agent_restore(&s->agent, s->state_left, sizeof s->state_left);
    if (s->against.way) {
        s->against.way->members(&s->against);
        na_set_prune(&s->against.set);
        na_agent_restore(&s->against, s->against_left, sizeof s->against_left);
    }
    s->is_restored = 1;
}

/* What the agent was chosen by: the value of its option. */
static json_t *command(const struct na_options *o) {
    if (o->pid) return json_integer(o->pid);
    return nl_json_text(o->cmd        ? o->cmd
                        : o->cgroup   ? o->cgroup
                        : o->unit     ? o->unit
                        : o->on       ? o->on
                        : o->settings ? NULL
                                      : o->scrape);
}

/* What each file of a setting was, and what it is now; of many files the first ones. */
enum { MOST_SETTINGS = 64 };

static json_t *settings(const struct na_session *s) {
    const char *path, *found;
    char now[NA_UNDO_VALUE_BYTES];
    json_t *list = s->options->settings ? json_array() : json_null();
    for (int i = 0; s->options->settings && i < MOST_SETTINGS &&
                    na_settings_tell(s->agent.undo, i, &path, &found, now, sizeof now);
         i++)
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "file", nl_json_text(path), "found",
                                              nl_json_text(found), "left", nl_json_text(now)));
    return list;
}

/* What was scraped, beside what was asked for. */
static json_t *scraper(const struct na_session *s) {
    if (!s->options->scrape) return json_null();
    int64_t made = atomic_load(&s->scraper.n_scrapes), failed = atomic_load(&s->scraper.n_failed);
    int64_t left_out = atomic_load(&s->scraper.n_skipped);
    return json_pack("{s:I, s:I, s:I, s:I}", "period_ns", (json_int_t)s->scraper.period_ns, "scrapes",
                     (json_int_t)made, "failed", (json_int_t)failed, "left_out", (json_int_t)left_out);
}

/* The other version. */
static json_t *against(const struct na_session *s) {
    const struct na_agent *a = &s->against;
    if (!a->way) return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", nl_json_text(a->name), "command",
                     nl_json_text(a->options->cmd), "freezer",
                     nl_json_text(a->freeze.row ? a->freeze.row->name : NULL), "state_found",
                     nl_json_text(a->state_found), "state_left", nl_json_text(s->against_left), "died",
                     nl_json_text(a->died[0] ? a->died : NULL));
}

/* As JSON in one line, to be freed; NULL without memory. Keys: docs/reference/formats.md. */
static char *certificate(const struct na_session *s) {
    const struct na_agent *a = &s->agent;
    const struct nr_recorder *who = s->who.recorder;
    json_t *o = json_object();
    nl_json_set(o, "host", nl_json_text(s->page->host), "name", nl_json_text(a->name), "way",
                nl_json_text(a->way->name), "restarted",
                s->options->cmd ? json_boolean(!s->options->freezes) : json_null(), "command",
                command(s->options), "pids", NL_JSON_LIST(i, a->set.n, json_integer(a->set.p[i].pid)),
                "freezer", nl_json_text(a->freeze.row ? a->freeze.row->name : NULL), "freezer_reason",
                nl_json_text(a->freeze.row ? a->freeze.reason : NULL), "account",
                nl_json_text(s->account ? s->account->name : NULL), "source",
                nl_json_text(who ? nr_source(who) : "none"), "source_reason",
                nl_json_text(who ? nr_reason(who) : "--who none, or no source is possible here"),
                "state_found", nl_json_text(a->state_found), "state_left", nl_json_text(s->state_left),
                "settings", settings(s), "against", against(s), "scraper", scraper(s), "died",
                nl_json_text(a->died[0] ? a->died : NULL), "warnings",
                NL_JSON_LIST(i, a->n_warnings, nl_json_text(a->warnings[i])), NULL);
    char *out = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return out;
}

static int quit(struct na_session *s, char *reason, int size) {
    char problem[NA_REASON_BYTES];
    s->has_quit = 1;
    restore(s);
    int64_t n_failed = atomic_load(&s->scraper.n_failed), n_skipped = atomic_load(&s->scraper.n_skipped);
    if (n_failed > 0)
        na_warn(&s->agent, "%lld of %lld scrapes failed", (long long)n_failed,
                (long long)atomic_load(&s->scraper.n_scrapes));
    if (n_skipped > 0)
        na_warn(&s->agent, "%lld scrapes were left out: the one before took longer than the period",
                (long long)n_skipped);
    if (na_who_write(&s->who, 1, problem, sizeof problem)) na_warn(&s->agent, "%s", problem);
    char *text = certificate(s);
    int fits = text && strlen(text) < sizeof s->page->text;
    if (fits) strcpy(s->page->text, text);
    free(text);
    return fits ? NL_AGENT_DONE : nl_say(reason, size, "the certificate does not fit into the page");
}

/* Obeys the command that has come; 1 after QUIT. */
static int obey(struct na_session *s) {
    char reason[NA_REASON_BYTES] = "";
    uint32_t command = s->page->command;
    static int (*const commands[])(struct na_session * s, char *reason, int size) = {
        [NL_AGENT_PLACE] = place, [NL_AGENT_ON] = on,   [NL_AGENT_OFF] = off,
        [NL_AGENT_BEGIN] = begin, [NL_AGENT_END] = end, [NL_AGENT_QUIT] = quit};
    int is_known = command > NL_AGENT_NONE && command <= NL_AGENT_QUIT;
    int status = is_known ? commands[command](s, reason, sizeof reason)
                          : nl_say(reason, sizeof reason, "unknown command %u", command);
    nl_agent_answer(s->page, s->seen, (enum nl_agent_status)status, status ? reason : NULL);
    return command == NL_AGENT_QUIT;
}

/* When the lease of what is frozen ends, ns; INT64_MAX: nothing is, or it has none. An owner that was
 * stopped, or hangs, lives and says nothing. */
static int64_t lease_end(const struct na_session *s) {
    int is_frozen = 0;
    for (const struct na_undo *u = s->agent.undo; u; u = u->next)
        is_frozen |= atomic_load(&u->is_frozen) || atomic_load(&u->n_stopped) > 0;
    return is_frozen && s->page->lease_ns > 0 ? s->heard_ns + s->page->lease_ns : INT64_MAX;
}

static void end_lease(struct na_session *s) {
    s->heard_ns = nl_mono_ns() - s->page->lease_ns + LOOK_NS; /* where it fails again soon */
    if (na_undo_thaw_every(s->agent.undo)) return;
    s->is_overdue = s->agent.is_on = 1;
    if (s->against.way) s->against.is_on = 1;
    na_warn(&s->agent, "no command came for %.3g s while it was frozen: it was let run again",
            (double)s->page->lease_ns / 1e9);
}

/* Until QUIT, or the owner's death. Asleep for good only while the watch is sure to wake us: a page that its
 * owner has closed already cannot be closed again when the owner dies, and without a pidfd nobody tells us of
 * that death. */
static void live(struct na_session *s) {
    for (;;) {
        int is_watched = s->watch.owner_fd >= 0 && !atomic_load(&s->page->is_closed);
        int64_t look_ns = is_watched ? INT64_MAX : nl_mono_ns() + LOOK_NS, end_ns = lease_end(s);
        if (end_ns < look_ns) look_ns = end_ns;
        nl_futex_wait(&s->page->command_number, s->seen, look_ns == INT64_MAX ? -1 : look_ns);
        uint32_t number = atomic_load(&s->page->command_number), last = s->seen;
        s->seen = number;
        if (atomic_load(&s->page->is_closed)) restore(s);
        if ((number | 1) != (last | 1)) {
            if (obey(s)) return;
            s->heard_ns = nl_mono_ns();
        } else if (nl_mono_ns() >= lease_end(s)) {
            end_lease(s);
        }
        if (getppid() != s->page->owner_pid) return;
    }
}

/* Another command, as if it were the agent. */
static int open_against(struct na_session *s) {
    struct na_agent *a = &s->agent, *other = &s->against;
    s->against_options = *s->options;
    s->against_options.cmd = s->options->against;
    s->against_options.name = s->options->against_name;
    s->against_options.against = NULL;
    other->options = &s->against_options;
    other->children = a->children;
    other->out_fd = -1;
    other->undo = na_undo_create();
    if (!other->undo) return -1;
    other->undo->number = 1;
    a->undo->next = other->undo;
    other->freeze.undo = other->undo;
    other->freeze.set = &other->set;
    other->freeze.timeout_ns = s->options->timeout_ns;
    other->beside = &a->set;
    a->beside = &other->set;
    return 0;
}

int na_session_start(struct na_session *s, int is_trial) {
    char reason[NA_REASON_BYTES];
    struct na_agent *a = &s->agent;
    pthread_mutex_init(&s->children, NULL);
    pthread_mutex_init(&s->who.lock, NULL);
    a->options = s->options;
    a->children = &s->children;
    a->out_fd = -1;
    a->undo = na_undo_create();
    s->active = a;
    if (a->undo && s->options->against && open_against(s)) return nl_error("no memory for two versions");
    if (!a->undo || na_guardian_start(&s->guardian, a->undo))
        return nl_error("cannot start the guardian: %s", strerror(errno));
    a->not_agent[0] = s->guardian.pid;
    a->freeze.undo = a->undo;
    a->freeze.set = &a->set;
    a->freeze.timeout_ns = s->options->timeout_ns;
    for (struct na_undo *u = a->undo; u; u = u->next) u->companion = na_process_of(getpid());
    s->against.not_agent[0] = s->guardian.pid;
    if (!is_trial) {
        for (struct na_undo *u = a->undo; u; u = u->next) na_journal_open(u);
        na_journal_restore(); /* what another one could not give back */
    }
    const char *option = "scrape";
    int rc = check_scraper(s, reason, sizeof reason);
    if (rc == 0) {
        rc = na_agent_check(a, reason, sizeof reason);
        option = a->way->option;
    }
    if (rc == 0 && s->options->against) {
        rc = na_agent_check(&s->against, reason, sizeof reason);
        option = "against";
    }
    if (rc) return nl_error("--%s: %s", option, reason);
    for (int i = 0; i < a->n_warnings; i++) nl_warn("%s", a->warnings[i]);
    return 0;
}

static int close_on_exec(void *nothing, pid_t fd) {
    (void)nothing;
    if (fd > STDERR_FILENO) fcntl(fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

void na_session_keep_files(void) { nl_each_number("/proc/self/fd", close_on_exec, NULL); }

int na_session_watch(struct na_session *s) {
    s->watch.lock = &s->who.lock;
    s->watch.extra_ready = drain_record;
    s->watch.context = s;
    if (na_watch_open(&s->watch, s->page))
        return nl_error("cannot watch over the agent: %s", strerror(errno));
    s->agent.out_fd = s->against.out_fd = s->watch.pipe[1];
    s->agent.watch = s->against.watch = &s->watch;
    s->agent.stop = s->against.stop = &s->page->is_closed;
    return 0;
}

void na_session_close(struct na_session *s) {
    na_scraper_close(&s->scraper);
    na_watch_close(&s->watch);
    /* what could not be undone is left to it */
    if (s->agent.undo && na_undo_every_is_done(s->agent.undo)) nl_guard_end(&s->guardian);
    else nl_guard_leave(&s->guardian);
    na_who_close(&s->who);
    na_agent_free(&s->agent);
    if (s->against.way) na_agent_free(&s->against);
    nl_page_unmap(s->page);
}

int na_session(const struct na_options *o) {
    static struct na_session session;
    struct na_session *s = &session;
    char ignored[NA_REASON_BYTES];
    int status = NL_EXIT_USAGE;
    *s = (struct na_session){
        .options = o, .page = nl_page_attach(o->control_fd, NL_AGENT_MAGIC, sizeof *s->page), .cpu = -1};
    if (!s->page) {
        nl_error("--control-fd: %d is not an agent's page of this version", o->control_fd);
        return status;
    }
    if (s->page->owner_pid != (int32_t)getppid()) {
        nl_error("--control-fd: the page's owner is not the parent of this process");
        return status;
    }
    /* an agent that lives on must hold nothing of the launcher's: pipes whose end it waits for, locks; nor
     * our page */
    na_session_keep_files();
    /* a Ctrl-C reaches the whole process group; the owner decides when it ends, and it still wants the
     * certificate */
    for (size_t i = 0; i < 4; i++) signal((int[]){SIGINT, SIGTERM, SIGHUP, SIGPIPE}[i], SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (na_session_start(s, 0) || na_session_watch(s)) goto out;
    atomic_store(&s->page->companion_pid, (int32_t)getpid());
    live(s);
    restore(s);
    /* the owner is dead: what was recorded stays readable */
    if (!s->has_quit) na_who_write(&s->who, 1, ignored, sizeof ignored);
    status = NL_EXIT_OK;
out:
    na_session_close(s);
    return status;
}

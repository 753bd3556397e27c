#include "noisegen/recorder/recorder_session.h"
#include "noisegen/recorder/recorder_options.h"
#include "common/sys/nl_spawn.h"

#include "common/sys/nl_account.h"
#include "common/sys/nl_guard.h"
#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"
#include "noisegen/recorder/source.h"
#include "noisegen/recorder/summary.h"

/* The program that a recording starts and ends. */

struct child {
    pid_t pid;             /* 0: none */
    struct nl_guard guard; /* ends its group when we are killed */
    int has_ended;         /* nothing of it is left */
    int status;            /* of the program itself, as waitpid() has it; -1: it runs */
    int is_background;     /* the program itself has ended, and what it started goes on */
};

enum { LOOK_MS = 10, MOST_CHILDREN = 1024, GUARD_PATIENCE_MS = 1000 };

/* In the guardian: `group` is the program's, 0 when there is none yet. */
static void end_group(void *nothing, int64_t group) {
    (void)nothing;
    if (group <= 0) return;
    kill((pid_t)-group, SIGTERM);
    poll(NULL, 0, GUARD_PATIENCE_MS);
    kill((pid_t)-group, SIGKILL);
}

/* Starts a program by nl_spawn. What it leaves behind becomes the caller's children, who must have no others.
 * When the caller is killed a guardian ends the program's group. 0, -1 after a message. */
static int start_child(struct child *child, char *const *command) {
    /* an orphan before we adopt any */
    const struct nl_guard_work work = {.name = "nl-guardian", .is_orphan = 1, .act = end_group};
    *child = (struct child){.status = -1};
    nl_guard_start(&child->guard, &work);
    /* the trace is written, too, when nobody reads the summary any more */
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int error = nl_spawn(command, -1 /* the summary's place */, STDERR_FILENO, &child->pid);
    if (error) {
        nl_guard_end(&child->guard);
        child->pid = 0;
        return nl_error("cannot start '%s': %s", command[0], strerror(error));
    }
    if (nl_guard_tell(&child->guard, child->pid))
        nl_warn("'%s' would outlive this program if that was killed", command[0]);
    return 0;
}

/* Whether it has ended by now, with all that it started: a daemon goes on when its first process
 * has ended. */
static int has_ended(struct child *child) {
    pid_t pid;
    int status;
    if (child->pid <= 0) return 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != child->pid) continue;
        child->is_background = 1;
        child->status = status;
    }
    return child->has_ended = pid < 0; /* no children at all */
}

/* What of it is a child of the caller now: the program and, when their parents have ended, those it started.
 * Those that end stay in the list until has_ended looks. @return their number, at most `max`. */
static int child_pids(pid_t *pids, int max) {
    FILE *file = fopen("/proc/thread-self/children", "re");
    int n = 0;
    while (file && n < max && fscanf(file, "%d", &pids[n]) == 1) n++;
    if (file) fclose(file);
    return n;
}

/* Signals all children of ours: those whose parents end become it, so that nobody escapes for long. */
static void signal_children(const struct child *child, int signal) {
    pid_t pids[MOST_CHILDREN];
    int n = child_pids(pids, MOST_CHILDREN);
    if (!child->is_background) kill(-child->pid, signal);
    for (int i = 0; i < n; i++) kill(pids[i], signal);
}

/* Signals until nothing of it is left, or for patience_ns. */
static int end_with(struct child *child, int signal, int64_t patience_ns) {
    for (int64_t waited_ns = 0; !has_ended(child) && waited_ns < patience_ns;
         waited_ns += LOOK_MS * INT64_C(1000000)) {
        signal_children(child, signal);
        poll(NULL, 0, LOOK_MS);
    }
    return has_ended(child);
}

/* Ends it with all that it started: SIGTERM, and SIGKILL after patience_ns. @return 1 when it had to be
 * killed, otherwise 0. */
static int end_child(struct child *child, int64_t patience_ns) {
    if (child->pid <= 0) return 0;
    int was_killed = !end_with(child, SIGTERM, patience_ns) && end_with(child, SIGKILL, patience_ns);
    nl_guard_end(&child->guard);
    return was_killed;
}

enum { BURSTS_PER_SECOND = 50000, MOST_BURSTS = 8 << 20 };
#define LOOK_NS     INT64_C(200000000)
#define PATIENCE_NS INT64_C(5000000000)
#define LONGEST_NS  INT64_C(31536000000000000) /* a command without --duration: a year */

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_STOPS = sizeof stop_signals / sizeof *stop_signals };
static volatile sig_atomic_t is_stopped;

static void stop(int signal_number) {
    (void)signal_number;
    is_stopped = 1;
}

/* A process given by number: its start tells it from a later owner of that number. */
struct watched { pid_t pid; uint64_t start_ticks; int pidfd, has_ended; };

struct session {
    const struct nr_options *o;
    struct nr_recorder *recorder;
    struct child child;
    struct watched *watched;
    int n_watched, n_ended;
    struct nl_whole out; /* the trace while it is written */
    char what[256], host[65];
    int64_t account_ns;
    struct nl_account *cpus; /* where the time of the CPUs went; NULL: no memory for it */
    struct nl_account_sum account;
    struct nl_account_cpu *by_cpu; /* NULL: there is no account */
    pid_t own[NR_MAX_PIDS + 1];
    int ended_status; /* of the command, where it ended by itself; -1 */
};

/* ---- what is recorded ---- */

/* CPU time so far of the watched processes; -1 when one is gone. */
static int64_t account_ns(const struct session *s) {
    int64_t sum_ns = s->n_watched > 0 ? 0 : -1;
    for (int i = 0; i < s->n_watched && sum_ns >= 0; i++) {
        clockid_t clock;
        struct timespec t;
        if (s->watched[i].has_ended || clock_getcpuclockid(s->watched[i].pid, &clock) ||
            clock_gettime(clock, &t))
            return -1;
        sum_ns += (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    return sum_ns;
}

static int watch(struct session *s, const pid_t *pids, int n) {
    s->watched = calloc((size_t)n + 1, sizeof *s->watched);
    if (!s->watched) return nl_error("no memory");
    for (int i = 0; i < n; i++) {
        struct nr_proc_task task;
        int is_there = nr_proc_read_task(pids[i], pids[i], &task) == 0 && !strchr("ZX", task.stat.state);
        if (!is_there && s->o->command) continue; /* what it started may live on */
        if (!is_there)
            return nl_error("%sthere is no process %d", s->o->n_pids > 0 ? "--pid: " : "", (int)pids[i]);
        s->watched[s->n_watched++] = (struct watched){
            .pid = pids[i], .start_ticks = task.stat.start_ticks, .pidfd = nl_pidfd(pids[i])};
    }
    return 0;
}

/* Notices processes that ended, whether or not their number has a new owner; says so once. */
static void look_for_ends(struct session *s) {
    for (int i = 0; i < s->n_watched; i++) {
        struct watched *w = &s->watched[i];
        struct nr_proc_task task;
        if (w->has_ended) continue;
        int is_there = nr_proc_read_task(w->pid, w->pid, &task) == 0,
            is_reused = is_there && task.stat.start_ticks != w->start_ticks;
        w->has_ended = !is_there || is_reused || strchr("ZX", task.stat.state);
        if (!w->has_ended) continue;
        s->n_ended++;
        if (s->child.pid == w->pid) continue; /* a command may end by itself */
        nl_warn("process %d ended after %.3f s%s; what was recorded stays", (int)w->pid,
                (double)(nl_mono_ns() - s->recorder->origin_ns) / 1e9,
                is_reused ? ", and its number belongs to another process now" : "");
    }
}

/* Whether what was asked for is whoever runs on the CPUs. */
static int is_of_all(const struct nr_options *o) {
    return o->n_pids == 0 && !o->name && !o->cgroup && !o->command;
}

static int start_recorder(struct session *s, const pid_t *pids, int n) {
    const struct nr_options *o = s->o;
    int is_all = is_of_all(o);
    int64_t seconds = o->duration_ns / 1000000000 + 1,
            most = seconds < MOST_BURSTS / BURSTS_PER_SECOND ? seconds * BURSTS_PER_SECOND : MOST_BURSTS;
    struct nr_config config = {
        .source = o->source,
        .view = is_all ? NR_VIEW_ALL : NR_VIEW_TASKS,
        .cpus = o->cpus,
        .n_cpus = o->n_cpus,
        .pids = pids,
        .n_pids = n,
        .name = o->name,
        .max_bursts = o->duration_ns > 0 ? most : MOST_BURSTS,
        .keep = is_all ? ~(1u << NR_IDLE | 1u << NR_NOISELAB) : 1u << NR_AGENT,
    };
    if (nr_open(&s->recorder, &config)) return -1;
    if (o->out && !s->recorder->source->has_bursts)
        return nl_error("--out: there is no trace where switches cannot be recorded (%s)",
                        nr_reason(s->recorder));
    nr_mark(s->recorder, getpid(), NR_NOISELAB, 0);
    for (int i = 0; i < o->n_except; i++) nr_mark(s->recorder, o->except[i], NR_NOISELAB, 1);
    return 0;
}

/* Whether the command has gone into the background by now; says so once. */
static void look_for_background(struct session *s) {
    int was_background = s->child.is_background;
    if (has_ended(&s->child) || was_background || !s->child.is_background) return;
    nl_warn("'%s' goes on in the background: it is followed, and ended at the end", s->o->command[0]);
}

static int start_command(struct session *s) {
    pid_t pids[NR_MAX_PIDS];
    if (start_child(&s->child, s->o->command)) return -1;
    look_for_background(s);
    int n = child_pids(pids, NR_MAX_PIDS);
    if (n == 0) return nl_error("'%s' ended before recording began", s->o->command[0]);
    if ((!s->child.is_background && watch(s, &s->child.pid, 1)) || start_recorder(s, pids, n)) return -1;
    /* a daemon that came into being meanwhile, and whose parent has ended */
    n = child_pids(pids, NR_MAX_PIDS);
    for (int i = 0; i < n; i++) nr_mark(s->recorder, pids[i], NR_AGENT, 1);
    return 0;
}

static int start(struct session *s) {
    const struct nr_options *o = s->o;
    if (o->command) return start_command(s);
    if (!o->cgroup)
        return (o->n_pids > 0 && watch(s, o->pids, o->n_pids)) || start_recorder(s, o->pids, o->n_pids) ? -1
                                                                                                        : 0;
    pid_t *pids;
    char reason[PATH_MAX + 128];
    int n = nr_proc_cgroup(o->cgroup, &pids, reason, sizeof reason), status = -1;
    if (n < 0) nl_error("--cgroup: %s", reason);
    else if (n == 0) nl_error("--cgroup: '%s' has no processes now: there is nothing to follow", o->cgroup);
    else status = watch(s, pids, n) || start_recorder(s, pids, n) ? -1 : 0;
    if (n >= 0) free(pids);
    return status;
}

/* ---- recording ---- */

/* The CPUs' own account, which holds what tasks had against what the kernel says of the CPUs. The command
 * that is recorded is no part of this program. */
static void begin_account(struct session *s) {
    int n = 0;
    s->own[n++] = -getpid();
    for (int i = 0; i < s->o->n_except; i++) s->own[n++] = s->o->except[i];
    s->cpus = nl_account_open("/proc", s->recorder->is_watched, s->recorder->n_cpus, s->own, n, nl_mono_ns);
    if (s->cpus) nl_account_begin(s->cpus, s->recorder->source == &nr_source_cpu);
}

/* Where switches were recorded, they say who ran. */
static void end_account(struct session *s) {
    const struct nr_recorder *r = s->recorder;
    if (!s->cpus || !NL_NEW(s->by_cpu, r->n_cpus)) return;
    nl_account_end(s->cpus, &s->account, s->by_cpu);
    if (r->source != &nr_source_cpu) return;
    for (uint32_t i = 0; i < r->tally.n_rows; i++) {
        const struct nr_row *row = &r->tally.rows[i];
        int is_own = row->group == NR_NOISELAB || row->group == NR_RANK;
        if (row->cpu < 0 || row->group > NR_UNKNOWN || row->group == NR_IDLE) continue;
        *(is_own ? &s->by_cpu[row->cpu].own_ns : &s->by_cpu[row->cpu].tasks_ns) += row->wall_ns;
    }
    nl_account_by_record(s->cpus, &s->account, s->by_cpu, 1);
}

/* Sleeps until a ring is half full, a process ended, a signal came, or the time is over. */
static int sleep_until(struct session *s, int64_t end_ns, struct pollfd *fds, int max,
                       const sigset_t *signals) {
    int n = nr_fds(s->recorder, fds, max), n_rings = n;
    for (int i = 0; i < s->n_watched && n < max; i++)
        if (!s->watched[i].has_ended && s->watched[i].pidfd >= 0)
            fds[n++] = (struct pollfd){.fd = s->watched[i].pidfd, .events = POLLIN};
    int64_t left_ns = end_ns - nl_mono_ns();
    /* nothing but a look tells when the last of what went into the background ends */
    if (s->child.is_background && left_ns > LOOK_NS) left_ns = LOOK_NS;
    struct timespec timeout = nl_timespec(left_ns > 0 ? left_ns : 0);
    if (ppoll(fds, (nfds_t)n, &timeout, signals) < 0 && errno != EINTR)
        return nl_error("ppoll: %s", strerror(errno));
    int is_ready[2] = {0}; /* rings, ends */
    for (int i = 0; i < n; i++) is_ready[i >= n_rings] |= fds[i].revents & POLLIN;
    if (is_ready[0]) nr_drain(s->recorder);
    if (is_ready[1]) look_for_ends(s);
    return 0;
}

static int record(struct session *s) {
    int max = (int)sysconf(_SC_NPROCESSORS_CONF) + s->n_watched + 1024, status = -1;
    struct pollfd *fds = calloc((size_t)max, sizeof *fds);
    sigset_t stops, before;
    sigemptyset(&stops);
    for (int i = 0; i < N_STOPS; i++) sigaddset(&stops, stop_signals[i]);
    /* they come only while this program sleeps, so that none is overlooked */
    sigprocmask(SIG_BLOCK, &stops, &before);
    int64_t account_before_ns = account_ns(s);
    begin_account(s);
    if (!fds || nr_begin(s->recorder, 0)) goto done;
    int64_t end_ns = s->recorder->origin_ns + (s->o->duration_ns > 0 ? s->o->duration_ns : LONGEST_NS);
    while (!is_stopped && nl_mono_ns() < end_ns) {
        if (sleep_until(s, end_ns, fds, max, &before)) goto done;
        if (s->o->command) {
            look_for_background(s);
            if (!s->child.has_ended) continue;
            s->ended_status = s->child.status;
            break;
        }
        if (s->n_ended == 0 || s->n_ended < s->n_watched) continue;
        if (!nr_is_alive(s->recorder, NR_AGENT)) break; /* otherwise its children live on */
        end_ns = end_ns < nl_mono_ns() ? nl_mono_ns() : end_ns;
    }
    status = nr_end(s->recorder, NULL);
    end_account(s);
    int64_t account_after_ns = account_ns(s);
    s->account_ns =
        account_before_ns >= 0 && account_after_ns >= 0 ? account_after_ns - account_before_ns : -1;
done:
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(fds);
    return status;
}

/* ---- the trace ---- */

/* Opens the file beside its place before anything is recorded: a minute's recording must not end with a
 * message about the path. */
static int open_out(struct session *s) {
    const struct nr_options *o = s->o;
    if (!o->out) return 0;
    struct stat st;
    int is_there = stat(o->out, &st) == 0;
    if (is_there && (!o->may_replace || !S_ISREG(st.st_mode)))
        return nl_error(S_ISREG(st.st_mode) ? "--out: '%s' exists (--force replaces it)"
                                            : "--out: '%s' is not a regular file",
                        o->out);
    if (nl_whole_open(&s->out, o->out, 0666) == 0) return 0;
    return nl_error("--out: cannot write '%s': %s", o->out, strerror(errno));
}

static int write_out(struct session *s, const struct nr_summary *summary) {
    if (!s->out.f) return 0;
    int status = nl_whole_close(&s->out, nr_write_trace(s->recorder, summary, s->out.f, s->what, s->host));
    if (status) nl_error("cannot write '%s': %s; the summary stands on stdout", s->o->out, strerror(errno));
    return status;
}

static void describe(struct session *s) {
    const struct nr_options *o = s->o;
    size_t used = 0;
    for (char **word = o->command; word && *word && used < sizeof s->what - 1; word++)
        used += (size_t)snprintf(s->what + used, sizeof s->what - used, "%s%s", used > 0 ? " " : "", *word);
    for (char *p = s->what; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' '; /* it stands in a comment of one line */
    if (o->command) return;
    if (o->cgroup) snprintf(s->what, sizeof s->what, "cgroup %s", o->cgroup);
    else if (o->name) snprintf(s->what, sizeof s->what, "tasks named %s*", o->name);
    else if (o->n_pids > 0)
        snprintf(s->what, sizeof s->what, "process %d%s", (int)o->pids[0],
                 o->n_pids > 1 ? " and others" : "");
    else snprintf(s->what, sizeof s->what, "%d CPUs, all tasks", o->n_cpus);
}

/* Whether more CPU time is unaccounted for than what was seen, or nothing was seen at all. */
static int has_seen_too_little(const struct nr_summary *s) {
    double unaccounted_percent =
        s->has_account ? nl_account_percent_of_cpu(&s->account, s->account.all.unaccounted_ns) : 0;
    return s->n_takers == 0 || (nr_hides_some(s) && unaccounted_percent > nr_duty_percent(s));
}

static void say_what_was_not_seen(const struct nr_summary *s) {
    if (!nr_hides_some(s)) {
        if (s->n_takers == 0) nl_warn("none of what was asked for ran in this time: there is no trace");
        return;
    }
    nl_warn("%s: nobody accounts for %.3g %% of a CPU (%.3g %% of the time of %d CPUs)%s%s%s",
            s->n_takers == 0 ? "none of what was asked for was seen, which does not mean that none ran"
                             : "what ran is at least this",
            nl_account_percent_of_cpu(&s->account, s->account.all.unaccounted_ns),
            nl_account_unaccounted_percent(&s->account), (int)s->account.n_cpus,
            s->account.blind[0] ? ": " : "", s->account.blind, s->n_takers == 0 ? "; there is no trace" : "");
}

static int conclude(struct session *s) {
    static struct nr_summary the_summary;
    struct nr_summary *summary = &the_summary;
    int status = NL_EXIT_USAGE;
    if (nr_summarise(s->recorder, s->o->group_gap_ns, s->account_ns, summary)) {
        nl_error("no memory for the summary");
        return status;
    }
    summary->ended_status = s->ended_status;
    summary->is_of_all = is_of_all(s->o);
    if (s->by_cpu) nr_summary_account(s->recorder, summary, &s->account, s->by_cpu);
    /* what makes the trace less than the truth */
    if (summary->totals.lost > 0)
        nl_warn("%lld records were lost: the trace has holes (%lld bursts are known to be cut)",
                (long long)summary->totals.lost, (long long)summary->totals.cut);
    if (summary->totals.not_kept > 0)
        nl_warn("%lld bursts found no room: record for a shorter time", (long long)summary->totals.not_kept);
    if (s->o->is_json) nr_print_json(s->recorder, summary);
    else nr_print_summary(s->recorder, summary, s->what);
    int is_printed = fflush(stdout) == 0 && !ferror(stdout);
    if (!is_printed) nl_error("cannot write the summary: %s", strerror(errno));
    say_what_was_not_seen(summary);
    if (summary->n_takers == 0) status = NL_EXIT_INCONCLUSIVE;
    else if (write_out(s, summary) == 0 && is_printed)
        status = has_seen_too_little(summary) ? NL_EXIT_INCONCLUSIVE : NL_EXIT_OK;
    NL_FREE(summary->trace, summary->stalls);
    return status;
}

int nr_session(const struct nr_options *o) {
    struct session s = {.o = o, .account_ns = -1, .ended_status = -1};
    int status = NL_EXIT_USAGE;
    gethostname(s.host, sizeof s.host - 1);
    describe(&s);
    for (int i = 0; i < N_STOPS; i++)
        sigaction(stop_signals[i], &(struct sigaction){.sa_handler = stop}, NULL);
    int is_recorded = open_out(&s) == 0 && start(&s) == 0 && record(&s) == 0;
    if (end_child(&s.child, PATIENCE_NS))
        nl_warn("the command did not end within 5 s of SIGTERM and was killed");
    if (is_recorded) status = conclude(&s);
    nl_whole_close(&s.out, 1);
    for (int i = 0; i < s.n_watched; i++)
        if (s.watched[i].pidfd >= 0) close(s.watched[i].pidfd);
    NL_FREE(s.watched, s.by_cpu);
    nl_account_close(s.cpus);
    if (s.recorder) nr_close(s.recorder);
    return status;
}

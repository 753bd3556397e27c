/* A command: started, and ended with all its children, or frozen with them. We are the reaper of what it
 * leaves behind, so a daemon stays in sight. */
#include "noisegen/agent/agent.h"
#include "noisegen/agent/cpu.h"
#include "noisegen/agent/output.h"

/* A command that cannot work ends within this time: a wrong option, a port in use. Agents that need longer
 * are found out at the half's begin. */
enum { START_MS = 20 };

/* How it settles after its start: looks of LOOK_MS, one with at most LITTLE_NS (5 % of a CPU) is quiet. */
enum { LOOK_MS = 500, LITTLE_NS = 25000000, BUSY_LOOKS = 6, MOST_LOOKS = 20 };
#define PATIENCE_NS                                                                                          \
    INT64_C(5000000000) /* between SIGTERM and SIGKILL, unless a switch may not take so long */

struct looking { struct na_agent *a; int n_found; pid_t found; };

/* Counts processes of the same name, as the kernel cuts it. */
static int look(void *context, pid_t pid) {
    struct looking *l = context;
    struct nl_stat s;
    if (nl_stat_read(pid, &s) || s.state == 'Z' || strncmp(s.name, l->a->name, 15) != 0 ||
        na_is_ancestor(pid))
        return 0;
    l->n_found++;
    l->found = pid;
    return 0;
}

static int check(struct na_agent *a, char *reason, int size) {
    struct looking l = {.a = a};
    if (na_command_make(&a->on, a->options->cmd, a->options->is_shell, reason, size)) return -1;
    if (a->options->cpu && na_try_cpus(&a->options->cpus))
        return nl_say(reason, size, "--agent-cpu: '%s': none of these CPUs may be used here",
                      a->options->cpu);
    a->cpus = a->options->cpus;
    /* the kernel leaves out what the cpuset does not allow */
    if (!a->options->cpu) memset(&a->cpus, 0xff, sizeof a->cpus);
    na_command_name(&a->on, a->name, sizeof a->name);
    nl_each_number("/proc", look, &l);
    if (l.n_found > 0)
        na_warn(a, "%s runs already (process %d%s): it works in both arms, and is not part of the comparison",
                a->name, (int)l.found, l.n_found > 1 ? " and others" : "");
    snprintf(a->state_found, sizeof a->state_found, "not started");
    a->is_on = 0;
    return 0;
}

/* A child of ours that is not the agent: guardian, scrape under way, another agent's. */
static int is_anothers(const struct na_agent *a, pid_t pid) {
    return pid == a->not_agent[0] || pid == a->not_agent[1] || (a->beside && na_set_has(a->beside, pid));
}

static void members(struct na_agent *a) {
    struct na_set ours = {0};
    pthread_mutex_lock(a->children);
    na_reap_all();
    na_set_add_children(&ours, getpid());
    na_set_prune(&a->set);
    for (int i = 0; i < ours.n; i++)
        if (!is_anothers(a, ours.p[i].pid)) na_set_add(&a->set, ours.p[i].pid);
    pthread_mutex_unlock(a->children);
    na_set_add_descendants(&a->set);
    na_set_free(&ours);
    /* the guardian ends them by this list; those on it stay there until all are gone */
    for (int i = 0; i < a->set.n; i++) {
        int is_noted = 0;
        for (int j = 0; j < atomic_load(&a->undo->n_started); j++)
            is_noted |= na_is_same(a->undo->started[j], a->set.p[i]);
        if (!is_noted) na_undo_note(a->undo->started, &a->undo->n_started, a->set.p[i]);
    }
}

/* What a program that could not go on said about it: usually its last line. */
static void say_end(struct na_agent *a, char *reason, int size) {
    char how[64], line[NA_LINE_BYTES] = "";
    na_status_say(na_status_of(a->root.pid), how, sizeof how);
    if (a->watch) na_watch_last_line(a->watch, line, sizeof line);
    if (line[0])
        nl_say(reason, size, "'%s' ended by itself (%s), and had printed last: %s", a->options->cmd, how,
               line);
    else
        nl_say(reason, size, "'%s' ended by itself (%s), having printed nothing that says why",
               a->options->cmd, how);
}

static int lives(struct na_agent *a, char *reason, int size) {
    if (na_process_lives(a->root)) return 1;
    members(a);
    na_reap(a->root.pid);
    int status = na_status_of(a->root.pid);
    if (status == 0 && a->set.n > 0) {
        if (!a->is_daemon)
            na_warn(a, "'%s' goes on in the background (process %d): it is followed", a->options->cmd,
                    (int)a->set.p[0].pid);
        a->is_daemon = 1;
        return 1;
    }
    say_end(a, reason, size);
    return 0;
}

static int end(struct na_agent *a, char *reason, int size) {
    int64_t patience_ns = a->options->timeout_ns / 2 < PATIENCE_NS ? a->options->timeout_ns / 2 : PATIENCE_NS;
    members(a);
    int rc = a->set.n > 0 ? na_end_processes(&a->set, patience_ns) : 0;
    if (rc > 0)
        na_warn(a, "'%s' did not end %.3g s after SIGTERM: it got SIGKILL", a->options->cmd,
                (double)patience_ns / 1e9);
    if (rc < 0)
        nl_say(reason, size,
               "'%s' cannot be ended: a process of it belongs to another user, or waits for the kernel",
               a->options->cmd);
    else atomic_store(&a->undo->n_started, 0);
    na_cpu_close(&a->cpu);
    return rc < 0 ? -1 : 0;
}

/* Lets go of what is left of one that ended by itself. -1 */
static int gone(struct na_agent *a, const char *when, const char *why) {
    char ignored[64];
    nl_say(a->died, sizeof a->died, "%s: %s", when, why);
    return end(a, ignored, sizeof ignored), -1;
}

static int start(struct na_agent *a, char *reason, int size) {
    pid_t pid;
    a->undo->patience_ns = PATIENCE_NS;
    a->is_daemon = 0;
    int is_counted = a->figures.starts_processes && na_cpu_open_child(&a->cpu) == 0;
    if (a->watch) na_watch_listen(a->watch);
    if (na_command_start(&a->on, a->out_fd, &a->cpus, &pid, reason, size)) return -1;
    a->root = na_process_of(pid);
    na_undo_note(a->undo->started, &a->undo->n_started, a->root);
    a->set.n = 0;
    na_set_add(&a->set, pid);
    if (!is_counted) na_cpu_open(&a->cpu, &a->set, a->figures.starts_processes);
    struct pollfd ended = {.fd = nl_pidfd(pid), .events = POLLIN};
    poll(&ended, 1, START_MS);
    if (ended.fd >= 0) close(ended.fd);
    return lives(a, reason, size) ? 0 : gone(a, "at its start", reason);
}

/* CPU time of it in the next LOOK_MS, ns; -1: not known, or it is to end. */
static int64_t use_now(struct na_agent *a) {
    int64_t counts[NA_CPU_COUNTS];
    members(a);
    na_cpu_begin(&a->cpu, &a->set);
    for (int ms = 0; ms < LOOK_MS; ms += LOOK_MS / 10) {
        if (a->stop && atomic_load(a->stop)) return -1;
        nl_sleep_ns(INT64_C(1000000) * LOOK_MS / 10);
    }
    members(a);
    na_cpu_end(&a->cpu, &a->set, counts);
    return counts[NA_CPU_NS];
}

/* While an agent starts it reads files, looks at its machine and starts its parts. That is over before a job
 * begins, and not what it costs from then on. It has settled when it is little from the beginning, or for two
 * looks, or when after BUSY_LOOKS it no longer uses less than before. */
static void settle(struct na_agent *a) {
    int64_t used[MOST_LOOKS], from_ns = nl_mono_ns();
    for (int n = 0, n_little = 0; n < MOST_LOOKS; n++) {
        used[n] = use_now(a);
        n_little = used[n] <= LITTLE_NS ? n_little + 1 : 0;
        if (used[n] < 0 || n_little == n + 1 || n_little == 2) return;
        if (n + 1 >= BUSY_LOOKS && 2 * (used[n] + used[n - 1]) >= used[n - 2] + used[n - 3]) return;
        if (nl_mono_ns() - from_ns > a->options->timeout_ns / 2) return;
    }
}

/* Started once: from then on it is an agent that runs, and is frozen. */
static int place(struct na_agent *a, char *reason, int size) {
    char why[NA_REASON_BYTES];
    if (!a->options->freezes) return 0;
    if (start(a, reason, size)) return -1;
    settle(a);
    if (!lives(a, reason, size)) return gone(a, "while it settled", reason);
    members(a);
    a->is_on = 1;
    if (na_frozen_place(a, why, sizeof why) == 0) return 0;
    return nl_say(reason, size, "%s; have it started anew for each stretch (noiselab run agent --restart)",
                  why);
}

static int on(struct na_agent *a, char *reason, int size) {
    return a->options->freezes ? na_frozen_on(a, reason, size) : start(a, reason, size);
}

static int off(struct na_agent *a, char *reason, int size) {
    if (!a->options->freezes) return end(a, reason, size);
    members(a); /* whom it started meanwhile is frozen, too */
    return na_frozen_off(a, reason, size);
}

const struct na_way na_way_command = {
    .name = "command",
    .option = "agent-cmd",
    .help = "a command, started and ended; with --freeze started once and frozen",
    .check = check,
    .place = place,
    .on = on,
    .off = off,
    .members = members,
    .lives = lives};

#include "noisegen/agent/freeze.h"
#include "noisegen/agent/agent.h"

#include <pwd.h>

#include "common/sys/nl_cgroup.h"

void na_freeze_members(struct na_freeze *f) {
    na_set_prune(f->set);
    if (f->given[0] || f->directory[0]) na_set_add_cgroup(f->set, f->directory[0] ? f->directory : f->given);
    else na_set_add_descendants(f->set);
}

/* Waits until it is frozen, spinning at first: a freeze takes some 100 us. 0, -1 with a line in `reason` when
 * its time is over. */
static int await_frozen(const struct na_freeze *f, int (*is_frozen)(const struct na_freeze *f), char *reason,
                        int reason_size) {
    int64_t begin_ns = nl_mono_ns(), waited_ns = 0;
    for (; !is_frozen(f); waited_ns = nl_mono_ns() - begin_ns) {
        if (waited_ns > f->timeout_ns)
            return nl_say(
                reason, reason_size,
                "it does not stop: one of its processes waits for the kernel (a hanging file system?)");
        if (waited_ns < 2000000) sched_yield();
        else nl_sleep_ns(100000); /* it waits for something, and sleeping is polite */
    }
    return 0;
}

/* ---- the kernel's cgroup freezer, version 1 or 2: children that appear are frozen too, and nobody sees a
 * signal ---- */

static int join(char *path, const char *directory, const char *file) {
    return snprintf(path, PATH_MAX, "%s/%s", directory, file) < PATH_MAX ? 0 : -1;
}

/* Whether the state file says `text`. */
static int is_state(const struct na_freezer *row, const char *directory, const char *text) {
    char path[PATH_MAX], now[256];
    return join(path, directory, row->look_file) == 0 && nl_read(path, now, sizeof now) > 0 &&
           strstr(now, text) != NULL;
}

static int is_cgroup_frozen(const struct na_freeze *f) {
    return is_state(f->row, f->directory, f->row->look_frozen);
}

/* Notes what has to be written to thaw it, and opens what that takes. */
static int note(struct na_freeze *f) {
    struct na_undo *u = f->undo;
    if (atomic_load(&u->is_frozen)) return 0;
    nl_say(u->thaw_file, sizeof u->thaw_file, "%s/%s", f->directory, f->row->state_file);
    nl_say(u->look_file, sizeof u->look_file, "%s/%s", f->directory, f->row->look_file);
    snprintf(u->thaw_text, sizeof u->thaw_text, "%s", f->row->thawed_text);
    snprintf(u->look_text, sizeof u->look_text, "%s", f->row->look_thawed);
    if (na_undo_hold(u)) return -1;
    atomic_store(&u->is_frozen, 1);
    return na_journal_note(u);
}

static int freeze_cgroup(struct na_freeze *f, char *reason, int reason_size) {
    if (note(f))
        return nl_say(reason, reason_size, "%s is not frozen, because it might not be thawed: %s",
                      f->directory, strerror(errno));
    if (na_write(f->undo->thaw_file, f->row->frozen_text))
        return nl_say(reason, reason_size, "%s cannot be frozen: %s", f->directory, strerror(errno));
    return await_frozen(f, is_cgroup_frozen, reason, reason_size);
}

static int prepare_given(struct na_freeze *f, const struct na_freezer *row, const char *mount, char *reason,
                         int reason_size) {
    char path[PATH_MAX], now[256];
    size_t length = strlen(mount);
    if (strncmp(f->given, mount, length) != 0 || f->given[length] != '/' ||
        join(path, f->given, row->state_file))
        return nl_say(reason, reason_size, "%s is not in its hierarchy", f->given);
    if (nl_read(path, now, sizeof now) < 0)
        return nl_say(reason, reason_size, "%s has no %s", f->given, row->state_file);
    now[strcspn(now, "\n")] = '\0';
    if (strcmp(now, row->thawed_text) != 0) {
        nl_say(reason, reason_size,
               "%s is frozen already (%s): thaw it first, or it could not be left as it was found", f->given,
               now);
        return -2;
    }
    if (access(path, W_OK)) return nl_say(reason, reason_size, "%s: %s", path, strerror(errno));
    snprintf(f->directory, sizeof f->directory, "%s", f->given);
    return 0;
}

static int move_all(struct na_freeze *f) {
    char path[PATH_MAX], number[32];
    if (join(path, f->directory, "cgroup.procs")) return -1;
    /* children of a process that was not moved yet come into being outside: again, until there are no new
     * ones */
    for (int n_moved = 0; n_moved != f->set->n; na_set_add_descendants(f->set))
        for (; n_moved < f->set->n; n_moved++) {
            snprintf(number, sizeof number, "%d", (int)f->set->p[n_moved].pid);
            if (na_write(path, number) && errno != ESRCH) return -1;
        }
    return 0;
}

/* The one cgroup in which all its processes are. */
static int find_origin(const struct na_freeze *f, const struct na_freezer *row, const char *mount,
                       char *origin, char *reason, int reason_size) {
    char path[PATH_MAX], first[PATH_MAX] = "";
    for (int i = 0; i < f->set->n; i++) {
        if (nl_cgroup_of("", f->set->p[i].pid, row->controller, path, sizeof path)) continue;
        if (!first[0]) snprintf(first, sizeof first, "%s", path);
        if (strcmp(first, path) != 0)
            return nl_say(reason, reason_size, "its processes are in several cgroups");
    }
    if (!first[0] ||
        snprintf(origin, PATH_MAX, "%s%s", mount, strcmp(first, "/") == 0 ? "" : first) >= PATH_MAX)
        return nl_say(reason, reason_size, "its processes' cgroup is not known");
    if (strcmp(first, "/") == 0 || is_state(row, origin, row->look_thawed)) return 0;
    /* from above, or by somebody else */
    nl_say(reason, reason_size,
           "its cgroup %s is frozen already: thaw it first, or it could not be left as it was found", origin);
    return -2;
}

static int prepare_cgroup(struct na_freeze *f, const struct na_freezer *row, int own, int is_trial,
                          char *reason, int reason_size) {
    char mount[PATH_MAX], file[PATH_MAX];
    struct na_undo *u = f->undo;
    char *origin = u->origin_directory;
    if (nl_cgroup_mount("", row->controller, mount, sizeof mount))
        return nl_say(reason, reason_size, "not mounted");
    if (!own) return prepare_given(f, row, mount, reason, reason_size);
    int rc = find_origin(f, row, mount, origin, reason, reason_size);
    if (rc) return rc;
    if (snprintf(f->directory, sizeof f->directory, "%s/noiselab-agent.%d%s", origin, (int)getpid(),
                 u->number ? "-2" : "") >= (int)sizeof f->directory) return -1;
    /* what it takes: to make a cgroup there, and to move members out of it and back */
    int failed = join(file, origin, "cgroup.procs") || access(origin, W_OK) || access(file, W_OK);
    if (!failed) {
        snprintf(u->own_directory, sizeof u->own_directory, "%s", f->directory);
        atomic_store(&u->has_cgroup, 1);
        failed = mkdir(f->directory, 0755) || join(file, f->directory, row->state_file) ||
                 access(file, W_OK) || (!is_trial && move_all(f));
    }
    if (failed) nl_say(reason, reason_size, "a cgroup below %s: %s", origin, strerror(errno));
    if (failed || is_trial) {
        na_undo_cgroup(u);
        f->directory[0] = '\0';
    }
    return failed ? -1 : 0;
}

/* ---- SIGSTOP: what everybody may do to processes of their own. Parents see their children stop, and
 * children that appear while the others are being stopped have to be looked for ---- */

/* "root" or "1000": who may signal it, besides root. */
static void owner_of(pid_t pid, char *name, int size) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    struct passwd *user = stat(path, &st) ? NULL : getpwuid(st.st_uid);
    if (user) nl_say(name, size, "%s", user->pw_name);
    else nl_say(name, size, "%u", (unsigned)st.st_uid);
}

static int prepare_signals(struct na_freeze *f, const struct na_freezer *row, int own, int is_trial,
                           char *reason, int reason_size) {
    (void)row;
    (void)own;
    (void)is_trial;
    for (int i = 0; i < f->set->n; i++) {
        char owner[64];
        struct nl_stat s;
        pid_t pid = f->set->p[i].pid;
        if (na_process_signal(f->set->p[i], 0) == 0 || errno != EPERM || nl_stat_read(pid, &s)) continue;
        owner_of(pid, owner, sizeof owner);
        return nl_say(reason, reason_size, "process %d (%s) belongs to %s: only root and %s may stop it",
                      (int)pid, s.name, owner, owner);
    }
    return 0;
}

static int is_awake(void *process, pid_t tid) {
    struct nl_stat s;
    return nl_stat_read_thread(*(pid_t *)process, tid, &s) == 0 && !strchr("TtZX", s.state);
}

static int are_stopped(const struct na_freeze *f) {
    char path[64];
    for (int i = 0; i < f->set->n; i++) {
        snprintf(path, sizeof path, "/proc/%d/task", (int)f->set->p[i].pid);
        if (nl_each_number(path, is_awake, &f->set->p[i].pid) > 0) return 0; /* -1: it has ended */
    }
    return 1;
}

/* Stops the members from `from` on. */
static int stop(struct na_freeze *f, int from, char *reason, int reason_size) {
    for (int i = from; i < f->set->n; i++) {
        if (na_undo_note(f->undo->stopped, &f->undo->n_stopped, f->set->p[i]))
            return nl_say(reason, reason_size, "it has more than %d processes", NA_UNDO_PROCESSES);
    }
    if (na_journal_note(f->undo))
        return nl_say(reason, reason_size, "it is not stopped, because it might not be let run again: %s: %s",
                      f->undo->journal_file, strerror(errno));
    for (int i = from; i < f->set->n; i++) {
        if (na_process_signal(f->set->p[i], SIGSTOP) == 0 || errno == ESRCH) continue;
        return nl_say(reason, reason_size, "process %d cannot be stopped: %s", (int)f->set->p[i].pid,
                      strerror(errno));
    }
    return await_frozen(f, are_stopped, reason, reason_size);
}

static int freeze_signals(struct na_freeze *f, char *reason, int reason_size) {
    na_freeze_members(f);
    /* those at rest start no more: what is new then was started before */
    for (int n_stopped = 0, n; n_stopped != f->set->n; n_stopped = n, na_set_add_descendants(f->set)) {
        n = f->set->n;
        if (stop(f, n_stopped, reason, reason_size)) return -1;
    }
    return 0;
}

/* ---- the table ---- */

static const struct na_freezer v1 = {"freezer-v1",    "the freezer of control groups, version 1",
                                     prepare_cgroup,  freeze_cgroup,
                                     "freezer",       "freezer.state",
                                     "FROZEN",        "THAWED",
                                     "freezer.state", "FROZEN",
                                     "THAWED"},
                               v2 = {"freezer-v2",
                                     "the freezer of control groups, version 2",
                                     prepare_cgroup,
                                     freeze_cgroup,
                                     "",
                                     "cgroup.freeze",
                                     "1",
                                     "0",
                                     "cgroup.events",
                                     "frozen 1",
                                     "frozen 0"},
                               signals = {.name = "signals",
                                          .help = "SIGSTOP and SIGCONT to every process of the tree",
                                          .prepare = prepare_signals,
                                          .freeze = freeze_signals};

const struct na_freezer *const na_freezers[] = {&v1, &v2, &signals, NULL};

static int check_running(const struct na_freeze *f, char *reason, int reason_size) {
    for (int i = 0; i < f->set->n; i++) {
        struct nl_stat s;
        if (nl_stat_read(f->set->p[i].pid, &s) || (s.state != 'T' && s.state != 't')) continue;
        return nl_say(
            reason, reason_size,
            "process %d (%s) is %s already: let it run first, or it could not be left as it was found",
            (int)f->set->p[i].pid, s.name, s.state == 't' ? "under a debugger" : "stopped");
    }
    return 0;
}

int na_freeze_prepare(struct na_freeze *f, int is_trial, char *reason, int reason_size) {
    char why[256];
    int length = 0;
    f->reason[0] = '\0';
    if (check_running(f, reason, reason_size)) return -1;
    for (int own = f->given[0] == '\0'; own < 2; own++)
        for (const struct na_freezer *const *row = na_freezers; *row; row++) {
            if (!own && !(*row)->state_file) continue;
            why[0] = '\0';
            int rc = (*row)->prepare(f, *row, own, is_trial, why, sizeof why);
            f->row = *row;
            if (rc == 0) return 0;
            if (rc < -1) return nl_say(reason, reason_size, "%s", why);
            length += snprintf(f->reason + length, sizeof f->reason - (size_t)length, "%s%s: %s",
                               length ? "; " : "", (*row)->name, why);
            if (length >= (int)sizeof f->reason) length = (int)sizeof f->reason - 1;
        }
    f->row = NULL;
    return nl_say(reason, reason_size, "it cannot be frozen (%s)", f->reason);
}

int na_freeze_freeze(struct na_freeze *f, char *reason, int reason_size) {
    if (f->row->freeze(f, reason, reason_size) == 0) return 0;
    na_undo_thaw(f->undo);
    return -1;
}

int na_freeze_thaw(struct na_freeze *f, char *reason, int reason_size) {
    if (na_undo_thaw(f->undo) == 0) return 0;
    return nl_say(reason, reason_size, "%s cannot be thawed: %s",
                  f->directory[0] ? f->directory : "a stopped process", strerror(errno));
}

/* Freezing by SIGSTOP: what everybody may do to processes of their own. Parents see their children stop, and children that appear while the
 * others are being stopped have to be looked for. */
#include <pwd.h>

#include "noisegen/agent/freeze.h"

/* "root" or "1000": who may signal it, besides root. */
static void owner_of(pid_t pid, char *name, int size) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &st)) {
        nl_say(name, size, "somebody");
        return;
    }
    struct passwd *user = getpwuid(st.st_uid);
    if (user) nl_say(name, size, "%s", user->pw_name);
    else nl_say(name, size, "%u", (unsigned)st.st_uid);
}

static int prepare(struct na_freeze *f, const struct na_freezer *row, int is_trial, char *reason, int reason_size) {
    (void)row;
    (void)is_trial;
    for (int i = 0; i < f->set->n; i++) {
        char owner[64];
        struct nl_stat s;
        if (na_process_signal(f->set->p[i], 0) == 0 || errno != EPERM || nl_stat_read(f->set->p[i].pid, &s)) continue;
        owner_of(f->set->p[i].pid, owner, sizeof owner);
        return nl_say(reason, reason_size, "process %d (%s) belongs to %s: only root and %s may stop it", (int)f->set->p[i].pid, s.name,
                      owner, owner);
    }
    return 0;
}

/* ---- are all threads at rest? ---- */

static int is_awake(void *process, pid_t tid) {
    struct nl_stat s;
    return nl_stat_read_thread(*(pid_t *)process, tid, &s) == 0 && !strchr("TtZX", s.state);
}

static int is_stopped(const void *freeze) {
    const struct na_set *set = ((const struct na_freeze *)freeze)->set;
    char path[64];
    for (int i = 0; i < set->n; i++) {
        snprintf(path, sizeof path, "/proc/%d/task", (int)set->p[i].pid);
        if (nl_each_number(path, is_awake, &set->p[i].pid) > 0) return 0; /* -1: it has ended */
    }
    return 1;
}

static int thaw(struct na_freeze *f, char *reason, int reason_size) {
    if (na_undo_thaw(f->undo) == 0) return 0;
    return nl_say(reason, reason_size, "a process cannot be let run again: %s", strerror(errno));
}

/* Stops the members from `from` on. */
static int stop(struct na_freeze *f, int from, char *reason, int reason_size) {
    for (int i = from; i < f->set->n; i++) {
        if (na_undo_note(f->undo->stopped, &f->undo->n_stopped, f->set->p[i]))
            return nl_say(reason, reason_size, "it has more than %d processes", NA_UNDO_PROCESSES);
    }
    if (na_journal_note(f->undo))
        return nl_say(reason, reason_size, "it is not stopped, because it might not be let run again: %s: %s", f->undo->journal_file,
                      strerror(errno));
    for (int i = from; i < f->set->n; i++) {
        if (na_process_signal(f->set->p[i], SIGSTOP) == 0 || errno == ESRCH) continue;
        return nl_say(reason, reason_size, "process %d cannot be stopped: %s", (int)f->set->p[i].pid, strerror(errno));
    }
    return 0;
}

static int freeze(struct na_freeze *f, char *reason, int reason_size) {
    na_freeze_members(f);
    for (int n_stopped = 0; n_stopped != f->set->n;) {
        int n = f->set->n;
        if (stop(f, n_stopped, reason, reason_size)) goto fail;
        n_stopped = n;
        if (na_freeze_await(is_stopped, f, f->timeout_ns)) {
            nl_say(reason, reason_size, "it does not stop: one of its processes waits for the kernel (a hanging file system?)");
            goto fail;
        }
        na_set_add_descendants(f->set); /* those at rest start no more: what is new now was started before */
    }
    return 0;
fail:
    na_undo_thaw(f->undo);
    return -1;
}

const struct na_freezer na_freezer_signals = {
    .name = "signals", .help = "SIGSTOP and SIGCONT to every process of the tree", .prepare = prepare, .freeze = freeze, .thaw = thaw};

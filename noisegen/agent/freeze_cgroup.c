/* Freezing by the kernel's cgroup freezer, version 1 or 2: children that appear are frozen too, and nobody sees a signal. */
#include "noisegen/agent/freeze.h"
#include "noisegen/agent/session.h"
#include "common/sys/nl_cgroup.h"

static int join(char *path, const char *directory, const char *file) {
    return snprintf(path, PATH_MAX, "%s/%s", directory, file) < PATH_MAX ? 0 : -1;
}

/* Whether the state file says `text`. */
static int is_state(const struct na_freezer *row, const char *directory, const char *text) {
    char path[PATH_MAX], now[256];
    return join(path, directory, row->look_file) == 0 && nl_read(path, now, sizeof now) > 0 && strstr(now, text) != NULL;
}

static int is_frozen(const void *context) {
    const struct na_freeze *f = context;
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
    na_guardian_hold();
    atomic_store(&u->is_frozen, 1);
    return na_journal_note(u);
}

static int write_state(const struct na_freeze *f, const char *text) {
    char path[PATH_MAX];
    return join(path, f->directory, f->row->state_file) || na_write(path, text) ? -1 : 0;
}

static int thaw(struct na_freeze *f, char *reason, int reason_size) {
    if (na_undo_thaw(f->undo) == 0) return 0;
    return nl_say(reason, reason_size, "%s cannot be thawed: %s", f->directory, strerror(errno));
}

static int freeze(struct na_freeze *f, char *reason, int reason_size) {
    char ignored[64];
    if (note(f)) {
        nl_say(reason, reason_size, "%s is not frozen, because it might not be thawed: %s", f->directory, strerror(errno));
    } else if (write_state(f, f->row->frozen_text)) {
        nl_say(reason, reason_size, "%s cannot be frozen: %s", f->directory, strerror(errno));
    } else if (na_freeze_await(is_frozen, f, f->timeout_ns)) {
        nl_say(reason, reason_size, "%s does not freeze: one of its processes waits for the kernel (a hanging file system?)",
                 f->directory);
    } else {
        return 0;
    }
    thaw(f, ignored, sizeof ignored);
    return -1;
}

/* ---- an existing cgroup ---- */

static int prepare_given(struct na_freeze *f, const struct na_freezer *row, const char *mount, char *reason, int reason_size) {
    char path[PATH_MAX], now[256];
    size_t length = strlen(mount);
    if (strncmp(f->given, mount, length) != 0 || f->given[length] != '/' || join(path, f->given, row->state_file))
        return nl_say(reason, reason_size, "%s is not in its hierarchy", f->given);
    if (nl_read(path, now, sizeof now) < 0) return nl_say(reason, reason_size, "%s has no %s", f->given, row->state_file);
    now[strcspn(now, "\n")] = '\0';
    if (strcmp(now, row->thawed_text) != 0) {
        nl_say(reason, reason_size, "%s is frozen already (%s): thaw it first, or it could not be left as it was found", f->given,
                 now);
        return -2;
    }
    if (access(path, W_OK)) return nl_say(reason, reason_size, "%s: %s", path, strerror(errno));
    snprintf(f->directory, sizeof f->directory, "%s", f->given);
    return 0;
}

/* ---- one of our own ---- */

static int move_all(struct na_freeze *f) {
    char path[PATH_MAX], number[32];
    if (join(path, f->directory, "cgroup.procs")) return -1;
    /* children of a process that was not moved yet come into being outside: again, until there are no new ones */
    for (int n_moved = 0; n_moved != f->set->n;) {
        for (; n_moved < f->set->n; n_moved++) {
            snprintf(number, sizeof number, "%d", (int)f->set->p[n_moved].pid);
            if (na_write(path, number) && errno != ESRCH) return -1;
        }
        na_set_add_descendants(f->set);
    }
    return 0;
}

/* The one cgroup in which all its processes are. */
static int find_origin(const struct na_freeze *f, const struct na_freezer *row, const char *mount, char *origin, char *reason,
                       int reason_size) {
    char path[PATH_MAX], first[PATH_MAX] = "";
    for (int i = 0; i < f->set->n; i++) {
        if (nl_cgroup_of("", f->set->p[i].pid, row->controller, path, sizeof path)) continue;
        if (!first[0]) snprintf(first, sizeof first, "%s", path);
        if (strcmp(first, path) == 0) continue;
        return nl_say(reason, reason_size, "its processes are in several cgroups");
    }
    if (!first[0] || snprintf(origin, PATH_MAX, "%s%s", mount, strcmp(first, "/") == 0 ? "" : first) >= PATH_MAX)
        return nl_say(reason, reason_size, "its processes' cgroup is not known");
    /* frozen from above, or by somebody else */
    if (strcmp(first, "/") != 0 && !is_state(row, origin, row->look_thawed)) {
        nl_say(reason, reason_size, "its cgroup %s is frozen already: thaw it first, or it could not be left as it was found", origin);
        return -2;
    }
    return 0;
}

static int prepare_own(struct na_freeze *f, const struct na_freezer *row, const char *mount, int is_trial, char *reason, int reason_size) {
    char origin[PATH_MAX], file[PATH_MAX];
    struct na_undo *u = f->undo;
    int rc = find_origin(f, row, mount, origin, reason, reason_size);
    if (rc) return rc;
    /* what it takes: to make a cgroup there, and to move members out of it and back */
    if (join(file, origin, "cgroup.procs") || access(origin, W_OK) || access(file, W_OK))
        return nl_say(reason, reason_size, "a cgroup below %s: %s", origin, strerror(errno));
    if (snprintf(f->directory, sizeof f->directory, "%s/noiselab-agent.%d", origin, (int)getpid()) >= (int)sizeof f->directory) return -1;
    snprintf(u->own_directory, sizeof u->own_directory, "%s", f->directory);
    snprintf(u->origin_directory, sizeof u->origin_directory, "%s", origin);
    atomic_store(&u->has_cgroup, 1);
    rc = mkdir(f->directory, 0755);
    if (rc == 0 && join(file, f->directory, row->state_file) == 0 && access(file, W_OK) == 0 && (is_trial || move_all(f) == 0)) {
        if (!is_trial) return 0;
        na_undo_cgroup(u);
        f->directory[0] = '\0';
        return 0;
    }
    nl_say(reason, reason_size, "a cgroup below %s: %s", origin, strerror(errno));
    na_undo_cgroup(u);
    f->directory[0] = '\0';
    return -1;
}

static int prepare(struct na_freeze *f, const struct na_freezer *row, int is_trial, char *reason, int reason_size) {
    char mount[PATH_MAX];
    if (nl_cgroup_mount("", row->controller, mount, sizeof mount)) return nl_say(reason, reason_size, "not mounted");
    if (f->is_given_wanted) return prepare_given(f, row, mount, reason, reason_size);
    return prepare_own(f, row, mount, is_trial, reason, reason_size);
}

const struct na_freezer na_freezer_v1 = {.name = "freezer-v1", .help = "the freezer of control groups, version 1", .prepare = prepare,
                                         .freeze = freeze, .thaw = thaw, .controller = "freezer", .state_file = "freezer.state",
                                         .frozen_text = "FROZEN", .thawed_text = "THAWED", .look_file = "freezer.state",
                                         .look_frozen = "FROZEN", .look_thawed = "THAWED"};

const struct na_freezer na_freezer_v2 = {.name = "freezer-v2", .help = "the freezer of control groups, version 2", .prepare = prepare,
                                         .freeze = freeze, .thaw = thaw, .controller = "", .state_file = "cgroup.freeze",
                                         .frozen_text = "1", .thawed_text = "0", .look_file = "cgroup.events", .look_frozen = "frozen 1",
                                         .look_thawed = "frozen 0"};

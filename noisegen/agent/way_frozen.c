/* The ways that keep the agent running, and freeze and thaw it: a process and its children, a cgroup, a unit
 * of systemd. */
#include "noisegen/agent/agent.h"
#include "common/sys/nl_cgroup.h"
#include "noisegen/agent/cpu.h"
#include "noisegen/agent/freeze.h"

static int check(struct na_agent *a, char *reason, int size) {
    struct nl_stat s;
    for (int i = 0; i < a->set.n; i++) {
        pid_t pid = a->set.p[i].pid;
        if (nl_stat_read(pid, &s)) continue;
        if (s.is_kernel)
            return nl_say(reason, size, "process %d (%s) is a thread of the kernel: it cannot be switched",
                          (int)pid, s.name);
        if (na_is_ancestor(pid))
            return nl_say(reason, size, "process %d (%s), which runs this program, would be frozen, too",
                          (int)pid, s.name);
    }
    if (na_freeze_prepare(&a->freeze, 1, reason, size)) return -1;
    snprintf(a->state_found, sizeof a->state_found, "running");
    a->is_on = 1;
    return 0;
}

static void members(struct na_agent *a) { na_freeze_members(&a->freeze); }

int na_frozen_place(struct na_agent *a, char *reason, int size) {
    members(a);
    if (na_freeze_prepare(&a->freeze, 0, reason, size)) return -1;
    a->is_held = 1;
    /* frozen for a moment: no thread comes into being while the counters are opened, and freezing is seen to
     * work */
    if (na_freeze_freeze(&a->freeze, reason, size)) return -1;
    members(a);
    na_cpu_open(&a->cpu, &a->set, 0);
    return na_freeze_thaw(&a->freeze, reason, size);
}

int na_frozen_on(struct na_agent *a, char *reason, int size) {
    return na_freeze_thaw(&a->freeze, reason, size);
}

int na_frozen_off(struct na_agent *a, char *reason, int size) {
    if (na_freeze_freeze(&a->freeze, reason, size)) return -1;
    /* it was seen to start processes: now that it stands still, count them, too */
    if (!a->figures.starts_processes || !a->cpu.row || a->cpu.row->counts_children || a->cpu.is_final)
        return 0;
    members(a);
    na_cpu_open(&a->cpu, &a->set, 1);
    a->cpu.is_final = 1;
    return 0;
}

#define HOOKS .place = na_frozen_place, .on = na_frozen_on, .off = na_frozen_off, .members = members

/* ---- a process ---- */

static int check_pid(struct na_agent *a, char *reason, int size) {
    struct nl_stat s;
    pid_t pid = a->options->pid;
    if (nl_stat_read(pid, &s)) return nl_say(reason, size, "there is no process %d", (int)pid);
    a->root = (struct na_process){pid, s.start_ticks};
    if (na_set_add(&a->set, pid) != 1)
        return nl_say(reason, size, "process %d (%s) has ended, and only waits for its parent", (int)pid,
                      s.name);
    na_set_add_descendants(&a->set);
    return check(a, reason, size);
}

static int pid_lives(struct na_agent *a, char *reason, int size) {
    if (na_process_lives(a->root)) return 1;
    nl_say(reason, size, "process %d (%s) has ended%s", (int)a->root.pid, a->name,
           na_process_of(a->root.pid).start_ticks ? ", and its number belongs to another one now" : "");
    return 0;
}

const struct na_way na_way_pid = {.name = "pid",
                                  .option = "agent-pid",
                                  .help = "a process and its children, frozen and thawed",
                                  .check = check_pid,
                                  HOOKS,
                                  .lives = pid_lives};

/* ---- a cgroup ---- */

/* `what`: for messages. */
static int check_members(struct na_agent *a, const char *directory, const char *what, char *reason,
                         int size) {
    if (snprintf(a->freeze.given, sizeof a->freeze.given, "%s", directory) >= (int)sizeof a->freeze.given ||
        na_set_add_cgroup(&a->set, directory) < 0 || a->set.n == 0)
        return nl_say(reason, size, "%s has no process", what);
    a->root = a->set.p[0];
    return check(a, reason, size);
}

static int check_cgroup(struct na_agent *a, char *reason, int size) {
    char directory[PATH_MAX], what[PATH_MAX + 16];
    if (nl_cgroup_find(a->options->cgroup, directory))
        return nl_say(reason, size, "there is no cgroup '%s' (neither as a path nor below the cgroup mounts)",
                      a->options->cgroup);
    snprintf(what, sizeof what, "the cgroup %s", directory);
    return check_members(a, directory, what, reason, size);
}

static int cgroup_lives(struct na_agent *a, char *reason, int size) {
    members(a);
    if (a->set.n > 0) return 1;
    nl_say(reason, size, "the last process of %s has ended", a->freeze.given);
    return 0;
}

const struct na_way na_way_cgroup = {.name = "cgroup",
                                     .option = "agent-cgroup",
                                     .help = "the processes of a cgroup, frozen and thawed",
                                     .check = check_cgroup,
                                     HOOKS,
                                     .lives = cgroup_lives};

/* ---- a unit of systemd: its processes are those of the cgroup that has its name ---- */

enum { MAX_DEPTH = 8 }; /* user.slice/user-N.slice/user@N.service/app.slice/NAME is 5 */

struct found { char first[PATH_MAX], second[PATH_MAX]; int n; };

static void search(const char *at, const char *name, int depth, struct found *found) {
    char path[PATH_MAX];
    DIR *d = depth < MAX_DEPTH ? opendir(at) : NULL;
    struct dirent *e;
    while (d && found->n < 2 && (e = readdir(d))) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", at, e->d_name) >= (int)sizeof path)
            continue;
        if (strcmp(e->d_name, name) == 0)
            snprintf(found->n++ ? found->second : found->first, PATH_MAX, "%s", path);
        else search(path, name, depth + 1, found);
    }
    if (d) closedir(d);
}

static int check_unit(struct na_agent *a, char *reason, int size) {
    /* in version 2 where that is mounted, else in a hierarchy of systemd's own; the first that has
     * it counts */
    static const char *const hierarchies[] = {"", "name=systemd"};
    char name[300], what[320], mount[PATH_MAX];
    struct found found = {.n = 0};
    snprintf(name, sizeof name, "%s%s", a->options->unit, strchr(a->options->unit, '.') ? "" : ".service");
    for (int i = 0; i < 2 && found.n == 0; i++)
        if (nl_cgroup_mount("", hierarchies[i], mount, sizeof mount) == 0) search(mount, name, 0, &found);
    if (found.n > 1)
        return nl_say(reason, size, "there are two units '%s', %s and %s: name one by --agent-cgroup", name,
                      found.first, found.second);
    if (found.n == 0 && access("/run/systemd/system", F_OK))
        return nl_say(
            reason, size,
            "there is no unit '%s', and systemd does not run here (try --agent-pid or --agent-cgroup)", name);
    if (found.n == 0)
        return nl_say(reason, size, "there is no running unit '%s' (see systemctl status %s)", name, name);
    snprintf(what, sizeof what, "the unit %s", name);
    return check_members(a, found.first, what, reason, size);
}

const struct na_way na_way_unit = {.name = "unit",
                                   .option = "agent-unit",
                                   .help = "a unit of systemd, frozen and thawed",
                                   .check = check_unit,
                                   HOOKS,
                                   .lives = cgroup_lives};

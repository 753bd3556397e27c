/* The ways that keep the agent running, and freeze and thaw it: a process and its children, a cgroup, a unit of systemd. */
#include "noisegen/agent/agent.h"
#include "common/sys/nl_cgroup.h"

static int check(struct na_agent *a, char *reason, int size) {
    struct nl_stat s;
    for (int i = 0; i < a->set.n; i++) {
        pid_t pid = a->set.p[i].pid;
        if (nl_stat_read(pid, &s)) continue;
        if (s.is_kernel) return nl_say(reason, size, "process %d (%s) is a thread of the kernel: it cannot be switched", (int)pid, s.name);
        if (na_is_ancestor(pid))
            return nl_say(reason, size, "process %d (%s), which runs this program, would be frozen, too", (int)pid, s.name);
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
    /* frozen for a moment: no thread comes into being while the counters are opened, and freezing is seen to work */
    if (na_freeze_freeze(&a->freeze, reason, size)) return -1;
    members(a);
    na_cpu_open(&a->cpu, &a->set, 0);
    return na_freeze_thaw(&a->freeze, reason, size);
}

int na_frozen_on(struct na_agent *a, char *reason, int size) { return na_freeze_thaw(&a->freeze, reason, size); }

int na_frozen_off(struct na_agent *a, char *reason, int size) {
    if (na_freeze_freeze(&a->freeze, reason, size)) return -1;
    /* it was seen to start processes: now that it stands still, count them, too */
    if (!a->figures.starts_processes || !a->cpu.row || a->cpu.row->counts_children || a->cpu.is_final) return 0;
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
        return nl_say(reason, size, "process %d (%s) has ended, and only waits for its parent", (int)pid, s.name);
    na_set_add_descendants(&a->set);
    return check(a, reason, size);
}

static int pid_lives(struct na_agent *a, char *reason, int size) {
    if (na_process_lives(a->root)) return 1;
    nl_say(reason, size, "process %d (%s) has ended%s", (int)a->root.pid, a->name,
           na_process_of(a->root.pid).start_ticks ? ", and its number belongs to another one now" : "");
    return 0;
}

const struct na_way na_way_pid = {.name = "pid", .option = "agent-pid", .help = "a process and its children, frozen and thawed",
                                  .check = check_pid, HOOKS, .lives = pid_lives};

/* ---- a cgroup ---- */

/* `what`: for messages. */
static int check_members(struct na_agent *a, const char *directory, const char *what, char *reason, int size) {
    if (snprintf(a->freeze.given, sizeof a->freeze.given, "%s", directory) >= (int)sizeof a->freeze.given ||
        na_set_add_cgroup(&a->set, directory) < 0 || a->set.n == 0)
        return nl_say(reason, size, "%s has no process", what);
    a->root = a->set.p[0];
    return check(a, reason, size);
}

static int check_cgroup(struct na_agent *a, char *reason, int size) {
    char directory[PATH_MAX], what[PATH_MAX + 16];
    if (nl_cgroup_find(a->options->cgroup, directory))
        return nl_say(reason, size, "there is no cgroup '%s' (neither as a path nor below the cgroup mounts)", a->options->cgroup);
    snprintf(what, sizeof what, "the cgroup %s", directory);
    return check_members(a, directory, what, reason, size);
}

static int cgroup_lives(struct na_agent *a, char *reason, int size) {
    members(a);
    if (a->set.n > 0) return 1;
    nl_say(reason, size, "the last process of %s has ended", a->freeze.given);
    return 0;
}

const struct na_way na_way_cgroup = {.name = "cgroup", .option = "agent-cgroup", .help = "the processes of a cgroup, frozen and thawed",
                                     .check = check_cgroup, HOOKS, .lives = cgroup_lives};

/* ---- a unit of systemd: its processes are those of the cgroup that has its name ---- */

enum { MAX_DEPTH = 8 }; /* user.slice/user-N.slice/user@N.service/app.slice/NAME is 5 */
#define ASK_NS INT64_C(10000000000)

/* systemd keeps its units in version 2 where that is mounted, else in a hierarchy of its own */
static const char *const hierarchies[] = {"", "name=systemd"};
enum { N_HIERARCHIES = sizeof hierarchies / sizeof *hierarchies };

/* The unit's cgroup below the mount into `path`; 0, -1: systemd does not know it, or cannot be asked. */
static int ask(const char *name, char *path, int size) {
    char *words[] = {"systemctl", "show", "--property=ControlGroup", "--value", "--", (char *)name, NULL};
    struct na_command command = {.text = "systemctl", .words = words};
    char ignored[NA_REASON_BYTES];
    int fd = memfd_create("unit", MFD_CLOEXEC), rc = -1;
    if (fd < 0) return -1;
    if (na_command_run(&command, fd, ASK_NS, NULL, ignored, sizeof ignored) == 0) {
        ssize_t n = pread(fd, path, (size_t)size - 1, 0);
        path[n > 0 ? n : 0] = '\0';
        path[strcspn(path, "\n")] = '\0';
        rc = path[0] == '/' && path[1] ? 0 : -1;
    }
    close(fd);
    return rc;
}

static int find_asked(const char *name, char *directory) {
    char path[PATH_MAX / 2], mount[PATH_MAX / 2];
    if (access("/run/systemd/system", F_OK) || ask(name, path, sizeof path)) return -1;
    for (int i = 0; i < N_HIERARCHIES; i++) {
        if (nl_cgroup_mount("", hierarchies[i], mount, sizeof mount)) continue;
        snprintf(directory, PATH_MAX, "%s%s", mount, path);
        if (access(directory, F_OK) == 0) return 0;
    }
    return -1;
}

/* Where a cgroup has its name: inside of a container there is nobody to ask. */

struct found { char first[PATH_MAX], second[PATH_MAX]; int n; };

static void search(const char *at, const char *name, int depth, struct found *found) {
    char path[PATH_MAX];
    DIR *d = depth < MAX_DEPTH ? opendir(at) : NULL;
    struct dirent *e;
    while (d && found->n < 2 && (e = readdir(d))) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", at, e->d_name) >= (int)sizeof path) continue;
        if (strcmp(e->d_name, name) == 0) snprintf(found->n++ ? found->second : found->first, PATH_MAX, "%s", path);
        else search(path, name, depth + 1, found);
    }
    if (d) closedir(d);
}

static void find_named(const char *name, struct found *found) {
    char mount[PATH_MAX];
    /* the same unit may stand in both hierarchies: the first that has it counts */
    for (int i = 0; i < N_HIERARCHIES && found->n == 0; i++)
        if (nl_cgroup_mount("", hierarchies[i], mount, sizeof mount) == 0) search(mount, name, 0, found);
}

static int check_unit(struct na_agent *a, char *reason, int size) {
    char name[300], what[320];
    struct found found = {.n = 1};
    snprintf(name, sizeof name, "%s%s", a->options->unit, strchr(a->options->unit, '.') ? "" : ".service");
    if (find_asked(name, found.first)) {
        found.n = 0;
        find_named(name, &found);
    }
    if (found.n > 1)
        return nl_say(reason, size, "there are two units '%s', %s and %s: name one by --agent-cgroup", name, found.first, found.second);
    if (found.n == 0 && access("/run/systemd/system", F_OK))
        return nl_say(reason, size, "there is no unit '%s', and systemd does not run here (try --agent-pid or --agent-cgroup)", name);
    if (found.n == 0) return nl_say(reason, size, "there is no running unit '%s' (see systemctl status %s)", name, name);
    snprintf(what, sizeof what, "the unit %s", name);
    return check_members(a, found.first, what, reason, size);
}

const struct na_way na_way_unit = {.name = "unit", .option = "agent-unit", .help = "a unit of systemd, frozen and thawed",
                                   .check = check_unit, HOOKS, .lives = cgroup_lives};

/* A unit of systemd: its processes are those of the cgroup that has its name. */
#include "noisegen/agent/agent.h"
#include "common/sys/nl_cgroup.h"

enum { MAX_DEPTH = 8 }; /* user.slice/user-N.slice/user@N.service/app.slice/NAME is 5 */
#define ASK_NS INT64_C(10000000000)

/* systemd keeps its units in version 2 where that is mounted, else in a hierarchy of its own */
static const char *const hierarchies[] = {"", "name=systemd"};
enum { N_HIERARCHIES = sizeof hierarchies / sizeof *hierarchies };

/* ---- where systemd says that it is ---- */

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

/* ---- and where a cgroup has its name: inside of a container there is nobody to ask ---- */

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

static int check(struct na_agent *a, char *reason, int size) {
    char name[300], what[320];
    struct found found = {.n = 0};
    snprintf(name, sizeof name, "%s%s", a->options->unit, strchr(a->options->unit, '.') ? "" : ".service");
    if (find_asked(name, found.first)) {
        find_named(name, &found);
        if (found.n > 1)
            return nl_say(reason, size, "there are two units '%s', %s and %s: name one by --agent-cgroup", name, found.first, found.second);
    } else {
        found.n = 1;
    }
    if (found.n == 0) {
        if (access("/run/systemd/system", F_OK))
            nl_say(reason, size, "there is no unit '%s', and systemd does not run here (try --agent-pid or --agent-cgroup)", name);
        else nl_say(reason, size, "there is no running unit '%s' (see systemctl status %s)", name, name);
        return -1;
    }
    snprintf(what, sizeof what, "the unit %s", name);
    return na_cgroup_check(a, found.first, what, reason, size);
}

const struct na_way na_way_unit = {.name = "unit", .option = "agent-unit", .help = "a unit of systemd, frozen and thawed", .check = check,
                                   NA_FROZEN_HOOKS, .lives = na_cgroup_lives};

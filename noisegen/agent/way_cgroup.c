/* The processes of a cgroup, frozen and thawed. */
#include "noisegen/agent/agent.h"
#include "common/sys/nl_cgroup.h"

/* Where the path leads: it is one in a file system, or below the mount of the freezer's or the second version's hierarchy. 0, -1. */
static int find(const char *path, char *directory) {
    static const char *const controllers[] = {"freezer", ""};
    char mount[PATH_MAX], tried[2 * PATH_MAX];
    snprintf(tried, sizeof tried, "%s/cgroup.procs", path);
    if (path[0] == '/' && access(tried, R_OK) == 0) return realpath(path, directory) ? 0 : -1;
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        if (nl_cgroup_mount("", controllers[i], mount, sizeof mount)) continue;
        snprintf(tried, sizeof tried, "%s/%s/cgroup.procs", mount, path + strspn(path, "/"));
        if (access(tried, R_OK)) continue;
        *strrchr(tried, '/') = '\0';
        return realpath(tried, directory) ? 0 : -1;
    }
    return -1;
}

static int check(struct na_agent *a, char *reason, int size) {
    char directory[PATH_MAX], what[PATH_MAX + 16];
    if (find(a->options->cgroup, directory))
        return nl_say(reason, size, "there is no cgroup '%s' (neither as a path nor below the cgroup mounts)", a->options->cgroup);
    snprintf(what, sizeof what, "the cgroup %s", directory);
    return na_cgroup_check(a, directory, what, reason, size);
}

const struct na_way na_way_cgroup = {.name = "cgroup", .option = "agent-cgroup", .help = "the processes of a cgroup, frozen and thawed",
                                     .check = check, NA_FROZEN_HOOKS, .lives = na_cgroup_lives};

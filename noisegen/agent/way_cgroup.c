/* The processes of a cgroup, frozen and thawed. */
#include "noisegen/agent/agent.h"
#include "common/sys/nl_cgroup.h"

static int check(struct na_agent *a, char *reason, int size) {
    char directory[PATH_MAX], what[PATH_MAX + 16];
    if (nl_cgroup_find(a->options->cgroup, directory))
        return nl_say(reason, size, "there is no cgroup '%s' (neither as a path nor below the cgroup mounts)", a->options->cgroup);
    snprintf(what, sizeof what, "the cgroup %s", directory);
    return na_cgroup_check(a, directory, what, reason, size);
}

const struct na_way na_way_cgroup = {.name = "cgroup", .option = "agent-cgroup", .help = "the processes of a cgroup, frozen and thawed",
                                     .check = check, NA_FROZEN_HOOKS, .lives = na_cgroup_lives};

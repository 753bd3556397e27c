/* A unit of systemd: its processes are those of the cgroup that has its name. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

enum { MAX_DEPTH = 8 }; /* user.slice/user-N.slice/user@N.service/app.slice/NAME is 5 */

/* Looks for a directory of this name below `at`, which is lengthened to it. 0, -1. */
static int search(char *at, const char *name, int depth) {
    size_t length = strlen(at);
    DIR *d = depth < MAX_DEPTH ? opendir(at) : NULL;
    struct dirent *e;
    int rc = -1;
    while (d && rc && (e = readdir(d))) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
        if (snprintf(at + length, PATH_MAX - length, "/%s", e->d_name) < (int)(PATH_MAX - length))
            rc = strcmp(e->d_name, name) == 0 ? 0 : search(at, name, depth + 1);
        if (rc) at[length] = '\0';
    }
    if (d) closedir(d);
    return rc;
}

static int find(const char *name, char *directory) {
    /* systemd keeps its units in version 2 where that is mounted, else in a hierarchy of its own */
    static const char *const hierarchies[] = {"", "name=systemd"};
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        if (na_cgroup_mount(hierarchies[i], directory, PATH_MAX) == 0 && search(directory, name, 0) == 0) return 0;
    return -1;
}

static int check(struct na_agent *a, char *reason, int size) {
    char name[300], directory[PATH_MAX], what[320];
    snprintf(name, sizeof name, "%s%s", a->options->unit, strchr(a->options->unit, '.') ? "" : ".service");
    if (find(name, directory)) {
        if (access("/run/systemd/system", F_OK))
            na_say(reason, size, "there is no unit '%s', and systemd does not run here (try --agent-pid or --agent-cgroup)", name);
        else
            na_say(reason, size, "there is no running unit '%s' (see systemctl status %s)", name, name);
        return -1;
    }
    snprintf(what, sizeof what, "the unit %s", name);
    return na_cgroup_check(a, directory, what, reason, size);
}

const struct na_way na_way_unit = {.name = "unit",
                                   .option = "agent-unit",
                                   .help = "a unit of systemd, frozen and thawed",
                                   .check = check,
                                       NA_FROZEN_HOOKS,
                                   .lives = na_cgroup_lives};

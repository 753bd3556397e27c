/* CPU time by the kernel's account of a cgroup that holds the agent and nobody else: exact, whatever the agent forks, and one small file.
 * Version 1 counts in ns (cpuacct.usage), version 2 in us (cpu.stat). */
#include "noisegen/agent/cpu.h"
#include "common/sys/nl_cgroup.h"

static int64_t read_file(const char *file) {
    char text[1024];
    if (nl_read(file, text, sizeof text) <= 0) return -1;
    const char *usec = strstr(text, "usage_usec ");
    if (usec) return strtoll(usec + strlen("usage_usec "), NULL, 10) * 1000;
    return text[0] >= '0' && text[0] <= '9' ? strtoll(text, NULL, 10) : -1;
}

/* Whether the cgroup's members, and those below it, are the agent's processes and no others. */
static int is_agents_own(const char *directory, const struct na_set *set) {
    struct na_set members = {0};
    int is_own = na_set_add_cgroup(&members, directory) >= 0;
    for (int i = 0; is_own && i < members.n; i++) is_own = na_set_has(set, members.p[i].pid);
    for (int i = 0; is_own && i < set->n; i++) is_own = na_set_has(&members, set->p[i].pid);
    na_set_free(&members);
    return is_own;
}

static int try_hierarchy(struct na_cpu *c, const struct na_set *set, const char *controller, const char *name) {
    char mount[PATH_MAX], path[PATH_MAX], directory[2 * PATH_MAX];
    if (nl_cgroup_mount("", controller, mount, sizeof mount) || nl_cgroup_of("", set->p[0].pid, controller, path, sizeof path)) return -1;
    if (strcmp(path, "/") == 0) return -1; /* everybody's */
    snprintf(directory, sizeof directory, "%s%s", mount, path);
    if (!is_agents_own(directory, set) || snprintf(c->file, sizeof c->file, "%s/%s", directory, name) >= (int)sizeof c->file) return -1;
    return read_file(c->file) < 0 ? -1 : 0;
}

static int open_it(struct na_cpu *c, const struct na_set *set, char *reason, int reason_size) {
    if (set->n > 0 && (try_hierarchy(c, set, "cpuacct", "cpuacct.usage") == 0 || try_hierarchy(c, set, "", "cpu.stat") == 0)) return 0;
    return nl_say(reason, reason_size, "no cgroup with CPU accounting holds the agent and nobody else");
}

static int read_it(struct na_cpu *c, int64_t *cpu_ns, int64_t *switches, int64_t *migrations) {
    (void)switches;
    (void)migrations;
    *cpu_ns = read_file(c->file);
    return *cpu_ns < 0 ? -1 : 0;
}

const struct na_cpu_source na_cpu_cgroup = {
    .name = "cgroup", .help = "the kernel's account of the agent's own cgroup", .counts_children = 1, .open = open_it, .read = read_it};

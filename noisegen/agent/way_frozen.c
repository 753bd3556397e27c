/* What the ways share that keep the agent running, and freeze and thaw it. */
#include "noisegen/agent/agent.h"

int na_frozen_check(struct na_agent *a, char *reason, int size) {
    struct nl_stat s;
    for (int i = 0; i < a->set.n; i++) {
        pid_t pid = a->set.p[i].pid;
        if (nl_stat_read(pid, &s)) continue;
        if (s.is_kernel) nl_say(reason, size, "process %d (%s) is a thread of the kernel: it cannot be switched", (int)pid, s.name);
        else if (na_is_ancestor(pid))
            nl_say(reason, size, "process %d (%s), which runs this program, would be frozen, too", (int)pid, s.name);
        else continue;
        return -1;
    }
    a->freeze.undo = a->undo;
    a->freeze.set = &a->set;
    a->freeze.timeout_ns = a->options->timeout_ns;
    if (na_freeze_prepare(&a->freeze, 1, reason, size)) return -1;
    snprintf(a->state_found, sizeof a->state_found, "running");
    a->is_on = 1;
    return 0;
}

int na_frozen_place(struct na_agent *a, char *reason, int size) {
    na_frozen_members(a);
    if (na_freeze_prepare(&a->freeze, 0, reason, size)) return -1;
    a->is_held = 1;
    /* frozen for a moment: no thread comes into being while the counters are opened, and freezing is seen to work */
    if (a->freeze.row->freeze(&a->freeze, reason, size)) return -1;
    na_frozen_members(a);
    na_cpu_open(&a->cpu, &a->set, 0);
    return a->freeze.row->thaw(&a->freeze, reason, size);
}

int na_frozen_on(struct na_agent *a, char *reason, int size) { return a->freeze.row->thaw(&a->freeze, reason, size); }

int na_frozen_off(struct na_agent *a, char *reason, int size) {
    if (a->freeze.row->freeze(&a->freeze, reason, size)) return -1;
    /* it was seen to start processes: now that it stands still, count them, too */
    if (!a->figures.starts_processes || !a->cpu.row || a->cpu.row->counts_children || a->cpu.is_final) return 0;
    na_frozen_members(a);
    na_cpu_open(&a->cpu, &a->set, 1);
    a->cpu.is_final = 1;
    return 0;
}

void na_frozen_members(struct na_agent *a) { na_freeze_members(&a->freeze); }

int na_cgroup_check(struct na_agent *a, const char *directory, const char *what, char *reason, int size) {
    if (snprintf(a->freeze.given, sizeof a->freeze.given, "%s", directory) >= (int)sizeof a->freeze.given ||
        na_set_add_cgroup(&a->set, directory) < 0 || a->set.n == 0)
        return nl_say(reason, size, "%s has no process", what);
    a->root = a->set.p[0];
    return na_frozen_check(a, reason, size);
}

int na_cgroup_lives(struct na_agent *a, char *reason, int size) {
    na_frozen_members(a);
    if (a->set.n > 0) return 1;
    nl_say(reason, size, "the last process of %s has ended", a->freeze.given);
    return 0;
}

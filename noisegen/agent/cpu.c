#include "noisegen/agent/cpu.h"

const struct na_cpu_source *const na_cpu_sources[] = {&na_cpu_cgroup, &na_cpu_perf, &na_cpu_clocks, NULL};

int na_cpu_open(struct na_cpu *c, const struct na_set *set, int starts_processes) {
    char why[128];
    int length = 0;
    na_cpu_close(c);
    for (const struct na_cpu_source *const *row = na_cpu_sources; *row; row++) {
        if ((*row)->adds_cost && !starts_processes) {
            nl_say(why, sizeof why, "it would add to the agent's own cost");
        } else if ((*row)->open(c, set, why, sizeof why) == 0) {
            c->row = *row;
            return 0;
        }
        length += snprintf(c->reason + length, sizeof c->reason - (size_t)length, "%s%s: %s", length ? "; " : "", (*row)->name, why);
        if (length >= (int)sizeof c->reason) length = (int)sizeof c->reason - 1;
    }
    return -1;
}

int na_cpu_open_child(struct na_cpu *c) {
    char ignored[128];
    na_cpu_close(c);
    for (const struct na_cpu_source *const *row = na_cpu_sources; *row; row++) {
        if (!(*row)->open_child || (*row)->open_child(c, ignored, sizeof ignored)) continue;
        c->row = *row;
        return 0;
    }
    return -1;
}

void na_cpu_close(struct na_cpu *c) {
    if (c->row && c->row->close) c->row->close(c);
    *c = (struct na_cpu){.begin_cpu_ns = -1};
}

void na_cpu_begin(struct na_cpu *c, const struct na_set *set) {
    c->begin_cpu_ns = c->begin_switches = c->begin_migrations = -1;
    if (!c->row) return;
    if (c->row->begin) c->begin_cpu_ns = c->row->begin(c, set) ? -1 : 0;
    else if (c->row->read(c, &c->begin_cpu_ns, &c->begin_switches, &c->begin_migrations)) c->begin_cpu_ns = -1;
}

int64_t na_cpu_end(struct na_cpu *c, const struct na_set *set, int64_t *switches, int64_t *migrations) {
    int64_t now_ns = -1, n_switches = -1, n_migrations = -1;
    *switches = *migrations = -1;
    if (!c->row || c->begin_cpu_ns < 0) return -1;
    if (c->row->end) return c->row->end(c, set);
    if (c->row->read(c, &now_ns, &n_switches, &n_migrations)) return -1;
    if (n_switches >= 0) *switches = n_switches - c->begin_switches;
    if (n_migrations >= 0) *migrations = n_migrations - c->begin_migrations;
    return now_ns - c->begin_cpu_ns;
}

#include "noisegen/agent/agent.h"
#include "noisegen/agent/cpu.h"
#include "noisegen/agent/figures.h"

void na_warn(struct na_agent *a, const char *format, ...) {
    char text[NA_REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (int i = 0; i < a->n_warnings; i++)
        if (strcmp(a->warnings[i], text) == 0) return;
    if (a->n_warnings < NA_MAX_WARNINGS) snprintf(a->warnings[a->n_warnings++], NA_REASON_BYTES, "%s", text);
}

/* By the option that was given; without another one it is scraped. */
static const struct na_way *choose_way(const struct na_options *o) {
    int is_given[] = {o->cmd != NULL,
                      o->pid != 0,
                      o->cgroup != NULL,
                      o->unit != NULL,
                      o->on != NULL,
                      o->settings != NULL,
                      1},
        i = 0;
    while (!is_given[i]) i++;
    return na_ways[i];
}

/* What the agent is called unless the user says it: as its program. */
static void choose_name(struct na_agent *a) {
    const struct na_options *o = a->options;
    struct nl_stat s;
    if (o->name) snprintf(a->name, sizeof a->name, "%s", o->name);
    else if (o->unit) snprintf(a->name, sizeof a->name, "%.*s", (int)strcspn(o->unit, "."), o->unit);
    else if (o->pid || o->cgroup)
        snprintf(a->name, sizeof a->name, "%s", nl_stat_read(a->root.pid, &s) ? "agent" : s.name);
    else if (o->on) na_command_name(&a->on, a->name, sizeof a->name);
    else if (!o->cmd) snprintf(a->name, sizeof a->name, o->settings ? "setting" : "scrape");
    /* it stands in CSV files */
    for (char *c = a->name; *c; c++)
        if (strchr(", \t\"'\\/\n", *c)) *c = '_';
}

int na_agent_check(struct na_agent *a, char *reason, int size) {
    a->way = choose_way(a->options);
    if (a->way->check(a, reason, size)) return -1;
    choose_name(a);
    return 0;
}

int na_agent_place(struct na_agent *a, char *reason, int size) {
    if (a->way->lives && a->is_on == 1 && !a->way->lives(a, reason, size)) return -1;
    return a->way->place ? a->way->place(a, reason, size) : 0;
}

/* It has ended by itself: notes when, and lets go of what is left of it. */
static void note_death(struct na_agent *a, const char *why, const char *when) {
    char problem[NA_REASON_BYTES];
    nl_say(a->died, sizeof a->died, "%s: %s", when, why);
    a->is_on = 0;
    if (na_undo_all(a->undo, problem, sizeof problem)) na_warn(a, "%s", problem);
    if (!a->way->members) return;
    a->way->members(a);
    if (a->set.n == 0) return;
    na_warn(a, "%d of its processes survived (process %d), and run in both conditions from then on", a->set.n,
            (int)a->set.p[0].pid);
}

int na_agent_look(struct na_agent *a, const char *when, char *reason, int size) {
    if (!a->died[0] && (a->is_on == 1 || a->is_held) && a->way->lives && !a->way->lives(a, reason, size)) {
        char why[NA_REASON_BYTES];
        snprintf(why, sizeof why, "%s", reason);
        note_death(a, why, when);
    }
    if (!a->died[0]) return NL_AGENT_DONE;
    nl_say(reason, size, "%s", a->died);
    return NL_AGENT_DIED;
}

int na_agent_switch(struct na_agent *a, int on, char *reason, int size) {
    int status = na_agent_look(a, on ? "before a half with it" : "before a half without it", reason, size);
    if (status) return on ? status : NL_AGENT_DONE; /* a dead one is off */
    if (a->is_on == on && !(on && a->way->has_arms)) return NL_AGENT_DONE;
    if ((on ? a->way->on : a->way->off)(a, reason, size)) return NL_AGENT_REFUSED;
    a->is_on = on;
    return NL_AGENT_DONE;
}

void na_agent_begin(struct na_agent *a) {
    if (!a->way->members) return;
    a->way->members(a);
    na_figures_begin(&a->figures, &a->set);
    /* last, and first at the end: this is what is compared with the ranks' side */
    na_cpu_begin(&a->cpu, &a->set);
}

void na_agent_end(struct na_agent *a, struct nl_agent_account *account) {
    int64_t counts[NA_CPU_COUNTS];
    if (!a->way->members) return;
    na_cpu_end(&a->cpu, &a->set, counts);
    a->way->members(a);
    /* with the new ones */
    if (a->cpu.row && !a->cpu.row->counts_children) na_cpu_end(&a->cpu, &a->set, counts);
    account->cpu_ns = counts[NA_CPU_NS];
    na_figures_end(&a->figures, &a->set, account);
    if (!a->cpu.row && a->set.n == 0) account->cpu_ns = 0; /* not there at all */
    /* the kernel's counts have short-lived children, too, which /proc forgets */
    if (counts[NA_CPU_MIGRATIONS] >= 0) account->migrations = counts[NA_CPU_MIGRATIONS];
    if (account->involuntary >= 0 && counts[NA_CPU_SWITCHES] >= account->involuntary)
        account->voluntary = counts[NA_CPU_SWITCHES] - account->involuntary;
}

void na_agent_restore(struct na_agent *a, char *left, int size) {
    char problem[NA_REASON_BYTES], ignored[NA_REASON_BYTES];
    int was_running = strcmp(a->state_found, "running") == 0;
    if (na_undo_all(a->undo, problem, sizeof problem)) {
        na_warn(a, "%s", problem);
        nl_say(left, size, "not as it was found: %s", problem);
    } else if (a->died[0] || (was_running && !a->way->lives(a, ignored, sizeof ignored)))
        nl_say(left, size, "ended by itself");
    else if (a->options->on && a->is_on < 0) nl_say(left, size, "as it was found: it was not switched");
    else if (a->options->on && a->options->found == NA_FOUND_UNKNOWN)
        nl_say(left, size, "off, switched by --agent-off (how it was before is not known: --agent-found)");
    else nl_say(left, size, "%s", a->state_found);
    a->is_on = was_running && !a->died[0];
}

void na_agent_free(struct na_agent *a) {
    na_cpu_close(&a->cpu);
    na_figures_free(&a->figures);
    na_set_free(&a->set);
    na_command_free(&a->on);
    na_command_free(&a->off);
}

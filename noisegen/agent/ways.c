/* The table of ways, and those that change nothing in the agent's processes themselves. */
#include "noisegen/agent/agent.h"

/* ---- two commands that switch something on and off: a service, an interval, a setting of the batch system ---- */

static int check_switch(struct na_agent *a, char *reason, int size) {
    if (na_command_make(&a->on, a->options->on, a->options->is_shell, reason, size) ||
        na_command_make(&a->off, a->options->off, a->options->is_shell, reason, size))
        return -1;
    snprintf(a->state_found, sizeof a->state_found, "unknown");
    a->is_on = -1;
    return 0;
}

static int place(struct na_agent *a, char *reason, int size) {
    struct na_undo *u = a->undo;
    if (snprintf(u->off_command, sizeof u->off_command, "%s", a->options->off) >= (int)sizeof u->off_command)
        return nl_say(reason, size, "the command of --agent-off is longer than %d bytes", NA_UNDO_TEXT_BYTES - 1);
    u->is_shell = a->options->is_shell;
    u->timeout_ns = a->options->timeout_ns;
    return 0;
}

static int on(struct na_agent *a, char *reason, int size) {
    atomic_store(&a->undo->must_switch_off, 1);
    return na_command_run(&a->on, a->out_fd, a->options->timeout_ns, a->stop, reason, size);
}

static int off(struct na_agent *a, char *reason, int size) {
    if (na_command_run(&a->off, a->out_fd, a->options->timeout_ns, a->stop, reason, size)) return -1;
    atomic_store(&a->undo->must_switch_off, 0);
    return 0;
}

static const struct na_way by_switch = {.name = "switch", .option = "agent-on",
                                        .help = "two commands that switch anything on and off (with --agent-off)",
                                        .check = check_switch, .place = place, .on = on, .off = off};

/* ---- nothing but scraping: the treatment is the scraping of whatever runs. The session starts and stops the scraper ---- */

static int check_scrape(struct na_agent *a, char *reason, int size) {
    (void)reason;
    (void)size;
    snprintf(a->state_found, sizeof a->state_found, "running, not scraped");
    return 0;
}

static int nothing(struct na_agent *a, char *reason, int size) { return (void)a, (void)reason, (void)size, 0; }

static const struct na_way by_scrape = {.name = "scrape", .option = "scrape", .help = "only scraping is toggled; the agent keeps running",
                                        .check = check_scrape, .on = nothing, .off = nothing};

const struct na_way *const na_ways[] = {&na_way_command, &na_way_pid, &na_way_cgroup, &na_way_unit, &by_switch, &by_scrape, NULL};

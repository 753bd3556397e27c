/* The table of ways, and those that change nothing in the agent's processes themselves. */
#include "noisegen/agent/agent.h"

/* ---- two commands that switch something on and off: a service, an interval, a setting of the batch system
 * ---- */

static int check_switch(struct na_agent *a, char *reason, int size) {
    if (na_command_make(&a->on, a->options->on, a->options->is_shell, reason, size) ||
        na_command_make(&a->off, a->options->off, a->options->is_shell, reason, size))
        return -1;
    snprintf(a->state_found, sizeof a->state_found, "%s", na_found_names[a->options->found]);
    a->is_on = -1; /* both commands are run once, whatever was said */
    return 0;
}

static int place(struct na_agent *a, char *reason, int size) {
    struct na_undo *u = a->undo;
    int was_on = a->options->found == NA_FOUND_ON;
    u->back_option = was_on ? "--agent-on" : "--agent-off";
    if (snprintf(u->back_command, sizeof u->back_command, "%s", was_on ? a->options->on : a->options->off) >=
        (int)sizeof u->back_command)
        return nl_say(reason, size, "the command of %s is longer than %d bytes", u->back_option,
                      NA_UNDO_TEXT_BYTES - 1);
    u->is_shell = a->options->is_shell;
    u->timeout_ns = a->options->timeout_ns;
    return 0;
}

/* Into a state: to be left again unless it is that in which the agent was found, or off where
 * nobody knows. */
static int turn(struct na_agent *a, const struct na_command *command, int is_back, char *reason, int size) {
    if (!is_back) {
        atomic_store(&a->undo->must_switch, 1);
        na_journal_note(a->undo); /* without a folder for it there is none: the guardian is left */
    }
    if (na_command_run(command, a->out_fd, a->options->timeout_ns, a->stop, &a->undo->switching, reason,
                       size))
        return -1;
    if (is_back) {
        atomic_store(&a->undo->must_switch, 0);
        na_journal_note(a->undo);
    }
    return 0;
}

static int on(struct na_agent *a, char *reason, int size) {
    return turn(a, &a->on, a->options->found == NA_FOUND_ON, reason, size);
}

static int off(struct na_agent *a, char *reason, int size) {
    return turn(a, &a->off, a->options->found != NA_FOUND_ON, reason, size);
}

static const struct na_way by_switch = {.name = "switch",
                                        .option = "agent-on",
                                        .help =
                                            "two commands that switch anything on and off (with --agent-off)",
                                        .check = check_switch,
                                        .place = place,
                                        .on = on,
                                        .off = off};

/* ---- nothing but scraping: the treatment is the scraping of whatever runs. The session starts and stops the
 * scraper ---- */

static int check_scrape(struct na_agent *a, char *reason, int size) {
    (void)reason;
    (void)size;
    snprintf(a->state_found, sizeof a->state_found, "running, not scraped");
    return 0;
}

static int nothing(struct na_agent *a, char *reason, int size) {
    return (void)a, (void)reason, (void)size, 0;
}

static const struct na_way by_scrape = {.name = "scrape",
                                        .option = "scrape",
                                        .help = "only scraping is toggled; the agent keeps running",
                                        .check = check_scrape,
                                        .on = nothing,
                                        .off = nothing};

const struct na_way *const na_ways[] = {&na_way_command, &na_way_pid,     &na_way_cgroup, &na_way_unit,
                                        &by_switch,      &na_way_setting, &by_scrape,     NULL};

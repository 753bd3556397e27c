/* noiselab-agent: switches a real agent on and off for a detector. Wiring only. */
#include <jansson.h>

#include "common/base/nl_options.h"
#include "noisegen/agent/session.h"

#define TRIAL_NS INT64_C(1000000000) /* of a dry run */

/* What was found of the agent, for people; or for programs, one object (docs/reference/formats.md). 0, -1. */
static int print_agent(const struct na_options *o, const struct na_agent *a) {
    const struct na_freezer *freezer = a->freeze.row;
    const char *why = freezer && a->freeze.reason[0] ? a->freeze.reason : NULL;
    if (!o->is_json) {
        printf("agent %s, switched by: %s%s%s%s%s", a->name, a->way->name, freezer ? ", frozen by: " : "",
               freezer ? freezer->name : "", why ? " because of " : "", why ? why : "");
        if (freezer) printf(", %d process%s", a->set.n, a->set.n == 1 ? "" : "es");
        if (o->scrape) printf(", scraped every %.6g s", (double)o->scrape_period_ns / 1e9);
        return putchar('\n') == EOF ? -1 : 0;
    }
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:s, s:s?, s:s?, s:o, s:o}", "schema", 1, "program", "noiselab-agent",
                  "agent", a->name, "way", a->way->name, "freezer", freezer ? freezer->name : NULL,
                  "freezer_reason", why, "processes", freezer ? json_integer(a->set.n) : json_null(),
                  "scrape_period_ns", o->scrape ? json_integer(o->scrape_period_ns) : json_null());
    int failed = !json || json_dumpf(json, stdout, JSON_COMPACT) || putchar('\n') == EOF || fflush(stdout);
    json_decref(json);
    return failed ? nl_error("--json: the agent's name is not UTF-8, or it cannot be written") : 0;
}

/* A command is started for a second: one that cannot work says so now, and not first in a launch. 0, -1 with
 * a line in `reason`. */
static int try_command(struct na_agent *a, char *reason, int size) {
    int64_t end_ns = nl_mono_ns() + TRIAL_NS;
    char last[NA_REASON_BYTES];
    if (na_agent_place(a, reason, size) || na_agent_switch(a, 1, reason, size)) return -1;
    struct pollfd end = {.fd = nl_pidfd(a->root.pid), .events = POLLIN};
    /* one that goes into the background has ended, and lives */
    for (int64_t left_ns = TRIAL_NS; left_ns > 0 && a->way->lives(a, reason, size);
         left_ns = end_ns - nl_mono_ns())
        poll(&end, !a->is_daemon, (int)(left_ns / 1000000) + 1);
    if (end.fd >= 0) close(end.fd);
    int status = na_agent_look(a, "within a second of its start", reason, size);
    if (na_agent_switch(a, 0, last, sizeof last) && status == NL_AGENT_DONE) nl_say(reason, size, "%s", last);
    return status == NL_AGENT_DONE && a->is_on == 0 ? 0 : -1;
}

static int trial(struct na_session *s) {
    char reason[NA_REASON_BYTES];
    int fd, before = s->agent.n_warnings;
    if (!s->options->cmd) return 0;
    s->page = nl_agent_create(&fd);
    if (!s->page) return nl_error("no memory for the agent's page");
    na_session_keep_files();
    if (na_session_watch(s)) return -1;
    int rc = try_command(&s->agent, reason, sizeof reason), is_other = rc == 0 && s->options->against;
    if (is_other) rc = try_command(&s->against, reason, sizeof reason);
    /* what it had to say on its way: of that a dry run says only what concerns the user */
    for (int i = before; i < s->agent.n_warnings; i++) nl_warn("%s", s->agent.warnings[i]);
    return rc ? nl_error("--%s: %s", is_other ? "against" : "agent-cmd", reason) : 0;
}

/* Says what would be done on stdout unless a control page is given. Returns the exit status. */
static int dry_run(const struct na_options *o) {
    static struct na_session s = {.cpu = -1};
    char ignored[NA_REASON_BYTES];
    s.options = o;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int failed = na_session_start(&s, 1) || trial(&s) || (o->control_fd < 0 && print_agent(o, &s.agent));
    if (s.agent.undo) na_undo_every(s.agent.undo, ignored, sizeof ignored);
    na_session_close(&s);
    return failed ? NL_EXIT_USAGE : NL_EXIT_OK;
}

static int print_list(const char *what) {
    int is_ways = strcmp(what, "ways") == 0, is_freezers = strcmp(what, "freezers") == 0,
        is_accounts = strcmp(what, "accounts") == 0;
    for (const struct na_way *const *w = na_ways; is_ways && *w; w++)
        printf("%-10s --%s: %s\n", (*w)->name, (*w)->option, (*w)->help);
    for (const struct na_freezer *const *f = na_freezers; is_freezers && *f; f++)
        printf("%-10s %s\n", (*f)->name, (*f)->help);
    for (const struct na_cpu_source *const *c = na_cpu_sources; is_accounts && *c; c++)
        printf("%-10s %s\n", (*c)->name, (*c)->help);
    return is_ways || is_freezers || is_accounts ? 0 : -1;
}

static void print_tables(void) {
    NL_TABLES_ROWS("way", na_ways);
    NL_TABLES_ROWS("freezer", na_freezers);
    NL_TABLES_ROWS("account", na_cpu_sources);
}

int main(int argc, char **argv) {
    static const struct na_lists lists = {print_list, print_tables};
    struct na_options options;
    nl_set_program("noiselab-agent");
    int go_on = na_options_parse(argc, argv, &lists, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    if (options.restore) return na_journal_restore() ? NL_EXIT_USAGE : NL_EXIT_OK;
    return options.dry_run ? dry_run(&options) : na_session(&options);
}

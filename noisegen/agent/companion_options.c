#include "noisegen/agent/companion_options.h"

#include <stdio.h>
#include <string.h>

#include "noisegen/agent/agent.h"
#include "common/base/nl_error.h"
#include "common/base/nl_options.h"
#include "common/base/nl_units.h"
#include "noisegen/recorder/recorder.h"
#include "common/base/version.h"

#define TIMEOUT_NS INT64_C(30000000000)
#define MIN_SCRAPE_NS INT64_C(1000000)

/* What setters get. */
struct parsing {
    struct na_options *o;
    struct nl_command_line *line;
};

static const char *set_text(const char **to, const char *text, const char *wanted) {
    *to = text;
    return *text ? NULL : wanted;
}

static const char *set_cmd(void *context, const char *text) { return set_text(&((struct parsing *)context)->o->cmd, text, "a command"); }
static const char *set_on(void *context, const char *text) { return set_text(&((struct parsing *)context)->o->on, text, "a command"); }
static const char *set_off(void *context, const char *text) { return set_text(&((struct parsing *)context)->o->off, text, "a command"); }
static const char *set_scrape(void *context, const char *text) {
    return set_text(&((struct parsing *)context)->o->scrape, text, "a command");
}
static const char *set_cgroup(void *context, const char *text) {
    return set_text(&((struct parsing *)context)->o->cgroup, text, "the path of a cgroup");
}
static const char *set_unit(void *context, const char *text) {
    const char *wanted = "the name of a unit (try collectd.service)";
    return strchr(text, '/') ? wanted : set_text(&((struct parsing *)context)->o->unit, text, wanted);
}

/* Names stand in CSV files. */
static const char *set_name(void *context, const char *text) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:+-";
    ((struct parsing *)context)->o->name = text;
    size_t length = strlen(text);
    return length > 0 && length < NL_AGENT_NAME_BYTES && strspn(text, allowed) == length ? NULL
                                                                                       : "a name of up to 63 letters, digits and . _ : + -";
}

static const char *set_pid(void *context, const char *text) {
    int64_t pid;
    if (nl_parse_int(text, 1, INT32_MAX, &pid)) return "the number of a process";
    ((struct parsing *)context)->o->pid = (pid_t)pid;
    return NULL;
}

static const char *set_scrape_period(void *context, const char *text) {
    int64_t *ns = &((struct parsing *)context)->o->scrape_period_ns;
    return nl_parse_duration(text, ns) || *ns < MIN_SCRAPE_NS ? "a period of at least 1ms (try 1s)" : NULL;
}

static const char *set_timeout(void *context, const char *text) {
    return nl_parse_duration(text, &((struct parsing *)context)->o->timeout_ns) ? NL_DURATION_HELP : NULL;
}

/* "0-3,8". */
static const char *set_list(cpu_set_t *set, const char *text) {
    static const char wanted[] = "a list of CPUs (try 0-3,8)";
    char copy[1024];
    const char *parts[128];
    CPU_ZERO(set);
    if (strlen(text) >= sizeof copy) return wanted;
    int n = nl_split(strcpy(copy, text), parts, 128);
    if (n < 0) return wanted;
    for (int i = 0; i < n; i++) {
        int first, last, length = 0;
        if (sscanf(parts[i], "%5d-%5d%n", &first, &last, &length) != 2 || parts[i][length]) {
            length = 0;
            if (sscanf(parts[i], "%5d%n", &first, &length) != 1 || parts[i][length]) return wanted;
            last = first;
        }
        if (first < 0 || last < first || last >= CPU_SETSIZE) return wanted;
        for (int cpu = first; cpu <= last; cpu++) CPU_SET(cpu, set);
    }
    return NULL;
}

static const char *set_cpu(void *context, const char *text) {
    struct na_options *o = ((struct parsing *)context)->o;
    o->cpu = text;
    return set_list(&o->cpus, text);
}

static const char *set_scrape_cpu(void *context, const char *text) {
    struct na_options *o = ((struct parsing *)context)->o;
    o->scrape_cpu = text;
    return set_list(&o->scrape_cpus, text);
}

static const char *set_shell(void *context, const char *text) {
    (void)text;
    ((struct parsing *)context)->o->is_shell = 1;
    return NULL;
}

static const char *set_freeze(void *context, const char *text) {
    (void)text;
    ((struct parsing *)context)->o->freezes = 1;
    return NULL;
}

/* The position of a word in a list that ends with NULL; -1. */
static int word_index(const char *text, const char *const *words) {
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0) return i;
    return -1;
}

static const char *set_who(void *context, const char *text) {
    static const char *const words[] = {"auto", "cpu", "thread", "schedstat", "none", NULL};
    ((struct parsing *)context)->o->who = text;
    return word_index(text, words) >= 0 ? NULL : "auto, cpu, thread, schedstat or none";
}

static const char *set_keep(void *context, const char *text) {
    static const char *const words[] = {[NA_KEEP_AUTO] = "auto", [NA_KEEP_YES] = "yes", [NA_KEEP_NO] = "no", NULL};
    int i = word_index(text, words);
    if (i >= 0) ((struct parsing *)context)->o->keep = (enum na_keep)i;
    return i >= 0 ? NULL : "auto, yes or no";
}

static const char *set_control(void *context, const char *text) {
    int64_t fd;
    if (nl_parse_int(text, 0, 1 << 20, &fd)) return "the number of an open file";
    ((struct parsing *)context)->o->control_fd = (int)fd;
    return NULL;
}

static const char *set_restore(void *context, const char *text) {
    (void)text;
    ((struct parsing *)context)->o->restore = 1;
    return NULL;
}

static const char *set_dry_run(void *context, const char *text) {
    (void)text;
    ((struct parsing *)context)->o->dry_run = 1;
    return NULL;
}

static const char *set_json(void *context, const char *text) {
    (void)text;
    ((struct parsing *)context)->o->is_json = 1;
    return NULL;
}

static const char *list(void *context, const char *text) {
    int is_ways = strcmp(text, "ways") == 0, is_freezers = strcmp(text, "freezers") == 0, is_accounts = strcmp(text, "accounts") == 0;
    for (const struct na_way *const *w = na_ways; is_ways && *w; w++) printf("%-10s --%s: %s\n", (*w)->name, (*w)->option, (*w)->help);
    for (const struct na_freezer *const *f = na_freezers; is_freezers && *f; f++) printf("%-10s %s\n", (*f)->name, (*f)->help);
    for (const struct na_cpu_source *const *c = na_cpu_sources; is_accounts && *c; c++) printf("%-10s %s\n", (*c)->name, (*c)->help);
    ((struct parsing *)context)->line->is_done = 1;
    return is_ways || is_freezers || is_accounts ? NULL : "ways, freezers or accounts";
}

static const char *show_version(void *context, const char *text) {
    (void)text;
    printf("noiselab-agent %s (%s)\n", NOISELAB_VERSION, nl_git);
    ((struct parsing *)context)->line->is_done = 1;
    return NULL;
}

static const char *show_help(void *context, const char *text) {
    (void)text;
    struct nl_command_line *line = ((struct parsing *)context)->line;
    nl_options_help(line);
    line->is_done = 1;
    return NULL;
}

static const struct nl_option rows[] = {
    {.help = "The agent (one of these ways; --scrape together with one, or alone):", .group = 1},
    {"agent-cmd", "CMD", "a command: started when the agent is switched on, ended when it is switched off", 1, set_cmd},
    {"agent-pid", "PID", "a process and its children: kept running, frozen and thawed", 1, set_pid},
    {"agent-cgroup", "PATH", "the processes of a cgroup (a path in /sys/fs/cgroup, or below its mount): frozen and thawed", 1, set_cgroup},
    {"agent-unit", "NAME", "a unit of systemd: frozen and thawed", 1, set_unit},
    {"agent-on", "CMD", "a command that switches the agent on", 1, set_on},
    {"agent-off", "CMD", "a command that switches it off; run at the end, too", 1, set_off},
    {"scrape", "CMD", "a command that scrapes a pull agent while it is on", 1, set_scrape},
    {"scrape-period", "TIME", "from one scrape to the next", 1, set_scrape_period},
    {.help = "How:", .group = 2},
    {"agent-cpu", "LIST", "bind a started command to these CPUs (default: it may use all of them)", 2, set_cpu},
    {"scrape-cpu", "LIST", "bind the scraper to these CPUs (default: one without a rank)", 2, set_scrape_cpu},
    {"freeze", NULL, "with --agent-cmd: start the command once, and freeze it where it would be ended", 2, set_freeze},
    {"shell", NULL, "run commands with sh -c (otherwise they are split into words, and nothing is expanded)", 2, set_shell},
    {"agent-name", "NAME", "what the agent is called in the files (default: as its command, unit or process)", 2, set_name},
    {"agent-timeout", "TIME", "the longest a switch may take (default 30s)", 2, set_timeout},
    {.help = "Who took the CPU:", .group = 3},
    {"who", "SOURCE", "auto, cpu, thread, schedstat or none: how to record who ran on the ranks' CPUs", 3, set_who},
    {"keep-bursts", "WHEN", "auto, yes or no: whether single bursts are written to bursts.HOST.trace", 3, set_keep},
    {.help = "Control and output:", .group = 4},
    {"control-fd", "FD", "take commands from the detector's page", 4, set_control},
    {"dry-run", NULL, "check everything, start a command for a second, print what would be done, and end", 4, set_dry_run},
    {"json", NULL, "with --dry-run: print it as JSON", 4, set_json},
    {"restore", NULL, "let run again what a killed launch has left frozen, and end (every later launch does so, too)", 4, set_restore},
    {"list", "WHAT", "ways (to switch), freezers, accounts (sources of the agent's CPU time): the latter two best first", 4, list},
    {"version", NULL, "print the version", 4, show_version},
    {"help", NULL, "print this help", 4, show_help},
};

enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)N_ROWS <= (int)NL_OPTIONS_MAX, "the parser has a place for every row");

static int check(const struct na_options *o) {
    if (o->restore) return 0;
    int n_ways = !!o->cmd + !!o->pid + !!o->cgroup + !!o->unit + (o->on || o->off);
    if (n_ways > 1)
        nl_error("only one of --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit and --agent-on says what the agent is");
    else if (n_ways == 0 && !o->scrape)
        nl_error("no agent: give one of --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit, --agent-on with --agent-off, or --scrape");
    else if (!o->on != !o->off)
        nl_error("--agent-%s is missing: the agent must be switched on and off", o->on ? "off" : "on");
    else if (!o->scrape != (o->scrape_period_ns == 0))
        nl_error("--scrape%s is missing", o->scrape ? "-period" : "");
    else if (o->scrape_cpu && !o->scrape)
        nl_error("--scrape-cpu: nothing is scraped (--scrape)");
    else if (o->cpu && !o->cmd)
        nl_error("--agent-cpu: only a started command (--agent-cmd) can be bound");
    else if (o->is_shell && !o->cmd && !o->on && !o->scrape)
        nl_error("--shell: there is no command to run");
    else if (o->freezes && !o->cmd)
        nl_error("--freeze: there is no started command (--agent-cmd); other agents are frozen anyway");
    else if (o->is_json && !o->dry_run)
        nl_error("--json: belongs to --dry-run");
    else if (o->control_fd < 0 && !o->dry_run)
        nl_error("--dry-run is missing: only the detector starts this program otherwise (noiselab-detect --agent-cmd ...)");
    else
        return 0;
    return -1;
}

int na_options_parse(int argc, char **argv, struct na_options *o) {
    struct nl_command_line line = {.program = "noiselab-agent",
                                   .rows = rows,
                                   .n_rows = N_ROWS,
                                   .doc = "Switches a real agent on and off for noiselab-detect, and accounts for it."
                                          "\vExit status: 0 done, 2 usage or environment error.\n\n"
                                          "Examples:\n"
                                          "  noiselab-agent --dry-run --agent-cmd 'collectd -f -C collectd.conf'\n"
                                          "  noiselab-agent --dry-run --agent-pid 1234 --scrape 'curl -s localhost:9100/metrics' "
                                          "--scrape-period 1s"};
    struct parsing p = {o, &line};
    *o = (struct na_options){.timeout_ns = TIMEOUT_NS, .who = "auto", .control_fd = -1};
    if (nl_tables_asked(argc, argv)) {
        NL_TABLES_ROWS("way", na_ways);
        NL_TABLES_ROWS("freezer", na_freezers);
        NL_TABLES_ROWS("account", na_cpu_sources);
    }
    if (nl_options_parse(&line, argc, argv, &p, NULL)) return -1;
    if (line.is_done) return 0;
    return check(o) ? -1 : 1;
}

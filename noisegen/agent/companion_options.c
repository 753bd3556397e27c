#include "noisegen/agent/companion_options.h"
#include "common/base/nl_options.h"
#include "common/base/nl_units.h"

#define TIMEOUT_NS INT64_C(30000000000)

static const char *set_unit(struct nl_command_line *line, const char *text) {
    ((struct na_options *)line->target)->unit = text;
    return *text && !strchr(text, '/') ? NULL : "the name of a unit (try collectd.service)";
}

/* "0-3,8". */
static const char *set_list(const char **as_given, cpu_set_t *set, const char *text) {
    static int cpus[CPU_SETSIZE];
    int n = nl_parse_list(text, 0, CPU_SETSIZE - 1, 1, cpus, CPU_SETSIZE);
    *as_given = text;
    CPU_ZERO(set);
    for (int i = 0; i < n; i++) CPU_SET((size_t)cpus[i], set);
    return n > 0 ? NULL : "a list of CPUs (try 0-3,8)";
}

static const char *set_cpu(struct nl_command_line *line, const char *text) {
    struct na_options *o = line->target;
    return set_list(&o->cpu, &o->cpus, text);
}

static const char *set_scrape_cpu(struct nl_command_line *line, const char *text) {
    struct na_options *o = line->target;
    return set_list(&o->scrape_cpu, &o->scrape_cpus, text);
}

/* May come again: settings are crossed. */
static const char *set_setting(struct nl_command_line *line, const char *text) {
    struct na_options *o = line->target;
    char reason[512];
    if (!o->settings && !NL_NEW(o->settings, 1)) return "read: there is no memory";
    int failed = na_settings_add(o->settings, text, reason, sizeof reason);
    if (!failed) failed = na_settings_cross(o->settings, reason, sizeof reason);
    if (failed) nl_error("--setting: %s", reason);
    return failed ? "" : NULL;
}

static const char *list(struct nl_command_line *line, const char *text) {
    const struct na_lists *lists = line->context;
    line->is_done = 1;
    return lists && lists->print(text) == 0 ? NULL : "ways, freezers or accounts";
}

const char *const na_who_names[] = {
    [NA_WHO_AUTO] = "auto", "cpu", "thread", "schedstat", [NA_WHO_NONE] = "none", NULL};
const char *const na_found_names[] = {
    [NA_FOUND_UNKNOWN] = "unknown", [NA_FOUND_OFF] = "off", [NA_FOUND_ON] = "on", NULL};
static const char *const keep_names[] = {
    [NA_KEEP_AUTO] = "auto", [NA_KEEP_YES] = "yes", [NA_KEEP_NO] = "no", NULL};

enum { ALONE = 1 }; /* tag: what the detector does not hand on */

#define AT(type, member) NL_AT(type, struct na_options, member)

static const struct nl_option rows[] = {
    {.help = "The agent (one of these ways; --scrape together with one, or alone):", .group = 1},
    {"agent-cmd", "CMD", "a command: started when the agent is switched on, ended when it is switched off", 1,
     AT(TEXT, cmd), .wanted = "a command"},
    {"against", "CMD", "with --agent-cmd: another command, such as the version before, in an arm of its own",
     1, AT(TEXT, against), .wanted = "a command"},
    {"against-name", "NAME", "name of that command in the files (default: that of its program)", 1,
     AT(NAME, against_name), .most = 32,
     .wanted = "a plain name (letters, digits, . _ -; at most 32, not starting with a dot)"},
    {"agent-pid", "PID", "a process and its children: kept running, frozen and thawed", 1, AT(INT, pid), 1,
     INT32_MAX, .wanted = "the number of a process"},
    {"agent-cgroup", "PATH",
     "the processes of a cgroup (a path in /sys/fs/cgroup, or below its mount): frozen and thawed", 1,
     AT(TEXT, cgroup), .wanted = "the path of a cgroup"},
    {"agent-unit", "NAME", "a unit of systemd: frozen and thawed", 1, .set = set_unit},
    {"agent-on", "CMD", "a command that switches the agent on", 1, AT(TEXT, on), .wanted = "a command"},
    {"agent-off", "CMD", "a command that switches it off", 1, AT(TEXT, off), .wanted = "a command"},
    {"agent-found", NULL,
     "state of the agent before the launch, which is restored at the end; unknown: it is switched off "
     "(default unknown)",
     1, AT(WORD, found), .table = na_found_names},
    {"setting", "NAME=REF,OTHER",
     "a setting of the operating system: a sysctl, a path of /sys or /proc/sys (or a pattern), irq:NAME, or "
     "confine:NAME (the CPUs of tasks of that name); may be given again: all combinations are compared",
     1, .set = set_setting},
    {"scrape", "CMD", "a command that scrapes a pull agent while it is on", 1, AT(TEXT, scrape),
     .wanted = "a command"},
    {"scrape-period", "TIME", "time from one scrape to the next, of the time that it is on", 1,
     AT(DURATION, scrape_period_ns), 1e6, 1e18, .wanted = "a period of at least 1ms (try 1s)"},
    {"scrape-cpu", "LIST", "bind the scraper to these CPUs (default: one without a rank)", 1,
     .of = "scrape-period", .set = set_scrape_cpu},
    {.help = "How:", .group = 2},
    {"agent-cpu", "LIST", "bind a started command to these CPUs (default: it may use all of them)", 2,
     .set = set_cpu},
    {"freeze", NULL, "with --agent-cmd: start the command once, and freeze it where it would be ended", 2,
     AT(FLAG, freezes)},
    {"shell", NULL, "run commands with sh -c (otherwise they are split into words, and nothing is expanded)",
     2, AT(FLAG, is_shell)},
    {"agent-name", "NAME", "name of the agent in the files (default: that of its command, unit or process)",
     2, AT(NAME, name), .most = 32,
     .wanted = "a plain name (letters, digits, . _ -; at most 32, not starting with a dot)"},
    {"agent-timeout", "TIME", "the longest a switch may take (default 30s)", 2, AT(DURATION, timeout_ns)},
    {.help = "Who took the CPU:", .group = 3},
    {"who", "SOURCE", "auto, cpu, thread, schedstat or none: how to record who ran on the ranks' CPUs", 3,
     AT(WORD, who), .table = na_who_names},
    {"keep-bursts", NULL, "whether single bursts are written to bursts.HOST.trace", 3, AT(WORD, keep),
     .table = keep_names, .of = "who"},
    {.help = "Control and output:", .group = 4},
    {"control-fd", "FD", "take commands from the detector's page", 4, AT(INT, control_fd), 0, 1 << 20,
     .wanted = "the number of an open file", .tags = ALONE},
    {"dry-run", NULL, "check everything, start a command for a second, print what would be done, and end", 4,
     AT(FLAG, dry_run), .tags = ALONE},
    {"json", NULL, "with --dry-run: print it as JSON", 4, AT(FLAG, is_json), .tags = ALONE},
    {"restore", NULL,
     "thaw the processes that a killed launch left frozen, and end (every later launch does so, too)", 4,
     AT(FLAG, restore), .tags = ALONE},
    {"list", "WHAT",
     "ways (to switch), freezers, accounts (sources of the agent's CPU time): the latter two best first", 4,
     .set = list, .tags = ALONE},
    {"version", NULL, "print the version", 4, .type = NL_VERSION, .tags = ALONE},
    {"help", NULL, "print this help", 4, .type = NL_HELP, .tags = ALONE},
};

enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)N_ROWS <= (int)NL_OPTIONS_MAX, "the parser has a place for every row");

/* What the agent is, and how it is switched. */
static int check_ways(const struct na_options *o) {
    int n_ways = !!o->cmd + !!o->pid + !!o->cgroup + !!o->unit + (o->on || o->off) + !!o->settings;
    if (n_ways > 1)
        nl_error("only one of --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit, --agent-on and "
                 "--setting says what is switched");
    else if (o->settings && o->scrape) nl_error("--scrape: belongs to an agent, and not to --setting");
    else if (n_ways == 0 && !o->scrape)
        nl_error("no agent: give one of --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit, --agent-on "
                 "with --agent-off, or --scrape");
    else if (!o->on != !o->off)
        nl_error("--agent-%s is missing: the agent must be switched on and off", o->on ? "off" : "on");
    else if (o->found != NA_FOUND_UNKNOWN && !o->on)
        nl_error("--agent-found: only of what is switched by two commands (--agent-on, --agent-off) must be "
                 "said how it was before");
    else if (!o->scrape != (o->scrape_period_ns == 0))
        nl_error("--scrape%s is missing", o->scrape ? "-period" : "");
    else if (o->against && !o->cmd) nl_error("--against: two commands can be compared (--agent-cmd)");
    else if (o->against_name && !o->against)
        nl_error("--against-name: there is no other command (--against)");
    else if (o->against && o->scrape)
        nl_error("--against: what is scraped is one agent (leave --scrape out)");
    else if (o->cpu && !o->cmd) nl_error("--agent-cpu: only a started command (--agent-cmd) can be bound");
    else if (o->is_shell && !o->cmd && !o->on && !o->scrape) nl_error("--shell: there is no command to run");
    else if (o->freezes && !o->cmd)
        nl_error("--freeze: there is no started command (--agent-cmd); other agents are frozen anyway");
    else return 0;
    return -1;
}

static int check(const struct na_options *o) {
    if (o->restore) return 0;
    if (check_ways(o)) return -1;
    if (o->is_json && !o->dry_run) nl_error("--json: belongs to --dry-run");
    else if (o->control_fd < 0 && !o->dry_run)
        nl_error("--dry-run is missing: only the detector starts this program otherwise (noiselab-detect "
                 "--agent '--agent-cmd ...')");
    else return 0;
    return -1;
}

static struct nl_command_line line_of(struct na_options *o) {
    *o = (struct na_options){.timeout_ns = TIMEOUT_NS, .control_fd = -1};
    return (struct nl_command_line){
        .program = "noiselab-agent",
        .rows = rows,
        .n_rows = N_ROWS,
        .target = o,
        .doc = "Switches a real agent on and off for noiselab-detect, and accounts for it."
               "\vExit status: 0 done, 2 usage or environment error.\n\n"
               "Examples:\n"
               "  noiselab-agent --dry-run --agent-cmd 'collectd -f -C collectd.conf'\n"
               "  noiselab-agent --dry-run --agent-pid 1234 --scrape 'curl -s localhost:9100/metrics' "
               "--scrape-period 1s"};
}

int na_options_parse(int argc, char **argv, const struct na_lists *lists, struct na_options *o) {
    struct nl_command_line line = line_of(o);
    line.context = (void *)lists;
    if (nl_tables_asked(argc, argv) && lists) lists->print_tables();
    if (nl_options_parse(&line, argc, argv, NULL)) return -1;
    if (line.is_done) return 0;
    return check(o) ? -1 : 1;
}

int na_options_take(int argc, char **argv, struct na_options *o, const char **words, int most) {
    char name[96], word[8192];
    int n = 0;
    struct nl_command_line line = line_of(o);
    line.is_silent = 1;
    if (nl_options_parse(&line, argc, argv, NULL)) return -1;
    const struct nl_option *alone = nl_options_tagged(&line, ALONE);
    if (alone) nl_error("--agent: %s is for noiselab-agent alone", nl_option_name(alone, name, sizeof name));
    if (alone || check_ways(o)) return -1;
    for (int i = 0; i < N_ROWS; i++) {
        if (!line.was_given[i] || rows[i].of) continue; /* keys stand in the text of their option */
        for (int k = 0; rows[i].set == set_setting && k < o->settings->n; k++) {
            int many = snprintf(word, sizeof word, "--setting=%s", o->settings->texts[k]);
            if (n < most && many < (int)sizeof word && (words[n] = nl_options_keep(word, (size_t)many))) n++;
            else return nl_error("--agent: too many options, or too long");
        }
        if (rows[i].set == set_setting) continue;
        int length = snprintf(word, sizeof word, "--%s%s%s", rows[i].name, line.texts[i] ? "=" : "",
                              line.texts[i] ? line.texts[i] : "");
        if (n < most && length < (int)sizeof word && (words[n] = nl_options_keep(word, (size_t)length))) n++;
        else return nl_error("--agent: too many options, or too long");
    }
    return n;
}

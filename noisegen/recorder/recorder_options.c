#include "noisegen/recorder/recorder_options.h"
#include "common/base/nl_options.h"
#include "common/base/nl_units.h"
#include "noisegen/recorder/source.h"
#include "noisegen/recorder/sources.h"

/* ---- setters: each returns NULL or what it would have liked ---- */

#define PIDS_WANTED "a list of at most 256 process ids (try 1234,1240)"

static const char *set_pid(struct nl_command_line *line, const char *text) {
    struct nr_options *o = line->target;
    return (o->n_pids = nl_parse_list(text, 1, INT32_MAX, 0, o->pids, NR_MAX_PIDS)) > 0 ? NULL : PIDS_WANTED;
}

static const char *set_except(struct nl_command_line *line, const char *text) {
    struct nr_options *o = line->target;
    return (o->n_except = nl_parse_list(text, 1, INT32_MAX, 0, o->except, NR_MAX_PIDS)) > 0 ? NULL
                                                                                            : PIDS_WANTED;
}

static const char *set_cpus(struct nl_command_line *line, const char *text) {
    struct nr_options *o = line->target;
    return (o->n_cpus = nl_parse_list(text, 0, NR_MAX_CPUS - 1, 1, o->cpus, NR_MAX_CPUS)) > 0
               ? NULL
               : "a list of CPUs (try 0-3,8)";
}

static const char *set_source(struct nl_command_line *line, const char *text) {
    struct nr_options *o = line->target;
    const struct nr_source *source = nr_source_find(text);
    o->source = text;
    return strcmp(text, "auto") == 0 || (source && source->has_bursts)
               ? NULL
               : "auto, cpu, thread or schedstat (see --list sources)";
}

static const char *set_group_gap(struct nl_command_line *line, const char *text) {
    struct nr_options *o = line->target;
    o->group_gap_ns = 0;
    return strcmp(text, "auto") && nl_parse_duration(text, &o->group_gap_ns)
               ? "auto or a positive duration (try 2ms)"
               : NULL;
}

static const char *list(struct nl_command_line *line, const char *text) {
    if (strcmp(text, "sources") != 0) return "sources";
    for (int i = 0; nr_sources[i]; i++)
        if (nr_sources[i]->has_bursts) printf("%-10s %s\n", nr_sources[i]->name, nr_sources[i]->what);
    line->is_done = 1;
    return NULL;
}

#define AT(type, member) NL_AT(type, struct nr_options, member)

static const struct nl_option rows[] = {
    {"pid", "LIST", "record these processes, their threads, and the children that they have or start", 1,
     .set = set_pid},
    {"cgroup", "PATH",
     "record the processes of a cgroup (v1 or v2) and of those below it, and their children", 1,
     AT(TEXT, cgroup), .wanted = "a path of a cgroup (try /sys/fs/cgroup/system.slice/collectd.service)"},
    {"name", "PREFIX", "record tasks whose name begins like this, now or later, and their children", 1,
     AT(TEXT, name), .most = 15, .wanted = "the beginning of a task's name, of at most 15 characters"},
    {"cpus", "LIST",
     "record on these CPUs only (default all); without --pid, --cgroup and --name: all tasks that run there",
     1, .set = set_cpus},
    {"except", "LIST",
     "with --cpus alone: leave out these processes, and the children that they have or start", 1,
     .of = "cpus", .set = set_except},
    {"duration", "TIME", "length of the recording; required, except with a command, whose end ends it", 2,
     AT(DURATION, duration_ns)},
    {"source", "NAME", "auto (the best that is possible), cpu, thread or schedstat (default auto)", 2,
     .set = set_source},
    {"group-gap", "TIME", "join bursts that are closer than this: one activity; auto finds it (default auto)",
     2, .of = "source", .set = set_group_gap},
    {"out", "FILE", "write the trace here, for noiselab-gen --replay; without it there is only the summary",
     3, AT(TEXT, out), .wanted = "the path of a file"},
    {"force", NULL, "replace FILE where it exists", 3, AT(FLAG, may_replace)},
    {"json", NULL, "the summary as JSON", 3, AT(FLAG, is_json)},
    {"list", "WHAT", "sources, best first", 4, .set = list},
    {"help", NULL, "this list", 4, .type = NL_HELP},
    {"version", NULL, "print the version", 4, .type = NL_VERSION},
};

/* What does not go together. */
static int check(const struct nr_options *o) {
    int n_ways = (o->n_pids > 0) + (o->cgroup != NULL) + (o->name != NULL) + (o->command != NULL);
    if (n_ways > 1) nl_error("--pid, --cgroup, --name and a command: choose one");
    else if (n_ways == 0 && o->n_cpus == 0)
        nl_error("what is to be recorded? (try --pid 1234, --cgroup PATH, --name collectd, --cpus 0, or -- "
                 "COMMAND)");
    else if (o->duration_ns == 0 && !o->command) nl_error("--duration is missing (try --duration 60s)");
    else if (n_ways == 0 && strcmp(o->source, "auto") != 0 && strcmp(o->source, "cpu") != 0)
        nl_error("--source %s: whoever runs on a CPU can only be seen by source cpu", o->source);
    else if (n_ways > 0 && o->n_except > 0)
        nl_error("--cpus: except: is for --cpus alone, which records whoever runs there");
    else return 0;
    return -1;
}

int nr_options_parse(int argc, char **argv, struct nr_options *o) {
    struct nl_command_line line = {
        .program = "noiselab-record",
        .rows = rows,
        .n_rows = sizeof rows / sizeof rows[0],
        .target = o,
        .args = "[-- COMMAND [ARGUMENT...]]",
        .doc =
            "Records what processes do to CPUs: the bursts of an agent, from the best source that this "
            "machine "
            "allows, as a trace that noiselab-gen --replay takes, and a summary: duty, period, "
            "losses, and the tasks that had the CPUs most."
            "\vExit status: 0 recorded, 2 usage or environment error, 3 none of the given tasks ran.\n"
            "SIGINT, SIGTERM and SIGHUP end the recording early; what it has recorded is kept.\n\n"
            "Example: noiselab-record --name collectd --duration 60s --out collectd.trace"};
    int first_word = argc;
    *o = (struct nr_options){.source = "auto"};
    for (int i = 0; nl_tables_asked(argc, argv) && nr_sources[i]; i++)
        if (nr_sources[i]->has_bursts)
            nl_tables_row("source", nr_sources[i]->name, NULL, nr_sources[i]->what);
    if (nl_options_parse(&line, argc, argv, &first_word)) return -1;
    if (line.is_done) return 0;
    if (first_word < argc) o->command = argv + first_word;
    return check(o) ? -1 : 1;
}

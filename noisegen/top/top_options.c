#include "noisegen/top/top_options.h"
#include "common/base/nl_options.h"
#include "common/base/nl_units.h"

/* ---- setters: each returns NULL or what it would have liked ---- */

static const char *set_cpus(struct nl_command_line *line, const char *text) {
    struct nt_options *o = line->target;
    return (o->n_cpus = nl_parse_list(text, 0, NT_MOST_CPUS - 1, 1, o->cpus, NT_MOST_CPUS)) > 0
               ? NULL
               : "a list of CPUs (try 0-3,8)";
}

static const char *set_pid(struct nl_command_line *line, const char *text) {
    struct nt_options *o = line->target;
    return (o->n_pids = nl_parse_list(text, 1, INT32_MAX, 0, o->pids, NT_MOST_PIDS)) > 0
               ? NULL
               : "a list of process ids (try 1234,1240)";
}

static const char *set_sort(struct nl_command_line *line, const char *text) {
    struct nt_options *o = line->target;
    for (int i = 0; nt_sort_names[i]; i++)
        if (strcmp(text, nt_sort_names[i]) == 0) {
            o->sort = (enum nt_sort)i;
            return NULL;
        }
    return "share, bursts, length, longest or pid";
}

static const char *set_source(struct nl_command_line *line, const char *text) {
    struct nt_options *o = line->target;
    o->source = text;
    for (int i = 0; nt_source_words[i].name; i++)
        if (strcmp(text, nt_source_words[i].name) == 0) return NULL;
    return strcmp(text, "auto") == 0 ? NULL : "auto, cpu or proc (see --list sources)";
}

static const char *list(struct nl_command_line *line, const char *text) {
    if (strcmp(text, "sources") != 0) return "sources";
    for (int i = 0; nt_source_words[i].name; i++)
        printf("%-10s %s\n", nt_source_words[i].name, nt_source_words[i].what);
    line->is_done = 1;
    return NULL;
}

#define AT(type, member) NL_AT(type, struct nt_options, member)

static const struct nl_option rows[] = {
    {"interval", "TIME", "time between samples (default 2s)", 1, AT(DURATION, interval_ns), .least = 1e8,
     .most = 3.6e12, .wanted = "a duration from 100ms to 1h (try 2s)"},
    {"duration", "TIME", "end after this time", 1, AT(DURATION, duration_ns)},
    {"cpus", "LIST", "watch these CPUs only (default all)", 1, .set = set_cpus},
    {"pid", "LIST", "these processes and their children are the program; all others disturb it", 1,
     .set = set_pid},
    {"command", "PREFIX", "tasks whose name begins like this, and their children, are the program", 1,
     AT(TEXT, command), .most = 15, .wanted = "the beginning of a task's name, of at most 15 characters"},
    {"source", "NAME", "auto (the best that is possible), cpu or proc (default auto)", 1, .set = set_source},
    {"once", NULL, "print one sample and end", 2, AT(FLAG, is_once)},
    {"batch", NULL, "print lines, without a full screen; what a pipe or a dumb terminal gets anyway", 2,
     AT(FLAG, is_batch)},
    {"json", NULL, "print each sample as one line of JSON", 2, AT(FLAG, is_json)},
    {"openmetrics", "FILE",
     "write each sample to this file for the textfile collector of node_exporter, and print nothing", 2,
     AT(TEXT, metrics), .wanted = "the path of a file"},
    {"sort", "KEY", "order of tasks: share, bursts, length, longest or pid (default share)", 2,
     .set = set_sort},
    {"rows", "N", "print at most N tasks (default 20; a screen has as many as it has room for)", 2,
     AT(INT, n_rows), .least = 0, .most = 256},
    {"nodes", "N", "size of the projection (default 1000)", 3, AT(INT, n_nodes), .least = 1, .most = 100000},
    {"every", "TIME", "work between two synchronisations in the projection (default 1ms)", 3,
     AT(DURATION, every_ns), .least = 1e3, .most = 1e11},
    {"list", "WHAT", "sources, best first", 4, .set = list},
    {"help", NULL, "this list", 4, .type = NL_HELP},
    {"version", NULL, "print the version", 4, .type = NL_VERSION},
};

/* What does not go together. */
static int check(const struct nt_options *o) {
    if (o->n_pids > 0 && o->command) return nl_error("--pid and --command: choose one");
    if (o->is_json && o->is_batch) return nl_error("--json and --batch: choose one");
    if (o->is_once && o->duration_ns > 0)
        return nl_error("--once and --duration: choose one (--once takes one --interval)");
    if (o->duration_ns > 0 && o->duration_ns < o->interval_ns)
        return nl_error("--duration is shorter than --interval");
    return 0;
}

int nt_options_parse(int argc, char **argv, struct nt_options *o) {
    struct nl_command_line line = {
        .program = "noiselab-top",
        .rows = rows,
        .n_rows = sizeof rows / sizeof rows[0],
        .target = o,
        .doc = "Shows who disturbs the ranks now: for each CPU the share that it loses to others, and "
               "interruptions; for each task its process, unit and user, how often and how long it runs, "
               "and its period; what all of that costs a program on many nodes; and the CPU time that "
               "noiselab-top uses. Without --pid or --command, a task that uses more than half of a CPU "
               "counts as the program."
               "\vKeys: q quit, s sort, c CPUs, p pause, arrows and e one task's last bursts, h help.\n"
               "Exit status: 0 shown, 2 usage or environment error.\n\n"
               "Example: noiselab-top --once"};
    *o = (struct nt_options){
        .source = "auto", .interval_ns = 2000000000, .n_rows = -1, .n_nodes = 1000, .every_ns = 1000000};
    for (int i = 0; nl_tables_asked(argc, argv) && nt_source_words[i].name; i++)
        nl_tables_row("source", nt_source_words[i].name, NULL, nt_source_words[i].what);
    if (nl_options_parse(&line, argc, argv, NULL)) return -1;
    if (line.is_done) return 0;
    return check(o) ? -1 : 1;
}

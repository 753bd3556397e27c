#include "detector/acceptance/accept_options.h"
#include "common/base/nl_options.h"
#include "common/base/nl_units.h"
#include "common/base/nl_nearest.h"

static const char quick_sizes[] = "0,8,1KiB,64KiB,1MiB,4MiB";
static const char full_sizes[] = "0,1,2,4,8,16,32,64,128,256,512,1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB,"
                                 "128KiB,256KiB,512KiB,1MiB,2MiB,4MiB";
const char *const nx_cpus_names[] = {
    [NX_CPUS_AUTO] = "auto", [NX_CPUS_ALLOWED] = "allowed", [NX_CPUS_RANKS] = "ranks", NULL};

static const char no_list[] = "a list: it is empty, has an empty part or is too long";

/* Splits a copy of the list; the number of parts, or -1. */
static int parts_of(const char *list, char copy[1024], const char **parts, int most) {
    return strlen(list) < 1024 ? nl_split(strcpy(copy, list), parts, most) : -1;
}

static void choose_default(struct nx_options *o) {
    for (int i = 0; nx_checks[i]; i++)
        o->is_chosen[i] = !nx_checks[i]->is_on_request;
}

static const char *set_checks(struct nl_command_line *line, const char *text) {
    struct nx_options *o = line->target;
    const char *names[NX_MAX_CHECKS];
    char copy[1024], meant[96];
    int n = parts_of(text, copy, names, NX_MAX_CHECKS), is_default = strcmp(text, "default") == 0;
    memset(o->is_chosen, 0, sizeof o->is_chosen);
    if (is_default) choose_default(o);
    for (int i = 0; i < n && !is_default; i++) {
        if (!nl_find_near(nx_checks, names[i], meant, sizeof meant))
            nl_error("--checks: '%s' is not a check (see --list checks)%s", names[i], meant);
        else if (o->is_chosen[nx_check_find(names[i])]++)
            nl_error("--checks: '%s' is not new in the list: it stands twice", names[i]);
        else
            continue;
        return "";
    }
    return n < 0 ? no_list : NULL;
}

static const char *set_sizes(struct nl_command_line *line, const char *text) {
    struct nx_options *o = line->target;
    const char *parts[NX_MAX_SIZES];
    char copy[1024];
    o->n_sizes = parts_of(text, copy, parts, NX_MAX_SIZES);
    for (int i = 0; i < o->n_sizes; i++) {
        const char *wanted = nl_parse_size(parts[i], &o->sizes[i]) ? NL_SIZE_HELP
                             : o->sizes[i] > INT_MAX ? "a size that MPI can count: at most 2147483647 bytes"
                             : i > 0 && o->sizes[i] <= o->sizes[i - 1]
                                 ? "larger than the one before it (sizes rise)"
                                 : NULL;
        if (!wanted) continue;
        nl_error("--sizes: '%s' is not %s", parts[i], wanted);
        return "";
    }
    return o->n_sizes < 0 ? no_list : NULL;
}

/* SENDER:RECEIVER:OFFSET */
static const char *set_fault(struct nl_command_line *line, const char *text) {
    static const char wanted[] =
        "SENDER:RECEIVER:OFFSET, two different ranks and a byte from 0 to 262143 (try 0:1:100)";
    char part[3][24];
    int64_t sender, receiver;
    struct nx_fault *f = &((struct nx_options *)line->target)->fault;
    int end = 0;
    if (sscanf(text, "%23[0-9]:%23[0-9]:%23[0-9]%n", part[0], part[1], part[2], &end) != 3 || text[end])
        return wanted;
    if (nl_parse_int(part[0], 0, INT_MAX, &sender) || nl_parse_int(part[1], 0, INT_MAX, &receiver) ||
        nl_parse_int(part[2], 0, NX_FAULT_BYTES - 1, &f->offset_bytes) || sender == receiver)
        return wanted;
    f->sender = (int)sender;
    f->receiver = (int)receiver;
    f->is_given = 1;
    return NULL;
}

static const char *list(struct nl_command_line *line, const char *text) {
    if (strcmp(text, "checks") != 0) return "checks";
    for (int i = 0; nx_checks[i] && !line->is_silent && !line->is_done; i++)
        printf("%-13s %-12s %s%s\n", nx_checks[i]->name, nx_checks[i]->unit, nx_checks[i]->help,
               nx_checks[i]->is_on_request ? " (on request)" : "");
    line->is_done = 1;
    return NULL;
}

#define AT(type, member) NL_AT(type, struct nx_options, member)

static const struct nl_option rows[] = {
    {.help = "What is checked:", .group = 1},
    {"checks", "LIST",
     "checks, comma-separated (see --list checks; default: all but those on request), such as "
     "'default:cpus=ranks'",
     1, .set = set_checks},
    {"detour-threshold", "TIME", "detour: gaps longer than this count (default 1us)", 1,
     AT(DURATION, detour_threshold_ns), .of = "checks"},
    {"cpus", NULL,
     "CPUs of each node for quantum and detour: all allowed ones, or those that its ranks are bound to "
     "(auto: allowed; ranks "
     "where several nodes share one kernel)",
     1, AT(WORD, cpus), .table = nx_cpus_names, .of = "checks"},
    {"inject-fault", "SENDER:RECEIVER:OFFSET",
     "tests the check integrity itself: in each repetition one byte from SENDER to RECEIVER is "
     "corrupted on purpose",
     1, .of = "checks", .set = set_fault},
    {"quick", NULL, "50 s of measuring in 5 repetitions, few message sizes (default)", 1, AT(FLAG, is_quick)},
    {"full", NULL, "10 min of measuring in 10 repetitions, all powers of two up to 4MiB as message sizes", 1,
     AT(FLAG, is_full)},
    {"seconds", "TIME", "measuring time over all checks, instead of that of --quick or --full", 1,
     AT(SECONDS, measure_ns)},
    {"repetitions", "N", "repetitions of each check (at least 2); the checks take turns, in random order", 1,
     AT(INT, n_repetitions), NX_LEAST_REPETITIONS, 1000},
    {"wait-quiet", "TIME",
     "before measuring, wait up to this long until no CPU of the node is more than 2 % busy or stolen "
     "(default: "
     "start)",
     1, AT(DURATION, wait_quiet_ns)},
    {"sizes", "LIST",
     "message sizes of latency (those up to 1KiB), bandwidth (from 1KiB) and topology, such as "
     "0,8,64KiB,4MiB",
     1, .set = set_sizes},
    {.help = "Run:", .group = 2},
    {"seed", "N", "seed of the random order (default: from the clock, recorded)", 2, AT(SEED, seed)},
    {"out", "DIR", "campaign directory; the launch writes a folder in it (default noiselab-campaign)", 2,
     AT(TEXT, out), .wanted = "a directory"},
    {"launch-id", "ID", "name of the launch's folder (default: time, host and process number)", 2,
     AT(NAME, launch_id), .most = 128},
    {"progress", NULL, NL_PROGRESS_HELP, 2, AT(WORD, progress), .table = nl_progress_names},
    {"dry-run", NULL, "check the options, print the plan, and end", 2, AT(FLAG, dry_run)},
    {"json", NULL, "with --dry-run: print it as JSON", 2, AT(FLAG, is_json)},
    {"planned-ranks", "N", "with --dry-run: plan for so many ranks (default: those that were started)",
     2, AT(INT, planned_ranks), 1, INT_MAX},
    {.help = "Information:", .group = 3},
    {"help", NULL, "this text", 3, .type = NL_HELP},
    {"version", NULL, "the version and the commit it was built from", 3, .type = NL_VERSION},
    {"list", "WHAT", "checks, their units and what they measure", 3, .set = list},
};

static int is_chosen(const struct nx_options *o, const char *check) {
    return o->is_chosen[nx_check_find(check)];
}

static int resolve(struct nl_command_line *line) {
    struct nx_options *o = line->target;
    if (o->is_quick && o->is_full)
        nl_error("--quick, --full: choose one");
    else if (o->is_json && !o->dry_run)
        nl_error(
            "--json: belongs to --dry-run; results as JSON come from noiselab analyze acceptance --json");
    else if (o->planned_ranks && !o->dry_run)
        nl_error("--planned-ranks: belongs to --dry-run");
    else if (o->fault.is_given && !is_chosen(o, "integrity"))
        nl_error("--checks: inject-fault: the check integrity, which it tests, is not among them");
    else {
        o->is_quick = !o->is_full;
        if (o->measure_ns == 0) o->measure_ns = o->is_quick ? INT64_C(50000000000) : INT64_C(600000000000);
        if (o->n_repetitions == 0) o->n_repetitions = o->is_quick ? 5 : 10;
        if (!nl_options_given(line, "seed")) o->seed = (uint64_t)nl_now_ns(CLOCK_REALTIME);
        return o->n_sizes == 0 && set_sizes(line, o->is_quick ? quick_sizes : full_sizes) ? -1 : 0;
    }
    return -1;
}

int nx_options_parse(int argc, char **argv, int speaks, struct nx_options *o) {
    struct nl_command_line line = {
        .program = "noiselab-accept",
        .rows = rows,
        .n_rows = sizeof rows / sizeof rows[0],
        .target = o,
        .is_silent = !speaks,
        .doc = "Measures whether a cluster is quiet and correct, by check and by node. The verdict comes "
               "from noiselab analyze acceptance."
               "\vStart it with mpirun or srun, one rank per CPU or per node. Times take a unit: 10ms, 2s. "
               "Exit status: 0 measured, 1 data errors, 2 usage or environment error."};
    *o = (struct nx_options){
        .detour_threshold_ns = 1000, .out = "noiselab-campaign", .argc = argc, .argv = argv};
    choose_default(o);
    if (nl_tables_asked(argc, argv) && speaks) NL_TABLES_ROWS("check", nx_checks);
    if (nl_options_parse(&line, argc, argv, NULL)) return -1;
    if (line.is_done) return 0;
    return resolve(&line) ? -1 : 1;
}

int64_t nx_options_budget_ns(const struct nx_options *o, int check) {
    double sum = 0, mine = 0;
    for (int i = 0; nx_checks[i]; i++) {
        double share = o->is_quick ? nx_checks[i]->quick_share : nx_checks[i]->full_share;
        if (o->is_chosen[i]) sum += share;
        if (i == check) mine = share;
    }
    return sum > 0 ? (int64_t)((double)o->measure_ns / o->n_repetitions * mine / sum) : 0;
}

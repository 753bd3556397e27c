#include "detector/acceptance/accept_options.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/nl_clock.h"
#include "common/base/nl_error.h"
#include "common/base/nl_nearest.h"
#include "common/base/nl_options.h"
#include "common/base/nl_units.h"
#include "common/base/version.h"

enum key {
    KEY_CHECKS = 0x100, KEY_QUICK, KEY_FULL, KEY_SECONDS, KEY_REPETITIONS, KEY_SIZES, KEY_DETOUR, KEY_CPUS, KEY_FAULT, KEY_SEED, KEY_OUT,
    KEY_LAUNCH_ID, KEY_PROGRESS, KEY_DRY_RUN, KEY_JSON, KEY_PLANNED, KEY_LIST_CHECKS, KEY_HELP, KEY_VERSION
};

static const struct argp_option rows[] = {
    {0, 0, 0, 0, "What is checked:", 1},
    {"checks", KEY_CHECKS, "LIST", 0, "checks, comma-separated (see --list-checks; default: all but those on request)", 1},
    {"quick", KEY_QUICK, 0, 0, "50 s of measuring in 5 repetitions, few message sizes (default)", 1},
    {"full", KEY_FULL, 0, 0, "10 min of measuring in 10 repetitions, all powers of two up to 4MiB as message sizes", 1},
    {"seconds", KEY_SECONDS, "TIME", 0, "measuring time over all checks, instead of that of --quick or --full", 1},
    {"repetitions", KEY_REPETITIONS, "N", 0, "repetitions of each check (at least 2); the checks take turns, in random order", 1},
    {"sizes", KEY_SIZES, "LIST", 0,
     "message sizes of latency (those up to 1KiB), bandwidth (from 1KiB) and topology, such as 0,8,64KiB,4MiB", 1},
    {"detour-threshold", KEY_DETOUR, "TIME", 0, "detour: gaps longer than this count (default 1us)", 1},
    {"cpus", KEY_CPUS, "auto|allowed|ranks", 0,
     "CPUs of each node for quantum and detour: all allowed ones, or those that its ranks are bound to (auto: allowed; ranks where several "
     "nodes share one kernel)",
     1},
    {"inject-fault", KEY_FAULT, "SENDER:RECEIVER:OFFSET", 0,
     "tests the check integrity itself: in each repetition one byte from SENDER to RECEIVER is corrupted on purpose", 1},
    {0, 0, 0, 0, "Run:", 2},
    {"seed", KEY_SEED, "N", 0, "seed of the random order (default: from the clock, recorded)", 2},
    {"out", KEY_OUT, "DIR", 0, "campaign directory; the launch writes a folder in it (default noiselab-campaign)", 2},
    {"launch-id", KEY_LAUNCH_ID, "ID", 0, "name of the launch's folder (default: time, host and process number)", 2},
    {"progress", KEY_PROGRESS, "auto|terminal|lines|off", 0, NL_PROGRESS_HELP, 2},
    {"dry-run", KEY_DRY_RUN, 0, 0, "check the options, print the plan, and end", 2},
    {"json", KEY_JSON, 0, 0, "with --dry-run: print it as JSON", 2},
    {"planned-ranks", KEY_PLANNED, "N", 0, "with --dry-run: the plan of so many ranks (default: of those that were started)", 2},
    {0, 0, 0, 0, "Information:", 3},
    {"help", KEY_HELP, 0, 0, "this text", 3},
    {"version", KEY_VERSION, 0, 0, "the version and the commit it was built from", 3},
    {"list-checks", KEY_LIST_CHECKS, 0, 0, "the checks, their units and what they measure", 3},
    {0},
};

static const char quick_sizes[] = "0,8,1KiB,64KiB,1MiB,4MiB";
static const char full_sizes[] = "0,1,2,4,8,16,32,64,128,256,512,1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB,128KiB,256KiB,512KiB,1MiB,2MiB,4MiB";
const char *const nx_cpus_names[] = {[NX_CPUS_AUTO] = "auto", [NX_CPUS_ALLOWED] = "allowed", [NX_CPUS_RANKS] = "ranks", NULL};

struct parsing {
    struct nx_options *o;
    const char *sizes;
    int length_given; /* KEY_QUICK or KEY_FULL; 0: neither */
    int has_seed;
    int listed, failed, speaks;
    int next; /* index of the argument after the last good one */
    char list[1024]; /* the one that is being split */
    struct nl_nearest nearest; /* what was meant by the word that is refused next, if that one was looked up in a table */
};

static error_t refuse(struct parsing *p, const char *option, const char *value, const char *wanted) {
    char meant[96] = "";
    if (p->nearest.word == value) nl_nearest_tell(&p->nearest, meant, sizeof meant);
    nl_error("--%s: '%s' is not %s%s", option, value, wanted, meant);
    p->failed = 1;
    return EINVAL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state);

static const struct argp parser = {
    rows,
    parse_option,
    "",
    "Measures whether a cluster is quiet and correct, by check and by node. The verdict comes from noiselab analyze acceptance."
    "\vStart it with mpirun or srun, one rank per CPU or per node. Times take a unit: 10ms, 2s. "
    "Exit status: 0 measured, 1 data errors, 2 usage or environment error.",
    NULL,
    NULL,
    NULL,
};

static void print_information(int key) {
    if (key == KEY_HELP)
        argp_help(&parser, stdout, ARGP_HELP_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC, "noiselab-accept");
    if (key == KEY_VERSION) printf("noiselab-accept %s (%s)\n", NOISELAB_VERSION, nl_git);
    for (int i = 0; key == KEY_LIST_CHECKS && nx_checks[i]; i++)
        printf("%-13s %-12s %s%s\n", nx_checks[i]->name, nx_checks[i]->unit, nx_checks[i]->help,
               nx_checks[i]->is_on_request ? " (on request)" : "");
}

/* Index of a word among names; -1 after a message. */
static int word(struct parsing *p, const char *option, const char *arg, const char *const *names, const char *wanted) {
    for (int i = 0; names[i]; i++)
        if (strcmp(arg, names[i]) == 0) return i;
    nl_nearest_begin(&p->nearest, arg);
    for (int i = 0; names[i]; i++) nl_nearest_offer(&p->nearest, names[i]);
    refuse(p, option, arg, wanted);
    return -1;
}

/* Splits a copy of the list, which is good until the next one; the number of parts, or -1 after a message. */
static int parts_of(struct parsing *p, const char *option, const char *list, const char **parts, int most) {
    int n = -1;
    if (strlen(list) < sizeof p->list) n = nl_split(strcpy(p->list, list), parts, most);
    if (n < 0) refuse(p, option, list, "a list: it is empty, has an empty part or is too long");
    return n;
}

static error_t choose_checks(struct parsing *p, const char *arg) {
    const char *names[NX_MAX_CHECKS];
    int n = parts_of(p, "checks", arg, names, NX_MAX_CHECKS);
    memset(p->o->is_chosen, 0, sizeof p->o->is_chosen);
    p->o->checks = arg;
    for (int i = 0; i < n; i++) {
        int check = nx_check_find(names[i]);
        if (check < 0) {
            NL_NEAREST_ROWS(&p->nearest, names[i], nx_checks);
            return refuse(p, "checks", names[i], "a check (see --list-checks)");
        }
        if (p->o->is_chosen[check]++) return refuse(p, "checks", names[i], "new in the list: it stands twice");
    }
    return n < 0 ? EINVAL : 0;
}

static int resolve_sizes(struct parsing *p, const char *list) {
    struct nx_options *o = p->o;
    const char *parts[NX_MAX_SIZES];
    o->n_sizes = parts_of(p, "sizes", list, parts, NX_MAX_SIZES);
    for (int i = 0; i < o->n_sizes; i++) {
        if (nl_parse_size(parts[i], &o->sizes[i])) return refuse(p, "sizes", parts[i], NL_SIZE_HELP);
        if (o->sizes[i] > INT_MAX) return refuse(p, "sizes", parts[i], "a size that MPI can count: at most 2147483647 bytes");
        if (i > 0 && o->sizes[i] <= o->sizes[i - 1]) return refuse(p, "sizes", parts[i], "larger than the one before it (sizes rise)");
    }
    return o->n_sizes < 0 ? -1 : 0;
}

/* SENDER:RECEIVER:OFFSET */
static error_t parse_fault(struct parsing *p, const char *arg) {
    static const char wanted[] = "SENDER:RECEIVER:OFFSET, two different ranks and a byte from 0 to 262143 (try 0:1:100)";
    char part[3][24];
    int64_t sender, receiver;
    struct nx_fault *f = &p->o->fault;
    int end = 0;
    if (sscanf(arg, "%23[0-9]:%23[0-9]:%23[0-9]%n", part[0], part[1], part[2], &end) != 3 || arg[end])
        return refuse(p, "inject-fault", arg, wanted);
    if (nl_parse_int(part[0], 0, INT_MAX, &sender) || nl_parse_int(part[1], 0, INT_MAX, &receiver) ||
        nl_parse_int(part[2], 0, NX_FAULT_BYTES - 1, &f->offset_bytes) || sender == receiver)
        return refuse(p, "inject-fault", arg, wanted);
    f->sender = (int)sender;
    f->receiver = (int)receiver;
    f->is_given = 1;
    return 0;
}

static error_t parse_repetitions(struct parsing *p, const char *arg) {
    int64_t n;
    if (nl_parse_int(arg, NX_LEAST_REPETITIONS, 1000, &n)) return refuse(p, "repetitions", arg, "a whole number from 2 to 1000");
    p->o->n_repetitions = (int)n;
    return 0;
}

static error_t parse_length(struct parsing *p, int key) {
    if (p->length_given && p->length_given != key) return refuse(p, "quick", "--full", "possible at the same time: choose one");
    p->length_given = key;
    p->o->is_quick = key == KEY_QUICK;
    return 0;
}

static int is_plain(const char *name) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return name[0] && name[0] != '.' && strlen(name) <= 128 && name[strspn(name, plain)] == '\0';
}

static error_t parse_option(int key, char *arg, struct argp_state *state) {
    struct parsing *p = state->input;
    struct nx_options *o = p->o;
    int i;
    int64_t planned;
    if (key >= KEY_CHECKS && key <= KEY_VERSION) p->next = state->next;
    switch (key) {
    case KEY_CHECKS: return choose_checks(p, arg);
    case KEY_QUICK:
    case KEY_FULL: return parse_length(p, key);
    case KEY_SECONDS: return nl_parse_seconds(arg, &o->measure_ns) ? refuse(p, "seconds", arg, NL_SECONDS_HELP) : 0;
    case KEY_REPETITIONS: return parse_repetitions(p, arg);
    case KEY_SIZES: p->sizes = arg; return 0;
    case KEY_DETOUR: return nl_parse_duration(arg, &o->detour_threshold_ns) ? refuse(p, "detour-threshold", arg, NL_DURATION_HELP) : 0;
    case KEY_CPUS:
        i = word(p, "cpus", arg, nx_cpus_names, "auto, allowed or ranks");
        o->cpus = (enum nx_cpus)i;
        return i < 0 ? EINVAL : 0;
    case KEY_FAULT: return parse_fault(p, arg);
    case KEY_SEED: p->has_seed = 1; return nl_parse_seed(arg, &o->seed) ? refuse(p, "seed", arg, "a whole number of up to 64 bits") : 0;
    case KEY_OUT: o->out = arg; return *arg ? 0 : refuse(p, "out", arg, "a directory");
    case KEY_LAUNCH_ID:
        o->launch_id = arg;
        return is_plain(arg) ? 0 : refuse(p, "launch-id", arg, "a plain name (letters, digits, . _ -; not starting with a dot)");
    case KEY_PROGRESS:
        i = word(p, "progress", arg, nl_progress_names, NL_PROGRESS_WANTED);
        o->progress = (enum nl_progress_form)i;
        return i < 0 ? EINVAL : 0;
    case KEY_DRY_RUN: o->dry_run = 1; return 0;
    case KEY_JSON: o->is_json = 1; return 0;
    case KEY_PLANNED:
        if (nl_parse_int(arg, 1, INT_MAX, &planned)) return refuse(p, "planned-ranks", arg, "a number of ranks");
        o->planned_ranks = (int)planned;
        return 0;
    case KEY_HELP:
    case KEY_VERSION:
    case KEY_LIST_CHECKS:
        if (p->speaks && !p->listed++) print_information(key);
        p->listed = 1;
        return 0;
    case ARGP_KEY_ARG:
        nl_error("'%s': all settings are options (see --help)", arg);
        p->failed = 1;
        return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int is_chosen(const struct nx_options *o, const char *check) { return o->is_chosen[nx_check_find(check)]; }

static int resolve(struct parsing *p) {
    struct nx_options *o = p->o;
    if (o->is_json && !o->dry_run) {
        nl_error("--json: belongs to --dry-run; results as JSON come from noiselab analyze acceptance --json");
        return -1;
    }
    if (o->planned_ranks && !o->dry_run) {
        nl_error("--planned-ranks: belongs to --dry-run");
        return -1;
    }
    if (o->measure_ns == 0) o->measure_ns = o->is_quick ? INT64_C(50000000000) : INT64_C(600000000000);
    if (o->n_repetitions == 0) o->n_repetitions = o->is_quick ? 5 : 10;
    if (resolve_sizes(p, p->sizes ? p->sizes : o->is_quick ? quick_sizes : full_sizes)) return -1;
    if (o->fault.is_given && !is_chosen(o, "integrity")) {
        nl_error("--inject-fault: the check integrity, which it tests, is not among --checks");
        return -1;
    }
    if (!p->has_seed) o->seed = (uint64_t)nl_now_ns(CLOCK_REALTIME);
    return 0;
}

int nx_options_parse(int argc, char **argv, int speaks, struct nx_options *o) {
    if (nl_tables_asked(argc, argv)) {
        if (speaks) nl_tables_options(rows);
        if (speaks) NL_TABLES_ROWS("check", nx_checks);
        return 0;
    }
    struct parsing p = {.o = o, .speaks = speaks, .next = 1};
    *o = (struct nx_options){.is_quick = 1, .detour_threshold_ns = 1000, .out = "noiselab-campaign", .argc = argc, .argv = argv};
    for (int i = 0; nx_checks[i]; i++) o->is_chosen[i] = !nx_checks[i]->is_on_request;
    /* messages are one line of ours, from one rank, not argp's own */
    int rc = argp_parse(&parser, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &p);
    if (p.listed && !p.failed) return 0;
    if (rc && !p.failed) nl_options_explain(rows, p.next < argc ? argv[p.next] : argv[argc - 1]);
    return rc || p.failed || resolve(&p) ? -1 : 1;
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

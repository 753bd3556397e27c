#include "detector/options/options.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "detector/halves/channels.h"
#include "common/page/nl_agent.h"
#include "common/base/nl_error.h"
#include "common/base/nl_hostlist.h"
#include "detector/program/program.h"
#include "common/base/nl_nearest.h"
#include "common/base/nl_options.h"
#include "common/sys/nl_place.h"
#include "common/base/nl_preset.h"
#include "common/base/nl_units.h"
#include "common/base/version.h"

#define QUICK_NS INT64_C(25000000)        /* a half of design quick */
#define QUICK_SETTLE_NS INT64_C(5000000)  /* before it */
#define SWITCH_NS INT64_C(1000000)        /* what a switch and the marks of a half take, about */
enum { LONG_HALVES = 10 };                /* a longer half of design quick, in halves */

enum { LIST_BYTES = 4096, NAME_BYTES = 128, KIND_BYTES = ND_AGENT_NAME_BYTES }; /* longest list on the command line, longest names */

enum key {
    KEY_OP = 0x100, KEY_BYTES, KEY_APP, KEY_BEAT, KEY_DESIGN, KEY_LEVELS, KEY_SECONDS, KEY_HALF, KEY_BLOCK, KEY_COUNT, KEY_PERIOD, KEY_KIND,
    KEY_PATTERN,
    KEY_ON, KEY_PHASE, KEY_PRESET,
    KEY_NOISE_NODES, KEY_GENERATOR, KEY_SEED, KEY_OUT, KEY_LAUNCH_ID, KEY_TIMING, KEY_DETOUR, KEY_PREEMPTED, KEY_WARMUP, KEY_WAIT_QUIET,
    KEY_OVERSUBSCRIBE, KEY_PROGRESS,
    KEY_DRY_RUN, KEY_JSON, KEY_HELP, KEY_VERSION, KEY_LIST,
    KEY_START, KEY_CLOCK, KEY_SYNC, KEY_SYNC_RANKS, KEY_SYNC_EXCHANGES, KEY_SYNC_EVERY, KEY_SLOT, KEY_GAMMA, KEY_EPS, KEY_STAGE, KEY_STAGE0,
    KEY_LATE,
    KEY_STOP_RULE, KEY_PRECISION, KEY_RAW, KEY_ARRIVAL, KEY_AMOUNT, KEY_TRACE, KEY_WORK, KEY_SELF_TEST, KEY_SYNC_ONLY, KEY_FAKE_CLOCK,
    KEY_DATATYPE, KEY_REDUCE, KEY_ROOT, KEY_BUFFER, KEY_ALIGNMENT, KEY_PAGES, KEY_TOUCH, KEY_CHECK,
    KEY_STOP_WHEN, KEY_MARGIN, KEY_LOOKS, KEY_SPENDING, KEY_ALPHA, KEY_ARMS, KEY_SET, KEY_EXTERNAL,
    KEY_AGENT_PERIOD, KEY_AGENT_SETTLE, KEY_AGENT_NODES, KEY_AGENT_INTERVAL,
    KEY_PASSED = 0x200,   /* options that are handed to the generator as they are */
    KEY_TO_AGENT = 0x300, /* options that are handed to the agent's companion as they are */
    KEY_END = 0x400,
};

static const struct argp_option option_rows[] = {
    {0, 0, 0, 0, "What is timed:", 1},
    {"op", KEY_OP, "LIST", 0,
     "operations, comma-separated (see --list operations; default barrier,allreduce,alltoall); OP=ALGORITHM runs one by an algorithm of "
     "the MPI library's (see --list algorithms; OP=default is its own choice)",
     1},
    {"bytes", KEY_BYTES, "LIST", 0, "message sizes, such as 8,2KiB,1MiB (default 2KiB)", 1},
    {"app", KEY_APP, "DIR", 0, "in place of operations: the program whose profile is being written in DIR (see noiselab run agent --app)",
     1},
    {"beat", KEY_BEAT, "OP[:SIZE]", 0, "with --app: the MPI call whose repetition is timed (default: the one that repeats most regularly)",
     1},
    {"design", KEY_DESIGN, "NAME", 0, "order of the arms (see --list designs; default lockin)", 1},
    {"arms", KEY_ARMS, "both|off|on", 0, "single: arms that this launch has; off: the treatment is left out (default both)", 1},
    {"set", KEY_SET, "N", 0, "number of the set of launches, one for each arm, that this one belongs to; recorded", 1},
    {"seconds", KEY_SECONDS, "TIME", 0,
     "total measuring time of all operations and levels (default 60s); on a busy machine rounds are left out to keep to it", 1},
    {"half-period", KEY_HALF, "TIME", 0, "lockin: length of a half (default 10ms); quick: of a short one (default 25ms)", 1},
    {"block", KEY_BLOCK, "TIME", 0, "blocks: length of a block (default 1s); quick: of an undisturbed stretch (default 1s)", 1},
    {"count", KEY_COUNT, "N", 0, "blocks, single: operations in each block or loop, instead of the number the pilot finds", 1},
    {"warmup", KEY_WARMUP, "TIME", 0, "run the schedule this long before the first row is taken (default 500ms)", 1},
    {"wait-quiet", KEY_WAIT_QUIET, "TIME", 0,
     "before measuring, wait up to this long until no rank's CPU is more than 2 % busy or stolen (default: report what is running, and "
     "start)",
     1},
    {"per-operation-timing", KEY_TIMING, "auto|on|off", 0, "time every operation: histogram, detour, base (auto: off for single)", 1},
    {"detour-threshold", KEY_DETOUR, "TIME", 0, "operations longer than this are detours (default: median + max(median, 1us))", 1},
    {"preempted-by", KEY_PREEMPTED, "auto|scheduler|clocks", 0,
     "preempted time: what the scheduler says that the ranks waited for their CPUs; or wall time minus CPU time, which holds a "
     "hypervisor's steal, too "
     "(default auto: the scheduler, where it says it on all nodes)",
     1},
    {"datatype", KEY_DATATYPE, "NAME", 0, "of the operations' elements (see --list datatypes; default byte, for reductions double)", 1},
    {"reduce", KEY_REDUCE, "NAME", 0, "reduction of the operations that reduce (see --list reductions; default sum)", 1},
    {"root", KEY_ROOT, "RANK|rotate", 0, "of rooted operations; rotate: the next operation has the next root (default 0)", 1},
    {"buffer", KEY_BUFFER, "reuse|rotate|flush", 0, "cache state of the buffers: warm, other buffers every time, flushed (default reuse)",
     1},
    {"alignment", KEY_ALIGNMENT, "SIZE", 0, "of the buffers, a power of two (default 4KiB)", 1},
    {"pages", KEY_PAGES, "default|small|huge", 0, "pages that the system is asked for", 1},
    {"first-touch", KEY_TOUCH, "own|first", 0, "CPU that touches the buffers first: the rank's own, or the first allowed one (default own)",
     1},
    {"check", KEY_CHECK, "once|every|off", 0,
     "verify the results of operations once, after every operation (not with --start loop), or never (default once)", 1},
    {0, 0, 0, 0, "Synchronised starts:", 6},
    {"start", KEY_START, "NAME", 0, "how operations are started (see --list starts; default loop)", 6},
    {"clock", KEY_CLOCK, "NAME", 0, "the clock of the starts (see --list clocks; default tsc where it may be trusted, else monotonic-raw)",
     6},
    {"sync", KEY_SYNC, "NAME", 0, "how clocks are compared (see --list syncs; default tree)", 6},
    {"sync-ranks", KEY_SYNC_RANKS, "nodes|all", 0, "compare one clock for each node that has one, or every rank's (default nodes)", 6},
    {"sync-exchanges", KEY_SYNC_EXCHANGES, "N", 0, "stop after N exchanges without a shorter round trip (default 100)", 6},
    {"sync-every", KEY_SYNC_EVERY, "TIME", 0,
     "compare clocks again after this time, or earlier when they drift apart; 0: never (default 10s)", 6},
    {"slot", KEY_SLOT, "TIME", 0, "window: distance of starts, round: from broadcast to deadline (default: found, and kept for all arms)",
     6},
    {"gamma", KEY_GAMMA, "FACTOR", 0, "how much a slot grows that was too short, 1.01 to 2 (default 1.1)", 6},
    {"eps", KEY_EPS, "PERCENT", 0, "share of late starts in a stage above which it grows (default 25; round: at most 1)", 6},
    {"stage", KEY_STAGE, "N", 0, "window: starts in a stage (default 8)", 6},
    {"stage-0", KEY_STAGE0, "N", 0, "operations of the stage that estimates the first slot (default 4)", 6},
    {"late-bound", KEY_LATE, "TIME", 0,
     "a start is late when a rank began by more after its time (default: 5 residuals of the clocks, at least 1us)", 6},
    {"stop-rule", KEY_STOP_RULE, "none|count|error|median", 0,
     "design single: end a loop early: over 100 starts or 30 on time; relative standard error 5 % and 10 on time; --precision", 6},
    {"precision", KEY_PRECISION, "PERCENT", 0, "stop rule median: half-width of the median's 99 % interval (default 1)", 6},
    {"arrival", KEY_ARRIVAL, "NAME", 0, "ranks that arrive late on purpose (see --list arrivals; default none)", 6},
    {"arrival-amount", KEY_AMOUNT, "TIME|FACTORx", 0, "how late: a time, or times of the operation's own, such as 2x (default 1x)", 6},
    {"arrival-trace", KEY_TRACE, "FILE", 0, "arrival trace: lines of rank and delays in ns", 6},
    {"work", KEY_WORK, "TIME", 0, "equal work on all ranks between start and operation: shows natural imbalance", 6},
    {"raw", KEY_RAW, "FILE", 0, "keep every start of every rank; a name without / is in the launch's folder", 6},
    {"fake-clock", KEY_FAKE_CLOCK, "SPEC", 0, "for tests: OFFSET[,DRIFTppm[,JUMP@AFTER]], times the rank", 6},
    {0, 0, 0, 0, "Ending early:", 7},
    {"stop-when", KEY_STOP_WHEN, "never|decided", 0,
     "lockin, blocks: end at a planned look once every slowdown is shown to be above or below the margin (default never)", 7},
    {"margin", KEY_MARGIN, "PERCENT", 0, "margin of slowdown, 0 to 1000; with 0 only \"above\" can be shown (default 0)", 7},
    {"looks", KEY_LOOKS, "N", 0, "planned looks, equally spaced over the rounds, at most 20 (default 5)", 7},
    {"spending", KEY_SPENDING, "NAME", 0,
     "alpha spending over the looks: obrien-fleming (little at first), pocock (evenly) (default obrien-fleming)", 7},
    {"alpha", KEY_ALPHA, "P", 0, "one-sided error over all looks, for each cell, 0.000001 to 0.2 (default 0.01)", 7},
    {0, 0, 0, 0, "Treatment:", 2},
    {"levels", KEY_LEVELS, "LIST", 0,
     "noise levels in percent of one CPU, 0 is the placebo (default 0,0.1,0.3,1; single: none); none: no generator", 2},
    {"period", KEY_PERIOD, "TIME", 0, "period of the noise (default: the half-period, at most 10ms)", 2},
    {"kind", KEY_KIND, "LIST", 0, "kinds of load, each crossed with each level (see noiselab-gen --list kinds; default spin)", 2},
    {"pattern", KEY_PATTERN, "LIST", 0, "patterns of the bursts, crossed likewise (see noiselab-gen --list patterns; default periodic)", 2},
    {"on", KEY_ON, "PLACES", 0,
     "CPUs that get the noise on each node, all at once: " NL_PLACE_HELP
     "; given again: further places, crossed likewise (default last: the "
     "CPU of the node's last rank)",
     2},
    {"phase", KEY_PHASE, "LIST", 0, "phase of the noise across nodes: random, aligned, staggered; crossed likewise (default random)", 2},
    {"preset", KEY_PRESET, "NAME", 0,
     "kind, pattern and their options from a file (see noiselab-gen --list presets); options given here override it", 2},
    {"noise-nodes", KEY_NOISE_NODES, "all|first|LIST", 0,
     "nodes that get a generator: all, that of rank 0, or names as Slurm lists them: n[1-4,07],m1 (default all)", 2},
    {"external", KEY_EXTERNAL, "NAME", 0,
     "single: name of an external treatment of the whole launch, present (--arms on) or not (--arms off); no generator is started", 2},
    {0, 0, 0, 0, "Treatment, handed to noiselab-gen:", 3},
    {"jitter", KEY_PASSED, "PERCENT", 0, "jittered: the share of the period's room that a burst's place is drawn from", 3},
    {"group", KEY_PASSED + 1, "N", 0, "bursts: number of bursts in a group", 3},
    {"spacing", KEY_PASSED + 2, "TIME", 0, "bursts: from one burst of a group to the next", 3},
    {"replay", KEY_PASSED + 3, "FILE", 0, "replay: the trace; its bursts are stretched so that it delivers each level", 3},
    {"replay-unit", KEY_PASSED + 14, "UNIT", 0, "replay: unit of the trace's times: ns, us, ms or s", 3},
    {"scale-period", KEY_PASSED + 4, "FACTOR", 0, "replay: stretches the times between bursts", 3},
    {"array-bytes", KEY_PASSED + 5, "SIZE", 0, "sum, membw: size of the array", 3},
    {"cache-level", KEY_PASSED + 6, "2|3", 0, "cache: which cache", 3},
    {"cache-share", KEY_PASSED + 7, "PERCENT", 0, "cache: how much of it is evicted", 3},
    {"address", KEY_PASSED + 8, "PROTOCOL:IP:PORT", 0, "net: where messages go", 3},
    {"message-bytes", KEY_PASSED + 9, "SIZE", 0, "net: size of a message", 3},
    {"folder", KEY_PASSED + 10, "DIR", 0, "disk: where to write", 3},
    {"duty-cap", KEY_PASSED + 11, "PERCENT", 0, "refuse a higher level", 3},
    {"carry", KEY_PASSED + 12, "N", 0, "carry over at most N bursts' worth of time that the CPU was taken", 3},
    {"tolerance", KEY_PASSED + 13, "PERCENT", 0, "bound of the generator's own certificate", 3},
    {"generator", KEY_GENERATOR, "PATH", 0, "the noiselab-gen to use (default: the one beside this program)", 3},
    {0, 0, 0, 0, "An agent as treatment, switched from half to half (one of the first six, or --scrape alone):", 8},
    {"agent-cmd", KEY_TO_AGENT, "CMD", 0, "a command, started for on halves and stopped for off halves", 8},
    {"agent-pid", KEY_TO_AGENT + 1, "PID", 0, "a running process and its children, frozen in off halves", 8},
    {"agent-cgroup", KEY_TO_AGENT + 2, "PATH", 0, "a control group, frozen in off halves", 8},
    {"agent-unit", KEY_TO_AGENT + 3, "NAME.service", 0, "a running systemd unit, frozen in off halves", 8},
    {"agent-on", KEY_TO_AGENT + 4, "CMD", 0, "the command that switches it on, together with --agent-off", 8},
    {"agent-off", KEY_TO_AGENT + 5, "CMD", 0, "the command that switches it off", 8},
    {"scrape", KEY_TO_AGENT + 6, "CMD", 0, "a command that scrapes the agent, run every --scrape-period in on halves", 8},
    {"scrape-period", KEY_TO_AGENT + 7, "TIME", 0, "from one scrape to the next", 8},
    {"scrape-cpu", KEY_TO_AGENT + 8, "LIST", 0, "CPUs of the scrape command", 8},
    {"agent-cpu", KEY_TO_AGENT + 9, "LIST", 0, "CPUs of a started command", 8},
    {"freeze", KEY_TO_AGENT + 15, 0, 0,
     "with --agent-cmd: the command is started once, and frozen in off halves (in the design quick always)", 8},
    {"shell", KEY_TO_AGENT + 10, 0, 0, "run commands with sh -c; without it they are split into words, and nothing is expanded", 8},
    {"agent-name", KEY_TO_AGENT + 11, "NAME", 0,
     "what it is called in the files (default: its script or program, unit, control group or process)", 8},
    {"agent-timeout", KEY_TO_AGENT + 12, "TIME", 0, "how long a switch may take (default 30s)", 8},
    {"who", KEY_TO_AGENT + 13, "auto|cpu|thread|schedstat|none", 0,
     "how to find out who took the ranks' CPUs (default auto: the best permitted)", 8},
    {"keep-bursts", KEY_TO_AGENT + 14, "auto|yes|no", 0, "write a trace of the single bursts (default auto)", 8},
    {"agent-period", KEY_AGENT_PERIOD, "TIME", 0,
     "its sampling period: each half holds whole periods (default half: at least 100ms; 1s when no period is given)", 8},
    {"agent-settle", KEY_AGENT_SETTLE, "TIME", 0, "untimed operations after each switch (default: half of its period, at least 5ms)", 8},
    {"agent-nodes", KEY_AGENT_NODES, "all|first|LIST", 0,
     "nodes whose agent is switched: all, that of rank 0, or names as Slurm lists them: n[1-4,07],m1 (default all)", 8},
    {"agent-interval", KEY_AGENT_INTERVAL, "TIME", 0, "the sampling interval it was set to; recorded only", 8},
    {0, 0, 0, 0, "Run:", 4},
    {"seed", KEY_SEED, "N", 0, "seed of the random order (default: from the clock, recorded)", 4},
    {"out", KEY_OUT, "DIR", 0, "campaign directory; the launch writes a folder in it (default noiselab-campaign)", 4},
    {"launch-id", KEY_LAUNCH_ID, "ID", 0, "name of the launch's folder (default: time, host and process number)", 4},
    {"oversubscribe", KEY_OVERSUBSCRIBE, 0, 0, "allow more ranks than CPUs on a node", 4},
    {"progress", KEY_PROGRESS, "auto|terminal|lines|off", 0, NL_PROGRESS_HELP, 4},
    {"self-test", KEY_SELF_TEST, 0, 0,
     "time operations of known length with synchronised starts and report the quality of the starts; status 1: not good enough", 4},
    {"sync-only", KEY_SYNC_ONLY, 0, 0, "compare the ranks' clocks, print the table, and end", 4},
    {"dry-run", KEY_DRY_RUN, 0, 0, "check the options, print what would be run, and end", 4},
    {"json", KEY_JSON, 0, 0, "with --dry-run: print it as JSON", 4},
    {0, 0, 0, 0, "Information:", 5},
    {"help", KEY_HELP, 0, 0, "this text", 5},
    {"version", KEY_VERSION, 0, 0, "the version and the commit it was built from", 5},
    {"list", KEY_LIST, "WHAT", 0,
     "operations (that can be timed), algorithms (that this MPI library lets one choose), designs, channels (figures of each half), "
     "starts, clocks, syncs, arrivals, datatypes, reductions", 5},
    {0},
};

/* What has to be asked for, too, or an option would be without effect. */
enum need {
    NEEDS_STARTS, NEEDS_SCHEDULE, NEEDS_STAGES, NEEDS_PATIENCE, NEEDS_AMOUNT, NEEDS_MEDIAN, NEEDS_LOOKS, NEEDS_GENERATOR, NEEDS_AGENT,
    NEEDS_OPERATIONS, NEEDS_PROGRAM,
    N_NEEDS
};

static const struct {
    int key;
    enum need need;
} needs[] = {
    {KEY_OP, NEEDS_OPERATIONS},
    {KEY_BYTES, NEEDS_OPERATIONS},
    {KEY_COUNT, NEEDS_OPERATIONS},
    {KEY_TIMING, NEEDS_OPERATIONS},
    {KEY_DETOUR, NEEDS_OPERATIONS},
    {KEY_DATATYPE, NEEDS_OPERATIONS},
    {KEY_REDUCE, NEEDS_OPERATIONS},
    {KEY_ROOT, NEEDS_OPERATIONS},
    {KEY_BUFFER, NEEDS_OPERATIONS},
    {KEY_ALIGNMENT, NEEDS_OPERATIONS},
    {KEY_PAGES, NEEDS_OPERATIONS},
    {KEY_TOUCH, NEEDS_OPERATIONS},
    {KEY_CHECK, NEEDS_OPERATIONS},
    {KEY_START, NEEDS_OPERATIONS},
    {KEY_SELF_TEST, NEEDS_OPERATIONS},
    {KEY_SYNC_ONLY, NEEDS_OPERATIONS},
    {KEY_BEAT, NEEDS_PROGRAM},
    {KEY_SYNC, NEEDS_STARTS},
    {KEY_SYNC_RANKS, NEEDS_STARTS},
    {KEY_SYNC_EXCHANGES, NEEDS_STARTS},
    {KEY_SYNC_EXCHANGES, NEEDS_PATIENCE},
    {KEY_SYNC_EVERY, NEEDS_STARTS},
    {KEY_FAKE_CLOCK, NEEDS_STARTS},
    {KEY_SLOT, NEEDS_STARTS},
    {KEY_SLOT, NEEDS_SCHEDULE},
    {KEY_GAMMA, NEEDS_STARTS},
    {KEY_GAMMA, NEEDS_SCHEDULE},
    {KEY_EPS, NEEDS_STARTS},
    {KEY_EPS, NEEDS_SCHEDULE},
    {KEY_STAGE, NEEDS_STARTS},
    {KEY_STAGE, NEEDS_STAGES},
    {KEY_STAGE0, NEEDS_STARTS},
    {KEY_LATE, NEEDS_STARTS},
    {KEY_STOP_RULE, NEEDS_STARTS},
    {KEY_PRECISION, NEEDS_STARTS},
    {KEY_PRECISION, NEEDS_MEDIAN},
    {KEY_RAW, NEEDS_STARTS},
    {KEY_ARRIVAL, NEEDS_STARTS},
    {KEY_AMOUNT, NEEDS_STARTS},
    {KEY_AMOUNT, NEEDS_AMOUNT},
    {KEY_TRACE, NEEDS_STARTS},
    {KEY_WORK, NEEDS_STARTS},
    {KEY_SELF_TEST, NEEDS_STARTS},
    {KEY_MARGIN, NEEDS_LOOKS},
    {KEY_LOOKS, NEEDS_LOOKS},
    {KEY_SPENDING, NEEDS_LOOKS},
    {KEY_ALPHA, NEEDS_LOOKS},
    {KEY_LEVELS, NEEDS_GENERATOR},
    {KEY_PERIOD, NEEDS_GENERATOR},
    {KEY_KIND, NEEDS_GENERATOR},
    {KEY_PATTERN, NEEDS_GENERATOR},
    {KEY_ON, NEEDS_GENERATOR},
    {KEY_PHASE, NEEDS_GENERATOR},
    {KEY_PRESET, NEEDS_GENERATOR},
    {KEY_NOISE_NODES, NEEDS_GENERATOR},
    {KEY_GENERATOR, NEEDS_GENERATOR},
    {KEY_AGENT_PERIOD, NEEDS_AGENT},
    {KEY_AGENT_SETTLE, NEEDS_AGENT},
    {KEY_AGENT_NODES, NEEDS_AGENT},
};

/* What argp hands from option to option: names are resolved once all options are known. */
struct parsing {
    struct nd_options *o;
    const char *operations, *sizes, *levels, *kinds, *patterns, *phases, *amount;
    const char *needing[N_NEEDS]; /* by enum need: the last option given that has it; NULL: none */
    int start_given;
    int64_t half_ns, block_ns;
    int design_given;
    int listed, failed, speaks;
    int next; /* index of the argument after the last good one: where argp stopped */
    struct nl_nearest nearest; /* what was meant by the word that is refused next, if that one was looked up in a table */
};

static int bad(struct parsing *p, const char *option, const char *value, const char *wanted) {
    char meant[96] = "";
    if (p->nearest.word == value) nl_nearest_tell(&p->nearest, meant, sizeof meant);
    nl_error("%s: '%s' is not %s%s", option, value, wanted, meant);
    p->failed = 1;
    return EINVAL;
}

/* A word that is in no row of a table. */
#define BAD_ROW(p, option, arg, wanted, rows)         \
    do {                                              \
        NL_NEAREST_ROWS(&(p)->nearest, arg, rows);    \
        return bad(p, option, arg, wanted);           \
    } while (0)

static void note(struct nd_options *o, const char *text) {
    if (o->n_notes < ND_MAX_NOTES) snprintf(o->notes[o->n_notes++], sizeof o->notes[0], "%s", text);
}

/* Letters, digits and ._- only: it may be a folder's name and a CSV field. */
static int is_plain_name(const char *text, size_t most_bytes) {
    if (!*text || *text == '.' || strlen(text) > most_bytes) return 0;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == strlen(text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state);

static const struct argp parser = {
    option_rows,
    parse_option,
    "",
    "Times MPI collectives without and with a known background load, in random order, and records what each half cost."
    "\vStart it with mpirun or srun, one rank per CPU. Times take a unit: 10ms, 2s. Exit status: 0 done, 1 the answer is no (--self-test, "
    "--check every), 2 usage or environment error.",
    NULL,
    NULL,
    NULL,
};

const char *const nd_check_names[] = {[ND_CHECK_ONCE] = "once", [ND_CHECK_EVERY] = "every", [ND_CHECK_OFF] = "off", NULL};
const char *const nd_arms_names[] = {[ND_ARMS_BOTH] = "both", [ND_ARMS_OFF] = "off", [ND_ARMS_ON] = "on", NULL};
const char *const nd_phase_names[] = {
    [ND_PHASE_RANDOM] = "random", [ND_PHASE_ALIGNED] = "aligned", [ND_PHASE_STAGGERED] = "staggered", NULL};

/* Words like those of nl_place_resolve: they are a CSV field, too. */
static error_t add_place(struct parsing *p, const char *text) {
    struct nd_options *o = p->o;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:,";
    if (!*text || strlen(text) > 128 || strspn(text, allowed) != strlen(text))
        return bad(p, "--on", text, "a list of places (" NL_PLACE_HELP ")");
    for (int i = 0; i < o->n_places; i++)
        if (strcmp(o->places[i], text) == 0) return bad(p, "--on", text, "a new place: it was given before");
    if (o->n_places == ND_MAX_FACTOR) return bad(p, "--on", text, "accepted: there are 16 places already");
    o->places[o->n_places++] = text;
    return 0;
}

static const char *option_name(int key) {
    for (const struct argp_option *row = option_rows; row->name || row->doc; row++)
        if (row->key == key) return row->name;
    return NULL;
}

/* Puts an option on the generator's command line. */
static error_t pass(struct parsing *p, const char *name, const char *value) {
    struct nd_options *o = p->o;
    char *word;
    if (o->n_passed == ND_MAX_PASSED || asprintf(&word, "--%s=%s", name, value) < 0)
        return bad(p, name, value, "accepted: too many options");
    o->passed[o->n_passed++] = word; /* lives as long as the process */
    return 0;
}

/* argp's own --help and --version cannot be had without its two-line error messages, so they are ours. */
static void print_information(int key) {
    if (key == KEY_HELP)
        argp_help(&parser, stdout, ARGP_HELP_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC, "noiselab-detect");
    if (key == KEY_VERSION) {
        printf("noiselab-detect %s (%s)%s%s\n", NOISELAB_VERSION, nl_git, nl_likwid ? ", with " : ", without LIKWID",
               nl_likwid ? nl_likwid : "");
    }
}

static const char *const listed_words[] = {"operations", "algorithms", "designs",   "channels",   "starts", "clocks",
                                           "syncs",      "arrivals",   "datatypes", "reductions", NULL};

static void print_list(struct parsing *p, const char *what) {
    char reason[256];
    if (strcmp(what, "operations") == 0)
        for (int i = 0; nd_ops[i]; i++) printf("%-25s %s\n", nd_ops[i]->name, nd_ops[i]->help);
    if (strcmp(what, "designs") == 0)
        for (int i = 0; nd_designs[i]; i++) printf("%-10s %s\n", nd_designs[i]->name, nd_designs[i]->help);
    if (strcmp(what, "starts") == 0)
        for (int i = 0; nd_start_modes[i]; i++) printf("%-10s %s\n", nd_start_modes[i]->name, nd_start_modes[i]->help);
    if (strcmp(what, "clocks") == 0)
        for (int i = 0; nd_clock_kinds[i]; i++) printf("%-13s %s\n", nd_clock_kinds[i]->name, nd_clock_kinds[i]->help);
    if (strcmp(what, "syncs") == 0)
        for (int i = 0; nd_sync_methods[i]; i++) printf("%-10s %s\n", nd_sync_methods[i]->name, nd_sync_methods[i]->help);
    if (strcmp(what, "arrivals") == 0)
        for (int i = 0; nd_arrivals[i]; i++) printf("%-10s %s\n", nd_arrivals[i]->name, nd_arrivals[i]->help);
    if (strcmp(what, "datatypes") == 0)
        for (int i = 0; nd_datatypes[i]; i++) printf("%-10s %d bytes\n", nd_datatypes[i]->name, nd_datatypes[i]->size_bytes);
    if (strcmp(what, "reductions") == 0)
        for (int i = 0; nd_reductions[i]; i++) {
            printf("%-10s of", nd_reductions[i]->name);
            for (int j = 0; nd_datatypes[j]; j++)
                if (nd_reduction_knows(nd_reductions[i], nd_datatypes[j])) printf(" %s", nd_datatypes[j]->name);
            putchar('\n');
        }
    if (strcmp(what, "channels") == 0)
        for (int i = 0; nd_channels[i].name; i++)
            printf("%-10s %s (%s)\n", nd_channels[i].name, nd_channels[i].help, nd_channels[i].columns);
    if (strcmp(what, "algorithms") == 0 && nd_algorithms_print(stdout, reason, sizeof reason)) {
        nl_error("--list algorithms: %s", reason);
        p->failed = 1;
    }
}

/* One of the names, or a message. */
static error_t parse_name(struct parsing *p, const char *option, const char *arg, const char *const *names, const char *wanted, int *out) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], arg) == 0) {
            *out = i;
            return 0;
        }
    nl_nearest_begin(&p->nearest, arg);
    for (int i = 0; names[i]; i++) nl_nearest_offer(&p->nearest, names[i]);
    return bad(p, option, arg, wanted);
}

static error_t parse_switch(struct parsing *p, const char *option, const char *arg, enum nd_switch *out) {
    static const char *const names[] = {"auto", "on", "off", NULL}; /* by enum nd_switch */
    int i = ND_AUTO;
    error_t rc = parse_name(p, option, arg, names, "auto, on or off", &i);
    *out = (enum nd_switch)i;
    return rc;
}

static error_t parse_progress(struct parsing *p, const char *arg) {
    int form = NL_PROGRESS_AUTO;
    error_t rc = parse_name(p, "--progress", arg, nl_progress_names, NL_PROGRESS_WANTED, &form);
    p->o->progress = (enum nl_progress_form)form;
    return rc;
}

static error_t parse_number(struct parsing *p, const char *option, const char *arg, double least, double most, double *out) {
    char wanted[96], *end;
    double value = strtod(arg, &end);
    snprintf(wanted, sizeof wanted, "a number from %g to %g", least, most);
    if (end == arg || *end || !(value >= least && value <= most)) return bad(p, option, arg, wanted);
    *out = value;
    return 0;
}

static error_t parse_whole(struct parsing *p, const char *option, const char *arg, int most, int *out) {
    char wanted[96];
    int64_t value;
    snprintf(wanted, sizeof wanted, "a whole number from 1 to %d", most);
    if (nl_parse_int(arg, 1, most, &value)) return bad(p, option, arg, wanted);
    *out = (int)value;
    return 0;
}

static error_t parse_preempted(struct parsing *p, const char *arg) {
    int source = NL_PREEMPTED_AUTO;
    error_t rc = parse_name(p, "--preempted-by", arg, nl_preempted_names, "auto, scheduler or clocks", &source);
    p->o->preempted_by = (enum nl_preempted_source)source;
    return rc;
}

static error_t parse_root(struct parsing *p, const char *arg) {
    int64_t root = 0;
    p->o->op.rotates_root = strcmp(arg, "rotate") == 0;
    if (!p->o->op.rotates_root && nl_parse_int(arg, 0, INT_MAX - 1, &root)) return bad(p, "--root", arg, "a rank or the word rotate");
    p->o->op.root = (int)root;
    return 0;
}

/* Options that say what operations work on. */
static error_t parse_data_option(struct parsing *p, int key, char *arg) {
    struct nd_options *o = p->o;
    struct nd_buffer_options *b = &o->op.buffer;
    int i = 0;
    error_t rc = 0;
    switch (key) {
    case KEY_DATATYPE:
        if ((o->op.datatype = nd_datatype_find(arg))) return 0;
        BAD_ROW(p, "--datatype", arg, "a data type (see --list datatypes)", nd_datatypes);
    case KEY_REDUCE:
        if ((o->op.reduction = nd_reduction_find(arg))) return 0;
        BAD_ROW(p, "--reduce", arg, "a reduction (see --list reductions)", nd_reductions);
    case KEY_ROOT: return parse_root(p, arg);
    case KEY_BUFFER:
        rc = parse_name(p, "--buffer", arg, nd_buffer_use_names, "reuse, rotate or flush", &i);
        b->use = (enum nd_buffer_use)i;
        return rc;
    case KEY_PAGES:
        rc = parse_name(p, "--pages", arg, nd_pages_names, "default, small or huge", &i);
        b->pages = (enum nd_pages)i;
        return rc;
    case KEY_TOUCH:
        rc = parse_name(p, "--first-touch", arg, nd_first_touch_names, "own or first", &i);
        b->touch = (enum nd_first_touch)i;
        return rc;
    case KEY_ALIGNMENT:
        if (nl_parse_size(arg, &b->alignment_bytes) == 0 && b->alignment_bytes >= 1 && b->alignment_bytes <= INT64_C(1) << 30 &&
            (b->alignment_bytes & (b->alignment_bytes - 1)) == 0)
            return 0;
        return bad(p, "--alignment", arg, "a power of two from 1 to 1GiB");
    default:
        rc = parse_name(p, "--check", arg, nd_check_names, "once, every or off", &i);
        o->check = (enum nd_check)i;
        o->op.checks_every = i == ND_CHECK_EVERY;
        return rc;
    }
}

/* Options of a run that may end early, and of launches that have one arm. */
static error_t parse_plan_option(struct parsing *p, int key, char *arg) {
    static const char *const stops[] = {"never", "decided", NULL};
    struct nd_options *o = p->o;
    struct nd_sequential_options *s = &o->sequential;
    int i = 0;
    error_t rc = 0;
    switch (key) {
    case KEY_STOP_WHEN: return parse_name(p, "--stop-when", arg, stops, "never or decided", &s->stops);
    case KEY_MARGIN: return parse_number(p, "--margin", arg, 0, 1000, &s->margin_percent);
    case KEY_LOOKS: return parse_whole(p, "--looks", arg, ND_MAX_LOOKS, &s->n_looks);
    case KEY_SPENDING: return (s->spending = nd_spending_find(arg)) ? 0 : bad(p, "--spending", arg, "obrien-fleming or pocock");
    case KEY_ALPHA: return parse_number(p, "--alpha", arg, 1e-6, 0.2, &s->alpha);
    case KEY_ARMS:
        rc = parse_name(p, "--arms", arg, nd_arms_names, "both, off or on", &i);
        o->which_arms = (enum nd_arms)i;
        return rc;
    case KEY_EXTERNAL:
        o->external = arg;
        if (is_plain_name(arg, KIND_BYTES)) return 0;
        return bad(p, "--external", arg, "a plain name (letters, digits, . _ -; at most 32, not starting with a dot)");
    default: return parse_whole(p, "--set", arg, INT_MAX, &o->set);
    }
}

/* Options of synchronised starts. */
static error_t parse_start_option(struct parsing *p, int key, char *arg) {
    struct nd_start_options *s = &p->o->start;
    int i = 0;
    error_t rc = 0;
    switch (key) {
    case KEY_START:
        p->start_given = 1;
        if ((s->mode = nd_start_mode_find(arg))) return 0;
        BAD_ROW(p, "--start", arg, "a way to start (see --list starts)", nd_start_modes);
    case KEY_CLOCK:
        if ((s->clock = nd_clock_find(arg))) return 0;
        BAD_ROW(p, "--clock", arg, "a clock (see --list clocks)", nd_clock_kinds);
    case KEY_SYNC:
        if ((s->sync.method = nd_sync_find(arg))) return 0;
        BAD_ROW(p, "--sync", arg, "a way to compare clocks (see --list syncs)", nd_sync_methods);
    case KEY_SYNC_RANKS:
        s->sync.every_rank = strcmp(arg, "all") == 0;
        return s->sync.every_rank || strcmp(arg, "nodes") == 0 ? 0 : bad(p, "--sync-ranks", arg, "nodes or all");
    case KEY_SYNC_EXCHANGES: return parse_whole(p, "--sync-exchanges", arg, 1000000, &s->sync.patience);
    case KEY_SYNC_EVERY:
        return nl_parse_duration_or_zero(arg, &s->sync_every_ns) ? bad(p, "--sync-every", arg, "a duration with its unit (try 10s, 0s)")
                                                                 : 0;
    case KEY_FAKE_CLOCK: s->fake_clock = arg; return 0;
    case KEY_SLOT: return nl_parse_duration(arg, &s->slot_ns) ? bad(p, "--slot", arg, NL_DURATION_HELP) : 0;
    case KEY_GAMMA: return parse_number(p, "--gamma", arg, 1.01, 2, &s->gamma);
    case KEY_EPS:
        rc = parse_number(p, "--eps", arg, 0.1, 100, &s->eps);
        s->eps /= 100;
        return rc;
    case KEY_STAGE: return parse_whole(p, "--stage", arg, ND_BATCH, &s->n_stage_starts);
    case KEY_STAGE0: return parse_whole(p, "--stage-0", arg, ND_BATCH, &s->n_first_starts);
    case KEY_LATE: return nl_parse_duration(arg, &s->late_bound_ns) ? bad(p, "--late-bound", arg, NL_DURATION_HELP) : 0;
    case KEY_STOP_RULE:
        rc = parse_name(p, "--stop-rule", arg, nd_stop_rule_names, "none, count, error or median", &i);
        s->stop_rule = (enum nd_stop_rule)i;
        return rc;
    case KEY_PRECISION: return parse_number(p, "--precision", arg, 0.1, 50, &s->precision_percent);
    case KEY_ARRIVAL:
        if ((s->arrival = nd_arrival_find(arg))) return 0;
        BAD_ROW(p, "--arrival", arg, "a pattern of late ranks (see --list arrivals)", nd_arrivals);
    case KEY_AMOUNT: p->amount = arg; return 0;
    case KEY_TRACE: s->arrival_trace = arg; return 0;
    case KEY_WORK: return nl_parse_duration(arg, &s->work_ns) ? bad(p, "--work", arg, NL_DURATION_HELP) : 0;
    default: s->raw = arg; return *arg ? 0 : bad(p, "--raw", arg, "a file name");
    }
}

static error_t parse_nodes(struct parsing *p, const char *arg, struct nd_nodes *nodes) {
    char reason[256];
    nodes->text = arg;
    nl_hostlist_free(&nodes->hosts);
    nodes->which = strcmp(arg, "all") == 0 ? ND_NODES_ALL : strcmp(arg, "first") == 0 ? ND_NODES_FIRST : ND_NODES_LISTED;
    if (nodes->which != ND_NODES_LISTED || !nl_hostlist_read(arg, ND_MAX_NODES_LISTED, &nodes->hosts, reason, sizeof reason)) return 0;
    nl_error("%s: %s", nodes->option, reason);
    p->failed = 1;
    return EINVAL;
}

/* Options of an agent's companion. It looks at most of them itself. */
static error_t pass_to_agent(struct parsing *p, int key, char *arg) {
    struct nd_agent_options *a = &p->o->agent;
    const char *option = option_name(key);
    char dashed[32];
    snprintf(dashed, sizeof dashed, "--%s", option);
    p->needing[NEEDS_AGENT] = option;
    if (strcmp(option, "agent-name") == 0 && !is_plain_name(arg, KIND_BYTES))
        return bad(p, dashed, arg, "a plain name (letters, digits, . _ -; at most 32, not starting with a dot)");
    if (strcmp(option, "agent-timeout") == 0 && nl_parse_duration(arg, &a->timeout_ns)) return bad(p, dashed, arg, NL_DURATION_HELP);
    return nd_agent_take(a, option, arg) ? bad(p, dashed, arg, "accepted: too many options of the agent") : 0;
}

/* The detector's own options about the agent. */
static error_t parse_agent_option(struct parsing *p, int key, char *arg) {
    struct nd_agent_options *a = &p->o->agent;
    switch (key) {
    case KEY_AGENT_PERIOD: return nl_parse_duration(arg, &a->period_ns) ? bad(p, "--agent-period", arg, NL_DURATION_HELP) : 0;
    case KEY_AGENT_SETTLE:
        return nl_parse_duration_or_zero(arg, &a->settle_ns) ? bad(p, "--agent-settle", arg, "a duration with its unit (try 500ms, 0s)")
                                                             : 0;
    case KEY_AGENT_NODES: return parse_nodes(p, arg, &a->nodes);
    default: return nl_parse_duration(arg, &a->interval_ns) ? bad(p, "--agent-interval", arg, NL_DURATION_HELP) : 0;
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state) {
    struct parsing *p = state->input;
    struct nd_options *o = p->o;
    if (key >= KEY_OP && key < KEY_END) p->next = state->next;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].key == key) p->needing[needs[i].need] = option_name(key);
    if (key >= KEY_TO_AGENT && key < KEY_END) return pass_to_agent(p, key, arg);
    if (key >= KEY_PASSED && key < KEY_TO_AGENT) {
        p->needing[NEEDS_GENERATOR] = option_name(key);
        return pass(p, option_name(key), arg);
    }
    if (key >= KEY_DATATYPE && key <= KEY_CHECK) return parse_data_option(p, key, arg);
    if (key >= KEY_STOP_WHEN && key <= KEY_EXTERNAL) return parse_plan_option(p, key, arg);
    if (key >= KEY_AGENT_PERIOD && key <= KEY_AGENT_INTERVAL) return parse_agent_option(p, key, arg);
    if (key >= KEY_START && key <= KEY_FAKE_CLOCK && key != KEY_SELF_TEST && key != KEY_SYNC_ONLY) return parse_start_option(p, key, arg);
    switch (key) {
    case KEY_SELF_TEST: o->self_test = 1; return 0;
    case KEY_SYNC_ONLY: o->sync_only = 1; return 0;
    case KEY_OP: p->operations = arg; return 0;
    case KEY_APP: o->app = arg; return *arg ? 0 : bad(p, "--app", arg, "the folder of a program's profile");
    case KEY_BEAT: {
        struct nd_beat beat;
        o->beat = arg;
        return nd_beat_parse(arg, &beat) ? bad(p, "--beat", arg, "an MPI call and its size (try allreduce:8, send:64KiB, barrier)") : 0;
    }
    case KEY_BYTES: p->sizes = arg; return 0;
    case KEY_LEVELS: p->levels = arg; return 0;
    case KEY_KIND: p->kinds = arg; return 0;
    case KEY_PATTERN: p->patterns = arg; return 0;
    case KEY_PHASE: p->phases = arg; return 0;
    case KEY_PRESET: o->preset = arg; return *arg ? 0 : bad(p, "--preset", arg, "the name of a preset");
    case KEY_ON: return add_place(p, arg);
    case KEY_GENERATOR: o->generator_path = arg; return 0;
    case KEY_OUT: o->out = arg; return *arg ? 0 : bad(p, "--out", arg, "a directory");
    case KEY_OVERSUBSCRIBE: o->oversubscribe = 1; return 0;
    case KEY_DRY_RUN: o->dry_run = 1; return 0;
    case KEY_JSON: o->is_json = 1; return 0;
    case KEY_DESIGN:
        p->design_given = 1;
        if ((o->design = nd_design_find(arg))) return 0;
        BAD_ROW(p, "--design", arg, "a design (see --list designs)", nd_designs);
    case KEY_SECONDS: return nl_parse_seconds(arg, &o->measure_ns) ? bad(p, "--seconds", arg, NL_SECONDS_HELP) : 0;
    case KEY_HALF: return nl_parse_duration(arg, &p->half_ns) ? bad(p, "--half-period", arg, NL_DURATION_HELP) : 0;
    case KEY_BLOCK: return nl_parse_duration(arg, &p->block_ns) ? bad(p, "--block", arg, NL_DURATION_HELP) : 0;
    case KEY_PERIOD: return nl_parse_duration(arg, &o->period_ns) ? bad(p, "--period", arg, NL_DURATION_HELP) : 0;
    case KEY_WARMUP:
        return nl_parse_duration_or_zero(arg, &o->warmup_ns) ? bad(p, "--warmup", arg, "a duration with its unit (try 500ms, 0s)") : 0;
    case KEY_WAIT_QUIET: return nl_parse_duration(arg, &o->wait_quiet_ns) ? bad(p, "--wait-quiet", arg, NL_DURATION_HELP) : 0;
    case KEY_PREEMPTED: return parse_preempted(p, arg);
    case KEY_DETOUR: return nl_parse_duration(arg, &o->detour_threshold_ns) ? bad(p, "--detour-threshold", arg, NL_DURATION_HELP) : 0;
    case KEY_COUNT:
        return nl_parse_int(arg, 1, INT64_C(1) << 50, &o->count) ? bad(p, "--count", arg, "a positive whole number") : 0;
    case KEY_SEED:
        o->seed_given = 1;
        return nl_parse_seed(arg, &o->seed) ? bad(p, "--seed", arg, "a whole number of up to 64 bits") : 0;
    case KEY_TIMING: return parse_switch(p, "--per-operation-timing", arg, &o->per_operation_timing);
    case KEY_PROGRESS: return parse_progress(p, arg);
    case KEY_NOISE_NODES: return parse_nodes(p, arg, &o->noise_nodes);
    case KEY_LAUNCH_ID:
        o->launch_id = arg;
        return is_plain_name(arg, NAME_BYTES)
                   ? 0
                   : bad(p, "--launch-id", arg, "a plain name (letters, digits, . _ -; not starting with a dot)");
    case KEY_HELP:
    case KEY_VERSION:
        if (p->speaks && !p->listed) print_information(key);
        p->listed = 1;
        return 0;
    case KEY_LIST: {
        int which;
        if (parse_name(p, "--list", arg, listed_words,
                       "operations, algorithms, designs, channels, starts, clocks, syncs, arrivals, datatypes or reductions", &which))
            return EINVAL;
        if (p->speaks && !p->listed) print_list(p, arg);
        p->listed = 1;
        return 0;
    }
    case ARGP_KEY_ARG: return bad(p, "argument", arg, "known (all settings are options; see --help)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* nl_split cuts its text up; argv must stay whole, because it is recorded as the command line. */
static int split_copy(const char *text, char *copy, size_t size, const char **parts, int max) {
    if (snprintf(copy, size, "%s", text) >= (int)size) return -1;
    return nl_split(copy, parts, max);
}

/* An operation of the list and the algorithm it is to have: "" none. */
struct chosen {
    const struct nd_op *op;
    char algorithm[ND_ALGORITHM_BYTES];
};

/* `name` is OP or OP=ALGORITHM. Which algorithms there are is known to the MPI library, once it runs. */
static int resolve_operation(struct parsing *p, const char *name, struct chosen *chosen) {
    char op[NAME_BYTES];
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    snprintf(op, sizeof op, "%.*s", (int)n, name);
    *chosen = (struct chosen){.op = nd_op_find(op)};
    if (!chosen->op) {
        NL_NEAREST_ROWS(&p->nearest, op, nd_ops);
        bad(p, "--op", op, "an operation (see --list operations)");
        return -1;
    }
    if (!equals) return 0;
    if (strspn(equals + 1, "abcdefghijklmnopqrstuvwxyz0123456789_-") != strlen(equals + 1) || !equals[1] ||
        snprintf(chosen->algorithm, sizeof chosen->algorithm, "%s", equals + 1) >= (int)sizeof chosen->algorithm) {
        bad(p, "--op", name, "an operation and an algorithm of it (see --list algorithms)");
        return -1;
    }
    if (chosen->op->completion == ND_BLOCKING && !chosen->op->is_self_test) return 0;
    nl_error("--op: algorithms are chosen for blocking operations, and %s is none", op);
    return -1;
}

static int resolve_operations(struct parsing *p, struct chosen *chosen) {
    char copy[LIST_BYTES];
    const char *names[ND_MAX_OPERATIONS];
    int n = split_copy(p->operations ? p->operations : "barrier,allreduce,alltoall", copy, sizeof copy, names, ND_MAX_OPERATIONS);
    if (n < 0) {
        nl_error("--op: the list is empty, has an empty part or is too long (try barrier,alltoall)");
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (resolve_operation(p, names[i], &chosen[i])) return -1;
        for (int j = 0; j < i; j++)
            if (chosen[j].op == chosen[i].op && strcmp(chosen[j].algorithm, chosen[i].algorithm) == 0) {
                nl_error("--op: '%s' stands twice in the list", names[i]);
                return -1;
            }
    }
    return n;
}

static int resolve_sizes(struct parsing *p) {
    struct nd_options *o = p->o;
    char copy[LIST_BYTES];
    const char *parts[ND_MAX_SIZES];
    int n = split_copy(p->sizes ? p->sizes : "2KiB", copy, sizeof copy, parts, ND_MAX_SIZES);
    if (n < 0) {
        nl_error("--bytes: the list is empty, has an empty part or is too long (try 8,2KiB)");
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (nl_parse_size(parts[i], &o->bytes[i])) {
            nl_error("--bytes: '%s' is not %s", parts[i], NL_SIZE_HELP);
            return -1;
        }
        if (o->bytes[i] < 1 || o->bytes[i] > INT_MAX) {
            nl_error("--bytes: '%s' is outside 1 to %d bytes", parts[i], INT_MAX);
            return -1;
        }
        for (int j = 0; j < i; j++)
            if (o->bytes[j] == o->bytes[i]) {
                nl_error("--bytes: '%s' stands twice in the list", parts[i]);
                return -1;
            }
    }
    o->n_bytes = n;
    return 0;
}

/* Adds one configuration. The element's size is checked here, what depends on the number of ranks by the run. */
static int add_config(struct nd_options *o, const struct nd_op *op, const char *algorithm, int64_t bytes) {
    char reason[256];
    if (o->n_configs == ND_MAX_CONFIGS) {
        nl_error("--op, --bytes: more than %d combinations of operation and size", ND_MAX_CONFIGS);
        return -1;
    }
    const char *problem = nd_op_problem(op, &o->op, bytes, o->op.root + 1, reason, sizeof reason);
    if (problem) {
        nl_error("%s", problem);
        return -1;
    }
    struct nd_config *config = &o->configs[o->n_configs++];
    *config = (struct nd_config){.op = op, .bytes = bytes};
    snprintf(config->algorithm, sizeof config->algorithm, "%s", algorithm);
    snprintf(config->name, sizeof config->name, "%s%s%s", op->name, algorithm[0] ? "=" : "", algorithm);
    return 0;
}

/* The one configuration of a launch that follows a program. */
static int resolve_program(struct parsing *p) {
    struct nd_options *o = p->o;
    if (o->design->single_loop) {
        nl_error("--design: with --app the treatment is switched while the program runs (use lockin or blocks)");
        return -1;
    }
    o->per_operation_timing = ND_OFF_SWITCH;
    return add_config(o, &nd_op_program, "", 0);
}

static int resolve_configs(struct parsing *p) {
    struct nd_options *o = p->o;
    if (o->app) return resolve_program(p);
    struct chosen chosen[ND_MAX_OPERATIONS];
    int n_ops = resolve_operations(p, chosen);
    if (n_ops < 0 || resolve_sizes(p)) return -1;
    for (int i = 0; i < n_ops; i++) {
        const struct nd_op *op = chosen[i].op;
        int n_sizes = op->has_bytes ? o->n_bytes : 1;
        for (int j = 0; j < n_sizes; j++)
            if (add_config(o, op, chosen[i].algorithm, op->has_bytes ? o->bytes[j] : 0)) return -1;
    }
    return 0;
}

static int resolve_levels(struct parsing *p) {
    struct nd_options *o = p->o;
    char copy[LIST_BYTES];
    int has_agent = nd_agent_is_given(&o->agent);
    if (!p->levels && (o->design->single_loop || has_agent)) return 0;
    if (p->levels && strcmp(p->levels, "none") == 0) {
        if (!o->design->is_paired || has_agent) return 0;
        nl_error("--levels: design %s compares off with on, and needs at least one level", o->design->name);
        return -1;
    }
    const char *parts[ND_MAX_LEVELS];
    int n = split_copy(p->levels ? p->levels : "0,0.1,0.3,1", copy, sizeof copy, parts, ND_MAX_LEVELS);
    if (n < 0) {
        nl_error("--levels: the list is empty, has an empty part or more than %d levels (try 0,0.1,1)", ND_MAX_LEVELS);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        double level;
        if (nl_parse_percent(parts[i], &level)) {
            nl_error("--levels: '%s' is not %s", parts[i], NL_PERCENT_HELP);
            return -1;
        }
        if (level > 100 || (level > 0 && level < 0.001)) {
            nl_error("--levels: '%s' is outside 0.001 to 100 percent of one CPU (or 0, the placebo)", parts[i]);
            return -1;
        }
        for (int j = 0; j < i; j++)
            if (o->levels_percent[j] == level) {
                nl_error("--levels: '%s' stands twice in the list", parts[i]);
                return -1;
            }
        o->levels_percent[i] = level;
    }
    o->n_levels = n;
    return 0;
}

/* The n names of a list that was split, n < 0 when it could not be: each a plain word and only once. n, or -1 after a message. */
static int check_names(const char *option, const char *const *names, int n, int max) {
    if (n < 0) nl_error("%s: the list is empty, has an empty part or more than %d names", option, max);
    for (int i = 0; i < n; i++) {
        if (!is_plain_name(names[i], NAME_BYTES)) {
            nl_error("%s: '%s' is not a name (letters, digits, . _ -)", option, names[i]);
            return -1;
        }
        for (int j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) != 0) continue;
            nl_error("%s: '%s' stands twice in the list", option, names[i]);
            return -1;
        }
    }
    return n;
}

/* A factor's list of names into `out`; -1 after a message. */
static int resolve_names(const char *option, const char *text, const char **out, int max) {
    char *copy = strdup(text); /* the names point into it: lives as long as the process */
    return check_names(option, out, copy ? nl_split(copy, out, max) : -1, max);
}

static int resolve_phases(struct parsing *p) {
    struct nd_options *o = p->o;
    char copy[LIST_BYTES];
    const char *names[ND_MAX_FACTOR];
    int n = split_copy(p->phases ? p->phases : "random", copy, sizeof copy, names, ND_MAX_FACTOR);
    o->n_phases = check_names("--phase", names, n, ND_MAX_FACTOR);
    for (int i = 0; i < o->n_phases; i++) {
        int phase = 0;
        while (nd_phase_names[phase] && strcmp(nd_phase_names[phase], names[i]) != 0) phase++;
        if (!nd_phase_names[phase]) {
            nl_error("--phase: '%s' is not random, aligned or staggered", names[i]);
            return -1;
        }
        o->phases[i] = (enum nd_phase)phase;
    }
    return o->n_phases < 0 ? -1 : 0;
}

/* Crosses the factors with the levels. */
static int resolve_arms(struct parsing *p) {
    struct nd_options *o = p->o;
    o->n_kinds = resolve_names("--kind", p->kinds ? p->kinds : "spin", o->kinds, ND_MAX_FACTOR);
    if (o->n_kinds < 0) return -1;
    o->n_patterns = resolve_names("--pattern", p->patterns ? p->patterns : "periodic", o->patterns, ND_MAX_FACTOR);
    if (o->n_patterns < 0 || resolve_phases(p)) return -1;
    if (o->n_places == 0) o->places[o->n_places++] = "last";
    int n = o->n_kinds * o->n_patterns * o->n_places * o->n_phases * o->n_levels;
    if (n > ND_MAX_LEVELS) {
        nl_error("--kind, --pattern, --on, --phase, --levels: %d combinations, more than %d; ask for fewer", n, ND_MAX_LEVELS);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        int rest = i;
        struct nd_arm *arm = &o->arms[i];
        arm->level_percent = o->levels_percent[rest % o->n_levels];
        rest /= o->n_levels;
        arm->phase = rest % o->n_phases;
        rest /= o->n_phases;
        arm->place = rest % o->n_places;
        rest /= o->n_places;
        arm->pattern = rest % o->n_patterns;
        arm->kind = rest / o->n_patterns;
    }
    o->n_arms = o->n_doses = n;
    return 0;
}

/* The arm of a treatment without level, behind those of the generator. */
static void add_arm_without_level(struct nd_options *o, const char *name) { o->arms[o->n_arms++] = (struct nd_arm){.name = name}; }

/* A line of the preset: what the user did not say himself. The levels are this program's own, so how much the preset loads is not taken;
 * what else it says is the generator's business, which gets the preset, too. */
static int take_preset(void *context, const char *option, const char *value, const char *where) {
    struct parsing *p = context;
    const char **list = strcmp(option, "kind") == 0 ? &p->kinds : strcmp(option, "pattern") == 0 ? &p->patterns : NULL;
    if (list && !*list && !(*list = strdup(value))) return -1; /* lives as long as the process */
    if (strcmp(option, "period") != 0 || p->o->period_ns != 0 || nl_parse_duration(value, &p->o->period_ns) == 0) return 0;
    nl_error("--preset: %s: '%s' is not %s", where, value, NL_DURATION_HELP);
    return -1;
}

static int apply_preset(struct parsing *p) {
    char reason[4 * PATH_MAX];
    if (!p->o->preset) return 0;
    if (nl_preset_read(p->o->preset, take_preset, p, reason, sizeof reason) == 0) return pass(p, "preset", p->o->preset);
    if (reason[0]) nl_error("--preset: %s", reason);
    return -1;
}

/* The half lengthened to whole periods. */
static int64_t whole_periods(int64_t half_ns, int64_t period_ns) { return (half_ns + period_ns - 1) / period_ns * period_ns; }

static void lengthen_half(struct nd_options *o, int64_t to_ns, const char *periods, int64_t period_ns) {
    char half[32], longer[32], period[32], text[192];
    if (to_ns == o->half_ns) return;
    snprintf(text, sizeof text, "half lengthened from %s to %s: it must hold whole %s of %s",
             nl_format_duration(o->half_ns, half, sizeof half), nl_format_duration(to_ns, longer, sizeof longer), periods,
             nl_format_duration(period_ns, period, sizeof period));
    o->half_ns = to_ns;
    note(o, text);
}

/* A half holds whole periods of the agent, or pairs would differ by a sample. */
static int hold_agent_periods(struct nd_options *o) {
    int64_t period_ns = o->agent.period_ns;
    if (!nd_options_has_agent(o) || period_ns == 0) return 0;
    if (period_ns < 1000000 || period_ns > INT64_C(3600000000000)) {
        char period[32];
        nl_error("--agent-period: %s is outside 1 ms to 1 h", nl_format_duration(period_ns, period, sizeof period));
        return -1;
    }
    if (o->design->has_stretches) o->stretch_ns = whole_periods(o->stretch_ns, period_ns);
    else lengthen_half(o, whole_periods(o->half_ns, period_ns), "periods of the agent,", period_ns);
    return 0;
}

/* An undisturbed stretch is not to be taken for one of the longer halves. */
static int check_stretch(const struct nd_options *o) {
    if (!o->design->has_stretches || o->stretch_ns >= 2 * nd_options_long_ns(o)) return 0;
    nl_error("--block: an undisturbed stretch must last 20 times as long as a half at least (--half-period)");
    return -1;
}

/* The period of the noise when nobody says: the half, or 10 ms; beside an agent the nearest that fits a whole number of times into the
 * half, whose length is the agent's. */
static int64_t default_period_ns(const struct nd_options *o) {
    int64_t most_ns = 10000000;
    if (o->half_ns < most_ns) return o->half_ns;
    for (int64_t n = (o->half_ns + most_ns - 1) / most_ns; nd_options_has_agent(o) && o->half_ns / n >= 1000000; n++)
        if (o->half_ns % n == 0) return o->half_ns / n;
    return most_ns;
}

static int check_period(struct nd_options *o) {
    char half[32], period[32];
    if (o->period_ns == 0) o->period_ns = default_period_ns(o);
    nl_format_duration(o->period_ns, period, sizeof period);
    if (o->period_ns < 1000000 || o->period_ns > INT64_C(60000000000)) {
        nl_error("--period: %s is outside 1 ms to 60 s", period);
        return -1;
    }
    if (o->half_ns < o->period_ns) {
        nl_error("--half-period, --block: %s is shorter than the noise period %s: an on half would not hold one whole period (lengthen it, "
                 "or shorten --period)",
                 nl_format_duration(o->half_ns, half, sizeof half), period);
        return -1;
    }
    if (!nd_options_has_agent(o) || o->agent.period_ns == 0) {
        lengthen_half(o, whole_periods(o->half_ns, o->period_ns), "noise periods", o->period_ns);
        return 0;
    }
    int64_t most_ns = 1000 * o->half_ns, longer_ns = o->half_ns;
    while (longer_ns % o->period_ns && longer_ns < most_ns) longer_ns += o->agent.period_ns;
    if (longer_ns % o->period_ns) {
        nl_error("--period: no half of a sensible length holds whole noise periods of %s and whole periods of the agent", period);
        return -1;
    }
    lengthen_half(o, longer_ns, "periods of the agent and of the noise,", o->period_ns);
    return 0;
}

static int plan_rounds(struct nd_options *o, int seconds_given) {
    int n_steps = nd_options_round_steps(o);
    if (n_steps > ND_MAX_SET_STEPS) {
        nl_error("--op, --bytes, --levels: %d halves in one round, more than %d; ask for fewer combinations", n_steps, ND_MAX_SET_STEPS);
        return -1;
    }
    if (o->design->single_loop) {
        /* one loop per arm fills the time; with --count the time is what the count takes */
        o->half_ns = o->measure_ns / n_steps;
        o->n_rounds = 1;
        return 0;
    }
    int64_t round_ns = nd_options_round_ns(o);
    o->n_rounds = o->design->has_stretches ? o->measure_ns / round_ns : o->measure_ns / o->half_ns / n_steps;
    if (o->n_rounds < 1) {
        char half[32], needed[32];
        nl_error("--seconds: too short: one round of %d halves of %s takes %s%s", n_steps,
                 nl_format_duration(o->half_ns, half, sizeof half),
                 nl_format_duration(o->half_ns > INT64_MAX / n_steps ? INT64_MAX : round_ns, needed, sizeof needed),
                 seconds_given ? "" : " (the default is 60 s)");
        return -1;
    }
    return 0;
}

/* Says before the run that it cannot end with an answer: with n pairs the smallest p-value is 2^-n, and 0.01 takes seven. */
static void note_few_pairs(struct nd_options *o) {
    enum { LEAST_PAIRS = 7 };
    char text[192];
    double round_s = (double)nd_options_round_ns(o) * 1e-9;
    if (o->design->single_loop || o->design->has_stretches || o->n_arms == 0 || o->n_rounds >= LEAST_PAIRS) return;
    snprintf(text, sizeof text,
             "%lld %s of each operation and level: by itself this launch is too short for any verdict at alpha 0.01, which takes %d "
             "(--seconds %.4g)",
             (long long)o->n_rounds, o->design->is_paired ? "pair(s)" : "set(s)", LEAST_PAIRS, LEAST_PAIRS * round_s);
    note(o, text);
}

/* How late ranks come: a time, or 2x. */
static int resolve_amount(struct parsing *p) {
    struct nd_start_options *s = &p->o->start;
    if (s->arrival->needs_trace != (s->arrival_trace != NULL)) {
        nl_error(s->arrival_trace ? "--arrival-trace: needs --arrival trace" : "--arrival: trace needs --arrival-trace FILE");
        return -1;
    }
    if (!p->amount) return 0;
    char *end;
    double factor = strtod(p->amount, &end);
    if (end > p->amount && strcmp(end, "x") == 0 && factor > 0 && factor <= 1e6) {
        s->arrival_factor = factor;
        return 0;
    }
    if (nl_parse_duration(p->amount, &s->arrival_ns) == 0) return 0;
    nl_error("--arrival-amount: '%s' is not a time or a multiple of the operation's (try 50us, 2x)", p->amount);
    return -1;
}

/* What a self-test is unless told otherwise. */
static void resolve_self_test(struct parsing *p) {
    struct nd_options *o = p->o;
    if (!o->self_test) return;
    if (!p->operations) p->operations = "waitpattern-up,waitpattern-null,empty";
    if (!p->levels) p->levels = "none";
    if (!p->design_given) o->design = nd_design_find("single");
    if (!p->start_given) o->start.mode = nd_start_mode_find("round");
    if (o->measure_ns == 0) o->measure_ns = INT64_C(3000000000);
}

/* Whether an option was given that would be without effect; says which, and what it needs. */
__attribute__((format(printf, 4, 0))) static int is_useless(const struct parsing *p, enum need need, int is_met, const char *problem,
                                                            const char *arg) {
    if (is_met || !p->needing[need]) return 0;
    nl_error(problem, p->needing[need], arg);
    return 1;
}

static int resolve_starts(struct parsing *p) {
    struct nd_options *o = p->o;
    struct nd_start_options *s = &o->start;
    if (is_useless(p, NEEDS_OPERATIONS, !o->app, "--%s: with --app the program's own calls are timed, as they come%s", "") ||
        is_useless(p, NEEDS_PROGRAM, o->app != NULL, "--%s: needs --app%s", ""))
        return -1;
    if (o->sync_only) {
        if (!p->start_given) s->mode = nd_start_mode_find("round");
        p->levels = "none";
        o->design = nd_design_find("single");
    }
    const struct nd_start_mode *mode = s->mode;
    if (!mode->is_synchronised) {
        if (o->check == ND_CHECK_EVERY) p->needing[NEEDS_STARTS] = "check every";
        if (o->op.buffer.use == ND_BUFFER_FLUSH) p->needing[NEEDS_STARTS] = "buffer flush";
        if (o->sync_only) p->needing[NEEDS_STARTS] = "sync-only";
        return is_useless(p, NEEDS_STARTS, 0, "--%s: needs synchronised starts (try --start round)", "") ? -1 : 0;
    }
    if (is_useless(p, NEEDS_SCHEDULE, mode->has_schedule, "--%s: start mode %s has no use for it (try --start window)", mode->name) ||
        is_useless(p, NEEDS_STAGES, mode->has_stages, "--%s: start mode %s has no use for it (try --start window)", mode->name) ||
        is_useless(p, NEEDS_PATIENCE, s->sync.method && !s->sync.method->has_drift, "--%s: is for offsets only (try --sync linear)%s",
                   "") ||
        is_useless(p, NEEDS_MEDIAN, s->stop_rule == ND_STOP_MEDIAN, "--%s: is for --stop-rule median%s", "") ||
        is_useless(p, NEEDS_AMOUNT, s->arrival != nd_arrivals[0] && !s->arrival->needs_trace,
                   "--%s: arrival %s has no use for it (try --arrival late-one)", s->arrival->name))
        return -1;
    if (s->stop_rule != ND_STOP_NONE && !o->design->single_loop) {
        nl_error("--stop-rule: design %s has a fixed length (use --design single)", o->design->name);
        return -1;
    }
    return resolve_amount(p);
}

/* One arm alone makes no comparison within the launch, so only the design that leaves it to several launches has it. A launch without
 * the treatment takes its options all the same: the launches of a set may then share their command line. */
static int resolve_which_arms(struct nd_options *o) {
    if (o->which_arms == ND_ARMS_BOTH) return 0;
    if (!o->design->single_loop) {
        nl_error("--arms: design %s compares off with on within a launch (use --design single)", o->design->name);
        return -1;
    }
    if (o->which_arms == ND_ARMS_OFF) o->n_arms = o->n_doses = o->n_levels = 0;
    if (o->which_arms == ND_ARMS_OFF || o->n_arms > 0) return 0;
    nl_error("--arms: on needs a treatment (try --levels 1)");
    return -1;
}

/* A treatment that is not ours: one on arm without level, or none. It cannot be switched, so a launch has one arm. */
static int resolve_external(struct parsing *p) {
    struct nd_options *o = p->o;
    if (is_useless(p, NEEDS_GENERATOR, 0, "--%s: with --external %s no generator is started, so it would be without effect", o->external))
        return -1;
    if (!o->design->single_loop) {
        nl_error("--external: design %s switches the treatment within a launch, and this one comes from outside (use --design single)",
                 o->design->name);
        return -1;
    }
    if (o->which_arms == ND_ARMS_BOTH) {
        nl_error("--external: say whether '%s' is there in this launch: --arms on, or --arms off", o->external);
        return -1;
    }
    if (o->which_arms == ND_ARMS_ON) add_arm_without_level(o, o->external);
    return 0;
}

/* The agent's arm, once its name is known. */
static int resolve_agent(struct parsing *p) {
    struct nd_options *o = p->o;
    struct nd_agent_options *a = &o->agent;
    if (!nd_agent_is_given(a)) {
        if (a->interval_ns && !o->external) p->needing[NEEDS_AGENT] = "agent-interval";
        return is_useless(p, NEEDS_AGENT, 0, "--%s: needs an agent (try --agent-cmd or --agent-pid)%s", "") ? -1 : 0;
    }
    if (o->external) {
        nl_error("--%s: with --external %s the treatment comes from outside, and this launch has no other", a->way, o->external);
        return -1;
    }
    if (is_useless(p, NEEDS_GENERATOR, o->n_levels > 0 || p->levels,
                   "--%s: with an agent there is no generator unless levels are asked for (see --levels)%s", ""))
        return -1;
    int is_frozen = strcmp(a->way, "agent-cmd") != 0;
    for (int i = 0; i < a->n_words; i++) is_frozen |= strcmp(a->words[i], "--freeze") == 0;
    if (o->design->has_stretches && !is_frozen && nd_agent_take(a, "freeze", NULL)) return -1;
    if (nd_agent_complete(a, o->design->has_stretches ? o->stretch_ns : o->half_ns)) {
        nl_error("--%s: too many options of the agent", a->way);
        return -1;
    }
    for (int i = 0; i < o->n_kinds && o->n_levels > 0; i++) {
        if (strcmp(o->kinds[i], a->name) != 0) continue;
        nl_error("--agent-name: '%s' is the name of a load of this launch, too; give the agent another one", a->name);
        return -1;
    }
    if (o->n_arms + 2 > NL_AGENT_MAX_ARMS) {
        nl_error("--levels: more than %d arms beside an agent; ask for fewer", NL_AGENT_MAX_ARMS - 2);
        return -1;
    }
    add_arm_without_level(o, a->name);
    return 0;
}

static int resolve_treatment(struct parsing *p) {
    if (p->o->external) return resolve_agent(p) ? -1 : resolve_external(p);
    return apply_preset(p) || resolve_levels(p) || resolve_arms(p) || resolve_agent(p) || resolve_which_arms(p->o) ? -1 : 0;
}

/* The looks, once the rounds are known. */
static int resolve_looks(struct parsing *p) {
    struct nd_options *o = p->o;
    struct nd_sequential_options *s = &o->sequential;
    int n_effects = 0;
    if (!s->stops) return is_useless(p, NEEDS_LOOKS, 0, "--%s: needs --stop-when decided%s", "") ? -1 : 0;
    if (o->design->single_loop) {
        nl_error("--stop-when: design %s has one loop per arm and nothing to look at (use lockin or blocks)", o->design->name);
        return -1;
    }
    for (int i = 0; i < o->n_arms; i++) n_effects += !nd_arm_is_placebo(&o->arms[i]);
    if (n_effects == 0) {
        nl_error("--stop-when: without a level above 0 there is nothing to decide (see --levels)");
        return -1;
    }
    if (o->n_rounds < s->n_looks) {
        nl_error("--looks: %d looks do not fit into %lld rounds (raise --seconds, or ask for fewer)", s->n_looks, (long long)o->n_rounds);
        return -1;
    }
    nd_look_rounds(o->n_rounds, s->n_looks, s->rounds);
    return 0;
}

/* How long halves are before any period has its say. */
static void choose_half(struct parsing *p) {
    struct nd_options *o = p->o;
    int has_agent = nd_agent_is_given(&o->agent);
    if (o->design->has_stretches) {
        o->half_ns = p->half_ns ? p->half_ns : QUICK_NS;
        o->stretch_ns = p->block_ns ? p->block_ns : 1000000000;
    } else if (!o->design->is_paired)
        o->half_ns = p->block_ns ? p->block_ns : 1000000000;
    else if (p->half_ns || !has_agent)
        o->half_ns = p->half_ns ? p->half_ns : o->app ? 100000000 : 10000000;
    else {
        o->half_ns = nd_agent_half_ns(&o->agent);
        if (o->agent.period_ns == 0)
            note(o, "--agent-period: not given, so halves last 1 s and may hold different numbers of the agent's samples");
    }
}

/* Stretches are of an agent that can be frozen for some milliseconds. */
static int check_quick(const struct parsing *p) {
    const struct nd_options *o = p->o;
    if (!o->design->has_stretches) return 0;
    if (!nd_agent_is_given(&o->agent) || strcmp(o->agent.way, "agent-on") == 0 || strcmp(o->agent.way, "scrape") == 0) {
        nl_error("--design: quick is for an agent that is frozen (give --agent-cmd, --agent-pid, --agent-cgroup or --agent-unit)");
        return -1;
    }
    const char *with = o->app ? "--app" : p->levels ? "--levels" : o->start.mode->is_synchronised ? "--start"
                                                                                    : o->sequential.stops ? "--stop-when" : NULL;
    if (!with) return 0;
    nl_error("--design: quick and %s cannot be combined (use lockin or blocks)", with);
    return -1;
}

static int resolve(struct parsing *p) {
    struct nd_options *o = p->o;
    resolve_self_test(p);
    if (resolve_starts(p)) return -1;
    int seconds_given = o->measure_ns != 0;
    if (!seconds_given) o->measure_ns = INT64_C(60000000000);
    if (p->half_ns && !o->design->is_paired) {
        nl_error("--half-period: design %s has none (use --block or --seconds)", o->design->name);
        return -1;
    }
    if (p->block_ns && ((o->design->is_paired && !o->design->has_stretches) || o->design->single_loop)) {
        nl_error("--block: design %s has none (use --half-period or --seconds)", o->design->name);
        return -1;
    }
    if (o->count && o->design->fixed_dose) {
        nl_error("--count: design %s takes its number from --half-period, which must hold whole noise periods", o->design->name);
        return -1;
    }
    choose_half(p);
    if (resolve_configs(p) || check_quick(p) || resolve_treatment(p)) return -1;
    if (o->design->single_loop && plan_rounds(o, seconds_given)) return -1;
    if (hold_agent_periods(o) || check_stretch(o) || (nd_options_has_generator(o) && check_period(o))) return -1;
    if (!o->design->single_loop && plan_rounds(o, seconds_given)) return -1;
    if (resolve_looks(p)) return -1;
    note_few_pairs(o);
    if (!o->seed_given) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        o->seed = (uint64_t)t.tv_sec * 1000003u + (uint64_t)t.tv_nsec;
    }
    if (!o->out) o->out = "noiselab-campaign";
    return 0;
}

int nd_options_hold_beats(struct nd_options *o, int64_t least_ns, int speaks) {
    char half[32], longer[32];
    if (least_ns <= o->half_ns) return 0;
    nl_format_duration(o->half_ns, half, sizeof half);
    int64_t to_ns = o->agent.period_ns ? whole_periods(least_ns, o->agent.period_ns) : least_ns;
    if (nd_options_has_generator(o)) to_ns = whole_periods(to_ns, o->period_ns);
    nl_format_duration(to_ns, longer, sizeof longer);
    o->half_ns = to_ns;
    if (speaks) nl_warn("half lengthened from %s to %s: it must hold some beats of the program", half, longer);
    return plan_rounds(o, 1);
}

/* What completion, help and suggestions know. */
static void print_tables(void) {
    nl_tables_options(option_rows);
    NL_TABLES_ROWS("operation", nd_ops);
    NL_TABLES_ROWS("design", nd_designs);
    NL_TABLES_ROWS("start", nd_start_modes);
    NL_TABLES_ROWS("clock", nd_clock_kinds);
    NL_TABLES_ROWS("sync", nd_sync_methods);
    NL_TABLES_ROWS("arrival", nd_arrivals);
    for (int i = 0; nd_datatypes[i]; i++) nl_tables_row("datatype", nd_datatypes[i]->name, NULL, "type of the elements of an operation");
    for (int i = 0; nd_reductions[i]; i++)
        nl_tables_row("reduction", nd_reductions[i]->name, NULL, "reduction of the operations that reduce");
    for (int i = 0; nd_channels[i].name; i++) nl_tables_row("channel", nd_channels[i].name, NULL, nd_channels[i].help);
}

int nd_options_parse(int argc, char **argv, int speaks, struct nd_options *o) {
    if (nl_tables_asked(argc, argv)) {
        if (speaks) print_tables();
        return 0;
    }
    struct parsing p = {.o = o, .speaks = speaks, .next = 1};
    *o = (struct nd_options){.design = nd_designs[0],
                             .warmup_ns = 500000000,
                             .argc = argc,
                             .argv = argv,
                             .sequential = {.alpha = 0.01, .n_looks = 5, .spending = &nd_spendings[0]},
                             .noise_nodes = {.option = "--noise-nodes"},
                             .agent = {.settle_ns = -1, .timeout_ns = INT64_C(30000000000), .nodes = {.option = "--agent-nodes"}},
                             .start = {.mode = nd_start_modes[0],
                                       .arrival = nd_arrivals[0],
                                       .arrival_factor = 1,
                                       .gamma = 1.1,
                                       .eps = 0.25,
                                       .n_stage_starts = 8,
                                       .n_first_starts = 4,
                                       .precision_percent = 1,
                                       .sync = {.patience = 100},
                                       .sync_every_ns = INT64_C(10000000000)}};
    /* ARGP_NO_ERRS: one line of ours instead of getopt's message and argp's usage hint, from every rank */
    int rc = argp_parse(&parser, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &p);
    if (p.listed) return 0;
    if (rc && !p.failed) nl_options_explain(option_rows, p.next < argc ? argv[p.next] : argv[argc - 1]);
    if (rc || p.failed) return -1;
    if (o->is_json && !o->dry_run) {
        nl_error("--json: belongs to --dry-run; results as JSON come from noiselab analyze --json");
        return -1;
    }
    if (resolve(&p)) return -1;
    if (speaks)
        for (int i = 0; i < o->n_notes; i++) nl_warn("%s", o->notes[i]);
    return 1;
}

const char *nd_place_name(const struct nd_options *o, int i, char buf[ND_PLACE_BYTES]) {
    snprintf(buf, ND_PLACE_BYTES, "%s", o->places[i]);
    for (char *p = buf; *p; p++)
        if (*p == ',') *p = '+';
    return buf;
}

void nd_arm_tell(const struct nd_options *o, int arm, struct nd_arm_words *words) {
    *words = (struct nd_arm_words){.kind = "", .pattern = "", .phase = "", .has_level = 1};
    if (arm == ND_OFF) return;
    const struct nd_arm *a = &o->arms[arm];
    if (a->name) {
        words->kind = a->name;
        words->has_level = 0;
        return;
    }
    words->kind = o->kinds[a->kind];
    words->pattern = o->patterns[a->pattern];
    words->phase = nd_phase_names[o->phases[a->phase]];
    words->level_percent = a->level_percent;
    nd_place_name(o, a->place, words->placement);
}

int nd_options_has_generator(const struct nd_options *o) { return o->n_doses > 0; }

int nd_options_has_agent(const struct nd_options *o) { return o->agent.name != NULL; }

int64_t nd_options_n_halves(const struct nd_options *o) { return o->n_rounds * nd_options_round_steps(o); }

int64_t nd_options_long_ns(const struct nd_options *o) { return o->design->has_stretches ? LONG_HALVES * o->half_ns : 0; }

int64_t nd_options_settle_ns(const struct nd_options *o, int64_t planned_ns) {
    if (!o->design->has_stretches || planned_ns == o->stretch_ns || o->agent.settle_ns < QUICK_SETTLE_NS) return o->agent.settle_ns;
    return QUICK_SETTLE_NS;
}

struct nd_schedule nd_options_schedule(const struct nd_options *o) {
    return (struct nd_schedule){.design = o->design, .n_configs = o->n_configs, .n_levels = o->n_arms, .seed = o->seed,
                                .n_rounds = o->n_rounds, .lacks_off = o->which_arms == ND_ARMS_ON, .half_ns = o->half_ns,
                                .long_ns = nd_options_long_ns(o), .stretch_ns = o->stretch_ns};
}

int64_t nd_options_round_ns(const struct nd_options *o) {
    const struct nd_schedule s = nd_options_schedule(o);
    int64_t round_ns = nd_schedule_round_ns(&s);
    if (!o->design->has_stretches) return round_ns;
    /* each stretch has its settling, and every other half the short one */
    return round_ns + o->n_configs * (o->agent.settle_ns - QUICK_SETTLE_NS) + nd_schedule_round_steps(&s) * (QUICK_SETTLE_NS + SWITCH_NS);
}

int64_t nd_options_limit_ns(const struct nd_options *o) {
    if (o->design->has_stretches) return o->measure_ns;
    return o->count || o->design->single_loop ? 0 : nd_schedule_limit_ns(o->measure_ns, nd_options_n_halves(o));
}

int nd_options_compares_arms(const struct nd_options *o) { return o->n_arms > 0 || o->which_arms != ND_ARMS_BOTH; }

int nd_options_round_steps(const struct nd_options *o) {
    const struct nd_schedule s = nd_options_schedule(o);
    return nd_schedule_round_steps(&s);
}

int nd_options_times_operations(const struct nd_options *o) {
    if (o->per_operation_timing == ND_AUTO) return !o->design->single_loop || o->start.mode->is_synchronised;
    return o->per_operation_timing == ND_ON;
}

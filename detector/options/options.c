#include "detector/options/options.h"
#include "common/page/nl_agent.h"
#include "common/base/nl_hostlist.h"
#include "detector/program/program.h"
#include "common/base/nl_options.h"
#include "noisegen/agent/setting.h"
#include "common/sys/nl_place.h"
#include "common/base/nl_preset.h"
#include "common/base/nl_units.h"
#include "common/base/nl_words.h"
#include "common/base/version.h"
#include "detector/design/spending.h"
#include "common/base/nl_nearest.h"

#define QUICK_NS        INT64_C(25000000) /* a half of design quick */
#define QUICK_SETTLE_NS INT64_C(5000000)  /* before it */
#define SWITCH_NS       INT64_C(1000000)  /* what a switch and the marks of a half take, about */
enum { LONG_HALVES = 10 };                /* a longer half of design quick, in halves */

enum {
    LIST_BYTES = 16384,
    NAME_BYTES = 128,
    KIND_BYTES = ND_AGENT_NAME_BYTES
}; /* longest list on the command line, longest names */

/* Tags of rows: what has to be asked for, too, or an option would be without effect. */
enum need {
    NEEDS_STARTS = 1,
    NEEDS_STAGES = 2,
    NEEDS_AMOUNT = 4,
    NEEDS_MEDIAN = 8,
    NEEDS_LOOKS = 16,
    NEEDS_GENERATOR = 128,
    NEEDS_AGENT = 256,
    NEEDS_OPERATIONS = 512,
    NEEDS_PROGRAM = 1024,
    NEEDS_NODES = 2048
};

static void __attribute__((format(printf, 2, 3))) note(struct nd_options *o, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (o->n_notes < ND_MAX_NOTES) vsnprintf(o->notes[o->n_notes++], sizeof o->notes[0], format, args);
    va_end(args);
}

static const char *const nd_check_names[] = {
    [ND_CHECK_ONCE] = "once", [ND_CHECK_EVERY] = "every", [ND_CHECK_OFF] = "off", NULL};
const char *const nd_arms_names[] = {
    [ND_ARMS_BOTH] = "both", [ND_ARMS_OFF] = "off", [ND_ARMS_ON] = "on", NULL};
const char *const nd_phase_names[] = {
    [ND_PHASE_RANDOM] = "random", [ND_PHASE_ALIGNED] = "aligned", [ND_PHASE_STAGGERED] = "staggered", NULL};
static const char *const switch_names[] = {[ND_AUTO] = "auto", [ND_ON] = "on", [ND_OFF_SWITCH] = "off", NULL};
static const char *const stop_names[] = {"never", "decided", NULL};
static const char *const sync_ranks_names[] = {"nodes", "all", NULL};

/* ---- functions of rows: each returns NULL or what it would have liked ---- */

/* Words like those of nl_place_resolve: they are a CSV field, too. */
static const char *add_place(struct nl_command_line *line, const char *text) {
    struct nd_options *o = line->target;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:,";
    if (!*text || strlen(text) > 128 || strspn(text, allowed) != strlen(text))
        return "a list of places (" NL_PLACE_HELP ")";
    for (int i = 0; i < o->n_places; i++)
        if (strcmp(o->places[i], text) == 0) return "a new place: it was given before";
    if (o->n_places == ND_MAX_FACTOR) return "accepted: there are 16 places already";
    o->places[o->n_places++] = text;
    return NULL;
}

static const char *set_root(struct nl_command_line *line, const char *text) {
    struct nd_op_options *op = &((struct nd_options *)line->target)->op;
    int64_t root = 0;
    op->rotates_root = strcmp(text, "rotate") == 0;
    if (!op->rotates_root && nl_parse_int(text, 0, INT_MAX - 1, &root)) return "a rank or the word rotate";
    op->root = (int)root;
    return NULL;
}

/* How late ranks come: a time, or 2x. */
static const char *set_amount(struct nl_command_line *line, const char *text) {
    struct nd_start_options *s = &((struct nd_options *)line->target)->start;
    char *end;
    double factor = strtod(text, &end);
    if (end == text || strcmp(end, "x") != 0 || !(factor > 0 && factor <= 1e6))
        return nl_parse_duration(text, &s->arrival_ns)
                   ? "a time or a multiple of the operation's (try 50us, 2x)"
                   : NULL;
    s->arrival_factor = factor;
    return NULL;
}

static const char *set_beat(struct nl_command_line *line, const char *text) {
    struct nd_beat beat;
    ((struct nd_options *)line->target)->beat = text;
    return nd_beat_parse(text, &beat) ? "an MPI call and its size (try allreduce:8, send:64KiB, barrier)"
                                      : NULL;
}

static const char *set_noise_nodes(struct nl_command_line *line, const char *text) {
    struct nd_nodes *nodes = &((struct nd_options *)line->target)->noise_nodes;
    char reason[256];
    nodes->text = text;
    nl_hostlist_free(&nodes->hosts);
    nodes->which = strcmp(text, "all") == 0     ? ND_NODES_ALL
                   : strcmp(text, "first") == 0 ? ND_NODES_FIRST
                                                : ND_NODES_LISTED;
    if (nodes->which != ND_NODES_LISTED ||
        !nl_hostlist_read(text, ND_MAX_NODES_LISTED, &nodes->hosts, reason, sizeof reason))
        return NULL;
    return nl_error("--noise-nodes: %s", reason) ? "" : NULL;
}

/* Puts an option on the generator's command line. 0, or -1 after a message. */
static int keep_passed(struct nd_options *o, const char *option, const char *value) {
    char *kept; /* lives as long as the process */
    if (o->n_passed == ND_MAX_PASSED ||
        asprintf(&kept, "%s%s%s", option, value ? "=" : "", value ? value : "") < 0)
        return nl_error("%s: too many options of the generator", option);
    o->passed[o->n_passed++] = kept;
    return 0;
}

/* NAME or NAME=VALUE of the generator's. What this program decides itself is not to be handed on; nor a
 * beginning of its name. */
static int pass_one(struct nl_command_line *line, const char *word, const char *value) {
    struct nd_options *o = line->target;
    size_t length = strcspn(word, "=");
    int is_option = strncmp(word, "--", 2) == 0 && length > 2,
        is_own = strncmp("--control-fd", word, length) == 0;
    for (int i = 0; i < line->n_rows && is_option; i++)
        is_own |=
            line->rows[i].name && !line->rows[i].of && strncmp(line->rows[i].name, word + 2, length - 2) == 0;
    if (!is_option)
        nl_error("--gen: '%s' is not an option of noiselab-gen (see noiselab-gen --help)", word);
    else if (is_own)
        nl_error("--gen: %.*s is decided here, not handed on (see --help)", (int)length, word);
    else
        return keep_passed(o, word, value);
    return -1;
}

static const char *pass(struct nl_command_line *line, const char *text) {
    char **words, reason[128];
    int failed = 0;
    if (nl_words_split(text, &words, reason, sizeof reason) < 0)
        return nl_error("--gen: '%s': %s", text, reason) ? "" : NULL;
    for (char **word = words; *word && !failed; word++) {
        int has_value = word[1] && strncmp(word[1], "--", 2) != 0 && !strchr(*word, '=');
        failed = pass_one(line, *word, has_value ? word[1] : NULL);
        word += has_value;
    }
    free(words);
    return failed ? "" : NULL;
}

static const char *set_agent(struct nl_command_line *line, const char *text) {
    return nd_agent_take(&((struct nd_options *)line->target)->agent, text) ? "" : NULL;
}

/* ---- lists ---- */

/* The figures that each half yields. */
struct channel {
    const char *name, *help;
};
#define CHANNEL(name, help) &(const struct channel){#name, help},
static const struct channel *const channels[] = {
#include "common/contract/channels.h"
    NULL,
};
#undef CHANNEL

/* Tables that end with NULL, whose rows begin with name and help; NULL: the MPI library says them. */
static const struct {
    const char *name;
    int width;
    const void *rows;
} lists[] = {{"operations", 25, nd_ops},      {"algorithms", 0, NULL},
             {"designs", 10, nd_designs},     {"channels", 10, channels},
             {"starts", 10, nd_start_modes},  {"clocks", 13, nd_clock_kinds},
             {"syncs", 10, nd_sync_methods},  {"arrivals", 10, nd_arrivals},
             {"datatypes", 10, nd_datatypes}, {"reductions", 10, nd_reductions}};

static const char *list(struct nl_command_line *line, const char *text) {
    char reason[256];
    int *has_failed = line->context, is_first = !line->is_done;
    struct nl_nearest n;
    nl_nearest_begin(&n, text);
    line->is_done = 1;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        nl_nearest_offer(&n, lists[i].name);
        if (strcmp(text, lists[i].name) != 0) continue;
        if (line->is_silent || !is_first) return NULL;
        const char *const *const *row = lists[i].rows;
        for (; row && *row; row++)
            printf("%-*s %s\n", lists[i].width, (*row)[0], (*row)[1]);
        if (!lists[i].rows && nd_algorithms_print(stdout, reason, sizeof reason)) {
            nl_error("--list algorithms: %s", reason);
            *has_failed = 1;
        }
        return NULL;
    }
    nl_nearest_tell(&n, line->meant, sizeof line->meant);
    return "operations, algorithms, designs, channels, starts, clocks, syncs, arrivals, datatypes or "
           "reductions";
}

/* ---- the rows ---- */

#define AT(type, member) NL_AT(type, struct nd_options, member)
/* the same, and launch.json has it under the member's name */
#define KEPT(type, member) .key = #member, AT(type, member)

static const struct nl_option rows[] = {
    {.help = "What is timed:", .group = 1},
    {"op", "LIST",
     "operations, comma-separated (see --list operations; default barrier,allreduce,alltoall); OP=ALGORITHM "
     "runs one by an "
     "algorithm of the MPI library's (see --list algorithms; OP=default is its own choice); OP:SIZE and "
     "OP=ALGORITHM:SIZE have that size "
     "in place of those of --bytes",
     1, AT(TEXT, given.operations), .wanted = "a list of operations (see --list operations)",
     .tags = NEEDS_OPERATIONS},
    {"bytes", "LIST", "message sizes, such as 8,2KiB,1MiB (default 2KiB)", 1, AT(TEXT, given.sizes),
     .wanted = "a list of sizes (try 8,2KiB)", .tags = NEEDS_OPERATIONS},
    {"app", "DIR",
     "in place of operations: the program whose profile is being written in DIR (see noiselab run agent "
     "--app)",
     1, AT(TEXT, app), .wanted = "the folder of a program's profile"},
    {"beat", "OP[:SIZE]",
     "with --app: the MPI call whose repetition is timed (default: the one that repeats most regularly)", 1,
     .set = set_beat, .tags = NEEDS_PROGRAM},
    {"design", "NAME", "order of the arms (see --list designs; default lockin)", 1, AT(ROW, design),
     .table = nd_designs, .wanted = "a design (see --list designs)"},
    {"arms", NULL, "single: arms that this launch has; off: the treatment is left out (default both)", 1,
     AT(WORD, which_arms), .table = nd_arms_names},
    {"set", "N", "number of the set of launches, one for each arm, that this one belongs to; recorded", 1,
     KEPT(INT, set), 1, INT_MAX, .of = "arms"},
    {"external", "NAME",
     "name of an external treatment that applies to the whole launch (on) or not (off); no generator is "
     "started",
     1, KEPT(NAME, external), .most = KIND_BYTES,
     .wanted = "a plain name (letters, digits, . _ -; at most 32, not starting with a dot)", .of = "arms"},
    {"interval", "TIME", "the interval that this treatment was set to; recorded", 1,
     AT(DURATION, agent.interval_ns), .of = "arms"},
    {"seconds", "TIME",
     "total measuring time of all operations and levels (default 60s); on a busy machine it measures fewer "
     "rounds",
     1, AT(SECONDS, measure_ns)},
    {"half-period", "TIME", "lockin: length of a half (default 10ms); quick: of a short one (default 25ms)",
     1, AT(DURATION, given.half_ns)},
    {"block", "TIME", "blocks: length of a block (default 1s); quick: of an undisturbed segment (default 1s)",
     1, AT(DURATION, given.block_ns)},
    {"count", "N", "blocks, single: operations in each block or loop, instead of the number the pilot finds",
     1, KEPT(WHOLE, count), 1, 1e15, .wanted = "a positive whole number", .tags = NEEDS_OPERATIONS},
    {"warmup", "TIME", "run the schedule this long before the first row is taken (default 500ms)", 1,
     KEPT(DURATION_OR_ZERO, warmup_ns)},
    {"wait-quiet", "TIME",
     "before measuring, wait up to this long until no rank's CPU is more than 2 % busy or stolen (default: "
     "report "
     "what is running, and start)",
     1, KEPT(DURATION, wait_quiet_ns)},
    {"per-operation-timing", NULL, "time every operation: histogram, detour, base (auto: off for single)", 1,
     AT(WORD, per_operation_timing), .table = switch_names, .tags = NEEDS_OPERATIONS},
    {"detour-threshold", "TIME",
     "operations longer than this are detours (default: median + max(median, 1us))", 1,
     KEPT(DURATION, detour_threshold_ns), .of = "per-operation-timing", .tags = NEEDS_OPERATIONS},
    {"preempted-by", NULL,
     "source of the preempted time: the ranks' wait in the run queue, or wall time minus CPU time, which "
     "includes a hypervisor's steal (default auto: the run queue, if all nodes report it)",
     1, KEPT(WORD, preempted_by), .table = nl_preempted_names},
    {"datatype", "NAME",
     "type of the operations' elements (see --list datatypes; default byte, for reductions double)", 1,
     AT(ROW, op.datatype), .table = nd_datatypes, .wanted = "a data type (see --list datatypes)",
     .tags = NEEDS_OPERATIONS},
    {"reduce", "NAME", "reduction of the operations that reduce (see --list reductions; default sum)", 1,
     AT(ROW, op.reduction), .table = nd_reductions, .wanted = "a reduction (see --list reductions)",
     .tags = NEEDS_OPERATIONS},
    {"root", "RANK|rotate", "root of rooted operations; rotate: each operation has the next rank (default 0)",
     1, .set = set_root, .tags = NEEDS_OPERATIONS},
    {"buffer", NULL, "cache state of the buffers: warm, other buffers every time, flushed (default reuse)", 1,
     AT(WORD, op.buffer.use), .table = nd_buffer_use_names, .tags = NEEDS_OPERATIONS},
    {"check", NULL,
     "verify the results of operations once, after every operation (not with --starts loop), or never "
     "(default once)",
     1, KEPT(WORD, check), .table = nd_check_names, .tags = NEEDS_OPERATIONS},
    {.help = "Synchronised starts:", .group = 6},
    {"starts", "METHOD",
     "how operations are started (see --list starts; default loop), such as 'window:gamma=1.2,eps=10%'", 6,
     AT(ROW, start.mode), .table = nd_start_modes, .wanted = "a way to start (see --list starts)",
     .tags = NEEDS_OPERATIONS},
    {"clock", "NAME",
     "the clock of the starts (see --list clocks; default tsc where it may be trusted, else monotonic-raw)",
     6, AT(ROW, start.clock), .table = nd_clock_kinds, .wanted = "a clock (see --list clocks)",
     .of = "starts", .tags = NEEDS_STARTS},
    {"sync-ranks", NULL, "compare one clock for each node that has one, or every rank's (default nodes)", 6,
     AT(WORD, start.sync.every_rank), .table = sync_ranks_names, .of = "starts", .tags = NEEDS_STARTS},
    {"sync", "NAME", "how clocks are compared (see --list syncs; default tree)", 6,
     AT(ROW, start.sync.method), .table = nd_sync_methods,
     .wanted = "a way to compare clocks (see --list syncs)", .of = "starts", .tags = NEEDS_STARTS},
    {"sync-every", "TIME",
     "compare clocks again after this time, or earlier when they drift apart; 0: never (default 10s)", 6,
     AT(DURATION_OR_ZERO, start.sync_every_ns), .of = "starts", .tags = NEEDS_STARTS},
    {"slot", "TIME",
     "window: distance of starts, round: from broadcast to deadline (default: found, and kept for all arms)",
     6, AT(DURATION, start.slot_ns), .of = "starts", .tags = NEEDS_STARTS},
    {"gamma", "FACTOR", "factor by which a slot grows if it was too short, 1.01 to 2 (default 1.1)", 6,
     AT(NUMBER, start.gamma), 1.01, 2, .of = "starts", .tags = NEEDS_STARTS},
    {"eps", "PERCENT", "share of late starts in a stage above which it grows (default 25; round: at most 1)",
     6, AT(SHARE, start.eps), 0.1, 100, .of = "starts", .tags = NEEDS_STARTS},
    {"stage", "N", "window: starts in a stage (default 8)", 6, AT(INT, start.n_stage_starts), 1, ND_BATCH,
     .of = "starts", .tags = NEEDS_STAGES},
    {"stage-0", "N", "operations of the stage that estimates the first slot (default 4)", 6,
     AT(INT, start.n_first_starts), 1, ND_BATCH, .of = "starts", .tags = NEEDS_STARTS},
    {"late-bound", "TIME",
     "a start is late if a rank begins more than this after its time (default: 5 residuals of the clocks, at "
     "least 1us)",
     6, AT(DURATION, start.late_bound_ns), .of = "starts", .tags = NEEDS_STARTS},
    {"fake-clock", "SPEC",
     "for tests: error of each rank's clock, OFFSET[,DRIFTppm[,JUMP@AFTER]] times the rank", 6,
     AT(TEXT, start.fake_clock), .of = "starts", .wanted = "an error of a clock (try 1s,50ppm)",
     .tags = NEEDS_STARTS},
    {"work", "TIME", "equal work on all ranks between start and operation: shows natural imbalance", 6,
     AT(DURATION, start.work_ns), .of = "starts", .tags = NEEDS_STARTS},
    {"stop-rule", NULL,
     "design single: end a loop early: over 100 starts or 30 on time; relative standard error 5 % and 10 on "
     "time; by "
     "the median (default none)",
     6, AT(WORD, start.stop_rule), .table = nd_stop_rule_names, .of = "starts", .tags = NEEDS_STARTS},
    {"precision", "PERCENT", "rule median: half-width of its 99 % interval (default 1)", 6,
     AT(PERCENT, start.precision_percent), 0.1, 50, .of = "starts", .tags = NEEDS_STARTS | NEEDS_MEDIAN},
    {"raw", "FILE", "keep every start of every rank; a name without / is in the launch's folder", 6,
     AT(TEXT, start.raw), .of = "starts", .wanted = "a file name", .tags = NEEDS_STARTS},
    {"arrival", "NAME",
     "ranks that arrive late on purpose (see --list arrivals; default none); with --starts loop an arm of "
     "its own beside the levels",
     6, AT(ROW, start.arrival), .table = nd_arrivals,
     .wanted = "a pattern of late ranks (see --list arrivals)", .tags = NEEDS_OPERATIONS},
    {"amount", "TIME|FACTORx",
     "how late: a time, or times of the operation's own, such as 2x (default 1x; with --starts loop a time)",
     6, .of = "arrival", .set = set_amount, .tags = NEEDS_AMOUNT},
    {"file", "FILE", "trace: lines of rank and delays in ns", 6, AT(TEXT, start.arrival_trace),
     .of = "arrival", .wanted = "a file"},
    {.help = "Ending early:", .group = 7},
    {"stop-when", NULL,
     "lockin, blocks: end at a planned look once every slowdown is shown to be above or below the margin "
     "(default "
     "never)",
     7, AT(WORD, sequential.stops), .table = stop_names},
    {"looks", "N", "planned looks, equally spaced over the rounds, at most 20 (default 5)", 7,
     AT(INT, sequential.n_looks), 1, ND_MAX_LOOKS, .of = "stop-when", .tags = NEEDS_LOOKS},
    {"spending", "NAME",
     "alpha spending over the looks: obrien-fleming (little at first), pocock (evenly) (default "
     "obrien-fleming)",
     7, AT(ROW, sequential.spending), .table = nd_spendings, .wanted = "obrien-fleming or pocock",
     .of = "stop-when", .tags = NEEDS_LOOKS},
    {"alpha", "P", "one-sided error over all looks, for each cell, 0.000001 to 0.2 (default 0.01)", 7,
     AT(NUMBER, sequential.alpha), 1e-6, 0.2, .of = "stop-when", .tags = NEEDS_LOOKS},
    {"margin", "PERCENT", "margin of slowdown, 0 to 1000; with 0 only \"above\" can be shown (default 0)", 7,
     AT(PERCENT, sequential.margin_percent), 0, 1000, .tags = NEEDS_LOOKS},
    {.help = "Treatment:", .group = 2},
    {"levels", "LIST",
     "noise levels in percent of one CPU, 0 is the placebo (default 0,0.1,0.3,1; single: none); none: no "
     "generator",
     2, AT(TEXT, given.levels), .wanted = "a list of levels (try 0,0.1,1)", .tags = NEEDS_GENERATOR},
    {"period", "TIME", "period of the noise (default: the half-period, at most 10ms)", 2,
     AT(DURATION, period_ns), .tags = NEEDS_GENERATOR},
    {"kind", "LIST[:NAME=VALUE,...]",
     "kinds of load, each crossed with each level (see noiselab-gen --list kinds, and its keys; default "
     "spin)",
     2, AT(TEXT, given.kinds), .wanted = "a list of kinds", .tags = NEEDS_GENERATOR},
    {"pattern", "LIST[:NAME=VALUE,...]",
     "patterns of the bursts, crossed likewise (see noiselab-gen --list patterns; default periodic)", 2,
     AT(TEXT, given.patterns), .wanted = "a list of patterns", .tags = NEEDS_GENERATOR},
    {"on", "PLACES",
     "CPUs that get the noise on each node, all at once: " NL_PLACE_HELP
     "; given again: further places, crossed likewise "
     "(default last: the CPU of the node's last rank)",
     2, .set = add_place, .tags = NEEDS_GENERATOR},
    {"phase", "LIST",
     "phase of the noise across nodes: random, aligned, staggered; crossed likewise (default random)", 2,
     AT(TEXT, given.phases), .wanted = "a list of phases", .tags = NEEDS_GENERATOR},
    {"preset", "NAME",
     "kind, pattern and their options from a file (see noiselab-gen --list presets); options given here "
     "override it",
     2, KEPT(TEXT, preset), .wanted = "the name of a preset", .tags = NEEDS_GENERATOR},
    {"noise-nodes", "all|first|LIST",
     "nodes that get a generator, or whose agent is switched: all, that of rank 0, or names as Slurm "
     "lists them: n[1-4,07],m1 (default all)",
     2, .set = set_noise_nodes, .tags = NEEDS_NODES},
    {"gen", "WORDS",
     "further options of noiselab-gen, as its command line has them (see noiselab-gen --help): --gen "
     "'--replay FILE "
     "--carry 0'",
     2, .set = pass, .tags = NEEDS_GENERATOR},
    {.help = "An agent as treatment, switched from half to half:", .group = 8},
    {"agent", "WORDS",
     "which agent, and how it is switched, as the command line of noiselab-agent has it (see noiselab-agent "
     "--help): "
     "--agent '--agent-pid 1234'",
     8, .set = set_agent, .tags = NEEDS_AGENT},
    {"agent-period", "TIME",
     "its sampling period: each half holds whole periods (default half: at least 100ms; 1s when no period is "
     "given)",
     8, AT(DURATION, agent.period_ns), .tags = NEEDS_AGENT},
    {"interval", "TIME", "the sampling interval it was set to; recorded", 8, AT(DURATION, agent.interval_ns),
     .of = "agent-period"},
    {"agent-settle", "TIME",
     "untimed operations after each switch (default: half of its period, at least 5ms)", 8,
     AT(DURATION_OR_ZERO, agent.settle_ns), .tags = NEEDS_AGENT},
    {.help = "Run:", .group = 4},
    {"seed", "N", "seed of the random order (default: from the clock, recorded)", 4, AT(SEED, seed)},
    {"out", "DIR", "campaign directory; the launch writes a folder in it (default noiselab-campaign)", 4,
     KEPT(TEXT, out), .wanted = "a directory"},
    {"launch-id", "ID", "name of the launch's folder (default: time, host and process number)", 4,
     AT(NAME, launch_id), .most = NAME_BYTES},
    {"oversubscribe", NULL, "allow more ranks than CPUs on a node", 4, KEPT(FLAG, oversubscribe)},
    {"progress", NULL, NL_PROGRESS_HELP, 4, AT(WORD, progress), .table = nl_progress_names},
    {"sync-only", NULL, "compare the ranks' clocks, print the table, and end", 4, AT(FLAG, sync_only),
     .tags = NEEDS_OPERATIONS},
    {"dry-run", NULL, "check the options, print what would be run, and end", 4, AT(FLAG, dry_run)},
    {"json", NULL, "with --dry-run: print it as JSON", 4, AT(FLAG, is_json)},
    {.help = "Information:", .group = 5},
    {"help", NULL, "this text", 5, .type = NL_HELP},
    {"version", NULL, "the version and the commit it was built from", 5, .type = NL_VERSION},
    {"list", "WHAT",
     "operations (that can be timed), algorithms (that this MPI library lets one choose), designs, channels "
     "(figures of "
     "each half), starts, clocks, syncs, arrivals, datatypes, reductions",
     5, .set = list},
};

enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)N_ROWS <= (int)NL_OPTIONS_MAX, "the parser has a place for every row");

const struct nl_option *nd_options_row(int i) { return i < N_ROWS ? &rows[i] : NULL; }

/* The parts of a list, or of `usual`, from a copy that lives as long as the process: argv is recorded. Their
 * number, -1 after a message. */
static int split(const char *option, const char *text, const char *usual, const char **parts, int max) {
    if (!text) text = usual;
    char *copy = (char *)nl_options_keep(text, strlen(text));
    int n = copy ? nl_split(copy, parts, max) : -1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(parts[i], parts[j]) == 0)
                return nl_error("%s: '%s' stands twice in the list", option, parts[i]);
    return n < 0 ? nl_error("%s: the list is empty, has an empty part or more than %d (try %s)", option, max,
                            usual)
                 : n;
}

/* An operation of the list, the algorithm it is to have ("": none) and its own size (-1: those of --bytes).
 */
struct chosen {
    const struct nd_op *op;
    char algorithm[ND_ALGORITHM_BYTES];
    int64_t bytes;
};

static int resolve_size(const char *option, const char *text, int64_t *bytes) {
    if (nl_parse_size(text, bytes)) return nl_error("%s: '%s' is not %s", option, text, NL_SIZE_HELP);
    if (*bytes >= 1 && *bytes <= INT_MAX) return 0;
    return nl_error("%s: '%s' is outside 1 to %d bytes", option, text, INT_MAX);
}

/* `word` is OP, OP=ALGORITHM, OP:SIZE or OP=ALGORITHM:SIZE. Which algorithms there are is known to the MPI
 * library, once it runs. */
static int resolve_operation(const char *word, struct chosen *chosen) {
    char op[NAME_BYTES], name[NAME_BYTES], meant[96];
    const char *colon = strchr(word, ':');
    snprintf(name, sizeof name, "%.*s", (int)(colon ? (size_t)(colon - word) : strlen(word)), word);
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    snprintf(op, sizeof op, "%.*s", (int)n, name);
    *chosen = (struct chosen){.op = nl_find_near(nd_ops, op, meant, sizeof meant), .bytes = -1};
    if (!chosen->op) return nl_error("--op: '%s' is not an operation (see --list operations)%s", op, meant);
    if (colon && !chosen->op->has_bytes) return nl_error("--op: '%s': %s has no message size", word, op);
    if (colon && resolve_size("--op", colon + 1, &chosen->bytes)) return -1;
    if (!equals) return 0;
    if (strspn(equals + 1, "abcdefghijklmnopqrstuvwxyz0123456789_-") != strlen(equals + 1) || !equals[1] ||
        snprintf(chosen->algorithm, sizeof chosen->algorithm, "%s", equals + 1) >=
            (int)sizeof chosen->algorithm)
        return nl_error("--op: '%s' is not an operation and an algorithm of it (see --list algorithms)",
                        name);
    if (chosen->op->completion == ND_BLOCKING && !chosen->op->is_self_test) return 0;
    return nl_error("--op: algorithms are chosen for blocking operations, and %s is none", op);
}

static int resolve_operations(struct nd_options *o, struct chosen *chosen) {
    const char *names[ND_MAX_OPERATIONS];
    int n = split("--op", o->given.operations, "barrier,allreduce,alltoall", names, ND_MAX_OPERATIONS);
    for (int i = 0; i < n; i++)
        if (resolve_operation(names[i], &chosen[i])) return -1;
    return n;
}

static int resolve_sizes(const struct nd_options *o, int64_t *sizes) {
    const char *parts[ND_MAX_SIZES];
    int n = split("--bytes", o->given.sizes, "2KiB", parts, ND_MAX_SIZES);
    for (int i = 0; i < n; i++)
        if (resolve_size("--bytes", parts[i], &sizes[i])) return -1;
    return n;
}

/* Adds one configuration. The element's size is checked here, what depends on the number of ranks by the run.
 */
static int add_config(struct nd_options *o, const struct nd_op *op, const char *algorithm, int64_t bytes) {
    char reason[256];
    if (o->n_configs == ND_MAX_CONFIGS)
        return nl_error("--op, --bytes: more than %d combinations of operation and size", ND_MAX_CONFIGS);
    const char *problem = nd_op_problem(op, &o->op, bytes, o->op.root + 1, reason, sizeof reason);
    if (problem) return nl_error("%s", problem);
    struct nd_config *config = &o->configs[o->n_configs++];
    *config = (struct nd_config){.op = op, .bytes = bytes};
    snprintf(config->algorithm, sizeof config->algorithm, "%s", algorithm);
    snprintf(config->name, sizeof config->name, "%s%s%s", op->name, algorithm[0] ? "=" : "", algorithm);
    for (const struct nd_config *c = o->configs; c < config; c++)
        if (c->bytes == bytes && strcmp(c->name, config->name) == 0)
            return nl_error("--op, --bytes: %s of %" PRId64 " bytes stands twice", config->name, bytes);
    return 0;
}

/* The one configuration of a launch that follows a program. */
static int resolve_program(struct nd_options *o) {
    if (o->design->single_loop)
        return nl_error(
            "--design: with --app the treatment is switched while the program runs (use lockin or blocks)");
    o->per_operation_timing = ND_OFF_SWITCH;
    return add_config(o, &nd_op_program, "", 0);
}

static int resolve_configs(struct nd_options *o) {
    if (o->app) return resolve_program(o);
    struct chosen chosen[ND_MAX_OPERATIONS];
    int64_t sizes[ND_MAX_SIZES];
    int n_ops = resolve_operations(o, chosen), n_listed = n_ops < 0 ? -1 : resolve_sizes(o, sizes);
    for (int i = 0; i < n_ops && n_listed > 0; i++) {
        const struct nd_op *op = chosen[i].op;
        int has_list = op->has_bytes && chosen[i].bytes < 0;
        for (int j = 0; j < (has_list ? n_listed : 1); j++)
            if (add_config(o, op, chosen[i].algorithm,
                           has_list        ? sizes[j]
                           : op->has_bytes ? chosen[i].bytes
                                           : 0))
                return -1;
    }
    return n_listed < 0 ? -1 : 0;
}

static int resolve_levels(struct nd_options *o) {
    int has_agent = nd_agent_is_given(&o->agent);
    if (!o->given.levels && (o->design->single_loop || has_agent)) return 0;
    if (o->given.levels && strcmp(o->given.levels, "none") == 0) {
        if (!o->design->is_paired || has_agent) return 0;
        return nl_error("--levels: design %s compares off with on, and needs at least one level",
                        o->design->name);
    }
    const char *parts[ND_MAX_LEVELS];
    o->n_levels = split("--levels", o->given.levels, "0,0.1,0.3,1", parts, ND_MAX_LEVELS);
    for (int i = 0; i < o->n_levels; i++) {
        double *level = &o->levels_percent[i];
        if (nl_parse_percent(parts[i], level))
            return nl_error("--levels: '%s' is not %s", parts[i], NL_PERCENT_HELP);
        if (*level > 100 || (*level > 0 && *level < 0.001))
            return nl_error("--levels: '%s' is outside 0.001 to 100 percent of one CPU (or 0, the placebo)",
                            parts[i]);
        for (int j = 0; j < i; j++)
            if (o->levels_percent[j] == *level)
                return nl_error("--levels: '%s' stands twice in the list", parts[i]);
    }
    return o->n_levels < 0 ? -1 : 0;
}

/* The names of a list, each a plain word. Their number, or -1 after a message. */
static int split_names(const char *option, const char *text, const char *usual, const char **names) {
    int n = split(option, text, usual, names, ND_MAX_FACTOR);
    for (int i = 0; i < n; i++)
        if (!nl_is_plain_name(names[i], NAME_BYTES))
            return nl_error("%s: '%s' is not a name (letters, digits, . _ -)", option, names[i]);
    return n;
}

/* A factor's. Keys after it are the generator's business, which then gets all of it. */
static int resolve_names(struct nd_options *o, const char *option, const char *text, const char *usual,
                         const char **names) {
    char list[LIST_BYTES];
    const char *colon = text ? strchr(text, ':') : NULL;
    if (!colon) return split_names(option, text, usual, names);
    snprintf(list, sizeof list, "%.*s", (int)(colon - text), text);
    return keep_passed(o, option, text) ? -1 : split_names(option, list, usual, names);
}

static int resolve_phases(struct nd_options *o) {
    const char *names[ND_MAX_FACTOR];
    o->n_phases = split_names("--phase", o->given.phases, "random", names);
    for (int i = 0; i < o->n_phases; i++) {
        int phase = 0;
        while (nd_phase_names[phase] && strcmp(nd_phase_names[phase], names[i]) != 0)
            phase++;
        if (!nd_phase_names[phase])
            return nl_error("--phase: '%s' is not random, aligned or staggered", names[i]);
        o->phases[i] = (enum nd_phase)phase;
    }
    return o->n_phases < 0 ? -1 : 0;
}

/* Crosses the factors with the levels. */
static int resolve_arms(struct nd_options *o) {
    o->n_kinds = resolve_names(o, "--kind", o->given.kinds, "spin", o->kinds);
    if (o->n_kinds < 0) return -1;
    o->n_patterns = resolve_names(o, "--pattern", o->given.patterns, "periodic", o->patterns);
    if (o->n_patterns < 0 || resolve_phases(o)) return -1;
    if (o->n_places == 0) o->places[o->n_places++] = "last";
    int n = o->n_kinds * o->n_patterns * o->n_places * o->n_phases * o->n_levels;
    if (n > ND_MAX_LEVELS)
        return nl_error(
            "--kind, --pattern, --on, --phase, --levels: %d combinations, more than %d; ask for fewer", n,
            ND_MAX_LEVELS);
    for (int i = 0; i < n; i++) {
        const int sizes[] = {o->n_levels, o->n_phases, o->n_places, o->n_patterns, o->n_kinds};
        int at[5];
        for (int k = 0, rest = i; k < 5; rest /= sizes[k++])
            at[k] = rest % sizes[k];
        o->arms[i] = (struct nd_arm){at[4], at[3], at[2], at[1], .level_percent = o->levels_percent[at[0]]};
    }
    o->n_arms = o->n_doses = n;
    return 0;
}

static void add_arm_without_level(struct nd_options *o, const char *name, int is_late) {
    o->arms[o->n_arms++] = (struct nd_arm){.name = name, .is_late = is_late};
}

/* What the user did not say himself. How much the preset loads is not taken, the levels are ours; what else
 * it says is the generator's. */
static int take_preset(void *context, const char *option, const char *value, const char *where) {
    struct nd_options *o = context;
    const char **list = strcmp(option, "kind") == 0      ? &o->given.kinds
                        : strcmp(option, "pattern") == 0 ? &o->given.patterns
                                                         : NULL;
    if (list && !*list && !(*list = strdup(value))) return -1; /* lives as long as the process */
    if (strcmp(option, "period") != 0 || o->period_ns != 0 || nl_parse_duration(value, &o->period_ns) == 0)
        return 0;
    return nl_error("--preset: %s: '%s' is not %s", where, value, NL_DURATION_HELP);
}

static int apply_preset(struct nd_options *o) {
    char reason[4 * PATH_MAX];
    if (!o->preset) return 0;
    if (nl_preset_read(o->preset, take_preset, o, reason, sizeof reason) == 0)
        return keep_passed(o, "--preset", o->preset);
    if (reason[0]) nl_error("--preset: %s", reason);
    return -1;
}

/* The half lengthened to whole periods. */
static int64_t whole_periods(int64_t half_ns, int64_t period_ns) {
    return (half_ns + period_ns - 1) / period_ns * period_ns;
}

static void lengthen_half(struct nd_options *o, int64_t to_ns, const char *periods, int64_t period_ns) {
    char half[32], longer[32], period[32];
    if (to_ns == o->half_ns) return;
    note(o, "half lengthened from %s to %s: it must hold whole %s of %s",
         nl_format_duration(o->half_ns, half, sizeof half), nl_format_duration(to_ns, longer, sizeof longer),
         periods, nl_format_duration(period_ns, period, sizeof period));
    o->half_ns = to_ns;
}

/* A half holds whole periods of the agent, or pairs would differ by a sample. */
static int hold_agent_periods(struct nd_options *o) {
    int64_t period_ns = o->agent.period_ns;
    if (!nd_options_has_agent(o) || period_ns == 0) return 0;
    if (period_ns < 1000000 || period_ns > INT64_C(3600000000000)) {
        char period[32];
        return nl_error("--agent-period: %s is outside 1 ms to 1 h",
                        nl_format_duration(period_ns, period, sizeof period));
    }
    if (o->design->has_stretches)
        o->stretch_ns = whole_periods(o->stretch_ns, period_ns);
    else
        lengthen_half(o, whole_periods(o->half_ns, period_ns), "periods of the agent,", period_ns);
    return 0;
}

/* An undisturbed stretch is not to be taken for one of the longer halves. */
static int check_stretch(const struct nd_options *o) {
    if (!o->design->has_stretches || o->stretch_ns >= 2 * nd_options_long_ns(o)) return 0;
    return nl_error(
        "--block: an undisturbed segment must last 20 times as long as a half at least (--half-period)");
}

/* When nobody says: the half, or 10 ms; beside an agent the nearest that fits a whole number of times into
 * the half. */
static int64_t default_period_ns(const struct nd_options *o) {
    int64_t most_ns = 10000000;
    if (o->half_ns < most_ns) return o->half_ns;
    for (int64_t n = (o->half_ns + most_ns - 1) / most_ns;
         nd_options_has_agent(o) && o->half_ns / n >= 1000000; n++)
        if (o->half_ns % n == 0) return o->half_ns / n;
    return most_ns;
}

static int check_period(struct nd_options *o) {
    char half[32], period[32];
    if (o->period_ns == 0) o->period_ns = default_period_ns(o);
    nl_format_duration(o->period_ns, period, sizeof period);
    if (o->period_ns < 1000000 || o->period_ns > INT64_C(60000000000))
        return nl_error("--period: %s is outside 1 ms to 60 s", period);
    if (o->half_ns < o->period_ns)
        return nl_error("--half-period, --block: %s is shorter than the noise period %s: an on half would "
                        "not hold one whole period (lengthen it, "
                        "or shorten --period)",
                        nl_format_duration(o->half_ns, half, sizeof half), period);
    if (!nd_options_has_agent(o) || o->agent.period_ns == 0) {
        lengthen_half(o, whole_periods(o->half_ns, o->period_ns), "noise periods", o->period_ns);
        return 0;
    }
    int64_t most_ns = 1000 * o->half_ns, longer_ns = o->half_ns;
    while (longer_ns % o->period_ns && longer_ns < most_ns)
        longer_ns += o->agent.period_ns;
    if (longer_ns % o->period_ns)
        return nl_error("--period: no half of a sensible length holds whole noise periods of %s and whole "
                        "periods of the agent",
                        period);
    lengthen_half(o, longer_ns, "periods of the agent and of the noise,", o->period_ns);
    return 0;
}

static int plan_rounds(struct nd_options *o, int seconds_given) {
    int n_steps = nd_options_round_steps(o);
    if (n_steps > ND_MAX_SET_STEPS)
        return nl_error(
            "--op, --bytes, --levels: %d halves in one round, more than %d; ask for fewer combinations",
            n_steps, ND_MAX_SET_STEPS);
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
        return nl_error("--seconds: too short: one round of %d halves of %s takes %s%s", n_steps,
                        nl_format_duration(o->half_ns, half, sizeof half),
                        nl_format_duration(o->half_ns > INT64_MAX / n_steps ? INT64_MAX : round_ns, needed,
                                           sizeof needed),
                        seconds_given ? "" : " (the default is 60 s)");
    }
    return 0;
}

/* Says before the run that it cannot end with an answer: with n pairs the smallest p-value is 2^-n, and 0.01
 * takes seven. */
static void note_few_pairs(struct nd_options *o) {
    enum { LEAST_PAIRS = 7 };
    if (o->design->single_loop || o->design->has_stretches || o->n_arms == 0 || o->n_rounds >= LEAST_PAIRS)
        return;
    note(o,
         "%lld %s of each operation and level: by itself this launch is too short for any verdict at alpha "
         "0.01, which takes %d "
         "(--seconds %.4g)",
         (long long)o->n_rounds, o->design->is_paired ? "pair(s)" : "set(s)", LEAST_PAIRS,
         LEAST_PAIRS * 1e-9 * (double)nd_options_round_ns(o));
}

/* Whether an option with one of these tags was given, and would be without effect; says which, and why. */
static int is_useless(const struct nl_command_line *line, unsigned needs, int is_met, const char *why) {
    char name[96];
    const struct nl_option *row = is_met ? NULL : nl_options_tagged(line, needs);
    if (row) nl_error("%s: %s", nl_option_name(row, name, sizeof name), why);
    return row != NULL;
}

static int check_arrival(const struct nl_command_line *line) {
    const struct nd_start_options *s = &((const struct nd_options *)line->target)->start;
    if (is_useless(line, NEEDS_AMOUNT, s->arrival != nd_arrivals[0] && !s->arrival->needs_trace,
                   "does not apply to this arrival (try late-one)"))
        return -1;
    if (s->arrival->needs_trace == (s->arrival_trace != NULL)) return 0;
    return nl_error(s->arrival_trace ? "--arrival: file: is for trace"
                                     : "--arrival: trace needs its file (trace:file=FILE)");
}

/* Late ranks where operations run back to back cannot wait by the operation's own time, which differs from
 * one to the next. */
static int check_late_arm(const struct nd_options *o) {
    const char *beside = nd_agent_is_given(&o->agent) ? "--agent"
                         : o->external                ? "--arms on:external"
                         : o->sequential.stops        ? "--stop-when"
                                                      : NULL;
    if (o->start.arrival == nd_arrivals[0]) return 0;
    if (!o->design->fixed_dose || beside)
        return nl_error("--arrival: with operations back to back late ranks are an arm of design lockin%s%s "
                        "(or try --starts round)",
                        beside ? ", and not beside " : "", beside ? beside : "");
    if (o->start.arrival->needs_trace || o->start.arrival_ns > 0) return 0;
    return nl_error(
        "--arrival: amount: with operations back to back how late has to be a time (try %s:amount=50us)",
        o->start.arrival->name);
}

static int resolve_starts(struct nl_command_line *line) {
    struct nd_options *o = line->target;
    struct nd_start_options *s = &o->start;
    if (is_useless(line, NEEDS_OPERATIONS, !o->app,
                   "with --app the program's own calls are timed, as they come") ||
        is_useless(line, NEEDS_PROGRAM, o->app != NULL, "needs --app"))
        return -1;
    if (o->sync_only) {
        if (!nl_options_given(line, "starts")) s->mode = nl_find(nd_start_modes, "round");
        o->given.levels = "none";
        o->design = nl_find(nd_designs, "single");
    }
    o->op.checks_every = o->check == ND_CHECK_EVERY;
    if (is_useless(line,
                   (s->mode->is_synchronised ? 0 : NEEDS_STARTS) | (s->mode->has_stages ? 0 : NEEDS_STAGES),
                   0, "these starts have no such key (see --list starts)"))
        return -1;
    if (!s->mode->is_synchronised) {
        const char *needs = o->check == ND_CHECK_EVERY            ? "--check every"
                            : o->op.buffer.use == ND_BUFFER_FLUSH ? "--buffer flush"
                            : o->sync_only                        ? "--sync-only"
                                                                  : NULL;
        if (needs) return nl_error("%s: needs synchronised starts (try --starts round)", needs);
        return check_arrival(line) || check_late_arm(o) ? -1 : 0;
    }
    if (is_useless(line, NEEDS_MEDIAN, s->stop_rule == ND_STOP_MEDIAN, "is for the rule median")) return -1;
    if (s->stop_rule != ND_STOP_NONE && !o->design->single_loop)
        return nl_error("--starts: stop-rule: design %s has a fixed length (use --design single)",
                        o->design->name);
    return check_arrival(line);
}

/* One arm alone is for the design that compares launches; a set of them shares its command line. */
static int resolve_which_arms(struct nd_options *o) {
    if (o->which_arms == ND_ARMS_BOTH) return 0;
    if (!o->design->single_loop)
        return nl_error("--arms: design %s compares off with on within a launch (use --design single)",
                        o->design->name);
    if (o->which_arms == ND_ARMS_OFF) o->n_arms = o->n_doses = o->n_levels = 0;
    if (o->which_arms == ND_ARMS_OFF || o->n_arms > 0) return 0;
    return nl_error("--arms: on needs a treatment (try --levels 1)");
}

/* A treatment that is not ours: one on arm without level, or none. It cannot be switched, so a launch has one
 * arm. */
static int resolve_external(struct nl_command_line *line) {
    struct nd_options *o = line->target;
    if (is_useless(line, NEEDS_GENERATOR | NEEDS_NODES, 0,
                   "with an external treatment no generator is started, so it would be without effect"))
        return -1;
    if (!o->design->single_loop)
        return nl_error("--arms: external: design %s switches within a launch, and this is from outside (use "
                        "--design single)",
                        o->design->name);
    if (o->which_arms == ND_ARMS_BOTH)
        return nl_error("--arms: external: say whether '%s' is there in this launch: on, or off",
                        o->external);
    if (o->which_arms == ND_ARMS_ON) add_arm_without_level(o, o->external, 0);
    return 0;
}

static int resolve_agent(struct nl_command_line *line) {
    struct nd_options *o = line->target;
    struct nd_agent_options *a = &o->agent;
    if (!nd_agent_is_given(a)) {
        if (is_useless(line, NEEDS_AGENT, 0, "needs an agent (try --agent '--agent-pid 1234')")) return -1;
        if (!a->interval_ns || o->external) return 0;
        return nl_error("--arms: interval: needs an external treatment");
    }
    if (o->external)
        return nl_error("--agent: with --arms ...:external=%s the treatment comes from outside, and this "
                        "launch has no other",
                        o->external);
    if (is_useless(line, NEEDS_GENERATOR, o->n_levels > 0 || o->given.levels,
                   "with an agent there is no generator unless levels are asked for (see --levels)"))
        return -1;
    if (nd_agent_complete(a, o->design->has_stretches, o->design->has_stretches ? o->stretch_ns : o->half_ns))
        return nl_error("--agent: too many options, or too long");
    for (int i = 0; i < o->n_kinds && o->n_levels > 0; i++) {
        if (strcmp(o->kinds[i], a->name) != 0) continue;
        return nl_error(
            "--agent-name: '%s' is the name of a load of this launch, too; give the agent another one",
            a->name);
    }
    if (a->against && strcmp(a->against_name, a->name) == 0)
        return nl_error("--against-name: '%s' is the name of the other version, too; give it another one",
                        a->name);
    int n_arms = a->settings ? a->settings->n_arms : 1 + !!a->against;
    if (o->n_arms + 1 + n_arms > NL_AGENT_MAX_ARMS)
        return nl_error("--levels: more than %d arms beside an agent; ask for fewer",
                        NL_AGENT_MAX_ARMS - 1 - n_arms);
    for (int i = 0; i < n_arms; i++)
        add_arm_without_level(o, a->settings ? a->settings->arms[i].name : i ? a->against_name : a->name, 0);
    return 0;
}

static int resolve_treatment(struct nl_command_line *line) {
    struct nd_options *o = line->target;
    if (o->external) return resolve_agent(line) ? -1 : resolve_external(line);
    if (apply_preset(o) || resolve_levels(o) || resolve_arms(o) || resolve_agent(line) ||
        resolve_which_arms(o))
        return -1;
    if (!o->start.mode->is_synchronised && o->start.arrival != nd_arrivals[0])
        add_arm_without_level(o, o->start.arrival->name, 1);
    return 0;
}

static int resolve_looks(struct nl_command_line *line) {
    struct nd_options *o = line->target;
    struct nd_sequential_options *s = &o->sequential;
    int n_effects = 0;
    if (!s->stops) return is_useless(line, NEEDS_LOOKS, 0, "needs --stop-when decided") ? -1 : 0;
    if (o->design->single_loop)
        return nl_error(
            "--stop-when: design %s has one loop per arm and nothing to look at (use lockin or blocks)",
            o->design->name);
    for (int i = 0; i < o->n_arms; i++)
        n_effects += !nd_arm_is_placebo(&o->arms[i]);
    if (n_effects == 0)
        return nl_error("--stop-when: without a level above 0 there is nothing to decide (see --levels)");
    if (o->n_rounds < s->n_looks)
        return nl_error(
            "--stop-when: looks: %d looks do not fit into %lld rounds (raise --seconds, or ask for fewer)",
            s->n_looks, (long long)o->n_rounds);
    nd_look_rounds(o->n_rounds, s->n_looks, s->rounds);
    return 0;
}

static void choose_half(struct nd_options *o) {
    int has_agent = nd_agent_is_given(&o->agent);
    if (o->agent.is_left_off)
        note(o, "--agent-found: not given, so what --agent-on switches is off at the end (--agent-off), "
                "whether it was before or not");
    if (o->design->has_stretches) {
        o->half_ns = o->given.half_ns ? o->given.half_ns : QUICK_NS;
        o->stretch_ns = o->given.block_ns ? o->given.block_ns : 1000000000;
    } else if (!o->design->is_paired)
        o->half_ns = o->given.block_ns ? o->given.block_ns : 1000000000;
    else if (o->given.half_ns || !has_agent)
        o->half_ns = o->given.half_ns ? o->given.half_ns : o->app ? 100000000 : 10000000;
    else {
        o->half_ns = nd_agent_half_ns(&o->agent);
        if (o->agent.period_ns == 0)
            note(o, "--agent-period: not given, so halves last 1 s and may hold different numbers of the "
                    "agent's samples");
    }
}

/* Stretches are of an agent that can be frozen for some milliseconds. */
static int check_quick(const struct nd_options *o) {
    if (!o->design->has_stretches) return 0;
    if (!nd_agent_is_given(&o->agent) || strcmp(o->agent.way, "agent-on") == 0 ||
        strcmp(o->agent.way, "scrape") == 0 || o->agent.settings)
        return nl_error("--design: quick is for an agent that is frozen (--agent-cmd, --agent-pid, "
                        "--agent-cgroup or --agent-unit)");
    const char *with = o->app                           ? "--app"
                       : o->given.levels                ? "--levels"
                       : o->start.mode->is_synchronised ? "--starts"
                       : o->sequential.stops            ? "--stop-when"
                                                        : NULL;
    if (!with) return 0;
    return nl_error("--design: quick and %s cannot be combined (use lockin or blocks)", with);
}

static int resolve(struct nl_command_line *line) {
    struct nd_options *o = line->target;
    if (nd_agent_read(&o->agent) || resolve_starts(line)) return -1;
    int seconds_given = o->measure_ns != 0;
    if (!seconds_given) o->measure_ns = INT64_C(60000000000);
    if (o->given.half_ns && !o->design->is_paired)
        return nl_error("--half-period: design %s has none (use --block or --seconds)", o->design->name);
    if (o->given.block_ns && ((o->design->is_paired && !o->design->has_stretches) || o->design->single_loop))
        return nl_error("--block: design %s has none (use --half-period or --seconds)", o->design->name);
    if (o->count && o->design->fixed_dose)
        return nl_error(
            "--count: design %s takes its number from --half-period, which must hold whole noise periods",
            o->design->name);
    choose_half(o);
    if (resolve_configs(o) || check_quick(o) || resolve_treatment(line)) return -1;
    if (o->design->single_loop && plan_rounds(o, seconds_given)) return -1;
    if (hold_agent_periods(o) || check_stretch(o) || (nd_options_has_generator(o) && check_period(o)))
        return -1;
    if (!o->design->single_loop && plan_rounds(o, seconds_given)) return -1;
    if (resolve_looks(line)) return -1;
    note_few_pairs(o);
    if (!nl_options_given(line, "seed")) {
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
    if (speaks)
        nl_warn("half lengthened from %s to %s: it must hold some beats of the program", half, longer);
    return plan_rounds(o, 1);
}

/* What completion, help and suggestions know. */
static void print_tables(void) {
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char type[NAME_BYTES];
        snprintf(type, sizeof type, "%.*s", (int)strlen(lists[i].name) - 1, lists[i].name);
        for (const char *const *const *row = lists[i].rows; row && *row; row++)
            nl_tables_row(type, (*row)[0], NULL, (*row)[1]);
    }
}

int nd_options_parse(int argc, char **argv, int speaks, struct nd_options *o) {
    int has_failed = 0;
    char likwid[64];
    struct nl_command_line line = {
        .program = "noiselab-detect",
        .rows = rows,
        .n_rows = N_ROWS,
        .target = o,
        .context = &has_failed,
        .is_silent = !speaks,
        .see = "; options of the generator stand in --gen, those of the agent in --agent",
        .version_note = likwid,
        .doc = "Times MPI collectives without and with a known background load, in random order, and records "
               "what each half cost."
               "\vStart it with mpirun or srun, one rank per CPU. Times take a unit: 10ms, 2s. Exit status: "
               "0 done, 1 the answer is no "
               "(--check every), 2 usage or environment error."};
    snprintf(likwid, sizeof likwid, "%s%s", nl_likwid ? ", with " : ", without LIKWID",
             nl_likwid ? nl_likwid : "");
    *o = (struct nd_options){.design = nd_designs[0],
                             .warmup_ns = 500000000,
                             .argc = argc,
                             .argv = argv,
                             .sequential = {.alpha = 0.01, .n_looks = 5, .spending = nd_spendings[0]},
                             .agent = {.settle_ns = -1, .timeout_ns = INT64_C(30000000000)},
                             .start = {.mode = nd_start_modes[0],
                                       .arrival = nd_arrivals[0],
                                       .arrival_factor = 1,
                                       .gamma = 1.1,
                                       .eps = 0.25,
                                       .n_stage_starts = 8,
                                       .n_first_starts = 4,
                                       .precision_percent = 1,
                                       .sync_every_ns = INT64_C(10000000000)}};
    const char *generator = getenv("NOISELAB_GEN");
    if (generator && *generator) o->generator_path = generator;
    if (nl_tables_asked(argc, argv) && speaks) print_tables();
    if (nl_options_parse(&line, argc, argv, NULL)) return -1;
    if (line.is_done) return has_failed ? -1 : 0;
    if (o->is_json && !o->dry_run)
        return nl_error("--json: belongs to --dry-run; results as JSON come from noiselab analyze --json");
    if (resolve(&line)) return -1;
    if (speaks)
        for (int i = 0; i < o->n_notes; i++)
            nl_warn("%s", o->notes[i]);
    return 1;
}

const char *nd_place_name(const struct nd_options *o, int i, char buf[ND_PLACE_BYTES]) {
    snprintf(buf, ND_PLACE_BYTES, "%s", o->places[i]);
    for (char *p = buf; *p; p++)
        if (*p == ',') *p = '+';
    return buf;
}

void nd_arm_tell(const struct nd_options *o, int arm, struct nd_arm_words *words) {
    *words = (struct nd_arm_words){.arm = "off", .kind = "", .pattern = "", .phase = "", .has_level = 1};
    if (arm == ND_OFF) return;
    const struct nd_arm *a = &o->arms[arm];
    words->arm = "on";
    words->is_late = a->is_late;
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

int64_t nd_options_long_ns(const struct nd_options *o) {
    return o->design->has_stretches ? LONG_HALVES * o->half_ns : 0;
}

int64_t nd_options_settle_ns(const struct nd_options *o, int64_t planned_ns) {
    if (!o->design->has_stretches || planned_ns == o->stretch_ns || o->agent.settle_ns < QUICK_SETTLE_NS)
        return o->agent.settle_ns;
    return QUICK_SETTLE_NS;
}

struct nd_schedule nd_options_schedule(const struct nd_options *o) {
    return (struct nd_schedule){.design = o->design,
                                .n_configs = o->n_configs,
                                .n_levels = o->n_arms,
                                .seed = o->seed,
                                .n_rounds = o->n_rounds,
                                .lacks_off = o->which_arms == ND_ARMS_ON,
                                .half_ns = o->half_ns,
                                .long_ns = nd_options_long_ns(o),
                                .stretch_ns = o->stretch_ns};
}

int64_t nd_options_round_ns(const struct nd_options *o) {
    const struct nd_schedule s = nd_options_schedule(o);
    int64_t round_ns = nd_schedule_round_ns(&s);
    if (!o->design->has_stretches) return round_ns;
    /* each stretch has its settling, and every other half the short one */
    return round_ns + o->n_configs * o->n_arms * (o->agent.settle_ns - QUICK_SETTLE_NS) +
           nd_schedule_round_steps(&s) * (QUICK_SETTLE_NS + SWITCH_NS);
}

int64_t nd_options_limit_ns(const struct nd_options *o) {
    if (o->design->has_stretches) return o->measure_ns;
    return o->count || o->design->single_loop ? 0
                                              : nd_schedule_limit_ns(o->measure_ns, nd_options_n_halves(o));
}

int nd_options_round_steps(const struct nd_options *o) {
    const struct nd_schedule s = nd_options_schedule(o);
    return nd_schedule_round_steps(&s);
}

int nd_options_times_operations(const struct nd_options *o) {
    if (o->per_operation_timing == ND_AUTO) return !o->design->single_loop || o->start.mode->is_synchronised;
    return o->per_operation_timing == ND_ON;
}

#include "options.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "channels.h"
#include "nl_error.h"
#include "nl_place.h"
#include "nl_preset.h"
#include "nl_units.h"
#include "version.h"

enum { LIST_BYTES = 4096 }; /* longest list on the command line */

enum key {
    KEY_OP = 0x100, KEY_BYTES, KEY_DESIGN, KEY_LEVELS, KEY_SECONDS, KEY_HALF, KEY_BLOCK, KEY_COUNT, KEY_PERIOD, KEY_KIND, KEY_PATTERN, KEY_ON, KEY_PHASE, KEY_PRESET,
    KEY_NOISE_NODES, KEY_GENERATOR, KEY_SEED, KEY_OUT, KEY_LAUNCH_ID, KEY_TIMING, KEY_DETOUR, KEY_WARMUP, KEY_OVERSUBSCRIBE, KEY_PROGRESS,
    KEY_DRY_RUN, KEY_HELP, KEY_VERSION, KEY_LIST_OPERATIONS, KEY_LIST_DESIGNS, KEY_LIST_CHANNELS,
    KEY_PASSED = 0x200, /* options that are handed to the generator as they are */
};

static const struct argp_option option_rows[] = {
    {0, 0, 0, 0, "What is timed:", 1},
    {"op", KEY_OP, "LIST", 0, "operations, comma-separated (see --list-operations; default barrier,allreduce,alltoall)", 1},
    {"bytes", KEY_BYTES, "LIST", 0, "message sizes, such as 8,2KiB,1MiB (default 2KiB)", 1},
    {"design", KEY_DESIGN, "NAME", 0, "order of the arms (see --list-designs; default lockin)", 1},
    {"seconds", KEY_SECONDS, "TIME", 0, "measuring time over all operations and levels (default 60s)", 1},
    {"half-period", KEY_HALF, "TIME", 0, "lockin: length of a half (default 10ms)", 1},
    {"block", KEY_BLOCK, "TIME", 0, "blocks: length of a block (default 1s)", 1},
    {"count", KEY_COUNT, "N", 0, "blocks, single: operations in each block or loop, instead of the number the pilot finds", 1},
    {"warmup", KEY_WARMUP, "TIME", 0, "run the schedule this long before the first row is taken (default 500ms)", 1},
    {"per-operation-timing", KEY_TIMING, "auto|on|off", 0, "time every operation: histogram, detour, base (auto: off for single)", 1},
    {"detour-threshold", KEY_DETOUR, "TIME", 0, "operations longer than this are detours (default: median + max(median, 1us))", 1},
    {0, 0, 0, 0, "Treatment:", 2},
    {"levels", KEY_LEVELS, "LIST", 0,
     "noise levels in percent of one CPU, 0 is the placebo (default 0,0.1,0.3,1; single: none); none: no generator", 2},
    {"period", KEY_PERIOD, "TIME", 0, "period of the noise (default: the half-period, at most 10ms)", 2},
    {"kind", KEY_KIND, "LIST", 0, "kinds of load, each crossed with each level (see noiselab-gen --list-kinds; default spin)", 2},
    {"pattern", KEY_PATTERN, "LIST", 0, "patterns of the bursts, crossed likewise (see noiselab-gen --list-patterns; default periodic)", 2},
    {"on", KEY_ON, "PLACES", 0,
     "CPUs that get the noise on each node, all at once: " NL_PLACE_HELP "; given again: further places, crossed likewise (default last: the "
     "CPU of the node's last rank)",
     2},
    {"phase", KEY_PHASE, "LIST", 0, "what the noise does on several nodes: random, aligned, staggered; crossed likewise (default random)", 2},
    {"preset", KEY_PRESET, "NAME", 0, "kind, pattern and their options from a file (see noiselab-gen --list-presets); options given here come first", 2},
    {"noise-nodes", KEY_NOISE_NODES, "all|first", 0, "nodes that get a generator (default all)", 2},
    {0, 0, 0, 0, "Treatment, handed to noiselab-gen:", 3},
    {"jitter", KEY_PASSED, "PERCENT", 0, "jittered: the share of the period's room that a burst's place is drawn from", 3},
    {"group", KEY_PASSED + 1, "N", 0, "bursts: number of bursts in a group", 3},
    {"spacing", KEY_PASSED + 2, "TIME", 0, "bursts: from one burst of a group to the next", 3},
    {"replay", KEY_PASSED + 3, "FILE", 0, "replay: the trace; its bursts are stretched so that it delivers each level", 3},
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
    {0, 0, 0, 0, "Run:", 4},
    {"seed", KEY_SEED, "N", 0, "seed of the random order (default: from the clock, recorded)", 4},
    {"out", KEY_OUT, "DIR", 0, "campaign directory; the launch writes a folder in it (default noiselab-campaign)", 4},
    {"launch-id", KEY_LAUNCH_ID, "ID", 0, "name of the launch's folder (default: time, host and process number)", 4},
    {"oversubscribe", KEY_OVERSUBSCRIBE, 0, 0, "allow more ranks than CPUs on a node", 4},
    {"progress", KEY_PROGRESS, "auto|on|off", 0, "progress on stderr (auto: when it is a terminal)", 4},
    {"dry-run", KEY_DRY_RUN, 0, 0, "check the options, print what would be run, and end", 4},
    {0, 0, 0, 0, "Information:", 5},
    {"help", KEY_HELP, 0, 0, "this text", 5},
    {"version", KEY_VERSION, 0, 0, "the version and the commit it was built from", 5},
    {"list-operations", KEY_LIST_OPERATIONS, 0, 0, "operations that can be timed", 5},
    {"list-designs", KEY_LIST_DESIGNS, 0, 0, "designs", 5},
    {"list-channels", KEY_LIST_CHANNELS, 0, 0, "figures that each half yields", 5},
    {0},
};

/* What argp hands from option to option: names are resolved once all options are known. */
struct parsing {
    struct nd_options *o;
    const char *operations, *sizes, *levels, *kinds, *patterns, *phases;
    int64_t half_ns, block_ns;
    int listed, failed, speaks;
    int next; /* index of the argument after the last good one: where argp stopped */
};

static int bad(struct parsing *p, const char *option, const char *value, const char *wanted) {
    nl_error("%s: '%s' is not %s", option, value, wanted);
    p->failed = 1;
    return EINVAL;
}

static void note(struct nd_options *o, const char *text) {
    if (o->n_notes < ND_MAX_NOTES) snprintf(o->notes[o->n_notes++], sizeof o->notes[0], "%s", text);
}

static int parse_switch(const char *text, enum nd_switch *out) {
    static const char *const names[] = {"auto", "on", "off"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum nd_switch)i;
            return 0;
        }
    return -1;
}

/* Letters, digits and ._- only: the id is a folder's name and a CSV field. */
static int is_plain_name(const char *text) {
    if (!*text || *text == '.' || strlen(text) > 128) return 0;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == strlen(text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state);

static const struct argp parser = {
    option_rows,
    parse_option,
    "",
    "Times MPI collectives without and with a known background load, in random order, and records what each half cost."
    "\vStart it with mpirun or srun, one rank per CPU. Times take a unit: 10ms, 2s. Exit status: 0 done, 2 usage or environment error.",
    NULL,
    NULL,
    NULL,
};

const char *const nd_phase_names[] = {[ND_PHASE_RANDOM] = "random", [ND_PHASE_ALIGNED] = "aligned", [ND_PHASE_STAGGERED] = "staggered", NULL};

/* Words like those of nl_place_resolve: they are a CSV field, too. */
static error_t add_place(struct parsing *p, const char *text) {
    struct nd_options *o = p->o;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:,";
    if (!*text || strlen(text) > 128 || strspn(text, allowed) != strlen(text)) return bad(p, "--on", text, "a list of places (" NL_PLACE_HELP ")");
    for (int i = 0; i < o->n_places; i++)
        if (strcmp(o->places[i], text) == 0) return bad(p, "--on", text, "a new place: it was given before");
    if (o->n_places == ND_MAX_FACTOR) return bad(p, "--on", text, "accepted: there are 16 places already");
    o->places[o->n_places++] = text;
    return 0;
}

static const char *passed_name(int key) {
    for (const struct argp_option *row = option_rows; row->name || row->doc; row++)
        if (row->key == key) return row->name;
    return NULL;
}

/* Puts an option on the generator's command line. */
static error_t pass(struct parsing *p, const char *name, const char *value) {
    struct nd_options *o = p->o;
    char *word;
    if (o->n_passed == ND_MAX_PASSED || asprintf(&word, "--%s=%s", name, value) < 0) return bad(p, name, value, "accepted: too many options");
    o->passed[o->n_passed++] = word; /* lives as long as the process */
    return 0;
}

/* argp's own --help and --version cannot be had without its two-line error messages, so they are ours. */
static void print_information(int key) {
    if (key == KEY_HELP) argp_help(&parser, stdout, ARGP_HELP_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC, "noiselab-detect");
    if (key == KEY_VERSION) printf("noiselab-detect %s (%s)\n", NOISELAB_VERSION, NOISELAB_GIT);
    if (key == KEY_LIST_OPERATIONS)
        for (int i = 0; nd_ops[i]; i++) printf("%-10s %s\n", nd_ops[i]->name, nd_ops[i]->help);
    if (key == KEY_LIST_DESIGNS)
        for (int i = 0; nd_designs[i]; i++) printf("%-10s %s\n", nd_designs[i]->name, nd_designs[i]->help);
    if (key == KEY_LIST_CHANNELS)
        for (int i = 0; nd_channels[i].name; i++) printf("%-10s %s (%s)\n", nd_channels[i].name, nd_channels[i].help, nd_channels[i].columns);
}

static error_t parse_option(int key, char *arg, struct argp_state *state) {
    struct parsing *p = state->input;
    struct nd_options *o = p->o;
    if (key >= KEY_OP && key < 0x300) p->next = state->next;
    if (key >= KEY_PASSED && key < 0x300) return pass(p, passed_name(key), arg);
    switch (key) {
    case KEY_OP: p->operations = arg; return 0;
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
    case KEY_DESIGN:
        o->design = nd_design_find(arg);
        return o->design ? 0 : bad(p, "--design", arg, "a design (see --list-designs)");
    case KEY_SECONDS: return nl_parse_duration(arg, &o->measure_ns) ? bad(p, "--seconds", arg, NL_DURATION_HELP) : 0;
    case KEY_HALF: return nl_parse_duration(arg, &p->half_ns) ? bad(p, "--half-period", arg, NL_DURATION_HELP) : 0;
    case KEY_BLOCK: return nl_parse_duration(arg, &p->block_ns) ? bad(p, "--block", arg, NL_DURATION_HELP) : 0;
    case KEY_PERIOD: return nl_parse_duration(arg, &o->period_ns) ? bad(p, "--period", arg, NL_DURATION_HELP) : 0;
    case KEY_WARMUP: return nl_parse_duration_or_zero(arg, &o->warmup_ns) ? bad(p, "--warmup", arg, "a duration (try 500ms, 0s)") : 0;
    case KEY_DETOUR: return nl_parse_duration(arg, &o->detour_threshold_ns) ? bad(p, "--detour-threshold", arg, NL_DURATION_HELP) : 0;
    case KEY_COUNT:
        return nl_parse_int(arg, 1, INT64_C(1) << 50, &o->count) ? bad(p, "--count", arg, "a positive whole number") : 0;
    case KEY_SEED:
        o->seed_given = 1;
        return nl_parse_seed(arg, &o->seed) ? bad(p, "--seed", arg, "a whole number of up to 64 bits") : 0;
    case KEY_TIMING: return parse_switch(arg, &o->per_operation_timing) ? bad(p, "--per-operation-timing", arg, "auto, on or off") : 0;
    case KEY_PROGRESS: return parse_switch(arg, &o->progress) ? bad(p, "--progress", arg, "auto, on or off") : 0;
    case KEY_NOISE_NODES:
        o->noise_on_all_nodes = strcmp(arg, "all") == 0;
        return o->noise_on_all_nodes || strcmp(arg, "first") == 0 ? 0 : bad(p, "--noise-nodes", arg, "all or first");
    case KEY_LAUNCH_ID:
        o->launch_id = arg;
        return is_plain_name(arg) ? 0 : bad(p, "--launch-id", arg, "a plain name (letters, digits, . _ -; not starting with a dot)");
    case KEY_HELP:
    case KEY_VERSION:
    case KEY_LIST_OPERATIONS:
    case KEY_LIST_DESIGNS:
    case KEY_LIST_CHANNELS:
        if (p->speaks && !p->listed) print_information(key);
        p->listed = 1;
        return 0;
    case ARGP_KEY_ARG: return bad(p, "argument", arg, "known (all settings are options; see --help)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* nl_split cuts its text up; argv must stay whole, because it is recorded as the command line. */
static int split_copy(const char *text, char *copy, size_t size, const char **parts, int max) {
    if (snprintf(copy, size, "%s", text) >= (int)size) return -1;
    return nl_split(copy, parts, max);
}

static int resolve_operations(struct parsing *p, const struct nd_op **ops) {
    char copy[LIST_BYTES];
    const char *names[ND_MAX_OPERATIONS];
    int n = split_copy(p->operations ? p->operations : "barrier,allreduce,alltoall", copy, sizeof copy, names, ND_MAX_OPERATIONS);
    if (n < 0) {
        nl_error("--op: the list is empty, has an empty part or is too long (try barrier,alltoall)");
        return -1;
    }
    for (int i = 0; i < n; i++) {
        ops[i] = nd_op_find(names[i]);
        if (!ops[i]) {
            nl_error("--op: '%s' is not an operation (see --list-operations)", names[i]);
            return -1;
        }
        for (int j = 0; j < i; j++)
            if (ops[j] == ops[i]) {
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

static int resolve_configs(struct parsing *p) {
    struct nd_options *o = p->o;
    const struct nd_op *ops[ND_MAX_OPERATIONS];
    int n_ops = resolve_operations(p, ops);
    if (n_ops < 0 || resolve_sizes(p)) return -1;
    for (int i = 0; i < n_ops; i++) {
        int n_sizes = ops[i]->has_bytes ? o->n_bytes : 1;
        for (int j = 0; j < n_sizes; j++) {
            int64_t bytes = ops[i]->has_bytes ? o->bytes[j] : 0;
            if (bytes % ops[i]->bytes_multiple) {
                nl_error("--bytes: %lld is not a multiple of %d, the element of %s", (long long)bytes, ops[i]->bytes_multiple, ops[i]->name);
                return -1;
            }
            if (o->n_configs == ND_MAX_CONFIGS) {
                nl_error("--op, --bytes: more than %d combinations of operation and size", ND_MAX_CONFIGS);
                return -1;
            }
            o->configs[o->n_configs++] = (struct nd_config){ops[i], bytes};
        }
    }
    return 0;
}

static int resolve_levels(struct parsing *p) {
    struct nd_options *o = p->o;
    char copy[LIST_BYTES];
    if (!p->levels && o->design->single_loop) return 0;
    if (p->levels && strcmp(p->levels, "none") == 0) {
        if (!o->design->is_paired) return 0;
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

/* A factor's list of names, each a plain word and only once, into `out`; -1 after a message. */
static int resolve_names(const char *option, const char *text, const char **out) {
    char *copy = strdup(text); /* the names point into it: lives as long as the process */
    int n = copy ? nl_split(copy, out, ND_MAX_FACTOR) : -1;
    if (n < 0) nl_error("%s: the list is empty, has an empty part or more than %d names", option, ND_MAX_FACTOR);
    for (int i = 0; i < n; i++) {
        if (!is_plain_name(out[i])) {
            nl_error("%s: '%s' is not a name (see noiselab-gen --help)", option, out[i]);
            return -1;
        }
        for (int j = 0; j < i; j++) {
            if (strcmp(out[i], out[j]) != 0) continue;
            nl_error("%s: '%s' stands twice in the list", option, out[i]);
            return -1;
        }
    }
    return n;
}

static int resolve_phases(struct parsing *p) {
    struct nd_options *o = p->o;
    const char *names[ND_MAX_FACTOR];
    o->n_phases = resolve_names("--phase", p->phases ? p->phases : "random", names);
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
    o->n_kinds = resolve_names("--kind", p->kinds ? p->kinds : "spin", o->kinds);
    if (o->n_kinds < 0) return -1;
    o->n_patterns = resolve_names("--pattern", p->patterns ? p->patterns : "periodic", o->patterns);
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
    o->n_arms = n;
    return 0;
}

/* A line of the preset: what the user did not say himself. The levels are this program's own, so how much the preset loads is not taken; what
 * else it says is the generator's business, which gets the preset, too. */
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

static int check_period(struct nd_options *o) {
    char half[32], period[32], text[192];
    if (o->period_ns == 0) o->period_ns = o->half_ns < 10000000 ? o->half_ns : 10000000;
    if (o->period_ns < 1000000 || o->period_ns > INT64_C(60000000000)) {
        nl_error("--period: %s is outside 1 ms to 60 s", nl_format_duration(o->period_ns, period, sizeof period));
        return -1;
    }
    nl_format_duration(o->half_ns, half, sizeof half);
    nl_format_duration(o->period_ns, period, sizeof period);
    if (o->half_ns < o->period_ns) {
        nl_error("--half-period, --block: %s is shorter than the noise period %s: an on half would not hold one whole period (lengthen it, or shorten --period)",
                 half, period);
        return -1;
    }
    int64_t rest = o->half_ns % o->period_ns;
    if (rest == 0) return 0;
    o->half_ns += o->period_ns - rest;
    char adjusted[32];
    snprintf(text, sizeof text, "half lengthened from %s to %s: it must hold whole noise periods of %s", half,
             nl_format_duration(o->half_ns, adjusted, sizeof adjusted), period);
    note(o, text);
    return 0;
}

static int plan_rounds(struct nd_options *o, int seconds_given) {
    int n_steps = o->design->round_steps(o->n_configs, o->n_arms);
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
    o->n_rounds = o->measure_ns / o->half_ns / n_steps;
    if (o->n_rounds < 1) {
        char half[32], needed[32];
        nl_error("--seconds: too short: one round of %d halves of %s takes %s%s", n_steps, nl_format_duration(o->half_ns, half, sizeof half),
                 nl_format_duration(o->half_ns > INT64_MAX / n_steps ? INT64_MAX : n_steps * o->half_ns, needed, sizeof needed), seconds_given ? "" : " (the default is 60 s)");
        return -1;
    }
    return 0;
}

static int resolve(struct parsing *p) {
    struct nd_options *o = p->o;
    int seconds_given = o->measure_ns != 0;
    if (!seconds_given) o->measure_ns = INT64_C(60000000000);
    if (p->half_ns && !o->design->is_paired) {
        nl_error("--half-period: design %s has none (use --block or --seconds)", o->design->name);
        return -1;
    }
    if (p->block_ns && (o->design->is_paired || o->design->single_loop)) {
        nl_error("--block: design %s has none (use --half-period or --seconds)", o->design->name);
        return -1;
    }
    if (o->count && o->design->fixed_dose) {
        nl_error("--count: design %s takes its number from --half-period, which must hold whole noise periods", o->design->name);
        return -1;
    }
    if (o->design->is_paired)
        o->half_ns = p->half_ns ? p->half_ns : 10000000;
    else
        o->half_ns = p->block_ns ? p->block_ns : 1000000000;
    if (apply_preset(p) || resolve_configs(p) || resolve_levels(p) || resolve_arms(p)) return -1;
    if (o->design->single_loop && plan_rounds(o, seconds_given)) return -1;
    if (o->n_arms > 0 && check_period(o)) return -1;
    if (!o->design->single_loop && plan_rounds(o, seconds_given)) return -1;
    if (!o->seed_given) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        o->seed = (uint64_t)t.tv_sec * 1000003u + (uint64_t)t.tv_nsec;
    }
    if (!o->out) o->out = "noiselab-campaign";
    return 0;
}

int nd_options_parse(int argc, char **argv, int speaks, struct nd_options *o) {
    struct parsing p = {.o = o, .speaks = speaks, .next = 1};
    *o = (struct nd_options){.design = nd_designs[0], .warmup_ns = 500000000, .noise_on_all_nodes = 1, .argc = argc, .argv = argv};
    /* ARGP_NO_ERRS: one line of ours instead of getopt's message and argp's usage hint, from every rank */
    int rc = argp_parse(&parser, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &p);
    if (p.listed) return 0;
    if (rc && !p.failed) nl_error("'%s' is not an option, or lacks its value (see --help)", p.next < argc ? argv[p.next] : argv[argc - 1]);
    if (rc || p.failed) return -1;
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

int nd_options_times_operations(const struct nd_options *o) {
    if (o->per_operation_timing == ND_AUTO) return !o->design->single_loop;
    return o->per_operation_timing == ND_ON;
}

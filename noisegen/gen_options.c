#include "noisegen/gen_options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/nl_error.h"
#include "common/base/nl_nearest.h"
#include "common/base/nl_options.h"
#include "common/sys/nl_place.h"
#include "common/base/nl_preset.h"
#include "common/base/nl_units.h"
#include "common/base/version.h"

enum { MIN_PERIOD_NS = 1000000, MAX_CARRY = 1000, MAX_GROUP = 1000, LIST_BYTES = 1024 };
#define MAX_PERIOD_NS INT64_C(60000000000)

/* What is collected while argv is read. */
struct parsing {
    struct ng_options *o;
    const struct argp_option *options; /* as argp has the rows */
    int was_given[64]; /* by row */
    int is_listing;    /* the work was to print something */
    char meant[96];    /* ": did you mean spin?" of the name that a setter refused; "" */
    int was_reported;
    int has_failed; /* a list could not be printed */
};

/* ---- the rows: name, value, help, where it is valid, what listens to it, and a setter that returns NULL or what it would have liked
 * ---- */

enum { ALONE = 1, CONTROLLED = 2, EVERYWHERE = 3 };

struct row {
    const char *name;
    const char *value; /* NULL: a flag */
    const char *help;
    int group;
    int where;
    const char *(*set)(struct parsing *p, const char *text);
    unsigned kinds;    /* NG_USES_...: which kinds listen to it; 0: not a kind's business */
    unsigned patterns; /* NG_SHAPE_...: the same for patterns */
};

static const char *set_level(struct parsing *p, const char *text) {
    if (nl_parse_percent(text, &p->o->level_percent)) return NL_PERCENT_HELP;
    double level = p->o->level_percent;
    return level == 0 || (level >= 0.001 && level <= 100) ? NULL : "0 or a percentage from 0.001 to 100";
}

static const char *set_rate(struct parsing *p, const char *text) {
    return nl_parse_rate(text, &p->o->rate_per_s) ? NL_RATE_HELP : NULL;
}

static const char *set_period(struct parsing *p, const char *text) {
    int64_t period_ns;
    if (nl_parse_duration(text, &period_ns)) return NL_DURATION_HELP;
    p->o->period_ns = period_ns;
    return period_ns >= MIN_PERIOD_NS && period_ns <= MAX_PERIOD_NS ? NULL : "a period from 1ms to 60s";
}

static const char *set_duration(struct parsing *p, const char *text) {
    return nl_parse_duration(text, &p->o->duration_ns) ? NL_DURATION_HELP : NULL;
}

static const char *set_phase(struct parsing *p, const char *text) {
    static const char *const names[] = {[NG_PHASE_ALIGNED] = "aligned", [NG_PHASE_STAGGERED] = "staggered", [NG_PHASE_RANDOM] = "random"};
    for (int i = NG_PHASE_ALIGNED; i <= NG_PHASE_RANDOM; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        p->o->phase = (enum ng_phase)i;
        return NULL;
    }
    p->o->phase = NG_PHASE_OFFSET;
    return nl_parse_duration_or_zero(text, &p->o->phase_ns) ? "a duration (try 0s, 2.5ms), aligned, staggered or random" : NULL;
}

static const char *set_node(struct parsing *p, const char *text) {
    int node, n_nodes, length = 0;
    if (sscanf(text, "%9d/%9d%n", &node, &n_nodes, &length) != 2 || text[length] || node < 0 || node >= n_nodes)
        return "a node and the number of nodes (try 0/4, the first of four)";
    p->o->node = node;
    p->o->n_nodes = n_nodes;
    return NULL;
}

static const char *set_seed(struct parsing *p, const char *text) {
    return nl_parse_seed(text, &p->o->shape.seed) ? "a seed (try 1, 0x2a)" : NULL;
}

/* A list of names, each looked up by `add`. */
static const char *set_names(struct parsing *p, const char *text, int (*add)(struct parsing *, const char *), const char *wanted) {
    char copy[LIST_BYTES];
    const char *names[NG_MAX_KINDS];
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) return wanted;
    int n = nl_split(copy, names, NG_MAX_KINDS);
    if (n < 0) return wanted;
    for (int i = 0; i < n; i++)
        if (add(p, names[i])) return wanted;
    return NULL;
}

static int add_kind(struct parsing *p, const char *name) {
    const struct ng_kind *kind = ng_kind_find(name);
    struct nl_nearest n;
    if (kind) return ng_options_add_kind(p->o, kind) >= 0 ? 0 : -1;
    NL_NEAREST_ROWS(&n, name, ng_kinds);
    nl_nearest_tell(&n, p->meant, sizeof p->meant);
    return -1;
}

static const char *set_kind(struct parsing *p, const char *text) {
    p->o->n_kinds = 0;
    return set_names(p, text, add_kind, "a kind of load (see --list kinds)");
}

static int add_pattern(struct parsing *p, const char *name) {
    const struct ng_pattern *pattern = ng_pattern_find(name);
    struct nl_nearest n;
    NL_NEAREST_ROWS(&n, name, ng_patterns);
    if (!pattern) nl_nearest_tell(&n, p->meant, sizeof p->meant);
    if (!pattern || p->o->n_patterns == NG_MAX_PATTERNS) return -1;
    p->o->patterns[p->o->n_patterns++] = pattern;
    return 0;
}

static const char *set_pattern(struct parsing *p, const char *text) {
    p->o->n_patterns = 0;
    return set_names(p, text, add_pattern, "a pattern (see --list patterns)");
}

static const char *set_jitter(struct parsing *p, const char *text) {
    double percent;
    if (nl_parse_percent(text, &percent) || percent <= 0 || percent > 100) return "a percentage above 0, up to 100";
    p->o->shape.jitter = percent / 100;
    return NULL;
}

static const char *set_group(struct parsing *p, const char *text) {
    return nl_parse_int(text, 2, MAX_GROUP, &p->o->shape.group) ? "a number of bursts from 2 to 1000" : NULL;
}

static const char *set_spacing(struct parsing *p, const char *text) {
    return nl_parse_duration(text, &p->o->shape.spacing_ns) ? NL_DURATION_HELP : NULL;
}

static const char *set_replay(struct parsing *p, const char *text) {
    p->o->replay = text;
    return *text ? NULL : "the path of a trace";
}

static const char *set_replay_unit(struct parsing *p, const char *text) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].name) == 0) p->o->replay_unit_ns = units[i].ns;
    return p->o->replay_unit_ns > 0 ? NULL : "a unit of time (ns, us, ms, s)";
}

static const char *set_scale_period(struct parsing *p, const char *text) {
    return nl_parse_factor(text, &p->o->shape.scale_period) ? NL_FACTOR_HELP : NULL;
}

static const char *set_scale_burst(struct parsing *p, const char *text) {
    return nl_parse_factor(text, &p->o->shape.scale_burst) ? NL_FACTOR_HELP : NULL;
}

static const char *set_loop(struct parsing *p, const char *text) {
    (void)text;
    p->o->shape.is_looped = 1;
    return NULL;
}

static const char *set_preset(struct parsing *p, const char *text) {
    p->o->preset = text;
    return *text ? NULL : "the name of a preset (see --list presets)";
}

static const char *set_array(struct parsing *p, const char *text) {
    int64_t *bytes = &p->o->kind_options.array_bytes;
    if (nl_parse_size(text, bytes)) return NL_SIZE_HELP;
    int64_t half_of_memory = (int64_t)sysconf(_SC_PHYS_PAGES) / 2 * (int64_t)sysconf(_SC_PAGESIZE);
    return *bytes >= 8 && *bytes <= half_of_memory ? NULL : "a size between 8 bytes and half of the memory";
}

static const char *set_cache_level(struct parsing *p, const char *text) {
    int64_t level;
    if (nl_parse_int(text, 2, 3, &level)) return "2 or 3";
    p->o->kind_options.cache_level = (int)level;
    return NULL;
}

static const char *set_cache_share(struct parsing *p, const char *text) {
    double percent;
    if (nl_parse_percent(text, &percent) || percent < 1 || percent > 100) return "a percentage from 1 to 100";
    p->o->kind_options.cache_share = percent / 100;
    return NULL;
}

static const char *set_address(struct parsing *p, const char *text) {
    p->o->kind_options.address = text;
    return *text ? NULL : "an address (try udp:127.0.0.1:9999)";
}

static const char *set_message(struct parsing *p, const char *text) {
    int64_t *bytes = &p->o->kind_options.message_bytes;
    if (nl_parse_size(text, bytes)) return NL_SIZE_HELP;
    return *bytes >= 1 && *bytes <= 65000 ? NULL : "a size from 1 to 65000 bytes";
}

static const char *set_folder(struct parsing *p, const char *text) {
    p->o->kind_options.folder = text;
    return *text ? NULL : "a folder";
}

static const char *set_on(struct parsing *p, const char *text) {
    p->o->on = text;
    return *text ? NULL : "a list of places (" NL_PLACE_HELP ")";
}

static const char *set_ranks(struct parsing *p, const char *text) {
    char copy[NG_MAX_RANKS * sizeof "65535"];
    const char *parts[NG_MAX_RANKS];
    int n = snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy ? nl_split(copy, parts, NG_MAX_RANKS) : -1;
    for (int i = 0; i < n; i++) {
        int64_t cpu;
        if (nl_parse_int(parts[i], 0, 65535, &cpu)) n = -1;
        else p->o->rank_cpus[i] = (int)cpu;
    }
    if (n < 0) return "the CPUs of the application's ranks, in their order (try 0,1,2,3)";
    p->o->n_ranks = n;
    return NULL;
}

static const char *set_duty_cap(struct parsing *p, const char *text) {
    if (nl_parse_percent(text, &p->o->duty_cap_percent)) return NL_PERCENT_HELP;
    return p->o->duty_cap_percent >= 0.001 && p->o->duty_cap_percent <= 100 ? NULL : "a percentage from 0.001 to 100";
}

static const char *set_carry(struct parsing *p, const char *text) {
    return nl_parse_int(text, 0, MAX_CARRY, &p->o->carry_bursts) ? "a number of bursts from 0 to 1000" : NULL;
}

static const char *set_tolerance(struct parsing *p, const char *text) {
    return nl_parse_percent(text, &p->o->tolerance_percent) ? NL_PERCENT_HELP : NULL;
}

static const char *set_control(struct parsing *p, const char *text) {
    int64_t fd;
    if (nl_parse_int(text, 0, 1 << 20, &fd)) return "the number of an open file";
    p->o->control_fd = (int)fd;
    return NULL;
}

static const char *set_outlive(struct parsing *p, const char *text) {
    (void)text;
    p->o->outlive_parent = 1;
    return NULL;
}

static const char *set_json(struct parsing *p, const char *text) {
    (void)text;
    p->o->json = 1;
    return NULL;
}

static const char *set_dry_run(struct parsing *p, const char *text) {
    (void)text;
    p->o->dry_run = 1;
    return NULL;
}

static const char *list(struct parsing *p, const char *text);
static const char *show_version(struct parsing *p, const char *text);
static const char *show_help(struct parsing *p, const char *text);

static const struct row rows[] = {
    {.help = "Load:", .group = 1},
    {"level", "PERCENT", "load in percent of each CPU: 0, or 0.001 to 100", 1, ALONE, set_level, 0, 0},
    {"rate", "N", "instead of a level: the kind's units per second on each CPU, such as 500MB (see --list kinds)", 1, ALONE, set_rate, 0,
     0},
    {"duration", "TIME", "how long (60s, 5min); required, so that no load is left running (not for a trace without --loop)", 1, ALONE,
     set_duration, 0, 0},
    {"kind", "NAME", "kind of load, see below (default spin)", 1, EVERYWHERE, set_kind, 0, 0},
    {"preset", "NAME", "options from a file, such as those of a recorded agent (see --list presets); options given here override it", 1,
     EVERYWHERE, set_preset, 0, 0},
    {.help = "When:", .group = 2},
    {"pattern", "NAME", "pattern of the bursts, see below (default periodic)", 2, EVERYWHERE, set_pattern, 0, 0},
    {"period", "TIME", "one burst per period, 1ms to 60s (default 10ms, 1s for the kinds procfs, fork, disk and seed)", 2, ALONE,
     set_period, 0, 0},
    {"jitter", "PERCENT", "jittered: the share of the period's room that a burst's place is drawn from (default 100)", 2, EVERYWHERE,
     set_jitter, 0, NG_SHAPE_JITTER},
    {"group", "N", "bursts: number of bursts in a group (default 5)", 2, EVERYWHERE, set_group, 0, NG_SHAPE_GROUP},
    {"spacing", "TIME", "bursts: from one burst of a group to the next (default a tenth of the period)", 2, EVERYWHERE, set_spacing, 0,
     NG_SHAPE_GROUP},
    {"replay", "FILE", "replay: the trace, lines start_ns<TAB>duration_ns[<TAB>cpu[<TAB>kind]]", 2, EVERYWHERE, set_replay, 0,
     NG_SHAPE_TRACE},
    {"replay-unit", "UNIT", "replay: unit of the trace's times: ns, us, ms or s; decimals are rounded (default: by its head, or ns)", 2,
     EVERYWHERE, set_replay_unit, 0, NG_SHAPE_TRACE},
    {"scale-period", "FACTOR", "replay: stretches the times between bursts", 2, EVERYWHERE, set_scale_period, 0, NG_SHAPE_TRACE},
    {"scale-burst", "FACTOR", "replay: stretches the bursts", 2, ALONE, set_scale_burst, 0, NG_SHAPE_TRACE},
    {"loop", NULL, "replay: begin again at the end, for the whole duration", 2, ALONE, set_loop, 0, NG_SHAPE_TRACE},
    {"seed", "SEED", "jittered, poisson, random phase: seed of the random numbers (default 1)", 2, EVERYWHERE, set_seed, 0, 0},
    {"phase", "TIME|WORD",
     "wait before the first period, less than one period (default 0s); or across nodes, by their synchronised clocks: aligned, staggered, "
     "random",
     2, ALONE, set_phase, 0, 0},
    {"node", "I/N", "which of how many nodes this is, for the phase (default: from Slurm's environment)", 2, ALONE, set_node, 0, 0},
    {.help = "Where:", .group = 3},
    {"on", "PLACES",
     "CPUs to load, out of those allowed by cgroup and binding: " NL_PLACE_HELP
     "; one thread each (default: the first allowed CPU, or those "
     "of the trace)",
     3, ALONE, set_on, 0, 0},
    {"ranks", "CPUS", "where the application's ranks run, in their order, for the places that need to know", 3, ALONE, set_ranks, 0, 0},
    {.help = "Kinds:", .group = 4},
    {"array-bytes", "SIZE", "sum, membw: size of the array (default 2MB, 64MiB)", 4, EVERYWHERE, set_array, NG_USES_ARRAY, 0},
    {"cache-level", "2|3", "cache: which cache (default: the last one there is)", 4, EVERYWHERE, set_cache_level, NG_USES_CACHE, 0},
    {"cache-share", "PERCENT", "cache: how much of it is evicted (default 100)", 4, EVERYWHERE, set_cache_share, NG_USES_CACHE, 0},
    {"address", "PROTOCOL:IP:PORT", "net: where messages go, udp or tcp (default: to a receiver of our own on the loopback)", 4, EVERYWHERE,
     set_address, NG_USES_ADDRESS, 0},
    {"message-bytes", "SIZE", "net: size of a message (default 64)", 4, EVERYWHERE, set_message, NG_USES_ADDRESS, 0},
    {"folder", "DIR", "disk: where to write; nothing is left behind", 4, EVERYWHERE, set_folder, NG_USES_FOLDER, 0},
    {.help = "Limits:", .group = 5},
    {"duty-cap", "PERCENT", "refuse levels above this, and never use more of the CPU in one period (default 100)", 5, EVERYWHERE,
     set_duty_cap, 0, 0},
    {"carry", "N", "carry over at most N bursts' worth of time that the CPU was taken (default 10)", 5, EVERYWHERE, set_carry, 0, 0},
    {"tolerance", "PERCENT", "status 1 when the delivered load is off by more than this (default 5)", 5, EVERYWHERE, set_tolerance, 0, 0},
    {"outlive-parent", NULL, "go on when the process that started this one ends (for nohup, setsid)", 5, ALONE, set_outlive, 0, 0},
    {"control-fd", "FD", "take commands from the detector's control page", 5, EVERYWHERE, set_control, 0, 0},
    {.help = "Output:", .group = 6},
    {"json", NULL, "print the certificate as JSON", 6, ALONE, set_json, 0, 0},
    {"dry-run", NULL, "check everything, print what would be done, and end", 6, EVERYWHERE, set_dry_run, 0, 0},
    {"list", "WHAT", "kinds, patterns, presets, or cpus: the node's name, how many cores this process may use, and their CPUs", 6,
     EVERYWHERE, list, 0, 0},
    {"version", NULL, "print the version", 6, EVERYWHERE, show_version, 0, 0},
    {"help", NULL, "print this help", 6, EVERYWHERE, show_help, 0, 0},
};

enum { N_ROWS = sizeof rows / sizeof *rows, FIRST_KEY = 0x100 };
_Static_assert(N_ROWS <= sizeof((struct parsing *)0)->was_given / sizeof(int), "was_given has a place for every row");

/* ---- lists and help ---- */

static void list_kinds(void) {
    for (const struct ng_kind *const *k = ng_kinds; *k; k++) {
        const char *reason = (*k)->supported ? (*k)->supported() : NULL;
        printf("%-8s %s (dose: CPU time%s%s%s%s)\n", (*k)->name, (*k)->help, (*k)->unit ? " or " : "", (*k)->unit ? (*k)->unit : "",
               (*k)->needs ? "; needs " : "", (*k)->needs ? (*k)->needs : "");
        if (reason) printf("         not here: %s\n", reason);
    }
}

static void list_patterns(void) {
    for (const struct ng_pattern *const *row = ng_patterns; *row; row++) printf("%-8s %s\n", (*row)->name, (*row)->help);
}

static void show_preset(const char *name, const char *description) {
    printf("%-16s %s\n", name, description);
}

static void list_presets(struct parsing *p) {
    char reason[2 * PATH_MAX];
    if (nl_preset_list(show_preset, reason, sizeof reason) == 0) return;
    nl_error("--list presets: %s", reason);
    p->has_failed = 1;
}

/* One line "node1 64 0-127": experiments count the ranks of a node by it, so it is to be run on the node, bound as the ranks will be. */
static void list_cpus(struct parsing *p) {
    char host[256] = "", list[LIST_BYTES];
    struct nl_place *place;
    if (nl_place_open(&place)) {
        nl_error("--list cpus: cannot read this machine's topology");
        p->has_failed = 1;
        return;
    }
    nl_place_restrict_to_binding(place);
    gethostname(host, sizeof host - 1);
    printf("%s %d %s\n", host, nl_place_cores(place), nl_place_list(place, list, sizeof list));
    nl_place_close(place);
}

static const char *list(struct parsing *p, const char *text) {
    if (strcmp(text, "kinds") == 0)
        list_kinds();
    else if (strcmp(text, "patterns") == 0)
        list_patterns();
    else if (strcmp(text, "presets") == 0)
        list_presets(p);
    else if (strcmp(text, "cpus") == 0)
        list_cpus(p);
    else
        return "kinds, patterns, presets or cpus";
    p->is_listing = 1;
    return NULL;
}

static void tell_preset(const char *name, const char *description) { nl_tables_row("preset", name, NULL, description); }

/* What completion, help and suggestions know. 0: everything was done. */
static int print_tables(const struct argp_option *options) {
    char reason[2 * PATH_MAX];
    nl_tables_options(options);
    NL_TABLES_ROWS("kind", ng_kinds);
    NL_TABLES_ROWS("pattern", ng_patterns);
    if (nl_preset_list(tell_preset, reason, sizeof reason)) nl_warn("%s", reason);
    return 0;
}

static const char *show_version(struct parsing *p, const char *text) {
    (void)text;
    printf("noiselab-gen %s (%s)\n", NOISELAB_VERSION, nl_git);
    p->is_listing = 1;
    return NULL;
}

/* The lower part of --help, from the tables; argp frees it. */
static char *help_on_kinds(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    if (!f) return (char *)text;
    fputs("Kinds of load:\n", f);
    for (const struct ng_kind *const *k = ng_kinds; *k; k++) fprintf(f, "  %-8s %s\n", (*k)->name, (*k)->help);
    fputs("\nPatterns:\n", f);
    for (const struct ng_pattern *const *row = ng_patterns; *row; row++) fprintf(f, "  %-8s %s\n", (*row)->name, (*row)->help);
    fputs(text, f);
    fclose(f);
    return out;
}

static error_t parse_option(int key, char *text, struct argp_state *state);

static void fill_argp(struct argp *argp, struct argp_option options[N_ROWS + 1]) {
    static const char doc[] = "Loads CPUs by an exact dose, as agents and daemons do, and certifies what was delivered."
                              "\v\nExit status: 0 delivered within the tolerance, 1 not, 2 usage or environment error.\n"
                              "SIGINT and SIGTERM end the load early, with its certificate.\n\n"
                              "Examples:\n"
                              "  noiselab-gen --level 0.3 --period 10ms --on cpu:1 --duration 60s\n"
                              "  noiselab-gen --kind procfs --rate 1 --period 1s --on spare --ranks 0,1,2 --duration 5min\n"
                              "  noiselab-gen --preset node_exporter --on cpu:1 --duration 60s";
    for (int i = 0; i < N_ROWS; i++)
        options[i] = (struct argp_option){.name = rows[i].name,
                                          .key = rows[i].name ? FIRST_KEY + i : 0,
                                          .arg = rows[i].value,
                                          .doc = rows[i].help,
                                          .group = rows[i].group};
    options[N_ROWS] = (struct argp_option){0};
    *argp = (struct argp){.options = options, .parser = parse_option, .doc = doc, .help_filter = help_on_kinds};
}

static const char *show_help(struct parsing *p, const char *text) {
    (void)text;
    struct argp argp;
    struct argp_option options[N_ROWS + 1];
    static char name[] = "noiselab-gen";
    fill_argp(&argp, options);
    argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    p->is_listing = 1;
    return NULL;
}

/* ---- errors: one line each ---- */

static error_t parse_option(int key, char *text, struct argp_state *state) {
    struct parsing *p = state->input;
    if (key >= FIRST_KEY && key < FIRST_KEY + N_ROWS) {
        const struct row *r = &rows[key - FIRST_KEY];
        const char *wanted = r->set(p, text);
        p->was_given[key - FIRST_KEY] = 1;
        if (!wanted) return 0;
        nl_error("--%s: '%s' is not %s%s", r->name, text, wanted, p->meant);
        p->was_reported = 1;
        return EINVAL;
    }
    if (key == ARGP_KEY_ARG) {
        nl_error("'%s': unexpected argument (see --help)", text);
        p->was_reported = 1;
        return EINVAL;
    }
    if (key == ARGP_KEY_ERROR) {
        if (!p->was_reported) nl_options_explain(p->options, state->argv[state->next > 1 ? state->next - 1 : 0]);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* ---- what options mean together ---- */

static int row_index(const char *name) {
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].name && strcmp(rows[i].name, name) == 0) return i;
    return -1;
}

static int was_given(const struct parsing *p, const char *name) {
    return p->was_given[row_index(name)];
}

int ng_options_add_kind(struct ng_options *o, const struct ng_kind *kind) {
    for (int i = 0; i < o->n_kinds; i++)
        if (o->kinds[i] == kind) return i;
    if (o->n_kinds == NG_MAX_KINDS) return -1;
    o->kinds[o->n_kinds] = kind;
    return o->n_kinds++;
}

enum { BY_USER = 1, BY_PRESET = 2 };

/* Options that say the same thing in another way: where the user gave one of a group, a preset's line for another one does not count. */
static int has_user_said(const struct parsing *p, const char *option) {
    static const char *const doses[] = {"level", "rate", "replay"};
    if (p->was_given[row_index(option)] == BY_USER) return 1;
    if (strcmp(option, "replay") == 0) return 0; /* a trace is more than a dose: with a level beside it, it is refused with a reason */
    int is_dose = 0, has_other = 0;
    for (size_t i = 0; i < sizeof doses / sizeof *doses; i++) {
        is_dose |= strcmp(doses[i], option) == 0;
        has_other |= was_given(p, doses[i]) == BY_USER;
    }
    return is_dose && has_other;
}

/* A copy that lives as long as the options; NULL when there is no room for it. */
static const char *keep_value(struct ng_options *o, const char *value) {
    char *copy = o->preset_values + o->preset_values_bytes;
    size_t room = sizeof o->preset_values - o->preset_values_bytes, size = strlen(value) + 1;
    if (size > room) return NULL;
    o->preset_values_bytes += size;
    return memcpy(copy, value, size);
}

/* A line of the preset: as if it had been given, unless the user said otherwise. */
static int take_preset(void *context, const char *option, const char *value, const char *where) {
    struct parsing *p = context;
    int i = row_index(option);
    if (i < 0 || !(rows[i].value || rows[i].set == set_loop) || rows[i].set == set_preset) {
        nl_error("--preset: %s: '%s' is not an option that a preset can have", where, option);
        return -1;
    }
    if (p->o->control_fd >= 0 && !(rows[i].where & CONTROLLED)) return 0; /* the detector's own business */
    if (has_user_said(p, option)) return 0;
    const char *kept = keep_value(p->o, value), *wanted;
    if (!kept) wanted = "short enough: the preset is too long";
    else if (!rows[i].value && strcmp(value, "yes") != 0) wanted = "'yes', which is all that a flag can be";
    else wanted = rows[i].set(p, kept);
    p->was_given[i] = BY_PRESET;
    if (!wanted) return 0;
    nl_error("--preset: %s: '%s' is not %s%s", where, value, wanted, p->meant);
    return -1;
}

static int apply_preset(struct parsing *p) {
    char reason[4 * PATH_MAX];
    if (!p->o->preset) return 0;
    if (nl_preset_read(p->o->preset, take_preset, p, reason, sizeof reason) == 0) return 0;
    if (reason[0]) nl_error("--preset: %s", reason);
    return -1;
}

static int check_where(const struct parsing *p) {
    for (int i = 0; i < N_ROWS; i++) {
        if (!p->was_given[i] || rows[i].where & CONTROLLED) continue;
        nl_error("--%s: not together with --control-fd: the detector decides this", rows[i].name);
        return -1;
    }
    return 0;
}

/* Options that none of the kinds, or none of the patterns, listens to. */
static int check_listeners(const struct parsing *p) {
    const struct ng_options *o = p->o;
    unsigned kinds = 0, patterns = 0;
    for (int i = 0; i < o->n_kinds; i++) kinds |= o->kinds[i]->uses;
    for (int i = 0; i < o->n_patterns; i++) patterns |= o->patterns[i]->uses;
    for (int i = 0; i < N_ROWS; i++) {
        /* a preset's array is of no use when the user takes another kind, and no reason to refuse it */
        if (p->was_given[i] != BY_USER) continue;
        if (rows[i].kinds && !(rows[i].kinds & kinds))
            nl_error("--%s: the kind %s has no use for it", rows[i].name, o->kinds[0]->name);
        else if (rows[i].patterns && !(rows[i].patterns & patterns))
            nl_error("--%s: the pattern %s has no use for it", rows[i].name, o->patterns[0]->name);
        else
            continue;
        return -1;
    }
    return 0;
}

static int check_kinds(const struct parsing *p) {
    const struct ng_options *o = p->o;
    for (int i = 0; i < o->n_kinds; i++) {
        const struct ng_kind *kind = o->kinds[i];
        const char *reason = kind->supported ? kind->supported() : NULL;
        if (reason)
            nl_error("--kind: '%s' is not available here: %s", kind->name, reason);
        else if (kind->uses & NG_USES_FOLDER && !o->kind_options.folder)
            nl_error("--folder is missing: the kind %s needs to know where to write", kind->name);
        else if (o->control_fd >= 0 && kind->pacing == NG_PACING_PUBLISHED)
            nl_error("--kind: '%s' cannot be switched by a detector (try sum)", kind->name);
        else
            continue;
        return -1;
    }
    return 0;
}

static int has_trace(const struct ng_options *o) {
    for (int i = 0; i < o->n_patterns; i++)
        if (o->patterns[i]->uses & NG_SHAPE_TRACE) return 1;
    return 0;
}

/* A trace without a pattern is what replay is for. */
static void complete_patterns(struct parsing *p) {
    struct ng_options *o = p->o;
    if (o->n_patterns > 0) return;
    o->patterns[o->n_patterns++] = o->replay ? ng_pattern_find("replay") : ng_patterns[0];
}

static int check_patterns(const struct parsing *p) {
    const struct ng_options *o = p->o;
    if (has_trace(o) && !o->replay)
        nl_error("--replay is missing: the pattern replay needs a trace");
    else if (o->kinds[0]->pacing == NG_PACING_PUBLISHED && o->patterns[0] != ng_patterns[0])
        nl_error("--pattern: not for the kind %s, which has one of its own", o->kinds[0]->name);
    else
        return 0;
    return -1;
}

/* Checks the trace before anything is loaded; its kinds are then asked for, too. */
static int check_trace(const struct parsing *p) {
    struct ng_options *o = p->o;
    char reason[2 * PATH_MAX];
    if (!has_trace(o)) return 0;
    if (ng_trace_check(o->replay, o->replay_unit_ns, &o->checked_trace, reason, sizeof reason)) {
        nl_error("--replay: %s", reason);
        return -1;
    }
    if (o->checked_trace.said[0]) nl_warn("--replay: '%s': %s", o->replay, o->checked_trace.said);
    o->trace = &o->checked_trace;
    if (o->control_fd >= 0 && o->trace->kind_rows) {
        nl_error("--replay: '%s' names kinds, but under a detector the kind is a factor of its own: take the fourth column out", o->replay);
        return -1;
    }
    for (int i = 0; ng_kinds[i]; i++)
        if (o->trace->kind_rows >> i & 1) ng_options_add_kind(o, ng_kinds[i]);
    return 0;
}

/* How much: exactly one of level, rate and trace says it. */
static int check_dose(const struct parsing *p) {
    const struct ng_options *o = p->o;
    const struct ng_kind *kind = o->kinds[0];
    if (has_trace(o) && (o->level_percent >= 0 || o->rate_per_s > 0))
        nl_error("--%s: a trace says itself how much load it is (try --scale-burst)", o->level_percent >= 0 ? "level" : "rate");
    else if (!has_trace(o) && o->level_percent < 0 && o->rate_per_s == 0)
        nl_error("--level is missing (try --level 0.3)");
    else if (o->level_percent >= 0 && o->rate_per_s > 0)
        nl_error("--rate: not together with --level");
    else if (o->rate_per_s > 0 && !kind->unit)
        nl_error("--rate: the kind %s has no unit but CPU time (use --level)", kind->name);
    else if (o->level_percent > o->duty_cap_percent)
        nl_error("--level: %g %% is above the duty cap of %g %%", o->level_percent, o->duty_cap_percent);
    else
        return 0;
    return -1;
}

static int check_times(const struct parsing *p) {
    const struct ng_options *o = p->o;
    char period[32], duration[32];
    nl_format_duration(o->period_ns, period, sizeof period);
    nl_format_duration(o->duration_ns, duration, sizeof duration);
    if (o->duration_ns == 0 && (!has_trace(o) || o->shape.is_looped))
        nl_error("--duration is missing (try --duration 60s)");
    else if (has_trace(o) && was_given(p, "period") == BY_USER)
        nl_error("--period: a trace says itself when its bursts come (try --scale-period)");
    else if (!has_trace(o) && o->duration_ns < o->period_ns)
        nl_error("--duration: %s is shorter than one period (%s)", duration, period);
    else if (!has_trace(o) && o->phase_ns >= o->period_ns)
        nl_error("--phase: not shorter than one period (%s)", period);
    else if (o->phase == NG_PHASE_STAGGERED && o->n_nodes == 0)
        nl_error(
            "--phase: staggered needs to know which node this is: --node 0/4 is the first of four (Slurm's environment would say it, too)");
    else
        return 0;
    return -1;
}

static int check_alone(const struct parsing *p) {
    const struct ng_options *o = p->o;
    if (o->n_kinds > 1 && !o->trace) {
        nl_error("--kind: several kinds at once only under a detector (or in a trace, one for each burst)");
        return -1;
    }
    if (o->n_patterns > 1) {
        nl_error("--pattern: several patterns at once only under a detector");
        return -1;
    }
    return check_dose(p) || check_times(p) ? -1 : 0;
}

/* Slurm says which node of how many this is. */
static void ask_slurm(struct ng_options *o) {
    int64_t node, n_nodes;
    const char *id = getenv("SLURM_NODEID"), *count = getenv("SLURM_STEP_NUM_NODES");
    if (!count) count = getenv("SLURM_JOB_NUM_NODES");
    if (o->n_nodes > 0 || !id || !count || nl_parse_int(count, 1, 1 << 20, &n_nodes) || nl_parse_int(id, 0, n_nodes - 1, &node)) return;
    o->node = (int)node;
    o->n_nodes = (int)n_nodes;
}

static int check(struct parsing *p) {
    struct ng_options *o = p->o;
    if (o->n_kinds == 0) ng_options_add_kind(o, ng_kinds[0]);
    complete_patterns(p);
    if (o->period_ns == 0) o->period_ns = o->kinds[0]->period_ns;
    ask_slurm(o);
    if (o->control_fd >= 0 && check_where(p)) return -1;
    if (o->control_fd >= 0) o->shape.is_looped = 1; /* a campaign is longer than any trace */
    if (check_patterns(p) || check_trace(p) || check_listeners(p) || check_kinds(p)) return -1;
    return o->control_fd >= 0 ? 0 : check_alone(p);
}

int ng_options_parse(int argc, char **argv, struct ng_options *o) {
    *o = (struct ng_options){.shape = {.jitter = 1, .group = 5, .scale_period = 1, .scale_burst = 1, .seed = 1},
                             .level_percent = -1,
                             .control_fd = -1,
                             .carry_bursts = 10,
                             .duty_cap_percent = 100,
                             .tolerance_percent = 5};
    struct argp argp;
    struct argp_option options[N_ROWS + 1];
    struct parsing p = {.o = o, .options = options};
    fill_argp(&argp, options);
    if (nl_tables_asked(argc, argv)) return print_tables(options);
    /* argp's own errors take two lines and its own --help cannot be had without them, so both are ours */
    if (argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &p)) return -1;
    if (p.is_listing) return p.has_failed ? -1 : 0;
    return apply_preset(&p) || check(&p) ? -1 : 1;
}

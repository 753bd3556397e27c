#include "noisegen/gen_options.h"
#include "common/base/nl_options.h"
#include "common/sys/nl_place.h"
#include "common/base/nl_preset.h"
#include "common/base/nl_units.h"
#include "common/base/nl_nearest.h"

enum { LIST_BYTES = 1024 };

/* ---- functions of rows: each returns NULL or what it would have liked ---- */

static const char *set_level(struct nl_command_line *line, const char *text) {
    struct ng_options *o = line->target;
    if (nl_parse_percent(text, &o->level_percent)) return NL_PERCENT_HELP;
    double level = o->level_percent;
    return level == 0 || (level >= 0.001 && level <= 100) ? NULL : "0 or a percentage from 0.001 to 100";
}

const char *const ng_phase_names[] = {[NG_PHASE_OFFSET] = "offset",
                                      [NG_PHASE_ALIGNED] = "aligned",
                                      [NG_PHASE_STAGGERED] = "staggered",
                                      [NG_PHASE_RANDOM] = "random"};

static const char *set_phase(struct nl_command_line *line, const char *text) {
    struct ng_options *o = line->target;
    for (int i = NG_PHASE_ALIGNED; i <= NG_PHASE_RANDOM; i++)
        if (strcmp(text, ng_phase_names[o->phase = (enum ng_phase)i]) == 0) return NULL;
    o->phase = NG_PHASE_OFFSET;
    return nl_parse_duration_or_zero(text, &o->phase_ns)
               ? "a duration (try 0s, 2.5ms), aligned, staggered or random"
               : NULL;
}

static const char *set_node(struct nl_command_line *line, const char *text) {
    struct ng_options *o = line->target;
    int node, n_nodes, length = 0;
    if (sscanf(text, "%9d/%9d%n", &node, &n_nodes, &length) != 2 || text[length] || node < 0 ||
        node >= n_nodes)
        return "a node and the number of nodes (try 0/4, the first of four)";
    o->node = node;
    o->n_nodes = n_nodes;
    return NULL;
}

/* The rows of a table that a list of names means, into `rows`; their number, -1: it has a name of none, or is
 * none. */
static int rows_of(struct nl_command_line *line, const char *text, const void *table, const void **found,
                   int most) {
    char copy[LIST_BYTES];
    const char *names[NG_MAX_KINDS];
    int n = snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy ? nl_split(copy, names, most) : -1;
    for (int i = 0; i < n; i++)
        if (!(found[i] = nl_find_near(table, names[i], line->meant, sizeof line->meant))) return -1;
    return n;
}

static const char *set_kind(struct nl_command_line *line, const char *text) {
    struct ng_options *o = line->target;
    const void *found[NG_MAX_KINDS];
    int n = rows_of(line, text, ng_kinds, found, NG_MAX_KINDS);
    o->n_kinds = 0;
    for (int i = 0; i < n; i++)
        ng_options_add_kind(o, found[i]);
    return n > 0 ? NULL : "a kind of load (see --list kinds)";
}

static const char *set_pattern(struct nl_command_line *line, const char *text) {
    struct ng_options *o = line->target;
    const void *found[NG_MAX_PATTERNS];
    int n = rows_of(line, text, ng_patterns, found, NG_MAX_PATTERNS);
    o->n_patterns = 0;
    for (int i = 0; i < n; i++)
        o->patterns[o->n_patterns++] = found[i];
    return n > 0 ? NULL : "a pattern (see --list patterns)";
}

static const char *set_ranks(struct nl_command_line *line, const char *text) {
    struct ng_options *o = line->target;
    o->n_ranks = nl_parse_list(text, 0, 65535, 0, o->rank_cpus, NG_MAX_RANKS);
    return o->n_ranks > 0 ? NULL : "the CPUs of the application's ranks, in their order (try 0,1,2,3)";
}

/* ---- lists and help ---- */

enum { USUAL_PERIOD_NS = 10000000 };

static void list_kinds(void) {
    for (const struct ng_kind *const *k = ng_kinds; *k; k++) {
        const char *reason = (*k)->supported ? (*k)->supported() : NULL;
        char period[48] = "", text[32];
        if ((*k)->period_ns != USUAL_PERIOD_NS)
            snprintf(period, sizeof period, "; period %s",
                     nl_format_duration((*k)->period_ns, text, sizeof text));
        printf("%-8s %s (dose: CPU time%s%s%s%s%s)\n", (*k)->name, (*k)->help, (*k)->unit ? " or " : "",
               (*k)->unit ? (*k)->unit : "", period, (*k)->needs ? "; needs " : "",
               (*k)->needs ? (*k)->needs : "");
        if (reason) printf("         not here: %s\n", reason);
    }
}

static void show_preset(const char *name, const char *description) {
    printf("%-16s %s\n", name, description);
}

static int list_presets(void) {
    char reason[2 * PATH_MAX];
    if (nl_preset_list(show_preset, reason, sizeof reason) == 0) return 0;
    return nl_error("--list presets: %s", reason);
}

/* One line "node1 64 0-127": experiments count the ranks of a node by it, so it is to be run on the node,
 * bound as the ranks will be. */
static int list_cpus(void) {
    char host[256] = "", list[LIST_BYTES];
    struct nl_place *place;
    if (nl_place_open(&place)) return nl_error("--list cpus: cannot read this machine's topology");
    nl_place_restrict_to_binding(place);
    gethostname(host, sizeof host - 1);
    printf("%s %d %s\n", host, nl_place_cores(place), nl_place_list(place, list, sizeof list));
    nl_place_close(place);
    return 0;
}

static const char *list(struct nl_command_line *line, const char *text) {
    int *has_failed = line->context;
    line->is_done = 1;
    if (strcmp(text, "kinds") == 0)
        list_kinds();
    else if (strcmp(text, "patterns") == 0)
        for (const struct ng_pattern *const *row = ng_patterns; *row; row++)
            printf("%-8s %s\n", (*row)->name, (*row)->help);
    else if (strcmp(text, "presets") == 0)
        *has_failed |= list_presets();
    else if (strcmp(text, "cpus") == 0)
        *has_failed |= list_cpus();
    else
        return "kinds, patterns, presets or cpus";
    return NULL;
}

static void tell_preset(const char *name, const char *description) {
    nl_tables_row("preset", name, NULL, description);
}

/* What completion, help and suggestions know beside the options. */
static void print_tables(void) {
    char reason[2 * PATH_MAX];
    NL_TABLES_ROWS("kind", ng_kinds);
    NL_TABLES_ROWS("pattern", ng_patterns);
    if (nl_preset_list(tell_preset, reason, sizeof reason)) nl_warn("%s", reason);
}

static void print_kinds(FILE *out) {
    fputs("Kinds of load:\n", out);
    for (const struct ng_kind *const *k = ng_kinds; *k; k++)
        fprintf(out, "  %-8s %s\n", (*k)->name, (*k)->help);
    fputs("\nPatterns:\n", out);
    for (const struct ng_pattern *const *row = ng_patterns; *row; row++)
        fprintf(out, "  %-8s %s\n", (*row)->name, (*row)->help);
}

/* ---- the rows; their tags: the detector may not say it, and which kinds or patterns listen to it (0: not
 * their business) ---- */

enum { ALONE = 1, KINDS_SHIFT = 8, PATTERNS_SHIFT = 16 };

#define AT(type, member) NL_AT(type, struct ng_options, member)
/* What is scaled stays within the range of its type. */
#define FACTOR                   1e-9, 1e9, .wanted = "a factor from 1e-9 to 1e9 (try 0.1, 2)"
#define OF_KINDS(uses)           .tags = (unsigned)(uses) << KINDS_SHIFT
#define OF_PATTERNS(uses, where) .tags = (unsigned)(uses) << PATTERNS_SHIFT | (where)

static const char *const no_or_yes[] = {"no", "yes", NULL};

static const struct nl_option rows[] = {
    {.help = "Load:", .group = 1},
    {"level", "PERCENT", "load in percent of each CPU: 0, or 0.001 to 100", 1, .set = set_level,
     .tags = ALONE},
    {"rate", "N",
     "instead of a level: the kind's units per second on each CPU, such as 500MB (see --list kinds)", 1,
     AT(RATE, rate_per_s), .tags = ALONE},
    {"duration", "TIME",
     "how long (60s, 5min); required, so that no load is left running (not for a trace without loop=yes)", 1,
     AT(DURATION, duration_ns), .tags = ALONE},
    {"kind", "NAME", "kind of load, see below (default spin), such as 'membw:array-bytes=16MiB'", 1,
     .set = set_kind},
    {"array-bytes", "SIZE", "sum, membw: size of the array (default 2MB, 64MiB)", 1,
     AT(SIZE, kind_options.array_bytes), 8, 1e15, .wanted = "a size of 8 bytes or more (try 2MB)",
     .of = "kind", OF_KINDS(NG_USES_ARRAY)},
    {"folder", "DIR", "folder for a kind that writes files; they are removed at the end", 1,
     AT(TEXT, kind_options.folder), .wanted = "a folder", .of = "kind", OF_KINDS(NG_USES_FOLDER)},
    {"preset", "NAME",
     "options from a file, such as those of a recorded agent (see --list presets); options given here "
     "override it",
     1, AT(TEXT, preset), .wanted = "the name of a preset (see --list presets)"},
    {.help = "When:", .group = 2},
    {"pattern", "NAME", "pattern of the bursts, see below (default periodic), such as 'jittered:jitter=50'",
     2, .set = set_pattern},
    {"period", "TIME",
     "one burst per period, 1ms to 60s (default 10ms, or what --list kinds says of the kind)", 2,
     AT(DURATION, period_ns), 1e6, 60e9, .wanted = "a period from 1ms to 60s", .tags = ALONE},
    {"jitter", "PERCENT",
     "jittered: share of the period within which a burst is placed at random (default 100)", 2,
     AT(SHARE, shape.jitter), 1e-9, 100, .wanted = "a percentage above 0, up to 100", .of = "pattern",
     OF_PATTERNS(NG_SHAPE_JITTER, 0)},
    {"group", "N", "bursts: number of bursts in a group (default 5)", 2, AT(WHOLE, shape.group), 2, 1000,
     .wanted = "a number of bursts from 2 to 1000", .of = "pattern", OF_PATTERNS(NG_SHAPE_GROUP, 0)},
    {"spacing", "TIME", "bursts: from one burst of a group to the next (default a tenth of the period)", 2,
     AT(DURATION, shape.spacing_ns), .of = "pattern", OF_PATTERNS(NG_SHAPE_GROUP, 0)},
    {"replay", "FILE",
     "replay: the trace, lines start_ns<TAB>duration_ns[<TAB>cpu[<TAB>kind]], or of selfish, LogGOPSim, "
     "osnoise",
     2, AT(TEXT, replay), .wanted = "the path of a trace", OF_PATTERNS(NG_SHAPE_TRACE, 0)},
    {"scale-period", "FACTOR", "replay: stretches the times between bursts", 2,
     AT(NUMBER, shape.scale_period), FACTOR, .of = "pattern", OF_PATTERNS(NG_SHAPE_TRACE, 0)},
    {"scale-burst", "FACTOR", "replay: stretches the bursts", 2, AT(NUMBER, shape.scale_burst), FACTOR,
     .of = "pattern", OF_PATTERNS(NG_SHAPE_TRACE, ALONE)},
    {"loop", NULL, "replay: begin again at the end, for the whole duration (default no)", 2,
     AT(WORD, shape.is_looped), .table = no_or_yes, .of = "pattern", OF_PATTERNS(NG_SHAPE_TRACE, ALONE)},
    {"seed", "SEED", "jittered, poisson, random phase: seed of the random numbers (default 1)", 2,
     AT(SEED, shape.seed), .wanted = "a seed (try 1, 0x2a)"},
    {"phase", "WHEN",
     "wait before the first period, less than one period (default 0s); or across nodes, by their "
     "synchronised clocks: "
     "aligned, staggered, random",
     2, .set = set_phase, .tags = ALONE},
    {"node", "I/N", "which of how many nodes this is (default: from Slurm's environment)", 2, .of = "phase",
     .set = set_node, .tags = ALONE},
    {.help = "Where:", .group = 3},
    {"on", "PLACES",
     "CPUs to load, out of those allowed by cgroup and binding: " NL_PLACE_HELP
     "; one thread each (default: the first "
     "allowed CPU, or those of the trace)",
     3, AT(TEXT, on), .wanted = "a list of places (" NL_PLACE_HELP ")", .tags = ALONE},
    {"ranks", "CPUS", "where the application's ranks run, in their order, for the places that need to know",
     3, .set = set_ranks, .tags = ALONE},
    {.help = "Limits:", .group = 5},
    {"duty-cap", "PERCENT",
     "refuse levels above this, and never use more of the CPU in one period (default 100)", 5,
     AT(PERCENT, duty_cap_percent), 0.001, 100},
    {"carry", "N", "make up at most N bursts that were missed while the CPU was busy (default 10)", 5,
     AT(WHOLE, carry_bursts), 0, 1000, .wanted = "a number of bursts from 0 to 1000"},
    {"tolerance", "PERCENT", "status 1 when the delivered load is off by more than this (default 5)", 5,
     AT(PERCENT, tolerance_percent)},
    {"outlive-parent", NULL, "go on when the process that started this one ends (for nohup, setsid)", 5,
     AT(FLAG, outlive_parent), .tags = ALONE},
    {"control-fd", "FD", "take commands from the detector's control page", 5, AT(INT, control_fd), 0, 1 << 20,
     .wanted = "the number of an open file"},
    {.help = "Output:", .group = 6},
    {"json", NULL, "print the certificate as JSON", 6, AT(FLAG, json), .tags = ALONE},
    {"dry-run", NULL, "check everything, print what would be done, and end", 6, AT(FLAG, dry_run)},
    {"list", "WHAT",
     "kinds, patterns, presets, or cpus: the node's name, how many cores this process may use, and their "
     "CPUs",
     6, .set = list},
    {"version", NULL, "print the version", 6, .type = NL_VERSION},
    {"help", NULL, "print this help", 6, .type = NL_HELP},
};

enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)N_ROWS <= (int)NL_OPTIONS_MAX, "the parser has a place for every row");

/* ---- what options mean together ---- */

int ng_options_add_kind(struct ng_options *o, const struct ng_kind *kind) {
    for (int i = 0; i < o->n_kinds; i++)
        if (o->kinds[i] == kind) return i;
    if (o->n_kinds == NG_MAX_KINDS) return -1;
    o->kinds[o->n_kinds] = kind;
    return o->n_kinds++;
}

enum { BY_USER = 1, BY_PRESET = 2 };

/* Level, rate and trace say the same thing in another way: where the user gave one of them, a preset's line
 * for another one does not count. But a trace is more than a dose: with a level beside it, it is refused with
 * a reason. */
static int has_user_said(const struct nl_command_line *p, const char *option) {
    if (nl_options_given(p, option) == BY_USER) return 1;
    if (strcmp(option, "level") != 0 && strcmp(option, "rate") != 0) return 0;
    return nl_options_given(p, "level") == BY_USER || nl_options_given(p, "rate") == BY_USER ||
           nl_options_given(p, "replay") == BY_USER;
}

/* A line of the preset: as if it had been given, unless the user said otherwise. */
static int take_preset(void *context, const char *option, const char *value, const char *where) {
    struct nl_command_line *p = context;
    struct ng_options *o = p->target;
    int i = nl_options_find(p, option);
    if (i < 0 || rows[i].type == NL_FLAG || rows[i].type == NL_HELP || rows[i].type == NL_VERSION ||
        strcmp(option, "preset") == 0)
        return nl_error("--preset: %s: '%s' is not an option that a preset can have", where, option);
    if (o->control_fd >= 0 && rows[i].tags & ALONE) return 0; /* the detector's own business */
    if (has_user_said(p, option)) return 0;
    const char *kept = nl_options_keep(value, strlen(value));
    const char *wanted = kept ? nl_options_set(p, i, kept) : "taken: no memory is left";
    p->was_given[i] = BY_PRESET;
    if (!wanted) return 0;
    if (*wanted) nl_error("--preset: %s: '%s' is not %s%s", where, value, wanted, p->meant);
    return -1;
}

static int apply_preset(struct nl_command_line *p) {
    char reason[4 * PATH_MAX];
    if (!((struct ng_options *)p->target)->preset) return 0;
    if (nl_preset_read(((struct ng_options *)p->target)->preset, take_preset, p, reason, sizeof reason) == 0)
        return 0;
    if (reason[0]) nl_error("--preset: %s", reason);
    return -1;
}

static int check_where(const struct nl_command_line *p) {
    char name[96];
    const struct nl_option *row = nl_options_tagged(p, ALONE);
    if (!row) return 0;
    return nl_error("%s: not together with --control-fd: the detector decides this",
                    nl_option_name(row, name, sizeof name));
}

/* Options that none of the kinds, or none of the patterns, listens to. */
static int check_listeners(const struct nl_command_line *p) {
    const struct ng_options *o = p->target;
    unsigned kinds = 0, patterns = 0;
    for (int i = 0; i < o->n_kinds; i++)
        kinds |= o->kinds[i]->uses;
    for (int i = 0; i < o->n_patterns; i++)
        patterns |= o->patterns[i]->uses;
    for (int i = 0; i < N_ROWS; i++) {
        /* a preset's array is of no use when the user takes another kind, and no reason to refuse it */
        if (p->was_given[i] != BY_USER) continue;
        char name[96];
        unsigned of_kinds = rows[i].tags >> KINDS_SHIFT & 0xff, of_patterns = rows[i].tags >> PATTERNS_SHIFT;
        if (of_kinds && !(of_kinds & kinds))
            nl_error("%s does not apply to the kind %s", nl_option_name(&rows[i], name, sizeof name),
                     o->kinds[0]->name);
        else if (of_patterns && !(of_patterns & patterns))
            nl_error("%s does not apply to the pattern %s", nl_option_name(&rows[i], name, sizeof name),
                     o->patterns[0]->name);
        else
            continue;
        return -1;
    }
    return 0;
}

static int check_kinds(const struct nl_command_line *p) {
    const struct ng_options *o = p->target;
    for (int i = 0; i < o->n_kinds; i++) {
        const struct ng_kind *kind = o->kinds[i];
        const char *reason = kind->supported ? kind->supported() : NULL;
        if (reason)
            nl_error("--kind: '%s' is not available here: %s", kind->name, reason);
        else if (kind->uses & NG_USES_FOLDER && !o->kind_options.folder)
            nl_error("--kind: folder is missing: %s needs to know where to write (--kind %s:folder=DIR)",
                     kind->name, kind->name);
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
static void complete_patterns(struct nl_command_line *p) {
    struct ng_options *o = p->target;
    if (o->n_patterns > 0) return;
    o->patterns[o->n_patterns++] = o->replay ? ng_pattern_find("replay") : ng_patterns[0];
}

static int check_patterns(const struct nl_command_line *p) {
    const struct ng_options *o = p->target;
    if (has_trace(o) && !o->replay)
        nl_error("--replay is missing: the pattern replay needs a trace");
    else if (o->kinds[0]->pacing == NG_PACING_PUBLISHED && o->patterns[0] != ng_patterns[0])
        nl_error("--pattern: not for the kind %s, which has one of its own", o->kinds[0]->name);
    else
        return 0;
    return -1;
}

/* Checks the trace before anything is loaded; its kinds are then asked for, too. */
static int check_trace(const struct nl_command_line *p) {
    struct ng_options *o = p->target;
    char reason[2 * PATH_MAX];
    if (!has_trace(o)) return 0;
    if (nl_trace_check_noise(o->replay, &o->checked_trace, reason, sizeof reason))
        return nl_error("--replay: %s", reason);
    o->trace = &o->checked_trace;
    if (o->trace->converted[0]) nl_warn("--replay: '%s': %s", o->replay, o->trace->converted);
    if (o->control_fd >= 0 && o->trace->kind_rows)
        return nl_error("--replay: '%s' names kinds, but under a detector the kind is a factor of its own: "
                        "take the fourth column out",
                        o->replay);
    for (int i = 0; ng_kinds[i]; i++)
        if (o->trace->kind_rows >> i & 1) ng_options_add_kind(o, ng_kinds[i]);
    return 0;
}

/* How much: exactly one of level, rate and trace says it. */
static int check_dose(const struct nl_command_line *p) {
    const struct ng_options *o = p->target;
    const struct ng_kind *kind = o->kinds[0];
    if (has_trace(o) && (o->level_percent >= 0 || o->rate_per_s > 0))
        nl_error("--%s: a trace says itself how much load it is (see scale-burst)",
                 o->level_percent >= 0 ? "level" : "rate");
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

static int check_times(const struct nl_command_line *p) {
    const struct ng_options *o = p->target;
    char period[32], duration[32];
    nl_format_duration(o->period_ns, period, sizeof period);
    nl_format_duration(o->duration_ns, duration, sizeof duration);
    if (o->duration_ns == 0 && (!has_trace(o) || o->shape.is_looped))
        nl_error("--duration is missing (try --duration 60s)");
    else if (has_trace(o) && nl_options_given(p, "period") == BY_USER)
        nl_error("--period: a trace says itself when its bursts come (see scale-period)");
    else if (!has_trace(o) && o->duration_ns < o->period_ns)
        nl_error("--duration: %s is shorter than one period (%s)", duration, period);
    else if (!has_trace(o) && o->phase_ns >= o->period_ns)
        nl_error("--phase: not shorter than one period (%s)", period);
    else if (o->phase == NG_PHASE_STAGGERED && o->n_nodes == 0)
        nl_error("--phase: staggered needs to know which node this is: --phase staggered:node=0/4 is the "
                 "first of four (Slurm's environment "
                 "would say it, too)");
    else
        return 0;
    return -1;
}

static int check_alone(const struct nl_command_line *p) {
    const struct ng_options *o = p->target;
    if (o->n_kinds > 1 && !o->trace)
        return nl_error(
            "--kind: several kinds at once only under a detector (or in a trace, one for each burst)");
    if (o->n_patterns > 1) return nl_error("--pattern: several patterns at once only under a detector");
    return check_dose(p) || check_times(p) ? -1 : 0;
}

/* Slurm says which node of how many this is. */
static void ask_slurm(struct ng_options *o) {
    int64_t node, n_nodes;
    const char *id = getenv("SLURM_NODEID"), *count = getenv("SLURM_STEP_NUM_NODES");
    if (!count) count = getenv("SLURM_JOB_NUM_NODES");
    if (o->n_nodes > 0 || !id || !count || nl_parse_int(count, 1, 1 << 20, &n_nodes) ||
        nl_parse_int(id, 0, n_nodes - 1, &node))
        return;
    o->node = (int)node;
    o->n_nodes = (int)n_nodes;
}

static int check(struct nl_command_line *p) {
    struct ng_options *o = p->target;
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
    int has_failed = 0;
    struct nl_command_line line = {
        .program = "noiselab-gen",
        .rows = rows,
        .n_rows = N_ROWS,
        .target = o,
        .context = &has_failed,
        .print_more = print_kinds,
        .doc = "Loads CPUs by an exact dose, as agents and daemons do, and certifies what was delivered."
               "\v\nExit status: 0 delivered within the tolerance, 1 not, 2 usage or environment error.\n"
               "SIGINT and SIGTERM end the load early, with its certificate.\n\n"
               "Examples:\n"
               "  noiselab-gen --level 0.3 --period 10ms --on cpu:1 --duration 60s\n"
               "  noiselab-gen --kind procfs --rate 1 --period 1s --on spare --ranks 0,1,2 --duration 5min\n"
               "  noiselab-gen --preset node_exporter --on cpu:1 --duration 60s"};
    *o = (struct ng_options){
        .shape = {.jitter = 1, .group = 5, .scale_period = 1, .scale_burst = 1, .seed = 1},
        .level_percent = -1,
        .control_fd = -1,
        .carry_bursts = 10,
        .duty_cap_percent = 100,
        .tolerance_percent = 5};
    if (nl_tables_asked(argc, argv)) print_tables();
    if (nl_options_parse(&line, argc, argv, NULL)) return -1;
    if (line.is_done) return has_failed ? -1 : 0;
    return apply_preset(&line) || check(&line) ? -1 : 1;
}

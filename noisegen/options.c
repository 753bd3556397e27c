#include "options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nl_error.h"
#include "nl_units.h"
#include "version.h"

enum { MIN_PERIOD_NS = 1000000, MAX_CARRY = 1000 };
#define MAX_PERIOD_NS INT64_C(60000000000)

/* What is collected while argv is read. */
struct parsing {
    struct ng_options *o;
    int was_given[64]; /* by row */
    int is_listing;    /* the work was to print something */
    int was_reported;
    int64_t array_bytes; /* 0: not given */
    int64_t period_ns;   /* 0: not given */
};

/* ---- the rows: name, value, help, where it is valid, and a setter that returns NULL or what it would have liked ---- */

enum { ALONE = 1, CONTROLLED = 2, EVERYWHERE = 3 };

struct row {
    const char *name;
    const char *value; /* NULL: a flag */
    const char *help;
    int group;
    int where;
    const char *(*set)(struct parsing *p, const char *text);
};

static const char *set_level(struct parsing *p, const char *text) {
    if (nl_parse_percent(text, &p->o->level_percent)) return NL_PERCENT_HELP;
    double level = p->o->level_percent;
    return level == 0 || (level >= 0.001 && level <= 100) ? NULL : "0 or a percentage from 0.001 to 100";
}

static const char *set_period(struct parsing *p, const char *text) {
    if (nl_parse_duration(text, &p->period_ns)) return NL_DURATION_HELP;
    return p->period_ns >= MIN_PERIOD_NS && p->period_ns <= MAX_PERIOD_NS ? NULL : "a period from 1ms to 60s";
}

static const char *set_duration(struct parsing *p, const char *text) {
    return nl_parse_duration(text, &p->o->duration_ns) ? NL_DURATION_HELP : NULL;
}

static const char *set_phase(struct parsing *p, const char *text) {
    return nl_parse_duration_or_zero(text, &p->o->phase_ns) ? "a duration (try 0s, 2.5ms)" : NULL;
}

static const char *set_random(struct parsing *p, const char *text) {
    p->o->is_random = 1;
    return nl_parse_seed(text, &p->o->random_seed) ? "a seed (try 1, 0x2a)" : NULL;
}

static const char *set_kind(struct parsing *p, const char *text) {
    p->o->kind = ng_kind_find(text);
    return p->o->kind ? NULL : "a kind of load (see --list-kinds)";
}

static const char *set_array(struct parsing *p, const char *text) {
    if (nl_parse_size(text, &p->array_bytes)) return NL_SIZE_HELP;
    int64_t half_of_memory = (int64_t)sysconf(_SC_PHYS_PAGES) / 2 * (int64_t)sysconf(_SC_PAGESIZE);
    return p->array_bytes >= 8 && p->array_bytes <= half_of_memory ? NULL : "a size between 8 bytes and half of the memory";
}

static const char *set_cpu(struct parsing *p, const char *text) {
    int64_t cpu;
    if (nl_parse_int(text, 0, 65535, &cpu)) return "the number of a CPU (try 0)";
    p->o->cpu = (int)cpu;
    return NULL;
}

static const char *set_fifo(struct parsing *p, const char *text) {
    int64_t priority;
    if (nl_parse_int(text, 1, 99, &priority)) return "a priority from 1 to 99";
    p->o->fifo_priority = (int)priority;
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

static const char *list_kinds(struct parsing *p, const char *text);
static const char *show_version(struct parsing *p, const char *text);
static const char *show_help(struct parsing *p, const char *text);

static const struct row rows[] = {
    {NULL, NULL, "Load:", 1, 0, NULL},
    {"level", "PERCENT", "load in percent of one CPU: 0, or 0.001 to 100", 1, ALONE, set_level},
    {"duration", "TIME", "how long to load (60s, 5min); needed, so that no load is forgotten", 1, ALONE, set_duration},
    {"period", "TIME", "one burst per period, 1ms to 60s (default 10ms; 1s for the kind seed)", 1, ALONE, set_period},
    {"phase", "TIME", "wait before the first period, less than one period (default 0s)", 1, ALONE, set_phase},
    {"random-period", "SEED", "put each burst at a random place within its period", 1, ALONE, set_random},
    {"kind", "NAME", "kind of load, see below (default spin)", 1, EVERYWHERE, set_kind},
    {"array-bytes", "SIZE", "size of the array that the kind sum walks (default 2MB)", 1, EVERYWHERE, set_array},
    {"cpu", "N", "CPU to load, one of those allowed by cgroup and binding (default: the first of them)", 1, ALONE, set_cpu},
    {NULL, NULL, "Limits:", 2, 0, NULL},
    {"duty-cap", "PERCENT", "refuse a higher level, and never repay missed time beyond it (default 100)", 2, EVERYWHERE, set_duty_cap},
    {"carry", "N", "carry over at most N bursts' worth of time that the CPU was taken (default 10)", 2, EVERYWHERE, set_carry},
    {"tolerance", "PERCENT", "end with status 1 when the delivered load is further off than this (default 5)", 2, EVERYWHERE,
     set_tolerance},
    {"fifo", "PRIORITY", "run under SCHED_FIFO; at most 50 percent of the CPU", 2, ALONE, set_fifo},
    {"outlive-parent", NULL, "go on when the process that started this one ends (for nohup, setsid)", 2, ALONE, set_outlive},
    {"control-fd", "FD", "take commands from the detector's control page", 2, EVERYWHERE, set_control},
    {NULL, NULL, "Output:", 3, 0, NULL},
    {"json", NULL, "print the certificate as JSON", 3, ALONE, set_json},
    {"dry-run", NULL, "check everything, print what would be done, and end", 3, ALONE, set_dry_run},
    {"list-kinds", NULL, "print the kinds of load", 3, EVERYWHERE, list_kinds},
    {"version", NULL, "print the version", 3, EVERYWHERE, show_version},
    {"help", NULL, "print this help", 3, EVERYWHERE, show_help},
};

enum { N_ROWS = sizeof rows / sizeof *rows, FIRST_KEY = 0x100 };
_Static_assert(N_ROWS <= sizeof((struct parsing *)0)->was_given / sizeof(int), "was_given has a place for every row");

/* ---- lists and help ---- */

static const char *list_kinds(struct parsing *p, const char *text) {
    (void)text;
    for (const struct ng_kind *const *k = ng_kinds; *k; k++) {
        const char *reason = (*k)->supported ? (*k)->supported() : NULL;
        printf("%-8s %s%s%s%s\n", (*k)->name, (*k)->help, reason ? " (not here: " : "", reason ? reason : "", reason ? ")" : "");
    }
    p->is_listing = 1;
    return NULL;
}

static const char *show_version(struct parsing *p, const char *text) {
    (void)text;
    printf("noiselab-gen %s (%s)\n", NOISELAB_VERSION, NOISELAB_GIT);
    p->is_listing = 1;
    return NULL;
}

/* The lower part of --help, from the table of kinds; argp frees it. */
static char *help_on_kinds(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    if (!f) return (char *)text;
    fputs("Kinds of load:\n", f);
    for (const struct ng_kind *const *k = ng_kinds; *k; k++) fprintf(f, "  %-8s %s\n", (*k)->name, (*k)->help);
    fputs(text, f);
    fclose(f);
    return out;
}

static error_t parse_option(int key, char *text, struct argp_state *state);

static void fill_argp(struct argp *argp, struct argp_option options[N_ROWS + 1]) {
    static const char doc[] = "Loads one CPU by an exact percentage and certifies what was delivered."
                              "\v\nExit status: 0 delivered within the tolerance, 1 not, 2 usage or environment error.\n"
                              "SIGINT and SIGTERM end the load early, with its certificate.\n\n"
                              "Example: noiselab-gen --level 0.3 --period 10ms --cpu 1 --duration 60s";
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

/* Explains why getopt did not like an argument; it tells argp nothing but that it did not. */
static void explain(const char *argument) {
    size_t length = strcspn(argument, "=");
    int n_matches = 0;
    const struct row *match = NULL;
    for (const struct row *r = rows; r < rows + N_ROWS && length > 2; r++) {
        if (!r->name || strncmp(argument, "--", 2) != 0 || strncmp(r->name, argument + 2, length - 2) != 0) continue;
        match = r;
        n_matches++;
        if (strlen(r->name) != length - 2) continue;
        n_matches = 1;
        break;
    }
    if (n_matches == 0) nl_error("'%s': unknown option (see --help)", argument);
    if (n_matches > 1) nl_error("'%s': several options begin like this (see --help)", argument);
    if (n_matches == 1 && match->value) nl_error("--%s: needs a value (--%s %s)", match->name, match->name, match->value);
    if (n_matches == 1 && !match->value) nl_error("--%s: takes no value", match->name);
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    struct parsing *p = state->input;
    if (key >= FIRST_KEY && key < FIRST_KEY + N_ROWS) {
        const struct row *r = &rows[key - FIRST_KEY];
        const char *wanted = r->set(p, text);
        p->was_given[key - FIRST_KEY] = 1;
        if (!wanted) return 0;
        nl_error("--%s: '%s' is not %s", r->name, text, wanted);
        p->was_reported = 1;
        return EINVAL;
    }
    if (key == ARGP_KEY_ARG) {
        nl_error("'%s': unexpected argument (see --help)", text);
        p->was_reported = 1;
        return EINVAL;
    }
    if (key == ARGP_KEY_ERROR) {
        if (!p->was_reported) explain(state->argv[state->next > 1 ? state->next - 1 : 0]);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* ---- what options mean together ---- */

static int was_given(const struct parsing *p, const char *name) {
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].name && strcmp(rows[i].name, name) == 0) return p->was_given[i];
    return 0;
}

static int check_where(const struct parsing *p) {
    for (int i = 0; i < N_ROWS; i++) {
        if (!p->was_given[i] || rows[i].where & CONTROLLED) continue;
        nl_error("--%s: not together with --control-fd: the detector decides this", rows[i].name);
        return -1;
    }
    return 0;
}

static int check_kind(const struct parsing *p) {
    struct ng_options *o = p->o;
    const char *reason = o->kind->supported ? o->kind->supported() : NULL;
    o->array_bytes = p->array_bytes > 0 ? p->array_bytes : o->kind->array_bytes;
    if (reason)
        nl_error("--kind: '%s' is not available here: %s", o->kind->name, reason);
    else if (p->array_bytes > 0 && (o->kind->array_bytes == 0 || o->kind->has_fixed_array))
        nl_error("--array-bytes: the kind %s has no array to choose", o->kind->name);
    else if (o->control_fd >= 0 && o->kind->pacing == NG_PACING_PUBLISHED)
        nl_error("--kind: '%s' cannot be switched by a detector (try sum)", o->kind->name);
    else if (o->is_random && o->kind->pacing == NG_PACING_PUBLISHED)
        nl_error("--random-period: not for the kind %s", o->kind->name);
    else
        return 0;
    return -1;
}

static int check_alone(const struct parsing *p) {
    const struct ng_options *o = p->o;
    char period[32], duration[32];
    nl_format_duration(o->period_ns, period, sizeof period);
    nl_format_duration(o->duration_ns, duration, sizeof duration);
    if (o->level_percent < 0)
        nl_error("--level is missing (try --level 0.3)");
    else if (o->duration_ns == 0)
        nl_error("--duration is missing (try --duration 60s)");
    else if (o->duration_ns < o->period_ns)
        nl_error("--duration: %s is shorter than one period (%s)", duration, period);
    else if (o->phase_ns >= o->period_ns)
        nl_error("--phase: not shorter than one period (%s)", period);
    else if (o->fifo_priority > 0 && o->level_percent > NG_FIFO_CAP_PERCENT)
        nl_error("--fifo: a level of %g %% is above %g %%, the most that SCHED_FIFO may have", o->level_percent, NG_FIFO_CAP_PERCENT);
    else if (o->level_percent > o->duty_cap_percent)
        nl_error("--level: %g %% is above the duty cap of %g %%", o->level_percent, o->duty_cap_percent);
    else if (o->fifo_priority > 0 && o->kind->pacing == NG_PACING_PUBLISHED)
        nl_error("--fifo: not for the kind %s, which does not keep to its level", o->kind->name);
    else
        return 0;
    return -1;
}

static int check(const struct parsing *p) {
    struct ng_options *o = p->o;
    o->period_ns = p->period_ns > 0 ? p->period_ns : o->kind->period_ns;
    if (o->fifo_priority > 0 && !was_given(p, "duty-cap")) o->duty_cap_percent = NG_FIFO_CAP_PERCENT;
    if (o->fifo_priority > 0 && o->duty_cap_percent > NG_FIFO_CAP_PERCENT) {
        nl_error("--duty-cap: %g %% is above %g %%, the most that SCHED_FIFO may have", o->duty_cap_percent, NG_FIFO_CAP_PERCENT);
        return -1;
    }
    if (o->control_fd >= 0 && check_where(p)) return -1;
    if (check_kind(p)) return -1;
    return o->control_fd >= 0 ? 0 : check_alone(p);
}

int ng_options_parse(int argc, char **argv, struct ng_options *o) {
    *o = (struct ng_options){.kind = ng_kinds[0],
                             .level_percent = -1,
                             .cpu = -1,
                             .control_fd = -1,
                             .carry_bursts = 10,
                             .duty_cap_percent = 100,
                             .tolerance_percent = 5};
    struct parsing p = {.o = o};
    struct argp argp;
    struct argp_option options[N_ROWS + 1];
    fill_argp(&argp, options);
    /* argp's own errors take two lines and its own --help cannot be had without them, so both are ours */
    if (argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &p)) return -1;
    if (p.is_listing) return 0;
    return check(&p) ? -1 : 1;
}

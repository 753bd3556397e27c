#include "common/base/nl_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/nl_error.h"
#include "common/base/nl_nearest.h"

enum { FIRST_KEY = 0x100 };

struct parsing {
    struct nl_command_line *line;
    void *context;
    const struct argp_option *options;
    int *first_word;
    int was_reported;
};

/* What programs had once, and what says it now. */
static const struct {
    const char *option, *now;
} retired[] = {
    {"--cpu", "--on cpu:N"},
    {"--fifo", "chrt -f PRIORITY noiselab-gen ... --duty-cap 50"},
    {"--random-period", "--pattern jittered --seed SEED"},
};

static int say_retired(const struct argp_option *options, const char *argument, size_t length) {
    int has_list = 0;
    for (const struct argp_option *o = options; o->name || o->doc; o++) has_list |= o->name && strcmp(o->name, "list") == 0;
    if (has_list && length > 7 && strncmp(argument, "--list-", 7) == 0) {
        nl_error("'%s': no longer an option; use --list %s", argument, argument + 7);
        return 1;
    }
    for (size_t i = 0; i < sizeof retired / sizeof *retired; i++) {
        if (strlen(retired[i].option) != length || strncmp(retired[i].option, argument, length) != 0) continue;
        nl_error("'%s': no longer an option; use %s", argument, retired[i].now);
        return 1;
    }
    return 0;
}

/* Names the option that was meant, by its dashes or without them. */
static void say_unknown(const struct argp_option *options, const char *argument, size_t length) {
    char typed[64] = "", name[72] = "";
    struct nl_nearest n;
    if (length < sizeof typed) snprintf(typed, sizeof typed, "%.*s", (int)length, argument);
    nl_nearest_begin(&n, typed + strspn(typed, "-"));
    for (const struct argp_option *o = options; o->name || o->doc; o++)
        if (o->name) nl_nearest_offer(&n, o->name);
    if (n.best) snprintf(name, sizeof name, ": did you mean --%s?", n.best);
    nl_error("'%s': unknown option (see --help)%s", argument, name);
}

void nl_options_explain(const struct argp_option *options, const char *argument) {
    size_t length = strcspn(argument, "=");
    int n_matches = 0;
    const struct argp_option *match = NULL;
    for (const struct argp_option *o = options; (o->name || o->doc) && length > 2; o++) {
        if (!o->name || strncmp(argument, "--", 2) != 0 || strncmp(o->name, argument + 2, length - 2) != 0) continue;
        match = o;
        n_matches++;
        if (strlen(o->name) != length - 2) continue;
        n_matches = 1;
        break;
    }
    if (n_matches == 0 && !say_retired(options, argument, length)) say_unknown(options, argument, length);
    if (n_matches > 1) nl_error("'%s': several options begin like this (see --help)", argument);
    if (n_matches == 1 && match->arg) nl_error("--%s: needs a value (--%s %s)", match->name, match->name, match->arg);
    if (n_matches == 1 && !match->arg) nl_error("--%s: takes no value", match->name);
}

int nl_tables_asked(int argc, char **argv) { return argc == 2 && strcmp(argv[1], "--list-tables") == 0; }

void nl_tables_row(const char *type, const char *name, const char *value, const char *help) {
    printf("%s\t%s\t%s\t", type, name, value ? value : "-");
    for (const char *p = help ? help : ""; *p; p++) putchar(*p == '\t' || *p == '\n' ? ' ' : *p);
    putchar('\n');
}

void nl_tables_options(const struct argp_option *options) {
    for (const struct argp_option *o = options; o->name || o->doc; o++) {
        char name[72];
        if (!o->name) {
            nl_tables_row("group", "-", NULL, o->doc);
            continue;
        }
        snprintf(name, sizeof name, "--%s", o->name);
        nl_tables_row("option", name, o->arg, o->doc);
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    struct parsing *p = state->input;
    struct nl_command_line *line = p->line;
    if (key >= FIRST_KEY && key < FIRST_KEY + line->n_rows) {
        const struct nl_option *row = &line->rows[key - FIRST_KEY];
        const char *wanted = row->set(p->context, text);
        line->was_given[key - FIRST_KEY] = 1;
        if (!wanted) return 0;
        nl_error("--%s: '%s' is not %s", row->name, text ? text : "", wanted);
        p->was_reported = 1;
        return EINVAL;
    }
    if (key == ARGP_KEY_ARG && line->args) {
        *p->first_word = state->next - 1;
        state->next = state->argc; /* the rest is another program's business */
        return 0;
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

static struct argp fill(const struct nl_command_line *line, struct argp_option options[NL_OPTIONS_MAX + 1]) {
    for (int i = 0; i < line->n_rows; i++) {
        const struct nl_option *row = &line->rows[i];
        options[i] = (struct argp_option){
            .name = row->name, .key = row->name ? FIRST_KEY + i : 0, .arg = row->value, .doc = row->help, .group = row->group};
    }
    options[line->n_rows] = (struct argp_option){0};
    return (struct argp){.options = options, .parser = parse_option, .args_doc = line->args, .doc = line->doc};
}

int nl_options_parse(struct nl_command_line *line, int argc, char **argv, void *context, int *first_word) {
    struct argp_option options[NL_OPTIONS_MAX + 1];
    struct argp argp = fill(line, options);
    struct parsing p = {.line = line, .context = context, .options = options, .first_word = first_word};
    if (first_word) *first_word = argc;
    if (nl_tables_asked(argc, argv)) {
        nl_tables_options(options);
        line->is_done = 1;
        return 0;
    }
    /* argp's own errors take two lines and its own --help cannot be had without them, so both are ours */
    return argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER, NULL, &p) ? -1 : 0;
}

void nl_options_help(const struct nl_command_line *line) {
    struct argp_option options[NL_OPTIONS_MAX + 1];
    struct argp argp = fill(line, options);
    char name[64];
    snprintf(name, sizeof name, "%s", line->program);
    argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
}

int nl_options_given(const struct nl_command_line *line, const char *name) {
    for (int i = 0; i < line->n_rows; i++)
        if (line->rows[i].name && strcmp(line->rows[i].name, name) == 0) return line->was_given[i];
    return 0;
}

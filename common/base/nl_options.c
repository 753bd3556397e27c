#include "common/base/nl_options.h"
#include "common/base/nl_units.h"
#include "common/base/version.h"
#include "common/base/nl_nearest.h"

enum { KEYS_BYTES = 2048 };

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* ---- tables for programs ---- */

int nl_tables_asked(int argc, char **argv) { return argc == 2 && strcmp(argv[1], "--list-tables") == 0; }

void nl_tables_row(const char *type, const char *name, const char *value, const char *help) {
    printf("%s\t%s\t%s\t", type, name, value ? value : "-");
    for (const char *p = help ? help : ""; *p; p++)
        putchar(*p == '\t' || *p == '\n' ? ' ' : *p);
    putchar('\n');
}

/* ---- arguments ---- */

int nl_is_plain_name(const char *text, size_t most) {
    return *text && *text != '.' && strlen(text) <= most && strspn(text, PLAIN) == strlen(text);
}

void nl_make_plain(char *name) {
    for (; *name; name++)
        if (!strchr(PLAIN, *name)) *name = '_';
}

const char *nl_options_keep(const char *text, size_t length) {
    static struct kept {
        struct kept *before;
        char text[];
    } * last; /* all of them can be found from here: none is lost */
    struct kept *kept = malloc(sizeof *kept + length + 1);
    if (!kept) return NULL;
    kept->before = last;
    last = kept;
    memcpy(kept->text, text, length);
    kept->text[length] = '\0';
    return kept->text;
}

/* The words as a phrase, "auto, on or off", or as a value, "auto|on|off". */
static const char *join(const char *const *words, int is_phrase, char *out, size_t size) {
    out[0] = '\0';
    for (int i = 0; words[i]; i++) {
        const char *between = i == 0 ? "" : !is_phrase ? "|" : words[i + 1] ? ", " : " or ";
        snprintf(out + strlen(out), size - strlen(out), "%s%s", between, words[i]);
    }
    return out;
}

static const char *set_word(struct nl_command_line *line, const struct nl_option *row, const char *text,
                            int *out) {
    const char *const *words = row->table;
    struct nl_nearest n;
    nl_nearest_begin(&n, text);
    for (int i = 0; words[i]; i++) {
        nl_nearest_offer(&n, words[i]);
        if (strcmp(words[i], text) != 0) continue;
        *out = i;
        return NULL;
    }
    nl_nearest_tell(&n, line->meant, sizeof line->meant);
    return row->wanted ? row->wanted : join(words, 1, line->wanted, sizeof line->wanted);
}

static const char *set_row(struct nl_command_line *line, const struct nl_option *row, const char *text,
                           char *at) {
    const void *one = nl_find_near(row->table, text, line->meant, sizeof line->meant);
    if (one) memcpy(at, &one, sizeof one);
    return one ? NULL : row->wanted;
}

/* "a whole number from 1 to 20" */
static const char *want_range(struct nl_command_line *line, const struct nl_option *row, const char *what) {
    if (row->wanted) return row->wanted;
    snprintf(line->wanted, sizeof line->wanted, "%s from %.12g to %.12g", what, row->least, row->most);
    return line->wanted;
}

static int is_within(const struct nl_option *row, double value) {
    return row->most == 0 || (value >= row->least && value <= row->most);
}

static const char *set_number(struct nl_command_line *line, const struct nl_option *row, const char *text,
                              double *out) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !is_within(row, value)) return want_range(line, row, "a number");
    *out = value;
    return NULL;
}

static const char *set_percent(struct nl_command_line *line, const struct nl_option *row, const char *text,
                               double *out) {
    double percent;
    if (nl_parse_percent(text, &percent) || !is_within(row, percent))
        return row->most == 0 ? NL_PERCENT_HELP : want_range(line, row, "a percentage");
    *out = row->type == NL_SHARE ? percent / 100 : percent;
    return NULL;
}

static const char *set_whole(struct nl_command_line *line, const struct nl_option *row, const char *text,
                             char *at) {
    int64_t value;
    if (nl_parse_int(text, (int64_t)row->least, (int64_t)row->most, &value))
        return want_range(line, row, "a whole number");
    if (row->type == NL_INT)
        *(int *)(void *)at = (int)value;
    else
        *(int64_t *)(void *)at = value;
    return NULL;
}

/* What one of the parsers of nl_units.h made of it. */
static const char *taken(const struct nl_option *row, int is_refused, const char *wanted) {
    return !is_refused ? NULL : row->wanted ? row->wanted : wanted;
}

const char *nl_options_set(struct nl_command_line *line, int i, const char *text) {
    const struct nl_option *row = &line->rows[i];
    char *place = (char *)line->target + row->at;
    void *at = place;
    line->meant[0] = '\0';
    line->texts[i] = text;
    switch (row->type) {
    case NL_SET: return row->set(line, text);
    case NL_FLAG: *(int *)at = 1; return NULL;
    case NL_TEXT:
        *(const char **)at = text;
        return taken(row, !*text || (row->most > 0 && (double)strlen(text) > row->most), "a text");
    case NL_NAME:
        *(const char **)at = text;
        return taken(row, !nl_is_plain_name(text, (size_t)row->most),
                     "a plain name (letters, digits, . _ -; not starting with a dot)");
    case NL_WORD: return set_word(line, row, text, at);
    case NL_ROW: return set_row(line, row, text, place);
    case NL_INT:
    case NL_WHOLE: return set_whole(line, row, text, place);
    case NL_NUMBER: return set_number(line, row, text, at);
    case NL_PERCENT:
    case NL_SHARE: return set_percent(line, row, text, at);
    case NL_DURATION:
        if (nl_parse_duration(text, at)) return NL_DURATION_HELP;
        return taken(row, !is_within(row, (double)*(int64_t *)at), "in the range of it");
    case NL_DURATION_OR_ZERO:
        return taken(row, nl_parse_duration_or_zero(text, at),
                     "a duration with its unit (try 500ms, 10s, 0s)");
    case NL_SECONDS: return taken(row, nl_parse_seconds(text, at), NL_SECONDS_HELP);
    case NL_SIZE:
        return taken(row, nl_parse_size(text, at) || !is_within(row, (double)*(int64_t *)at), NL_SIZE_HELP);
    case NL_RATE: return taken(row, nl_parse_rate(text, at), NL_RATE_HELP);
    case NL_SEED: return taken(row, nl_parse_seed(text, at), "a whole number of up to 64 bits (try 1, 0x2a)");
    case NL_HELP:
    case NL_VERSION: break;
    }
    return NULL;
}

/* ---- keys: --starts window:gamma=1.1,eps=25% ---- */

/* The first key of an option, of that name or (NULL) of any; -1. */
static int find_key(const struct nl_command_line *line, const struct nl_option *option, const char *name) {
    for (int i = 0; i < line->n_rows && option->name; i++) {
        const struct nl_option *row = &line->rows[i];
        if (row->of && strcmp(row->of, option->name) == 0 && (!name || strcmp(row->name, name) == 0))
            return i;
    }
    return -1;
}

static int has_keys(const struct nl_command_line *line, const struct nl_option *o) {
    return !o->of && find_key(line, o, NULL) >= 0;
}

static int refuse(struct nl_command_line *line, int i, const char *text, const char *wanted) {
    char name[96];
    if (*wanted)
        nl_error("%s: '%s' is not %s%s", nl_option_name(&line->rows[i], name, sizeof name), text ? text : "",
                 wanted, line->meant);
    return -1;
}

static int refuse_key(const struct nl_command_line *line, const struct nl_option *option, const char *name) {
    char names[512] = "", meant[96];
    struct nl_nearest n;
    nl_nearest_begin(&n, name);
    for (int i = 0; i < line->n_rows; i++) {
        const struct nl_option *row = &line->rows[i];
        if (!row->of || strcmp(row->of, option->name) != 0) continue;
        nl_nearest_offer(&n, row->name);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] ? ", " : "",
                 row->name);
    }
    return nl_error("--%s: '%s' is not a key of it (%s)%s", option->name, name, names,
                    nl_nearest_tell(&n, meant, sizeof meant));
}

/* One NAME=VALUE. */
static int set_key(struct nl_command_line *line, const struct nl_option *option, char *part) {
    char *equals = strchr(part, '=');
    if (!equals) return nl_error("--%s: '%s' is not NAME=VALUE", option->name, part);
    *equals = '\0';
    int i = find_key(line, option, part);
    if (i < 0) return refuse_key(line, option, part);
    const char *text = nl_options_keep(equals + 1, strlen(equals + 1));
    const char *wanted = text ? nl_options_set(line, i, text) : "taken: no memory is left";
    line->was_given[i] = 1;
    return wanted ? refuse(line, i, text, wanted) : 0;
}

/* The keys, changed in place. What has no = belongs to the text before it, which may hold commas. */
static int set_keys(struct nl_command_line *line, const struct nl_option *option, char *text) {
    do {
        char *end = text + strcspn(text, ",");
        while (*end && strcspn(end + 1, "=") >= strcspn(end + 1, ","))
            end += 1 + strcspn(end + 1, ",");
        char *next = *end ? end + 1 : NULL;
        *end = '\0';
        if (set_key(line, option, text)) return -1;
        text = next;
    } while (text);
    return 0;
}

static int set_option(struct nl_command_line *line, int i, const char *text) {
    const struct nl_option *row = &line->rows[i];
    char keys[KEYS_BYTES];
    const char *colon = text && has_keys(line, row) ? strchr(text, ':') : NULL;
    line->was_given[i] = 1;
    if (!colon) {
        const char *wanted = nl_options_set(line, i, text);
        return wanted ? refuse(line, i, text, wanted) : 0;
    }
    if (snprintf(keys, sizeof keys, "%s", colon + 1) >= (int)sizeof keys)
        return refuse(line, i, text, "short enough");
    const char *value = nl_options_keep(text, (size_t)(colon - text));
    const char *wanted = value ? nl_options_set(line, i, value) : "taken: no memory is left";
    line->texts[i] = text;
    return wanted ? refuse(line, i, value, wanted) : set_keys(line, row, keys);
}

/* ---- what is shown of rows ---- */

struct shown {
    char name[96], value[300];
};

static int takes_value(const struct nl_option *row) { return row->value || row->type == NL_WORD; }

/* How --help and the tables call a row and its argument; ""s of a heading, and no value of a flag and a key.
 */
static struct shown show(const struct nl_command_line *line, const struct nl_option *row) {
    struct shown s = {"", ""};
    char words[256] = "";
    const char *value = row->value             ? row->value
                        : row->type == NL_WORD ? join(row->table, 0, words, sizeof words)
                                               : "";
    if (row->of)
        snprintf(s.name, sizeof s.name, "%s:%s=%s", row->of, row->name, value);
    else if (row->name)
        snprintf(s.name, sizeof s.name, "--%s", row->name);
    if (!row->of)
        snprintf(s.value, sizeof s.value, "%s%s", value, has_keys(line, row) ? "[:NAME=VALUE,...]" : "");
    return s;
}

static void print_tables(const struct nl_command_line *line) {
    for (const struct nl_option *row = line->rows; row < line->rows + line->n_rows; row++) {
        struct shown s = show(line, row);
        nl_tables_row(!row->name ? "group"
                      : row->of  ? "key"
                                 : "option",
                      row->name ? s.name : "-", s.value[0] ? s.value : NULL, row->help);
    }
}

/* ---- --help ---- */

enum { WIDTH = 79, COLUMN = 29 /* where what is said of an option begins */ };

/* One line of text from column `at` on; what is beyond the width begins anew at column `margin`. */
static void wrap(const char *text, int at, int margin) {
    while (*text && *text != '\n') {
        int blanks = (int)strspn(text, " "), n = blanks + (int)strcspn(text + blanks, " \n");
        if (at + n > WIDTH && at > margin) {
            printf("\n%*s", margin, "");
            text += blanks;
            n -= blanks;
            at = margin;
        }
        printf("%.*s", n, text);
        text += n;
        at += n;
    }
    putchar('\n');
}

/* Lines; what is left of one that is indented begins below its second column, where it has one. */
static void print_text(const char *text) {
    for (const char *end; *text; text = *end ? end + 1 : end) {
        int indent = (int)strspn(text, " ");
        const char *gap = strstr(text + indent, "  ");
        end = text + strcspn(text, "\n");
        wrap(text, 0,
             indent == 0        ? 0
             : gap && gap < end ? (int)(gap - text) + (int)strspn(gap, " ")
                                : indent + 2);
    }
}

static void print_option(const struct nl_command_line *line, const struct nl_option *row) {
    struct shown s = show(line, row);
    int n = printf("%s%s%s%s", row->of ? "  " : "      ", s.name, s.value[0] ? "=" : "", s.value);
    if (n >= COLUMN) n = printf("\n") - 1;
    printf("%*s", COLUMN - n, "");
    wrap(row->help, COLUMN, COLUMN);
}

static void print_help(const struct nl_command_line *line) {
    char *below = NULL;
    size_t size = 0, above = strcspn(line->doc, "\v");
    printf("Usage: %s [OPTION...]%s%s\n", line->program, line->args ? " " : "", line->args ? line->args : "");
    const char *doc = nl_options_keep(line->doc, above);
    print_text(doc ? doc : "");
    for (int group = 0, last = -1; group <= line->n_rows; group++)
        for (const struct nl_option *row = line->rows; row < line->rows + line->n_rows; row++) {
            if (row->group != group) continue;
            if (group != last) putchar('\n');
            last = group;
            if (row->name)
                print_option(line, row);
            else
                printf(" %s\n", row->help);
        }
    putchar('\n');
    FILE *f = open_memstream(&below, &size);
    if (!f) return;
    if (line->print_more) line->print_more(f);
    if (line->doc[above]) fputs(line->doc + above + 1, f);
    fclose(f);
    print_text(below);
    free(below);
}

/* ---- argv ---- */

/* Names what was meant: another option's key as it is given now, or the nearest option, by its dashes or
 * without them. */
static int say_unknown(const struct nl_command_line *line, const char *word, int length) {
    char typed[64] = "", name[72] = "";
    struct nl_nearest n;
    if (length < (int)sizeof typed) snprintf(typed, sizeof typed, "%.*s", length, word);
    nl_nearest_begin(&n, typed + strspn(typed, "-"));
    for (const struct nl_option *row = line->rows; row < line->rows + line->n_rows; row++) {
        if (row->of && strncmp(typed, "--", 2) == 0 && strcmp(row->name, typed + 2) == 0)
            return nl_error("'%s': no option by itself; use --%s ...:%s=%s", word, row->of, row->name,
                            row->value ? row->value : "WORD");
        if (row->name && !row->of) nl_nearest_offer(&n, row->name);
    }
    if (n.best) snprintf(name, sizeof name, ": did you mean --%s?", n.best);
    return nl_error("'%s': unknown option (see --help%s)%s", word, line->see ? line->see : "", name);
}

/* The row that a word names, or begins to name as no other; -1 after one line. */
static int find_option(const struct nl_command_line *line, const char *word) {
    size_t length = strcspn(word, "=");
    int n_matches = 0, match = -1;
    for (int i = 0; i < line->n_rows && length > 2; i++) {
        const struct nl_option *row = &line->rows[i];
        if (!row->name || row->of || strncmp(word, "--", 2) != 0 ||
            strncmp(row->name, word + 2, length - 2) != 0)
            continue;
        if (row->name[length - 2] == '\0') return i;
        match = i;
        n_matches++;
    }
    if (n_matches == 0) return say_unknown(line, word, (int)length);
    return n_matches == 1 ? match : nl_error("'%s': several options begin like this (see --help)", word);
}

static void print_what_is_asked(struct nl_command_line *line, enum nl_type type) {
    if (type == NL_HELP && !line->is_silent && !line->is_done) print_help(line);
    if (type == NL_VERSION && !line->is_silent && !line->is_done)
        printf("%s %s (%s)%s\n", line->program, NOISELAB_VERSION, nl_git,
               line->version_note ? line->version_note : "");
    line->is_done |= type == NL_HELP || type == NL_VERSION;
}

int nl_options_parse(struct nl_command_line *line, int argc, char **argv, int *first_word) {
    int at = 1;
    if (nl_tables_asked(argc, argv)) {
        if (!line->is_silent) print_tables(line);
        line->is_done = 1;
        at = argc;
    }
    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        const char *equals = strchr(argv[at], '='), *text = equals ? equals + 1 : NULL;
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        int i = find_option(line, argv[at]);
        if (i < 0) return -1;
        const struct nl_option *row = &line->rows[i];
        if (text && !takes_value(row)) return nl_error("--%s: takes no value", row->name);
        if (!text && takes_value(row) && !(text = argv[++at]))
            return nl_error("--%s: needs a value (--%s %s)", row->name, row->name, show(line, row).value);
        print_what_is_asked(line, row->type);
        if (set_option(line, i, text)) return -1;
    }
    if (first_word) *first_word = at;
    if (at < argc && !line->args)
        return nl_error("'%s': unexpected argument: all settings are options (see --help)", argv[at]);
    return 0;
}

/* ---- asked afterwards ---- */

int nl_options_find(const struct nl_command_line *line, const char *name) {
    for (int i = 0; i < line->n_rows; i++)
        if (line->rows[i].name && strcmp(line->rows[i].name, name) == 0) return i;
    return -1;
}

int nl_options_given(const struct nl_command_line *line, const char *name) {
    int i = nl_options_find(line, name);
    return i >= 0 ? line->was_given[i] : 0;
}

const struct nl_option *nl_options_tagged(const struct nl_command_line *line, unsigned tags) {
    for (int i = 0; i < line->n_rows; i++)
        if (line->was_given[i] && line->rows[i].tags & tags) return &line->rows[i];
    return NULL;
}

const char *nl_option_name(const struct nl_option *row, char *buf, size_t size) {
    snprintf(buf, size, "--%s%s%s", row->of ? row->of : row->name, row->of ? ": " : "",
             row->of ? row->name : "");
    return buf;
}

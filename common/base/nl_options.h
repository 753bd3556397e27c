/* Command lines as a table: one row per option, read by argp, every error one line. */
#ifndef NL_OPTIONS_H
#define NL_OPTIONS_H

#include <argp.h>

/* One option. A row without a name is a heading (`help`) of its group. */
struct nl_option {
    const char *name;  /* long, without dashes */
    const char *value; /* what --help calls its value; NULL: a flag */
    const char *help;
    int group;
    const char *(*set)(void *context, const char *text); /* returns NULL, or what it would have liked: "a positive duration (try ...)" */
};

enum { NL_OPTIONS_MAX = 64 };

struct nl_command_line {
    const char *program;
    const struct nl_option *rows;
    int n_rows;         /* at most NL_OPTIONS_MAX */
    const char *doc;    /* as argp has it: above \v, and below */
    const char *args;   /* "-- CMD ARGS..."; NULL: no further words are taken */
    int was_given[NL_OPTIONS_MAX]; /* by row; set while parsing */
    int is_done;        /* --help or a list was all that was wanted: set by a setter */
};

/* Parses argv: options by their rows' setters, each of which gets `context`.
 * @param first_word  receives the index in argv of the first further word, argc when there is none; NULL when `args` is NULL.
 * @return 0, -1 after one line on stderr. */
int nl_options_parse(struct nl_command_line *line, int argc, char **argv, void *context, int *first_word);

/* Prints --help on stdout. */
void nl_options_help(const struct nl_command_line *line);

/* Whether the row of this name was given. */
int nl_options_given(const struct nl_command_line *line, const char *name);

/* ---- tables for programs: shell completion, help and suggestions read them; the one word --list-tables asks for them ---- */

/* Whether it was asked for. */
int nl_tables_asked(int argc, char **argv);

/* A line "TYPE<TAB>NAME<TAB>VALUE<TAB>HELP" on stdout; value NULL: "-". Ends of lines and tabs in the help become blanks. */
void nl_tables_row(const char *type, const char *name, const char *value, const char *help);

/* One line of type "option" for every option, one of type "group" for every heading. `options` ends with an empty row. */
void nl_tables_options(const struct argp_option *options);

/* One line for every row of a table of pointers that ends with NULL and whose rows have a name and a help line. */
#define NL_TABLES_ROWS(type, rows)                                                                                        \
    do {                                                                                                                  \
        for (size_t row_ = 0; (rows)[row_]; row_++) nl_tables_row(type, (rows)[row_]->name, NULL, (rows)[row_]->help);    \
    } while (0)

/* Says why getopt did not like an argument; it tells argp nothing but that it did not. `options` ends with an empty row. */
void nl_options_explain(const struct argp_option *options, const char *argument);

#endif

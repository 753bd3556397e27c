/* Command lines as a table: one row per option says its name, its argument, what that is and where it goes.
 * All programs read theirs by it; every error is one line. */
#pragma once

#include "common/base/nl_usual.h"

struct nl_command_line;

/* What the argument of an option is, and what it becomes at its place: the type behind NL_C_ below. */
enum nl_type {
    NL_SET,  /* what the row's own function makes of it */
    NL_FLAG, /* there is none: 1 */
    NL_TEXT, /* not empty, and at most `most` bytes where that is not 0; points into argv */
    NL_NAME, /* a plain name of at most `most` bytes, as a folder or a field of CSV may have it */
    NL_WORD, /* the place of a word in `table`, which ends with NULL */
    NL_ROW,  /* a row of `table`: pointers that end with NULL, to structures that begin with their name */
    NL_INT,
    NL_WHOLE,            /* a whole number from `least` to `most` */
    NL_NUMBER,           /* a number, the same */
    NL_PERCENT,          /* in percent, the same where `most` is not 0 */
    NL_SHARE,            /* the same, as a share of 1 */
    NL_DURATION,         /* ns, from `least` to `most` where that is not 0 */
    NL_DURATION_OR_ZERO, /* ns */
    NL_SECONDS,          /* ns: a number without a unit is seconds */
    NL_SIZE,             /* bytes, from `least` to `most` where that is not 0 */
    NL_RATE,             /* per second */
    NL_SEED,
    NL_HELP,
    NL_VERSION /* prints that, and nothing else is to be done */
};

#define NL_C_FLAG             int
#define NL_C_TEXT             const char *
#define NL_C_NAME             const char *
#define NL_C_WORD             default
#define NL_C_ROW              default
#define NL_C_INT              int
#define NL_C_WHOLE            int64_t
#define NL_C_NUMBER           double
#define NL_C_PERCENT          double
#define NL_C_SHARE            double
#define NL_C_DURATION         int64_t
#define NL_C_DURATION_OR_ZERO int64_t
#define NL_C_SECONDS          int64_t
#define NL_C_SIZE             int64_t
#define NL_C_RATE             double
#define NL_C_SEED             uint64_t

/* Type and place of a row, which the compiler refuses where the member of the structure has another type. */
#define NL_AT(kind, structure, member)                                                                       \
    .type = NL_##kind, .at = offsetof(structure, member) * _Generic(((structure *)0)->member, NL_C_##kind : 1)

/* One option. A row without a name is a heading (`help`) of its group. */
struct nl_option {
    const char *name; /* long, without dashes */
    const char
        *value; /* what --help calls its argument; NULL: a flag, or the words of NL_WORD, joined by | */
    const char *help;
    int group;
    enum nl_type type;
    size_t at; /* in the target */
    double least, most;
    const void *table;
    const char
        *wanted; /* "a positive power of two": what it would have liked, after "is not"; NULL: by its type */
    const char *of;  /* it is a key of that option, --OF VALUE:NAME=...,NAME=...; NULL: an option by itself */
    const char *key; /* under which it is recorded, its unit at the end; NULL: not by its row */
    unsigned tags;   /* the program's own business */
    const char *(*set)(struct nl_command_line *line,
                       const char *text); /* returns NULL, what it would have
                                           * liked, or "" after a message of its own */
};

enum { NL_OPTIONS_MAX = 128 };

struct nl_command_line {
    const char *program;
    const struct nl_option *rows;
    int n_rows;                        /* at most NL_OPTIONS_MAX */
    void *target;                      /* the structure that places are in */
    void *context;                     /* for the rows' own functions */
    const char *doc;                   /* of --help: above \v, and below */
    const char *args;                  /* "-- CMD ARGS..."; NULL: no further words are taken */
    const char *see;                   /* what else to say where an option is not known; NULL: nothing */
    const char *version_note;          /* behind the version; NULL: none */
    void (*print_more)(FILE *out);     /* between the options and the end of --help; NULL: nothing */
    int is_silent;                     /* one of many ranks: prints nothing but errors */
    int was_given[NL_OPTIONS_MAX];     /* by row; set while parsing */
    const char *texts[NL_OPTIONS_MAX]; /* the last argument of each, with its keys; NULL: none */
    int is_done;                       /* --help or a list was all that was wanted */
    char meant[96];                    /* ": did you mean spin?" of the word that is refused; "" */
    char wanted[256];                  /* what was wanted, where that had to be made */
};

/* Parses argv by the rows. first_word: receives the index of the first further word, argc when there is none;
 * NULL when `args` is NULL. 0, -1 after one line on stderr. */
int nl_options_parse(struct nl_command_line *line, int argc, char **argv, int *first_word);

/* Gives row `i` its argument without keys, as if it stood on the command line. NULL, what was wanted instead,
 * or "" after a message. */
const char *nl_options_set(struct nl_command_line *line, int i, const char *text);

/* The index of the row of this name; -1. */
int nl_options_find(const struct nl_command_line *line, const char *name);

/* Whether the row of this name was given. */
int nl_options_given(const struct nl_command_line *line, const char *name);

/* The first row given whose tags have one of these; NULL: none. */
const struct nl_option *nl_options_tagged(const struct nl_command_line *line, unsigned tags);

/* What a row is called in messages: "--seconds", or "--starts: gamma" of a key. Into `buf`; returns buf. */
const char *nl_option_name(const struct nl_option *row, char *buf, size_t size);

/* A copy that lives as long as the process. */
const char *nl_options_keep(const char *text, size_t length);

/* A text as a plain name: letters, digits and ._- only, no dot first, at most `most` bytes. */
int nl_is_plain_name(const char *text, size_t most);

/* Makes one of it: what such a name cannot have becomes _. */
void nl_make_plain(char *name);

/* ---- tables for programs: shell completion, help and suggestions read them; the one word --list-tables asks
 * for them ---- */

/* Whether it was asked for. */
int nl_tables_asked(int argc, char **argv);

/* A line "TYPE<TAB>NAME<TAB>VALUE<TAB>HELP" on stdout; value NULL: "-". Ends of lines and tabs in the help
 * become blanks. */
void nl_tables_row(const char *type, const char *name, const char *value, const char *help);

/* One line for every row of a table of pointers that ends with NULL and whose rows have a name and a help
 * line. */
#define NL_TABLES_ROWS(type, rows)                                                                           \
    do {                                                                                                     \
        for (size_t row_ = 0; (rows)[row_]; row_++)                                                          \
            nl_tables_row(type, (rows)[row_]->name, NULL, (rows)[row_]->help);                               \
    } while (0)

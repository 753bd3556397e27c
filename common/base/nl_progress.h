/* Progress for people on stderr: on a terminal one line that is redrawn, elsewhere (a file, a batch job) a
 * line now and then. */
#pragma once

#include "common/base/nl_usual.h"

enum nl_progress_form {
    NL_PROGRESS_AUTO,     /* as stderr is */
    NL_PROGRESS_TERMINAL, /* as on a terminal: mpirun hides it from the ranks */
    NL_PROGRESS_LINES,    /* as elsewhere */
    NL_PROGRESS_OFF
};
extern const char *const nl_progress_names[]; /* by enum, ends with NULL */

/* What --progress says of itself, and what a wrong value is told. */
#define NL_PROGRESS_HELP                                                                                     \
    "progress on stderr: redrawn on a terminal; elsewhere a line each minute, and at each tenth, 10 s "      \
    "apart at least (default auto)"

struct nl_progress {
    int shows, redraws;
    int width; /* letters that a line may have; on a terminal that of COLUMNS, where ranks cannot ask it */
    int64_t begin_ns, last_ns; /* CLOCK_MONOTONIC; of the last line */
    double last_share;
};

void nl_progress_open(struct nl_progress *p, enum nl_progress_form form);

/* Time counts from now. */
void nl_progress_begin(struct nl_progress *p, int64_t now_ns);

/* Whether a line is due at this share of the run, 0..1. */
int nl_progress_is_due(const struct nl_progress *p, int64_t now_ns, double share);

/* When a line is due whatever the share is, CLOCK_MONOTONIC; INT64_MAX: never. */
int64_t nl_progress_next_ns(const struct nl_progress *p);

/* "42 %, 70 s left" into `text`: how far, and what the rest takes at the same pace. `at_most`: "at most " or
 * "". Returns what snprintf does. */
int nl_progress_tell(const struct nl_progress *p, int64_t now_ns, double share, const char *at_most,
                     char *text, size_t size);

/* Shows a line: the program's name, a colon, and the text, cut to the width. */
void nl_progress_show(struct nl_progress *p, int64_t now_ns, double share, const char *program,
                      const char *text);

/* Ends the line that is redrawn. */
void nl_progress_close(struct nl_progress *p);

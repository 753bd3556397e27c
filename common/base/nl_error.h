/* Error reporting and exit statuses shared by all programs. */
#pragma once

#include <stddef.h>

/* enum nl_exit: the exit statuses of every noiselab program */
#include "common/contract/statuses.h"

/* Names the program for messages; `name` is kept, not copied. */
void nl_set_program(const char *name);

/* Adds "rank R on HOST" to later messages; `rank` < 0 removes it again. */
void nl_set_rank(int rank, const char *host);

/* Silences nl_error and nl_warn (1) or lets them speak (0): of many ranks only the first reports a usage
 * error. */
void nl_set_quiet(int quiet);

/* Whether the last line on stderr is one that is redrawn and has no end yet (nl_progress.h): the next message
 * takes its place. */
void nl_set_open_line(int is_open);
int nl_has_open_line(void);

/* One line on stderr, "program: message". Local; never exits. Returns -1, for those who return that. */
int nl_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One line on stderr, "program: warning: message". Local. */
void nl_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same into a text that somebody else tells, as snprintf; what does not fit is cut off: a reason is read
 * by people. Returns -1. */
int nl_say(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Parsers for what people type: 10ms, 2KiB, 0.3%, 1,2,3. All return 0, or -1 when the text is not what they
 * want. */
#pragma once

#include "common/base/nl_usual.h"

/* What to say after "'x' is not a ...": one phrase per parser, so that every message gives examples. */
#define NL_DURATION_HELP "a positive duration with its unit (try 10ms, 500us, 2s, 1min)"
#define NL_SECONDS_HELP  "a positive duration (try 60, 500ms, 2min)"
#define NL_SIZE_HELP     "a size (try 8, 4KiB, 1MiB)"
#define NL_PERCENT_HELP  "a percentage (try 0.1, 0.3%, 5)"

/* A positive duration with its unit (ns, us, ms, s, min, h) into nanoseconds. Upper end: 10 years. A bare
 * number is refused: a half-period of 10 is as likely meant in milliseconds as in seconds. */
int nl_parse_duration(const char *text, int64_t *out_ns);

/* The same for options whose name says the unit (--seconds): a bare number is seconds. */
int nl_parse_seconds(const char *text, int64_t *out_ns);

/* As nl_parse_duration, but 0 is allowed, and needs no unit. */
int nl_parse_duration_or_zero(const char *text, int64_t *out_ns);

/* A size in bytes: digits with an optional B, kB, MB, GB (powers of 1000) or KiB, MiB, GiB (of 1024). */
int nl_parse_size(const char *text, int64_t *out_bytes);

/* A finite percentage >= 0, with or without the sign. */
int nl_parse_percent(const char *text, double *out_percent);

/* A rate per second: a positive number, optionally with a size unit (500MB, 64KiB) or "k". */
#define NL_RATE_HELP "a rate per second (try 100, 2.5, 10k, 500MB)"
int nl_parse_rate(const char *text, double *out_per_s);

/* A whole decimal number within [min, max]. */
int nl_parse_int(const char *text, int64_t min, int64_t max, int64_t *out);

/* A seed: an unsigned 64-bit number, decimal or 0x hexadecimal. */
int nl_parse_seed(const char *text, uint64_t *out);

/* A list of whole numbers within [least, most], "1,5"; with_ranges also "0-3,8". Returns how many, or -1:
 * also of more than `max`. */
int nl_parse_list(const char *text, int least, int most, int with_ranges, int *numbers, int max);

/* Splits `text` at its commas, which become ends of strings, into up to `max` parts: their number, -1 of
 * none, too many, or an empty one. */
int nl_split(char *text, const char **parts, int max);

/* Writes a duration for people ("10 ms", "1.5 us") into `buf`; returns buf. */
const char *nl_format_duration(int64_t ns, char *buf, size_t size);

/* Passwords and the like in words of a command line, which are not recorded: ***. Recognised are options and
 * variables whose name says so
 * (--password x, --token=x, DB_PASS=x), name and password of curl (-u name:pw, --user name:pw), of a URL
 * (scheme://name:pw@host), and headers (Authorization: x). What is called otherwise is not: see SECURITY.md.
 */
#pragma once

#include <jansson.h>

#include "common/base/nl_usual.h"

#define NL_SECRET_MARK "***"

/* Copies `text` to `out` (of `size`; what does not fit is left out) with the secrets replaced: 1 something
 * was, 0. A text without blanks is one word, whatever quotes it has; others are read as a shell would.
 * before: the word that stood before it, or NULL. */
int nl_secret_redact(const char *text, const char *before, char *out, size_t size);

/* The same for every text within a JSON value; of an array each element has the one before it. @return how
 * many were replaced. */
int nl_secret_redact_json(json_t *json);

/* Bytes that a terminal would obey are replaced by a ?, in place. */
void nl_secret_disarm(char *text);

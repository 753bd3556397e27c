/* Values out of JSON files, for shell scripts: every field by its path, and one that is missing is an error. */
#pragma once

#include <jansson.h>

#include "common/base/nl_usual.h"

enum { NC_MAX_PATHS = 32, NC_PATH_BYTES = 256 };

/* Writes what `paths` (n of them) mean in `json`, tab-separated, on one line. A path is keys joined by dots: "agent.settle_ns". A path with
 * the key * means every element of an array or object: then there is a line for each of them, and all paths that have a * must have as
 * many; those without one are repeated. A null is written as -, a boolean as true or false, an empty string as "".
 * @param reason  receives one phrase on failure: "there is no value 'agent.settle_ns'". A text that holds a tab or the end of a line, an
 *                object or an array is no value, either.
 * @return 0, -1; then nothing was written. */
int nc_values_write(FILE *out, json_t *json, const char *const *paths, int n, char *reason, size_t reason_size);

/* What launches of all programs have in common: how they are called, and how their launch.json is written. */
#pragma once

#include <jansson.h>

#include "common/base/nl_usual.h"

/* The name of a launch's folder: as asked; NULL: time, host and process number, so that names sort by time.
 */
void nl_launch_id(const char *asked, char *id, size_t size);

/* Replaces a file by `json` (borrowed), without its secrets. 0, or -1 with errno: the old one stays. */
int nl_launch_write(const char *path, json_t *json);

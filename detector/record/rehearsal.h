/* What a launch would do (--dry-run). */
#pragma once

#include "detector/record/record.h"

/* The plan of a dry run on stdout: for people, or as one line of JSON (0, -1). */
void nd_rehearsal_print(const struct nd_options *o);
int nd_rehearsal_print_json(const struct nd_options *o);

/* What a dry run says of the launch: for people, or as one JSON object for programs (docs/reference/formats.md). */
#pragma once

#include "detector/options/options.h"

/* Prints the plan for people on stdout. */
void nd_rehearsal_print(const struct nd_options *o);

/* Prints the plan as JSON on stdout, one line. Returns 0, or -1 when memory is short or stdout is full. */
int nd_rehearsal_print_json(const struct nd_options *o);

/* The sources of a recording, best first. */
#pragma once

#include "noisegen/recorder/source.h"

const struct nr_source *nr_source_find(const char *name);

/* Opens the best source, or the one named; the reason for not having a better one goes to r->reason. @return
 * 0, -1. */
int nr_source_choose(struct nr_recorder *r, const char *name);

/* launch.json of noiselab-accept (docs/reference/formats.md). Rank 0 only. Keys that the detector's has mean the same. */
#pragma once

#include "detector/acceptance/accept_run.h"

/* Everything known before the first repetition; "ended" is null. New reference. */
json_t *nx_launch_new(const struct nx_run *r);

/* Brings "checks" and "start" up to date. */
void nx_launch_update(struct nx_run *r);

/* Adds who else ran on a node to "others"; `data`: a struct nx_others_head, and text with its 0. */
void nx_launch_others(struct nx_run *r, const char *host, const void *data);

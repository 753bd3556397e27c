/* launch.json of a launch of noiselab-accept. */
#pragma once

#include "detector/acceptance/accept_run.h"

/* Everything known before the first repetition; "ended" is null. New reference. */
json_t *nx_launch_new(const struct nx_run *r);
void nx_launch_update(struct nx_run *r);

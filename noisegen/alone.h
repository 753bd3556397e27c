/* The generator alone, without a detector. */
#pragma once

#include "noisegen/worker.h"

/* A generator on its own: runs the plan of the options and prints its certificate. Returns an exit status
 * (enum nl_exit). */
int ng_alone(const struct ng_options *options);

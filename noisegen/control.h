/* The generator under a detector, through their page. */
#pragma once

#include "noisegen/worker.h"

/* A generator under a detector: obeys the page behind options->control_fd (common/page/nl_control.h) until
 * QUIT, with a certificate of every level at the end. Returns an exit status. */
int ng_controlled(const struct ng_options *options);

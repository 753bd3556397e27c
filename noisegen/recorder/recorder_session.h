/* A recording, from its first event to what is printed of it. */
#pragma once

#include "noisegen/recorder/recorder_options.h"

/* One recording, from the options to the trace. Returns the exit status. */
int nr_session(const struct nr_options *options);

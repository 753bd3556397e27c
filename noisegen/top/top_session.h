/* A session of noiselab-top: opens the watch and the printer, sleeps, samples, prints, until it is ended. */
#pragma once

#include "noisegen/top/top_options.h"

/* Until it is ended, or the time is over. An exit status. */
int nt_session(const struct nt_options *options);

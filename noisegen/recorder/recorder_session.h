/* One recording of noiselab-record, from the options to the trace. */
#ifndef NR_SESSION_H
#define NR_SESSION_H

#include "noisegen/recorder/recorder_options.h"

/* @return the exit status. */
int nr_session(const struct nr_options *options);

#endif

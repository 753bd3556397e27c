/* Runs a command for a check of noiselab doctor. */
#pragma once

#include "experiments/command/doctor_probes.h"

/* Runs a command with no input, and ends it, with all that it started, after so many seconds.
 * @param out, err  receive what it printed, cut off where there is no room; NULL: thrown away.
 * @return its status; 127: it could not be started; 124: its time was up; 128 + the signal. */
int nc_run(const char *const *words, int seconds, char *out, size_t out_size, char *err, size_t err_size);

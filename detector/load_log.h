/* When the generator of a node ran: its bursts, as a trace. */
#pragma once

#include "detector/run_state.h"

/* load_log.c, nothing without a load: tells all ranks where the launch's folder is, and makes the files.
 * Collective; 0 or -1. */
int nd_load_log_open(struct nd_run *r);
struct nd_slices *nd_load_log_begin(struct nd_run *r, const struct nd_step *step,
                                    int is_recorded); /* for the loop of a half, or NULL */
void nd_load_log_keep(struct nd_run *r);              /* writes what was kept of a half that is recorded */
void nd_load_log_end(struct nd_run *r); /* writes the end of the trace; before the certificate is taken */
void nd_load_log_close(struct nd_run *r);

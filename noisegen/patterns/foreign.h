/* Traces that other tools write, as the lines that are replayed. */
#pragma once

#include "noisegen/patterns/trace.h"

/* What becomes of a file that was opened: one of ours stays as it is; one of selfish or LogGOPSim (two columns, decimals), in another unit,
 * or of events of osnoise is written anew, in ns, into memory, which takes the place of its fd, line by line, so that line numbers stay
 * right (osnoise: sorted). One of FTQ, or of a tracer that has no single interruptions, is refused by its name.
 * @param unit_ns  what one is in the file, in ns; 0: nobody said so, ns.
 * @return 0 with trace->said filled where something was converted, -1 with a reason. */
int ng_foreign_convert(struct ng_trace *trace, double unit_ns, char *reason, size_t reason_size);

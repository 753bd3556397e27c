/* Files of other tools that are given where a trace is wanted. Each is a row of a table, and is known by its
 * head. */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "common/trace/nl_trace.h"

/* What becomes of a file that was opened: one of ours stays as it is. One that has single interruptions of
 * CPUs (netgauge's selfish, LogGOPSim's noise, events of the tracer osnoise) is written anew into memory, in
 * whole ns, which takes the place of trace->fd; line numbers stay those of the file (osnoise: sorted by
 * start). One that has none is refused by its name, with the command that makes a trace of it, where there is
 * one. 0 with trace->converted filled where something was converted, -1 with a reason. */
int nl_foreign_convert(struct nl_trace *trace, char *reason, size_t reason_size);

/* Can what was read be noise of an operating system? Otherwise it is in another unit, or its second column is
 * no duration. 0, -1 with a reason. */
int nl_foreign_doubt(const struct nl_trace *trace, char *reason, size_t reason_size);

/* What both files of this room use. A reason for people; what does not fit is cut off. -1. */
int nl_trace_say(char *reason, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

int64_t nl_trace_change_time_ns(const struct stat *st);

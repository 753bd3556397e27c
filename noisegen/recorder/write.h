/* What the writers share. */
#ifndef NR_WRITE_H
#define NR_WRITE_H

#include "noisegen/recorder/recorder.h"

/* What of a task's time on a CPU was CPU time, the hypervisor's share (steal) taken off, in an arm (-1: in all); -1: not known here. */
double nr_cpu_time_share(const struct nr_recorder *recorder, int arm, int cpu);

/* A name without what would end a field of a trace or a table. */
void nr_write_name(FILE *file, const char *name);

/* The comments at the begin of a trace; `origin` says in words which moment time 0 is. */
void nr_write_trace_head(const struct nr_recorder *recorder, FILE *file, const char *host, const char *origin, int64_t span_ns);

#endif

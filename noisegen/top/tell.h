/* Fills in the figures of one sample. */
#pragma once

#include "noisegen/top/watch.h"

/* A process ran on a CPU. */
void nt_ran(struct nt_watch *w, int32_t process, int cpu, int64_t start_ns, int64_t end_ns);

/* Children of it that have ended ran, at some time of this interval; they do not make it the program. */
void nt_children_ran(struct nt_watch *w, int32_t process, int cpu, int64_t length_ns);

/* Makes the sample of the interval from begin_ns to end_ns. */
void nt_tell(struct nt_watch *w, const struct nt_wish *wish);

/* Reads /proc/stat, where it is time. */
void nt_read_stat(struct nt_watch *w);

/* Adds up the stretches that there are so far, and forgets them; who is of the program must be known. */
void nt_settle(struct nt_watch *w);

/* Fills in the figures of one sample. */
#pragma once

#include "noisegen/top/processes.h"
#include "noisegen/top/watch.h"

/* Adds up the stretches that there are so far, and forgets them; who is of the program must be known. */
void nt_settle(struct nt_watch *w);

/* Keeps one stretch. Returns its length as far as it lies in the interval. */
static inline int64_t nt_add_stretch(struct nt_watch *w, int32_t process, int cpu, int64_t start_ns,
                                     int64_t end_ns) {
    if (start_ns < w->begin_ns) start_ns = w->begin_ns;
    if (end_ns <= start_ns || cpu < 0 || cpu >= w->n_cpus || !w->is_watched[cpu]) return 0;
    nt_is_active(w, process);
    if (w->n_stretches == NT_STRETCHES) nt_settle(w);
    w->stretches[w->n_stretches++] = (struct nt_stretch){start_ns, end_ns, process, cpu};
    return end_ns - start_ns;
}

/* A process is on another CPU now. */
void nt_moved(struct nt_watch *w, int32_t process, int cpu);

/* A process ran on a CPU. */
static inline void nt_ran(struct nt_watch *w, int32_t process, int cpu, int64_t start_ns, int64_t end_ns) {
    int64_t length_ns = nt_add_stretch(w, process, cpu, start_ns, end_ns);
    if (length_ns == 0) return;
    if (w->processes[process].here != cpu) nt_moved(w, process, cpu);
    w->processes[process].here_ns += length_ns;
}

/* Children of it that have ended ran, at some time of this interval; they do not make it the program. */
void nt_children_ran(struct nt_watch *w, int32_t process, int cpu, int64_t length_ns);

/* Makes the sample of the interval from begin_ns to end_ns. */
void nt_tell(struct nt_watch *w, const struct nt_wish *wish);

/* Reads /proc/stat, where it is time. */
void nt_read_stat(struct nt_watch *w);

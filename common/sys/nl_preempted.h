/* CPU time that other tasks of this system took from a thread: the time that it was ready to run and did not.
 */
#pragma once

#include "common/base/nl_usual.h"

enum nl_preempted_source { NL_PREEMPTED_AUTO, NL_PREEMPTED_SCHEDULER, NL_PREEMPTED_CLOCKS };

extern const char *const nl_preempted_names[]; /* by enum nl_preempted_source, ends with NULL */

struct nl_preempted {
    int fd; /* the thread's account by the scheduler; -1: wall time minus the thread's CPU time */
};

/* Chooses how the calling thread, and no other, is looked at. `scheduler`: the time on a run queue by
 * /proc/thread-self/schedstat, which knows neither a hypervisor's steal, nor interrupts, nor sleep. `clocks`:
 * CLOCK_MONOTONIC_RAW minus CLOCK_THREAD_CPUTIME_ID, in which all these count where the kernel leaves them
 * out of the thread's CPU time. `auto`: the scheduler's where the kernel keeps one, else clocks. 0, or -1
 * when `scheduler` is wanted and not to be had (clocks serve then). */
int nl_preempted_open(struct nl_preempted *s, enum nl_preempted_source wanted);

/* What is closed is looked at by clocks. */
void nl_preempted_close(struct nl_preempted *s);

/* NL_PREEMPTED_SCHEDULER or NL_PREEMPTED_CLOCKS. */
enum nl_preempted_source nl_preempted_source(const struct nl_preempted *s);

/* A reading, ns; the difference of two is what was preempted between them. Half a microsecond; of the thread
 * that opened it. */
int64_t nl_preempted_ns(const struct nl_preempted *s);

/* All clocks of the calling thread at one moment, as far as three clocks can be read at one. */
struct nl_thread_times {
    int64_t waited_ns; /* on a run queue without a CPU, by the scheduler; 0 by clocks */
    int64_t cpu_ns;
    int64_t wall_ns; /* CLOCK_MONOTONIC_RAW */
};

/* Reads them, always in the same order, so that what passes in between cancels in differences; again where
 * the thread lost its CPU between two of them, or a wait would be taken for steal. Two microseconds; of the
 * thread that opened it. */
void nl_thread_times_read(const struct nl_preempted *s, struct nl_thread_times *t);

/* What was preempted between two readings, ns: the same as by nl_preempted_ns. */
int64_t nl_thread_times_preempted_ns(const struct nl_preempted *s, const struct nl_thread_times *from,
                                     const struct nl_thread_times *to);

/* Wall time between two readings in which the thread neither ran nor waited for its CPU, ns: steal,
 * interrupts where the kernel accounts for them apart, and sleep. It may be a little below 0. Only where the
 * source is the scheduler. */
int64_t nl_thread_times_steal_ns(const struct nl_thread_times *from, const struct nl_thread_times *to);

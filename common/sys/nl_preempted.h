/* CPU time that other tasks of this system took from a thread: the time that it was ready to run and did not. */
#pragma once

#include "common/base/nl_usual.h"

enum nl_preempted_source { NL_PREEMPTED_AUTO, NL_PREEMPTED_SCHEDULER, NL_PREEMPTED_CLOCKS };

extern const char *const nl_preempted_names[]; /* by enum nl_preempted_source, ends with NULL */

struct nl_preempted {
    int fd; /* the thread's account by the scheduler; -1: wall time minus the thread's CPU time */
};

/* Chooses how the calling thread, and no other, is looked at.
 * `scheduler`: the second figure of /proc/thread-self/schedstat, the time on a run queue without a CPU. It knows neither what a hypervisor
 * takes while the thread has its CPU, nor interrupts, nor sleep.
 * `clocks`: CLOCK_MONOTONIC_RAW minus CLOCK_THREAD_CPUTIME_ID. Kernels that account for a hypervisor's steal leave it out of the thread's
 * CPU time, so it counts as preempted; so do sleep, and interrupts where the kernel accounts for them apart (IRQ_TIME_ACCOUNTING).
 * `auto`: the scheduler's where the kernel keeps one (CONFIG_SCHED_INFO), else clocks.
 * @return 0, or -1 when `scheduler` is wanted and not to be had (clocks serve then). Local. */
int nl_preempted_open(struct nl_preempted *s, enum nl_preempted_source wanted);

/* What is closed is looked at by clocks. */
void nl_preempted_close(struct nl_preempted *s);

/* NL_PREEMPTED_SCHEDULER or NL_PREEMPTED_CLOCKS. */
enum nl_preempted_source nl_preempted_source(const struct nl_preempted *s);

/* A reading, ns; the difference of two is what was preempted between them. Half a microsecond; of the thread that opened it. */
int64_t nl_preempted_ns(const struct nl_preempted *s);

/* All clocks of the calling thread at one moment, as far as three clocks can be read at one. */
struct nl_thread_times {
    int64_t waited_ns; /* on a run queue without a CPU, by the scheduler; 0 by clocks */
    int64_t cpu_ns;
    int64_t wall_ns;   /* CLOCK_MONOTONIC_RAW */
};

/* Reads them, always in the same order: what passes between the first and the last is the same in every reading, and cancels in
 * differences. Where the thread lost its CPU between two of them, all are read again, or a wait would be taken for steal. Two microseconds;
 * of the thread that opened it. */
void nl_thread_times_read(const struct nl_preempted *s, struct nl_thread_times *t);

/* What was preempted between two readings, ns: the same as by nl_preempted_ns. */
int64_t nl_thread_times_preempted_ns(const struct nl_preempted *s, const struct nl_thread_times *from, const struct nl_thread_times *to);

/* Wall time between two readings in which the thread neither ran nor waited for its CPU, ns: what a hypervisor took while the thread had
 * the CPU (Linux leaves steal out of a thread's CPU time), interrupts where the kernel accounts for them apart, and sleep. Three clocks: it
 * may be a little below 0. Meaningful only where the source is the scheduler. */
int64_t nl_thread_times_steal_ns(const struct nl_thread_times *from, const struct nl_thread_times *to);

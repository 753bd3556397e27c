/* CPU time that other tasks of this system took from a thread: the time that it was ready to run and did not. */
#ifndef NL_PREEMPTED_H
#define NL_PREEMPTED_H

#include <stdint.h>

enum nl_preempted_source { NL_PREEMPTED_AUTO, NL_PREEMPTED_SCHEDULER, NL_PREEMPTED_CLOCKS };

extern const char *const nl_preempted_names[]; /* by enum nl_preempted_source, ends with NULL */

struct nl_preempted {
    int fd; /* the thread's account by the scheduler; -1: wall time minus the thread's CPU time */
};

/* Chooses how the calling thread, and no other, is looked at.
 * `scheduler`: the second figure of /proc/thread-self/schedstat, the time on a run queue without a CPU. It knows neither what a hypervisor takes
 * while the thread has its CPU, nor interrupts, nor sleep.
 * `clocks`: CLOCK_MONOTONIC_RAW minus CLOCK_THREAD_CPUTIME_ID. Kernels that account for a hypervisor's steal leave it out of the thread's CPU time,
 * so it counts as preempted; so do sleep, and interrupts where the kernel accounts for them apart (IRQ_TIME_ACCOUNTING).
 * `auto`: the scheduler's where the kernel keeps one (CONFIG_SCHED_INFO), else clocks.
 * @return 0, or -1 when `scheduler` is wanted and not to be had (clocks serve then). Local. */
int nl_preempted_open(struct nl_preempted *s, enum nl_preempted_source wanted);

/* What is closed is looked at by clocks. */
void nl_preempted_close(struct nl_preempted *s);

/* NL_PREEMPTED_SCHEDULER or NL_PREEMPTED_CLOCKS. */
enum nl_preempted_source nl_preempted_source(const struct nl_preempted *s);

/* A reading, ns; the difference of two is what was preempted between them. Half a microsecond; of the thread that opened it. */
int64_t nl_preempted_ns(const struct nl_preempted *s);

#endif

/* CPU time that other tasks of this system took from a thread: the time that it was ready to run and did not. */
#ifndef NL_STOLEN_H
#define NL_STOLEN_H

#include <stdint.h>

enum nl_stolen_source { NL_STOLEN_AUTO, NL_STOLEN_SCHEDULER, NL_STOLEN_CLOCKS };

extern const char *const nl_stolen_names[]; /* by enum nl_stolen_source, ends with NULL */

struct nl_stolen {
    int fd; /* the thread's account by the scheduler; -1: wall time minus the thread's CPU time */
};

/* Chooses how the calling thread, and no other, is looked at.
 * `scheduler`: the second figure of /proc/thread-self/schedstat, the time on a run queue without a CPU. It knows neither what a hypervisor takes
 * while the thread has its CPU, nor interrupts, nor sleep.
 * `clocks`: CLOCK_MONOTONIC_RAW minus CLOCK_THREAD_CPUTIME_ID. Kernels that account for a hypervisor's steal leave it out of the thread's CPU time,
 * so it counts as stolen; so do sleep, and interrupts where the kernel accounts for them apart (IRQ_TIME_ACCOUNTING).
 * `auto`: the scheduler's where the kernel keeps one (CONFIG_SCHED_INFO), else clocks.
 * @return 0, or -1 when `scheduler` is wanted and not to be had (clocks serve then). Local. */
int nl_stolen_open(struct nl_stolen *s, enum nl_stolen_source wanted);

/* What is closed is looked at by clocks. */
void nl_stolen_close(struct nl_stolen *s);

/* NL_STOLEN_SCHEDULER or NL_STOLEN_CLOCKS. */
enum nl_stolen_source nl_stolen_source(const struct nl_stolen *s);

/* A reading, ns; the difference of two is what was stolen between them. Half a microsecond; of the thread that opened it. */
int64_t nl_stolen_ns(const struct nl_stolen *s);

#endif

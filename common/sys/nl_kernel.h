/* What the kernel counts on some CPUs: interrupts and soft interrupts by kind, and where it keeps them
 * (/proc/schedstat) how often tasks were switched there and how long they waited. The files stay open. All
 * functions are local; reading allocates nothing, and takes some 20 us on 2 CPUs and a millisecond on 64, so
 * it belongs before and after what is timed. */
#pragma once

#include "common/base/nl_usual.h"

/* Local timer, rescheduling, function call and TLB shootdown interrupts are those of /proc/interrupts (on
 * kernels from 4.9 on a shootdown is counted as a function call, too), devices those that have a number
 * there. Their names in files are in common/contract/counters.table. */
enum nl_kernel_count {
    NL_IRQ_TIMER,
    NL_IRQ_RESCHEDULE,
    NL_IRQ_CALL,
    NL_IRQ_TLB,
    NL_IRQ_DEVICE,
    NL_IRQ_OTHER,
    NL_SOFTIRQ_TIMER,
    NL_SOFTIRQ_NET,
    NL_SOFTIRQ_BLOCK,
    NL_SOFTIRQ_TASKLET,
    NL_SOFTIRQ_SCHED,
    NL_SOFTIRQ_RCU,
    NL_CPU_SWITCHES,
    NL_CPU_WAITED,
    NL_N_KERNEL
};

struct nl_kernel;

/* @param proc  where /proc is; borrowed, as all that follow.
 * @param is_watched  n_cpus flags, by CPU number. NULL: no memory. */
struct nl_kernel *nl_kernel_open(const char *proc, const unsigned char *is_watched, int n_cpus);
void nl_kernel_close(struct nl_kernel *kernel);

/* Sums over the watched CPUs since some moment; -1: this machine does not say. */
void nl_kernel_read(struct nl_kernel *kernel, int64_t counts[NL_N_KERNEL]);

/* What came between two readings; -1: not known. Counts of one CPU start again at 0 after 2^32 in some
 * files. */
void nl_kernel_between(const int64_t before[NL_N_KERNEL], const int64_t after[NL_N_KERNEL],
                       int64_t counts[NL_N_KERNEL]);

/* How long one reading takes, ns: the median of some. */
int64_t nl_kernel_reading_ns(struct nl_kernel *kernel);

/* CPU time of one wake-up by a timer, after which the thread sleeps again at once, ns: the median of some;
 * takes a few milliseconds. A task that does little else is known by it. */
int64_t nl_kernel_wake_ns(void);

/* Which files cannot be read here, and so what is not known; "" where all is. */
void nl_kernel_problem(const struct nl_kernel *kernel, char *text, size_t size);

/* Where the time of CPUs went between two looks, held against what the kernel says of the CPUs themselves: a
 * list of tasks that lacks some of them shows as time that nobody accounts for, whatever the reason (a /proc
 * that hides the tasks of others, a PID namespace, tasks that ended). All functions are local; looks allocate
 * and take some ms, so they belong before and after what is measured. */
#pragma once

#include "common/base/nl_usual.h"

enum { NL_ACCOUNT_REASON_BYTES = 200 };

/* One CPU, or the sum over all that are watched (cpu -1). busy == own + tasks + interrupts + steal +
 * unaccounted, but for the resolution. */
struct nl_account_cpu {
    int32_t cpu, is_there;  /* is_there: watched and online */
    int64_t busy_ns;        /* by /proc/stat: the time less idle and iowait */
    int64_t own_ns;         /* of the processes that were said to be ours, and of their descendants */
    int64_t tasks_ns;       /* of all other tasks that can be seen */
    int64_t interrupts_ns;  /* irq and softirq */
    int64_t steal_ns;       /* by the hypervisor */
    int64_t unaccounted_ns; /* the rest, never below 0 */
};

/* Contiguous, without pointers: it is sent as bytes. */
struct nl_account_sum {
    int64_t span_ns; /* between the looks; 0: the kernel's account of the CPUs could not be read, and nothing
                        is known */
    int32_t n_cpus;  /* watched and online */
    struct nl_account_cpu all,
        worst; /* worst: the CPU with the most that nobody accounts for, cpu -1 where there is none */
    double resolution_percent; /* of the time of these CPUs: what ticks, and tasks that went on while they
                                  were looked at, leave open */
    int64_t n_there,
        n_seen; /* threads by the kernel's own count, and those that could be read; -1: not known */
    char blind[NL_ACCOUNT_REASON_BYTES]; /* why tasks of strangers cannot be seen; "": nothing says so */
};

struct nl_account;

/* @param proc  where /proc is; borrowed, as all that follow.
 * @param is_watched  n_cpus flags, by CPU number.
 * @param own  n_own processes that are ours, with their descendants; -PID: this process alone.
 * @param clock_ns  what tells the time, nl_mono_ns but in tests. NULL: no memory. */
struct nl_account *nl_account_open(const char *proc, const unsigned char *is_watched, int n_cpus,
                                   const pid_t *own, int n_own, int64_t (*clock_ns)(void));
void nl_account_close(struct nl_account *account);

/* The two looks. The second fills in the sum and, where `cpus` is not NULL, the n_cpus (of nl_account_open)
 * CPUs by number; those that are not watched stay zero. A task counts on the CPU where it was last seen; in
 * the sum count those that were on watched CPUs at both looks, and others as far as the account of all CPUs
 * asks for it.
 * @param by_record  1: nl_account_by_record will say what tasks had; they are only counted. */
void nl_account_begin(struct nl_account *account, int by_record);
void nl_account_end(struct nl_account *account, struct nl_account_sum *sum, struct nl_account_cpu *cpus);

/* The same by somebody else's record of own and other tasks (own_ns and tasks_ns of `cpus`, by CPU): what is
 * unaccounted follows anew.
 * @param has_steal  1: the record's times hold what the hypervisor took. */
void nl_account_by_record(struct nl_account *account, struct nl_account_sum *sum, struct nl_account_cpu *cpus,
                          int has_steal);

/* Share of the time of the watched CPUs that nobody accounts for, percent; -1: not known. */
double nl_account_unaccounted_percent(const struct nl_account_sum *sum);

/* Whether it is so much that nothing can be said to be quiet: more than `limit_percent` and than the account
 * resolves, or not known. */
int nl_account_is_blind(const struct nl_account_sum *sum, double limit_percent);

/* Share of one CPU's time, percent. */
double nl_account_percent_of_cpu(const struct nl_account_sum *sum, int64_t ns);

/* Why tasks of strangers cannot be seen here, "" where nothing says so. @return 1, 0. */
int nl_account_blindness(const char *proc, char *reason, size_t size);

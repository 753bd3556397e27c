/* The real machine behind struct ng_machine: clocks, sleeping, and being told to stop. */
#pragma once

#include "common/base/nl_usual.h"

/* CPUs beyond this number are not recorded. */
enum { NG_MAX_CPUS = 8192 };

/* Where the thread ran, as seen at its wake-ups. */
struct ng_cpus {
    uint64_t seen[NG_MAX_CPUS / 64];
    int last; /* -1: none yet */
    int64_t n_migrations;
};

/* Records the CPU the thread is on. */
void ng_cpus_note(struct ng_cpus *cpus);

/* Context switches of the calling thread since a moment before; of NULL: so far. */
struct ng_switches {
    int64_t n_voluntary, n_involuntary;
};
struct ng_switches ng_switches_since(const struct ng_switches *before);

/* Asks the kernel to wake us on time: a timer slack of 1 ns (otherwise 50 us) and short time slices
 * (otherwise some wake-ups wait for a busy neighbour's slice to end). */
void ng_machine_be_punctual(void);

/* From now on SIGINT and SIGTERM stop the generator. */
void ng_machine_stop_on_signals(void);

/* Ends every sleep and burst of a generator alone, in all threads. Safe in a signal handler. */
void ng_machine_stop(void);

/* Hooks of struct ng_machine that need no context: the clock of the deadlines, and stopping by
 * ng_machine_stop. */
int64_t ng_machine_now_ns(void *context);
int ng_machine_interrupted(void *context);
int ng_machine_sleep_until(void *context, int64_t deadline_ns);

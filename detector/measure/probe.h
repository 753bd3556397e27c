/* What a rank finds out about itself around a half: faults and switches that the kernel counts for it, and
 * three short trials at the half's end, while what is on in it is still on: how fast its CPU computes, how
 * long memory takes that nobody touched since the half before, and how long the lock on this process's memory
 * map is waited for. Where perf permits it also has the cycles, instructions and cache misses of its loop.
 * Some 150 us where that memory has left all caches, outside of what is timed. All functions are local. */
#pragma once

#include "common/base/nl_usual.h"

/* Sums over ranks. Contiguous, without pointers: it is sent as bytes. */
struct nd_probe_sum {
    int32_t n_ranks; /* that looked; 0: nobody did */
    int32_t n_speed, n_memory, n_lock,
        n_perf, n_clock; /* ranks that know these: a trial in which the rank lost its CPU says nothing */
    int64_t faults, major_faults, voluntary,
        involuntary;  /* of the process, and switches of the thread, in the half */
    int64_t moved;    /* ranks that end on another CPU than they began on */
    double speed_ns;  /* for ND_PROBE_STEPS dependent steps: the shortest of a few tries */
    double memory_ns; /* for one line of memory */
    double lock_ns;   /* for one mmap and munmap of a page that nobody touches */
    int64_t cycles, instructions, misses; /* of the rank's thread, in user mode */
    int64_t aperf, mperf; /* of the rank's thread: ticks at its CPU's clock, and at a constant one */
};

enum { ND_PROBE_STEPS = 4096, ND_PROBE_LINES = 512, ND_PROBE_MAPS = 4 };

/* Joins b into a; associative and commutative. */
void nd_probe_join(struct nd_probe_sum *a, const struct nd_probe_sum *b);

struct nd_probe;

/* Opens it for the calling thread. NULL: no memory. */
struct nd_probe *nd_probe_open(void);

/* The same with the counters of an events' source of perf, such as ND_PROBE_MSR, in the place of aperf and
 * mperf: a folder with `type`, `events/aperf` and `events/mperf`. */
#define ND_PROBE_MSR "/sys/bus/event_source/devices/msr"
struct nd_probe *nd_probe_open_with(const char *source);
void nd_probe_close(struct nd_probe *probe);

/* Why hardware counters are not read; "": they are. */
const char *nd_probe_problem(const struct nd_probe *probe);

/* The same for an errno of perf_event_open() where kernel.perf_event_paranoid is this, "" where it cannot be
 * read. */
void nd_probe_say_why(int error, const char *paranoid, char *text, size_t size);

void nd_probe_begin(struct nd_probe *probe);
void nd_probe_end(struct nd_probe *probe, struct nd_probe_sum *sum);

/* Clocks. Two of them: nl_now_ns (a named kernel clock, for deadlines and for the time of a whole half) and a
 * tick counter read in a few nanoseconds (for single operations), calibrated against CLOCK_MONOTONIC. */
#pragma once

#include "common/base/nl_usual.h"

/* Nanoseconds of a kernel clock. */
static inline int64_t nl_now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t nl_mono_ns(void) { return nl_now_ns(CLOCK_MONOTONIC); }

/* CPU time of the calling thread, ns: what it ran, not what it waited. Costs a system call. */
static inline int64_t nl_thread_cpu_ns(void) { return nl_now_ns(CLOCK_THREAD_CPUTIME_ID); }

static inline struct timespec nl_timespec(int64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

/* Not at all when `ns` is below 0; a signal ends it early. */
static inline void nl_sleep_ns(int64_t ns) {
    const struct timespec time = nl_timespec(ns > 0 ? ns : 0);
    nanosleep(&time, NULL);
}

/* The tick counter in use: what it is and how long a tick lasts. */
struct nl_ticks {
    const char *name;     /* "tsc", "cntvct" or "clock_gettime" */
    double tick_ns;       /* length of a tick in ns */
    uint64_t mult;        /* ns = ticks * mult >> 32 */
    double read_ns;       /* cost of one read in ns, measured */
    double resolution_ns; /* smallest step between two readings that differ, measured; INFINITY: it stands
                             still */
    int use_counter;      /* 0: nl_ticks_now reads clock_gettime */
};

/* Chooses and calibrates the tick counter: the TSC (or the ARM virtual counter) where nl_counter_check trusts
 * it and a calibration of 20 ms against CLOCK_MONOTONIC agrees with itself; otherwise clock_gettime. Cannot
 * fail. */
void nl_ticks_calibrate(struct nl_ticks *t);

static inline uint64_t nl_counter_read(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    return 0;
#endif
}

/* The counter now, in ticks. */
static inline uint64_t nl_ticks_now(const struct nl_ticks *t) {
    return t->use_counter ? nl_counter_read() : (uint64_t)nl_mono_ns();
}

/* A difference of ticks in ns; good for differences below 2^31 ticks x mult, so clamp long ones through the
 * wide product. */
static inline uint64_t nl_ticks_to_ns(const struct nl_ticks *t, uint64_t ticks) {
    return (uint64_t)(((unsigned __int128)ticks * t->mult) >> 32);
}

/* Reads the kernel's current clock source into `buf` ("tsc", "kvm-clock", "hpet", ... or "unknown"). */
void nl_clocksource(char *buf, size_t size);

/* 1 when the kernel's clock source of this name is the tick counter, read without leaving user space; 0 for
 * slow ones and "unknown". */
int nl_clocksource_is_counter(const char *source);

/* Whether user space may trust the counter: constant rate, running in all sleep states, and trusted by the
 * kernel too. 0, -1 with a line in `reason`. */
int nl_counter_check(char *reason, size_t reason_size);

/* The counter and a kernel clock at one moment. */
struct nl_counter_pair {
    uint64_t counter;
    int64_t ns;
    uint64_t width; /* ticks between the counter readings before and after that of the clock: the moment is
                       known to half of it */
};

/* Reads both, 64 times, and keeps the reading with the smallest width: the least disturbed one. Some
 * microseconds. */
struct nl_counter_pair nl_counter_pair(clockid_t clock);

/* Seconds since 1970 that a step of the clock while this process runs does not move. From one thread. step_ns
 * (or NULL): by how much it was set. */
int64_t nl_wall_s(int64_t *step_ns);

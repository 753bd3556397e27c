/* The clocks that starts can be synchronised on: one row of nd_clock_kinds each, read in a few nanoseconds,
 * in ns. */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <sys/time.h>

#include "common/base/nl_usual.h"

enum nd_clock_read { ND_READ_KERNEL, ND_READ_COUNTER, ND_READ_WTIME, ND_READ_TIMEOFDAY };

struct nd_clock;

struct nd_clock_kind {
    const char *name;
    const char *help;
    enum nd_clock_read read;
    clockid_t id;       /* kernel clocks: which one */
    int is_per_process; /* 1: its zero differs from process to process of a node, so every rank must be
                           synchronised */
    /* Whether this machine has it. 0, or -1 with the reason in one line. Local. NULL: always. */
    int (*open)(struct nd_clock *c, char *reason, size_t reason_size);
};

extern const struct nd_clock_kind *const nd_clock_kinds[]; /* ends with NULL */

struct nd_clock {
    const struct nd_clock_kind *kind;
    enum nd_clock_read read;
    clockid_t id;
    /* counter: ns = origin_ns + (counter - origin) * mult >> 32 */
    uint64_t origin, mult;
    int64_t origin_ns; /* on CLOCK_MONOTONIC_RAW */
    double error_ppm;  /* counter: how well its rate is known, from two calibrations; 0 elsewhere */
    /* measured when it was opened */
    double resolution_ns; /* smallest step between two different readings */
    double read_ns;       /* cost of a reading: mean of the least disturbed of ten batches */
    int64_t n_backwards; /* readings smaller than the one before, also right after the thread moved to another
                            CPU */
    char source[32];     /* the kernel's clock source */
    int is_slow_source;  /* 1: the kernel's clock source is neither the TSC nor the architecture's equal */
    /* tests only: a clock made wrong on purpose. reading = true + offset + drift * (true - at) (+ jump, from
     * jump_at on) */
    int is_fake;
    double fake_drift; /* dimensionless: 50 ppm = 50e-6 */
    int64_t fake_offset_ns, fake_at_ns, fake_jump_ns, fake_jump_at_ns;
};

/* The clock without what tests do to it. */
static inline int64_t nd_clock_true_now(const struct nd_clock *c) {
    switch (c->read) {
    case ND_READ_COUNTER:
        return c->origin_ns +
               (int64_t)(((__int128)(int64_t)(nl_counter_read() - c->origin) * (int64_t)c->mult) >> 32);
    case ND_READ_KERNEL: return nl_now_ns(c->id);
    case ND_READ_WTIME: return (int64_t)(MPI_Wtime() * 1e9);
    default: {
        struct timeval t;
        gettimeofday(&t, NULL);
        return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
    }
    }
}

/* Of a clock made wrong; the drift is rounded to the next ns. Pure. */
int64_t nd_clock_fake(const struct nd_clock *c, int64_t true_ns);

static inline int64_t nd_clock_now(const struct nd_clock *c) {
    int64_t now = nd_clock_true_now(c);
    return __builtin_expect(c->is_fake, 0) ? nd_clock_fake(c, now) : now;
}

/* Opens and examines a clock, 20 to 70 ms. `kind` NULL: the counter where it may be trusted, else
 * CLOCK_MONOTONIC_RAW, and `reason` says why. 0, or -1 with the reason. Local: ranks may choose differently.
 */
int nd_clock_open(struct nd_clock *c, const struct nd_clock_kind *kind, char *reason, size_t reason_size);

/* Gives all ranks of a node the calibration of the first, so that they agree to the tick. Collective over
 * `node`. */
void nd_clock_share(struct nd_clock *c, MPI_Comm node);

/* OFFSET[,DRIFTppm[,JUMP@AFTER]], such as 1h,50ppm,-1ms@2s, times the rank; AFTER counts from this call. 0 or
 * -1, and `c` is unchanged. */
int nd_clock_parse_fake(const char *text, int rank, struct nd_clock *c);

/* New reference. */
json_t *nd_clock_json(const struct nd_clock *c);

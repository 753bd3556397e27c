/* The ways to start: a table of loops, and the clocks that they look at. */
#pragma once

#include "detector/measure/measure.h"

/* Where the clock and CLOCK_MONOTONIC_RAW stood. */
struct nd_clock_pair {
    int64_t clock_ns, raw_ns;
    int64_t doubt_ns; /* how long the reading took */
};

struct nd_starter;

struct nd_start_mode {
    const char *name;
    const char *help;
    int is_synchronised; /* 1: starts at an instant of the common clock; 0: loop, which has no starts */
    int has_stages; /* 1: the schedule holds several starts, so that a slot is their distance and must hold
                       the operation */
    /* Runs n <= ND_BATCH starts and fills s->records. Collective. No allocation, no output. NULL: loop. */
    void (*run)(struct nd_starter *s, const struct nd_loop *loop, int n);
};

extern const struct nd_start_mode *const nd_start_modes[]; /* ends with NULL; the first is loop */

struct nd_clock_pair nd_starter_read_clocks(const struct nd_starter *s);

/* Whether the clock was set between two readings; leaves the step in s->jump_ns and sets s->is_broken. */
int nd_starter_has_jumped(struct nd_starter *s, const struct nd_clock_pair *from,
                          const struct nd_clock_pair *to);

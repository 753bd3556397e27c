/* Looking for detours: what took a CPU from a thread that does nothing but read a clock, and how long a fixed
 * amount of work took it. Nothing here allocates or prints. */
#pragma once

#include "common/base/nl_hist.h"

/* A gap between two readings of the clock that was longer than the threshold. */
struct nx_detour {
    int64_t start_ns;    /* since the scan began */
    int64_t duration_ns; /* without the time that a turn of the loop takes anyway */
};

struct nx_scan {
    /* in */
    const struct nl_ticks *ticks;
    int64_t span_ns;
    int64_t threshold_ns;      /* detours: gaps above it */
    int64_t n_steps;           /* quantum: of nd_work */
    struct nl_hist *hist;      /* gets the durations of detours, or quanta */
    struct nx_detour *detours; /* the first `n_room` are kept; NULL: none */
    int64_t n_room;
    /* out */
    int64_t n_turns;                        /* turns of the loop; quanta */
    int64_t wall_ns;                        /* CLOCK_MONOTONIC_RAW, of the whole scan */
    int64_t looked_ns;                      /* detours: of it, what was not spent on noting them */
    int64_t preempted_ns;                   /* CPU time that other tasks of this system took */
    double base_ns;                         /* an undisturbed turn */
    int64_t n_detours, lost_ns, longest_ns; /* lost: the sum of all durations, kept or not */
    double mean_ns, sd_ns, least_ns;        /* quantum: of the quanta; longest_ns is the longest */
};

/* Reads the clock turn by turn for span_ns. Source: the selfish-detour loop of Beckman et al. 2008; the time
 * of a turn, found before, is taken off every gap, and the noting of a gap is taken out of the time scanned.
 * Local. */
void nx_scan_detours(struct nx_scan *s);

/* Times n_steps of work over and over for span_ns (fixed-work quantum). Local. */
void nx_scan_quanta(struct nx_scan *s);

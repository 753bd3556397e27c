/* One half over the ranks of a node, or over all. Ranks' parts are joined two by two on the way to rank 0. */
#pragma once

#include "detector/design/schedule.h"
#include "detector/measure/measure.h"
#include "detector/measure/probe.h"
#include "detector/measure/starts.h"

/* What a rank knows of the half it just ran. */
struct nd_sample {
    struct nd_loop_result loop;
    int64_t n_involuntary;
    int64_t delivered_ns, n_bursts;     /* leaders with a generator, or in its arm with an agent; 0 elsewhere;
                                           delivered_ns -1: not known */
    int64_t requested_ns, bursts_asked; /* the same: the dose asked for */
    int64_t n_due;                      /* the same: CPUs on which a burst was due, known before the half */
    int64_t first_burst_ns;             /* the same: when its first burst was due; 0: none */
    int64_t last_burst_ns; /* the same, of a fixed dose: when its last one was to end, undisturbed; 0: none */
    int64_t asked_ns; /* the same: CPU time that the dose was drawn with, on all its CPUs; 0: no fixed dose */
    int account;      /* the same: of the generator's */
    int64_t late_ns;  /* by how much the last rank came late on purpose, summed over the operations */
    int64_t lead_ns;  /* from drawing the dose to the start of the loop */
    int64_t steal_ns; /* leaders; -1 unknown */
    int64_t throttled_ns;      /* leaders, where a quota of CPU time holds; -1 elsewhere, and unknown */
    struct nd_probe_sum probe; /* what this rank found out about itself; zeros: it did not look */
};

/* Figures of several ranks. Contiguous, without pointers: it is sent as bytes. */
struct nd_half_sum {
    int64_t start_ns;                                          /* CLOCK_MONOTONIC of the lowest rank */
    int64_t wall_ns, preempted_ns_max;                         /* largest */
    int64_t detour_ns_max, n_detours_max;                      /* of the rank with the most time in detours */
    int64_t preempted_ns, detour_ns, n_detours, n_involuntary; /* sums */
    int64_t delivered_ns;                                      /* sum; -1: a part of it is not known */
    int64_t n_bursts, n_due, requested_ns;                     /* sums */
    int64_t steal_ns;                                          /* sum of what is known; -1: nothing is */
    int64_t throttled_ns;                                      /* the same */
    int64_t rank_steal_ns_max,
        rank_steal_ns;    /* by the ranks' own clocks, of those that know it: largest, sum */
    int32_t n_rank_steal; /* ranks that know it */
    double base_ns_sum;   /* sum over ranks of the mean of their operations that are no detours */
    int32_t n_base;       /* ranks that had such */
    int32_t lowest_rank, slowest_rank, preempted_rank, detour_rank; /* of equals the lowest */
    struct nd_probe_sum probe;
};

/* One half, block or loop: one row of halves.csv or blocks.csv. */
struct nd_half {
    struct nd_step step;
    int64_t n_operations;
    int64_t late_ns; /* of late ranks: by how much the last one came late, summed over operations; 0 in other
                        arms */
    struct nd_start_half starts; /* n_starts 0: operations were run back to back */
    struct nd_half_sum
        all; /* ranks; start_ns since the launch's first half; what is not known is -1 (n_base: 0) */
};

struct nd_half_sum nd_half_sum_of(int rank, const struct nd_sample *s);

/* Joins b into a; associative and commutative. */
void nd_half_sum_join(void *into, const void *from);

/* Marks in a sum over all ranks what it says nothing of; start_ns counts from `zero_ns` then. */
void nd_half_sum_tell(struct nd_half_sum *s, int64_t zero_ns, int has_detours, int has_generator);

/* Mean of the operations that are no detours; -1: not known. */
static inline double nd_half_base_ns(const struct nd_half_sum *s) {
    return s->n_base > 0 ? s->base_ns_sum / s->n_base : -1;
}

/* Running mean and sum of squared deviations (Welford 1962). */
struct nd_moments {
    int64_t n;
    double mean, m2;
};

struct nd_pairs;

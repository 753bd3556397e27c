/* Imbalanced arrival: how much later than the common start each rank enters the operation. */
#pragma once

#include "common/base/nl_rng.h"
#include "common/base/nl_usual.h"

#define ND_ARRIVAL_CYCLE  1024        /* delays repeat after so many starts */
#define ND_ARRIVAL_MAX_NS 60000000000 /* longest delay of a trace */

struct nd_arrival_request {
    int rank, n_ranks;
    uint64_t seed;
    /* file, NULL: none. Lines `rank delay_ns [delay_ns ...]`, whole ns; # begins a comment. Ranks that are
     * not in it are not delayed. */
    const char *trace;
};

struct nd_arrival {
    const char *name;
    const char *help;
    int needs_trace; /* 1: delays come from a file, in ns; 0: they are shares of an amount */
    int is_common;   /* 1: what is drawn is the same on all ranks */
    /* The share of one start, 0..1: of this rank, drawn from `rng` where it is drawn. NULL with needs_trace.
     */
    double (*share)(const struct nd_arrival_request *r, struct nl_rng *rng);
};

extern const struct nd_arrival *const nd_arrivals[]; /* ends with NULL; the first is none */

/* Of this rank: shares of the amount, or ns with `needs_trace`. 0, or -1 with a reason, the same on every
 * rank. Local. */
int nd_arrival_fill(const struct nd_arrival *a, const struct nd_arrival_request *r, double *delays,
                    char *reason, size_t reason_size);

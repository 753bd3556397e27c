/* An operation with synchronised starts: the detector's parts, put together for one operation after the
 * other. */
#pragma once

#include "detector/ops/ops.h"
#include "detector/acceptance/accept_run.h"

struct nx_started {
    const struct nd_op *op;
    struct nd_op_state state;
    struct nd_start_plan plan;
    double start_ns; /* from one start to the next, in the last run; 0: none yet */
    struct nd_loop loop;
    int64_t until_ns; /* CLOCK_MONOTONIC: a run that a busy machine makes longer ends then */
    volatile int is_over;
    const volatile int *stop_asked;
};

/* An operation of a check, and its variant in the figures. */
struct nx_started_row {
    const char *variant;
    const struct nd_op *own; /* NULL: the detector's operation of that name */
    const char *operation;
    int64_t bytes; /* a size that suits its data type */
};

/* Opens n operations, zeroed; before, unless that is done, the synchronised starts, and finds the time from
 * the broadcast of a start to the start itself, which is that of all operations. Collective. 0; 1 with a
 * reason when it is not possible here, -1 when it failed. */
int nx_started_open(struct nx_run *r, struct nx_task *t, struct nx_started *s,
                    const struct nx_started_row *rows, int n);

/* Starts the operation for about `slice_ns`, at most ND_BATCH times, `least` times where a fifth more of the
 * time holds them, and some in any case; the figures are then in
 * r->starter (on rank 0). Collective. 0, or -1 with a reason when a clock jumped. */
int nx_started_run(struct nx_run *r, struct nx_started *s, int64_t slice_ns, int least,
                   char reason[NX_REASON_BYTES]);

void nx_started_close(struct nx_started *s, int n); /* fine on zeroed ones. Local */

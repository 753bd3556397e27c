/* An operation with synchronised starts: the detector's parts, put together for one operation after the other. */
#pragma once

#include "detector/ops/ops.h"
#include "detector/acceptance/accept_run.h"

struct nx_started {
    const struct nd_op *op;
    struct nd_op_state state;
    struct nd_start_plan plan;
    double start_ns; /* from one start to the next, in the last run; 0: none yet */
    struct nd_loop loop;
    int64_t until_ns;     /* CLOCK_MONOTONIC: a run that a busy machine makes longer ends then */
    volatile int is_over;
    const volatile int *stop_asked;
};

/* Opens the synchronised starts, unless they are open, and finds the time from the broadcast of a start to the start itself, which is that
 * of all operations. Collective. 0, or -1 with a reason. */
int nx_need_starter(struct nx_run *r, struct nx_task *t);

/* Opens the operation with `bytes` (a size that suits its data type), after nx_need_starter. Collective. 0; 1 with a reason when it is not
 * possible here, -1 when it failed. */
int nx_started_open(struct nx_run *r, struct nx_started *s, const struct nd_op *op, int64_t bytes, char reason[NX_REASON_BYTES]);

/* Starts the operation for about `slice_ns`, at most ND_BATCH times, `least` times where a fifth more of the
 * time holds them, and some in any case; the figures are then in
 * r->starter (on rank 0). Collective. 0, or -1 with a reason when a clock jumped. */
int nx_started_run(struct nx_run *r, struct nx_started *s, int64_t slice_ns, int least, char reason[NX_REASON_BYTES]);

void nx_started_close(struct nx_started *s); /* fine on a zeroed one. Local */

/* Nothing here allocates or prints. */
#include "detector/measure/late_call.h"
#include "detector/measure/late.h"

int nd_late_call(struct nd_op_state *state) {
    struct nd_late *l = state->late;
    uint64_t delay = l->delay_ticks[l->n_calls++ & (ND_ARRIVAL_CYCLE - 1)], begin = nl_ticks_now(&l->ticks);
    while (delay > 0 && nl_ticks_now(&l->ticks) - begin < delay)
        if (l->yields) sched_yield();
    return l->call(state);
}

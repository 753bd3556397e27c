#include "detector/measure/late.h"
#include "detector/measure/arrival.h"
#include "detector/measure/late_call.h"

#include <mpi.h>

int64_t nd_late_delays(const struct nd_start_options *o, const struct nd_team *team, double amount_ns,
                       uint64_t seed, int64_t *delays_ns) {
    char reason[320] = "not enough memory";
    int64_t longest_ns = 0;
    double *shares = calloc(ND_ARRIVAL_CYCLE, sizeof *shares);
    struct nd_arrival_request request = {
        .rank = team->rank, .n_ranks = team->n_ranks, .seed = seed, .trace = o->arrival_trace};
    int failed =
        !shares || !delays_ns || nd_arrival_fill(o->arrival, &request, shares, reason, sizeof reason);
    /* where all ranks find the same error one of them says it */
    int64_t first_failed = failed ? team->rank : team->n_ranks;
    MPI_Allreduce(MPI_IN_PLACE, &first_failed, 1, MPI_INT64_T, MPI_MIN, team->world);
    if (first_failed == team->rank) nl_error("--arrival: %s", reason);
    for (int i = 0; !failed && i < ND_ARRIVAL_CYCLE; i++) {
        delays_ns[i] = llround(shares[i] * (o->arrival->needs_trace ? 1 : amount_ns));
        if (delays_ns[i] > longest_ns) longest_ns = delays_ns[i];
    }
    free(shares);
    if (nd_team_agree(team, failed ? ND_FLAG_SETUP : 0)) return -1;
    return nd_team_max(team, longest_ns);
}

int nd_late_open(struct nd_late *l, const struct nd_start_options *o, const struct nd_team *team,
                 const struct nl_ticks *ticks, int yields, uint64_t seed) {
    *l = (struct nd_late){.ticks = *ticks, .yields = yields};
    int failed = !NL_NEW(l->delays_ns, ND_ARRIVAL_CYCLE) || !NL_NEW(l->longest_ns, ND_ARRIVAL_CYCLE) ||
                 !NL_NEW(l->delay_ticks, ND_ARRIVAL_CYCLE);
    if (failed) nl_error("--arrival: not enough memory");
    if (nd_team_agree(team, failed ? ND_FLAG_SETUP : 0)) return -1;
    if (nd_late_delays(o, team, (double)o->arrival_ns, seed, l->delays_ns) < 0) return -1;
    MPI_Allreduce(l->delays_ns, l->longest_ns, ND_ARRIVAL_CYCLE, MPI_INT64_T, MPI_MAX, team->world);
    for (int i = 0; i < ND_ARRIVAL_CYCLE; i++) {
        l->delay_ticks[i] = (uint64_t)((double)l->delays_ns[i] / ticks->tick_ns);
        l->mean_ns += (double)l->longest_ns[i] / ND_ARRIVAL_CYCLE;
    }
    return 0;
}

int64_t nd_late_operations(const struct nd_late *l, int64_t n, double operation_ns) {
    int64_t fewer = (int64_t)((double)n * operation_ns / (operation_ns + l->mean_ns));
    return fewer < 1 ? 1 : fewer;
}

void nd_late_begin(struct nd_late *l, struct nd_op_state *state) {
    l->call = state->call;
    l->n_before = l->n_calls;
    state->late = l;
    state->call = nd_late_call;
}

int64_t nd_late_end(struct nd_late *l, struct nd_op_state *state) {
    int64_t sum_ns = 0;
    state->call = l->call;
    state->late = NULL;
    for (int64_t i = l->n_before; i < l->n_calls; i++)
        sum_ns += l->longest_ns[i & (ND_ARRIVAL_CYCLE - 1)];
    return sum_ns;
}

void nd_late_close(struct nd_late *l) {
    NL_FREE(l->delays_ns, l->longest_ns, l->delay_ticks);
    *l = (struct nd_late){0};
}

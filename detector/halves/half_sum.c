#include "detector/halves/half_sum.h"

struct nd_half_sum nd_half_sum_of(int rank, const struct nd_sample *s) {
    int64_t preempted_ns = s->loop.preempted_ns, n_typical = s->loop.n_operations - s->loop.n_detours;
    return (struct nd_half_sum){
        .start_ns = s->loop.start_ns,
        .wall_ns = s->loop.wall_ns,
        .preempted_ns_max = preempted_ns,
        .detour_ns_max = s->loop.detour_ns,
        .n_detours_max = s->loop.n_detours,
        .preempted_ns = preempted_ns,
        .detour_ns = s->loop.detour_ns,
        .n_detours = s->loop.n_detours,
        .n_involuntary = s->n_involuntary,
        .delivered_ns = s->delivered_ns,
        .n_bursts = s->n_bursts,
        .n_due = s->n_due,
        .requested_ns = s->requested_ns,
        .steal_ns = s->steal_ns < 0 ? -1 : s->steal_ns,
        .throttled_ns = s->throttled_ns < 0 ? -1 : s->throttled_ns,
        .rank_steal_ns_max = s->loop.steal_ns,
        .rank_steal_ns = s->loop.steal_ns,
        .n_rank_steal = s->loop.knows_steal,
        .base_ns_sum = n_typical > 0 ? (double)s->loop.base_ns_sum / (double)n_typical : 0,
        .n_base = n_typical > 0,
        .lowest_rank = rank,
        .slowest_rank = rank,
        .preempted_rank = rank,
        .detour_rank = rank,
        .probe = s->probe,
    };
}

/* Whether b's figure takes the place of a's: it is larger, or as large and of a lower rank. */
static int wins(int64_t b, int32_t b_rank, int64_t a, int32_t a_rank) {
    return b > a || (b == a && b_rank < a_rank);
}

void nd_half_sum_join(void *into, const void *from) {
    struct nd_half_sum *a = into;
    const struct nd_half_sum *b = from;
    if (b->lowest_rank < a->lowest_rank) {
        a->lowest_rank = b->lowest_rank;
        a->start_ns = b->start_ns;
    }
    if (wins(b->wall_ns, b->slowest_rank, a->wall_ns, a->slowest_rank)) {
        a->wall_ns = b->wall_ns;
        a->slowest_rank = b->slowest_rank;
    }
    if (wins(b->preempted_ns_max, b->preempted_rank, a->preempted_ns_max, a->preempted_rank)) {
        a->preempted_ns_max = b->preempted_ns_max;
        a->preempted_rank = b->preempted_rank;
    }
    if (wins(b->detour_ns_max, b->detour_rank, a->detour_ns_max, a->detour_rank)) {
        a->detour_ns_max = b->detour_ns_max;
        a->n_detours_max = b->n_detours_max;
        a->detour_rank = b->detour_rank;
    }
    a->preempted_ns += b->preempted_ns;
    a->detour_ns += b->detour_ns;
    a->n_detours += b->n_detours;
    a->n_involuntary += b->n_involuntary;
    /* a sum with an unknown part is not known */
    a->delivered_ns = a->delivered_ns < 0 || b->delivered_ns < 0 ? -1 : a->delivered_ns + b->delivered_ns;
    a->n_bursts += b->n_bursts;
    a->n_due += b->n_due;
    a->requested_ns += b->requested_ns;
    if (b->steal_ns >= 0) a->steal_ns = (a->steal_ns < 0 ? 0 : a->steal_ns) + b->steal_ns;
    if (b->throttled_ns >= 0) a->throttled_ns = (a->throttled_ns < 0 ? 0 : a->throttled_ns) + b->throttled_ns;
    if (b->n_rank_steal && (!a->n_rank_steal || b->rank_steal_ns_max > a->rank_steal_ns_max))
        a->rank_steal_ns_max = b->rank_steal_ns_max;
    a->rank_steal_ns += b->rank_steal_ns;
    a->n_rank_steal += b->n_rank_steal;
    a->base_ns_sum += b->base_ns_sum;
    a->n_base += b->n_base;
    nd_probe_join(&a->probe, &b->probe);
}

void nd_half_sum_tell(struct nd_half_sum *s, int64_t zero_ns, int has_detours, int has_generator) {
    s->start_ns -= zero_ns;
    if (!has_detours) {
        s->detour_ns_max = s->n_detours_max = -1;
        s->n_base = 0;
    }
    if (!has_generator) s->delivered_ns = s->n_bursts = s->n_due = s->requested_ns = -1;
}

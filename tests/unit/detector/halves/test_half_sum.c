/* The sums that ranks are joined to. */
#include "detector/halves/half_sum.h"
#include "common/base/nl_rng.h"
#include "tests/unit/unit.h"

enum { N_RANKS = 13 };

static struct nd_sample sample_of(struct nl_rng *rng) {
    struct nd_sample s = {.loop = {.start_ns = (int64_t)(nl_rng_uniform(rng) * 1e6), .n_operations = 100}};
    /* few values: equal ones are frequent */
    s.loop.wall_ns = 1000 + (int64_t)(nl_rng_uniform(rng) * 4);
    s.loop.preempted_ns = 8 + (int64_t)(nl_rng_uniform(rng) * 4);
    s.loop.knows_steal = nl_rng_uniform(rng) < 0.8;
    if (s.loop.knows_steal)
        s.loop.steal_ns = -5 + (int64_t)(nl_rng_uniform(rng) * 4); /* below what is not known */
    s.loop.detour_ns = (int64_t)(nl_rng_uniform(rng) * 3);
    s.loop.n_detours = (int64_t)(nl_rng_uniform(rng) * 101);
    s.loop.base_ns_sum = 5000;
    s.n_involuntary = (int64_t)(nl_rng_uniform(rng) * 3);
    s.delivered_ns =
        nl_rng_uniform(rng) < 0.05 ? -1 : 7; /* what one of two generators delivered is not what both did */
    s.n_bursts = s.n_due = 1;
    s.requested_ns = 9;
    s.steal_ns = nl_rng_uniform(rng) < 0.5 ? -1 : 10;
    s.throttled_ns = nl_rng_uniform(rng) < 0.5 ? -1 : 1000;
    return s;
}

/* The sum, straight from all samples: each figure by a loop of its own. */
static struct nd_half_sum by_hand(const struct nd_sample *s, int n) {
    struct nd_half_sum a;
    memset(&a, 0, sizeof a);
    a.start_ns = s[0].loop.start_ns;
    a.steal_ns = a.throttled_ns = -1;
    a.preempted_ns_max = a.rank_steal_ns_max = INT64_MIN;
    a.detour_ns_max = -1;
    for (int i = 0; i < n; i++) {
        const struct nd_loop_result *l = &s[i].loop;
        if (l->wall_ns > a.wall_ns) a.slowest_rank = i, a.wall_ns = l->wall_ns;
        if (l->preempted_ns > a.preempted_ns_max) a.preempted_rank = i, a.preempted_ns_max = l->preempted_ns;
        if (l->detour_ns > a.detour_ns_max)
            a.detour_rank = i, a.detour_ns_max = l->detour_ns, a.n_detours_max = l->n_detours;
        a.preempted_ns += l->preempted_ns;
        a.detour_ns += l->detour_ns;
        a.n_detours += l->n_detours;
        if (l->knows_steal && l->steal_ns > a.rank_steal_ns_max) a.rank_steal_ns_max = l->steal_ns;
        a.rank_steal_ns += l->steal_ns;
        a.n_rank_steal += l->knows_steal;
        a.n_involuntary += s[i].n_involuntary;
        if (s[i].throttled_ns >= 0)
            a.throttled_ns = s[i].throttled_ns + (a.throttled_ns < 0 ? 0 : a.throttled_ns);
        if (s[i].delivered_ns < 0 || a.delivered_ns < 0)
            a.delivered_ns = -1;
        else
            a.delivered_ns += s[i].delivered_ns;
        if (s[i].steal_ns >= 0) a.steal_ns = s[i].steal_ns + (a.steal_ns < 0 ? 0 : a.steal_ns);
        if (l->n_operations == l->n_detours) continue;
        a.base_ns_sum += (double)l->base_ns_sum / (double)(l->n_operations - l->n_detours);
        a.n_base++;
    }
    a.n_bursts = a.n_due = n;
    a.requested_ns = 9 * n;
    return a;
}

TEST(ranks_joined_in_any_order_make_the_same_row) {
    struct nl_rng rng;
    nl_rng_init(&rng, 3, 0);
    for (int turn = 0; turn < 500; turn++) {
        struct nd_sample samples[N_RANKS];
        struct nd_half_sum parts[N_RANKS];
        int n = N_RANKS, order[N_RANKS];
        for (int i = 0; i < N_RANKS; i++) {
            samples[i] = sample_of(&rng);
            order[i] = i;
        }
        nl_rng_shuffle(&rng, order, N_RANKS);
        for (int i = 0; i < N_RANKS; i++)
            parts[i] = nd_half_sum_of(order[i], &samples[order[i]]);
        while (n > 1) { /* any two that are neighbours by now */
            int i = (int)(nl_rng_uniform(&rng) * (n - 1));
            nd_half_sum_join(&parts[i], &parts[i + 1]);
            memmove(&parts[i + 1], &parts[i + 2], (size_t)(n - i - 2) * sizeof *parts);
            n--;
        }
        struct nd_half_sum got, wanted = by_hand(samples, N_RANKS);
        memcpy(&got, parts, sizeof got);
        assert_float_equal(got.base_ns_sum, wanted.base_ns_sum, 1e-9);
        got.base_ns_sum = wanted.base_ns_sum;
        assert_memory_equal(&got, &wanted, offsetof(struct nd_half_sum, n_rank_steal));
        EQUAL(got.n_rank_steal, wanted.n_rank_steal, got.n_base, wanted.n_base, got.lowest_rank, 0,
              got.slowest_rank, wanted.slowest_rank);
        EQUAL(got.preempted_rank, wanted.preempted_rank, got.detour_rank, wanted.detour_rank);
    }
}

TEST(what_is_not_known_stays_unknown) {
    struct nd_sample s = {.loop = {.wall_ns = 10, .preempted_ns = -2, .n_operations = 5, .n_detours = 5},
                          .steal_ns = -1,
                          .throttled_ns = -1};
    struct nd_half_sum a = nd_half_sum_of(0, &s), b = nd_half_sum_of(1, &s);
    nd_half_sum_join(&a, &b);
    nd_half_sum_tell(&a, 0, 1, 0);
    assert_int_equal(a.preempted_ns, -4); /* two clocks: below 0 is kept */
    EQUAL(a.preempted_ns_max, -2, a.steal_ns, -1, a.throttled_ns, -1, a.n_rank_steal, 0, a.detour_ns_max, 0);
    EQUAL(a.delivered_ns, -1, a.n_bursts, -1, a.n_due, -1, a.requested_ns, -1);
    assert_true(nd_half_base_ns(&a) < 0);
    a.n_base = 1;
    nd_half_sum_tell(&a, 0, 0, 0);
    EQUAL(a.detour_ns_max, -1, a.n_detours_max, -1);
    assert_true(nd_half_base_ns(&a) < 0);
}

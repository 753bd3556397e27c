#include "detector/design/schedule.h"
#include "tests/unit/unit.h"

enum { CONFIGS = 3, LEVELS = 5, ROUNDS = 400, MAX_STEPS = 64 };

static struct nd_schedule make(const char *design, uint64_t seed) {
    return (struct nd_schedule){.design = nl_find(nd_designs, design),
                                .n_configs = CONFIGS,
                                .n_levels = LEVELS,
                                .seed = seed,
                                .n_rounds = ROUNDS};
}

static int fill(const struct nd_schedule *s, int64_t round, struct nd_step *steps) {
    nd_schedule_fill(s, round, steps);
    return nd_schedule_round_steps(s);
}

/* a fair coin decides the order: 6000 pairs, so 3000 +- 39 (one standard deviation); 5 of them either way */
TEST(every_lockin_round_holds_each_cell_once_as_a_pair_whose_order_is_a_fair_coin) {
    struct nd_schedule s = make("lockin", 11);
    struct nd_step steps[MAX_STEPS];
    int on_first = 0, same_as_before = 0, before = -1, n_pairs = 0;
    for (int64_t round = 0; round < ROUNDS; round++) {
        int seen[CONFIGS][LEVELS] = {{0}};
        int n = fill(&s, round, steps);
        assert_int_equal(n, 2 * CONFIGS * LEVELS);
        for (int i = 0; i < n; i += 2, n_pairs++) {
            const struct nd_step *a = &steps[i], *b = &steps[i + 1];
            int first = a->level != ND_OFF;
            assert_true(a->pair == b->pair && a->config == b->config && a->order == 0 && b->order == 1);
            assert_int_equal(b->level != ND_OFF, !first);
            EQUAL(seen[a->config][first ? a->level : b->level]++, 0);
            on_first += first;
            same_as_before += first == before;
            before = first;
        }
    }
    assert_in_range(on_first, n_pairs / 2 - 195, n_pairs / 2 + 195);
    assert_in_range(same_as_before, n_pairs / 2 - 195, n_pairs / 2 + 195);
}

TEST(a_quick_round_has_a_stretch_of_each_operation_and_pairs_of_two_lengths_in_random_order) {
    struct nd_step steps[1024];
    struct nd_schedule s = {.design = nl_find(nd_designs, "quick"),
                            .n_configs = CONFIGS,
                            .n_levels = 1,
                            .seed = 5,
                            .n_rounds = ROUNDS,
                            .half_ns = 25,
                            .long_ns = 250,
                            .stretch_ns = 2000};
    int64_t next = 0;
    int first = 0, on_first = 0, n_pairs = 0;
    for (int64_t round = 0; round < ROUNDS; round++) {
        int n = fill(&s, round, steps), n_stretches[CONFIGS] = {0}, n_long[CONFIGS] = {0},
            n_short[CONFIGS] = {0};
        int64_t planned = 0;
        for (int i = 0; i < n; i++) {
            const struct nd_step *a = &steps[i];
            planned += a->planned_ns;
            assert_true(a->pair == next);
            next++;
            if (a->planned_ns == 2000) {
                assert_true(a->level == 0 && a->order == 0);
                n_stretches[a->config]++;
                first += i == 0;
                assert_true(round > 0 || n_short[a->config] + n_long[a->config] == 0);
                continue;
            }
            const struct nd_step *b = &steps[++i];
            planned += b->planned_ns;
            assert_true(b->pair == a->pair && b->config == a->config && b->planned_ns == a->planned_ns &&
                        b->order == 1);
            assert_true((a->level == ND_OFF) != (b->level == ND_OFF));
            a->planned_ns == 250 ? n_long[a->config]++ : n_short[a->config]++;
            on_first += a->level != ND_OFF;
            n_pairs++;
        }
        for (int c = 0; c < CONFIGS; c++)
            assert_true(n_stretches[c] == 1 && n_long[c] == 2 && n_short[c] == 48);
        assert_true(planned == nd_schedule_round_ns(&s));
    }
    assert_true(next == ROUNDS * nd_schedule_round_pairs(&s));
    assert_in_range(first, ROUNDS / 2 - 50, ROUNDS / 2 + 50);
    assert_in_range(on_first, n_pairs / 2 - 612, n_pairs / 2 + 612); /* 60,000 coins, 5 standard deviations */
}

TEST(a_quick_round_of_two_versions_has_each_with_its_own_stretch_and_pairs) {
    struct nd_step steps[1024];
    struct nd_schedule s = {.design = nl_find(nd_designs, "quick"),
                            .n_configs = 2,
                            .n_levels = 2,
                            .seed = 5,
                            .n_rounds = 20,
                            .half_ns = 25,
                            .long_ns = 250,
                            .stretch_ns = 2000};
    int first[2] = {0};
    for (int64_t round = 0; round < s.n_rounds; round++) {
        int n = fill(&s, round, steps), n_on[2][2] = {{0}}, n_stretches[2][2] = {{0}};
        int64_t planned = 0;
        first[steps[0].level == ND_OFF ? steps[1].level : steps[0].level]++;
        for (int i = 0; i < n; i++) {
            const struct nd_step *a = &steps[i];
            planned += a->planned_ns;
            if (a->level != ND_OFF) n_on[a->config][a->level]++;
            if (a->planned_ns == 2000) n_stretches[a->config][a->level]++;
        }
        for (int c = 0; c < 2; c++)
            for (int level = 0; level < 2; level++)
                assert_true(n_stretches[c][level] == 1 && n_on[c][level] == 51);
        assert_true(planned == nd_schedule_round_ns(&s) && n == nd_schedule_round_steps(&s));
        assert_true(steps[n - 1].pair + 1 == (round + 1) * nd_schedule_round_pairs(&s));
    }
    assert_true(first[0] > 0 && first[1] > 0);
}

TEST(pair_numbers_are_unique_within_the_launch) {
    static const char *const designs[] = {"lockin", "blocks"};
    for (int d = 0; d < 2; d++) {
        struct nd_schedule s = make(designs[d], 3);
        struct nd_step steps[MAX_STEPS];
        int64_t next = 0;
        for (int64_t round = 0; round < ROUNDS; round++)
            for (int i = 0, n = fill(&s, round, steps); i < n; i++)
                if (steps[i].order == 0) assert_true(steps[i].pair == next++);
        assert_true(next == ROUNDS * nd_schedule_round_pairs(&s));
    }
}

TEST(every_set_of_blocks_holds_each_arm_once_and_equally_often_at_every_place) {
    struct nd_schedule s = make("blocks", 9);
    struct nd_step steps[MAX_STEPS];
    int places[LEVELS + 1][LEVELS + 1] = {{0}};
    for (int64_t round = 0; round < ROUNDS; round++) {
        int seen[CONFIGS][LEVELS + 1] = {{0}};
        int n = fill(&s, round, steps);
        assert_int_equal(n, CONFIGS * (LEVELS + 1));
        for (int i = 0; i < n; i++) {
            EQUAL(steps[i].order, i % (LEVELS + 1), steps[i].config, steps[i - i % (LEVELS + 1)].config);
            EQUAL(seen[steps[i].config][steps[i].level + 1]++, 0);
            places[steps[i].level + 1][steps[i].order]++;
        }
    }
    /* 1200 sets over 6 places: 200 each, +- 13; 5 of them either way */
    for (int arm = 0; arm <= LEVELS; arm++)
        for (int place = 0; place <= LEVELS; place++)
            assert_in_range(places[arm][place], 135, 265);
}

TEST(a_round_can_be_recovered_from_its_seed_alone) {
    struct nd_schedule s = make("lockin", 123456789);
    struct nd_step first[MAX_STEPS], again[MAX_STEPS], other[MAX_STEPS];
    memset(first, 0, sizeof first);
    memset(again, 0, sizeof again);
    memset(other, 0, sizeof other);
    int n = fill(&s, 321, first);
    fill(&s, 5, again);
    fill(&s, 321, again);
    assert_memory_equal(first, again, (size_t)n * sizeof first[0]);
    s.seed++;
    fill(&s, 321, other);
    assert_memory_not_equal(first, other, (size_t)n * sizeof first[0]);
}

TEST(without_levels_there_are_off_loops_only) {
    struct nd_schedule s = make("single", 1);
    s.n_levels = 0;
    struct nd_step steps[MAX_STEPS];
    assert_int_equal(fill(&s, 0, steps), CONFIGS);
    for (int i = 0; i < CONFIGS; i++)
        assert_int_equal(steps[i].level, ND_OFF);
}

TEST(a_launch_of_on_arms_holds_each_of_them_once_and_no_off_loop) {
    struct nd_step steps[MAX_STEPS];
    int at_first_place[LEVELS] = {0};
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct nd_schedule s = make("single", seed);
        int seen[CONFIGS][LEVELS] = {{0}};
        s.lacks_off = 1;
        assert_int_equal(fill(&s, 0, steps), CONFIGS * LEVELS);
        for (int i = 0; i < CONFIGS * LEVELS; i++) {
            assert_in_range(steps[i].level, 0, LEVELS - 1);
            EQUAL(steps[i].order, i % LEVELS, seen[steps[i].config][steps[i].level]++, 0);
        }
        at_first_place[steps[0].level]++;
    }
    /* 100 each, +- 9; 5 of them either way */
    for (int l = 0; l < LEVELS; l++)
        assert_in_range(at_first_place[l], 55, 145);
}

TEST(a_schedule_ends_with_the_round_that_ends_nearest_to_the_limit) {
    int64_t second = 1000000000, limit_ns = nd_schedule_limit_ns(100 * second, 10000);
    assert_int_equal(limit_ns, 116 * second);
    assert_false(nd_schedule_is_over(limit_ns, 1000 * second, 0)); /* one round is always run */
    assert_true(nd_schedule_is_over(limit_ns, 1000 * second, 1));
    assert_false(nd_schedule_is_over(limit_ns, 110 * second,
                                     10)); /* the next one would end at 121, which is nearer than 110 */
    assert_true(nd_schedule_is_over(limit_ns, 111 * second, 10));
    /* rounds that last twice as long as planned: about half of them are run, however many there are */
    for (int64_t n_rounds = 2; n_rounds <= 1000; n_rounds *= 3) {
        int64_t round_ns = 200 * second / n_rounds, n = 0;
        while (n < n_rounds && !nd_schedule_is_over(limit_ns, n * round_ns, n))
            n++;
        assert_in_range(n * round_ns, limit_ns - round_ns, limit_ns + round_ns / 2);
    }
}

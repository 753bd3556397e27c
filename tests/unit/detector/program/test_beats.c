/* Which call is a program's beat, and after how many it repeats itself: series whose answer is known. */
#include "common/base/nl_rng.h"
#include "detector/program/program.h"
#include "tests/unit/unit.h"

enum { N = 2000 };

static struct nd_beat_counts even(int64_t each) {
    struct nd_beat_counts row = {.is_polling = 0};
    for (int i = 0; i < ND_BEAT_WINDOWS; i++)
        row.n[i] = each;
    return row;
}

TEST(the_most_regular_call_is_chosen) {
    struct nd_beat_counts rows[] = {even(100), even(100), even(1)};
    for (int i = 0; i < ND_BEAT_WINDOWS; i++)
        rows[0].n[i] += i % 2 ? 60 : -60; /* as many, and by fits and starts */
    assert_int_equal(nd_beats_choose(rows, 3), 1);
}

TEST(among_regular_calls_ranks_meet_in_the_one_that_is_chosen_else_it_is_the_most_frequent) {
    struct nd_beat_counts rows[] = {even(400), even(500), even(390)};
    assert_int_equal(nd_beats_choose(rows, 3), 1);
    rows[2].is_synchronising = 1;
    assert_int_equal(nd_beats_choose(rows, 3), 2);
}

TEST(calls_that_ask_and_calls_that_hardly_come_are_no_beats) {
    struct nd_beat_counts rows[] = {even(1000), even(0)};
    rows[0].is_polling = 1;
    for (int i = 0; i < 4; i++)
        rows[1].n[i] = 50; /* a phase that was over */
    assert_int_equal(nd_beats_choose(rows, 2), -1);
    assert_int_equal(nd_beats_choose(rows, 0), -1);
}

/* Beats of which every `period`-th takes `long_ns`, the others 1 ms, all with some scatter. */
static void fill(int64_t at_ns[N], int period, double long_ns) {
    struct nl_rng rng;
    nl_rng_init(&rng, 7, 1);
    at_ns[0] = 0;
    for (int i = 1; i < N; i++)
        at_ns[i] =
            at_ns[i - 1] + (int64_t)((i % period ? 1e6 : long_ns) * (0.9 + 0.2 * nl_rng_uniform(&rng)));
}

TEST(the_period_is_that_of_the_long_ones) {
    static int64_t at_ns[N];
    const int periods[] = {2, 5, 81, 400};
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        fill(at_ns, periods[i], 5e6);
        assert_int_equal(nd_beats_period(at_ns, N), periods[i]);
    }
}

TEST(beats_that_are_all_alike_and_too_few_have_no_period) {
    static int64_t at_ns[N];
    fill(at_ns, N, 1e6);
    assert_int_equal(nd_beats_period(at_ns, N), 1);
    assert_int_equal(nd_beats_period(at_ns, 3), 1);
    fill(at_ns, 2, 5e6);
    assert_int_equal(nd_beats_period(at_ns, 20), 1);
}

TEST(the_median_is_not_moved_by_a_long_one) {
    const int64_t at_ns[] = {0, 10, 20, 1000, 1010, 1020};
    assert_int_equal(nd_beats_median_ns(at_ns, 6), 10);
    assert_int_equal(nd_beats_median_ns(at_ns, 1), 0);
}

TEST(what_the_user_calls_a_beat) {
    struct nd_beat beat;
    char text[64];
    assert_int_equal(nd_beat_parse("Allreduce:8", &beat), 0);
    assert_string_equal(nd_beat_tell(&beat, text, sizeof text), "allreduce 8 B");
    assert_int_equal(nd_beat_parse("send:96KiB", &beat), 0);
    assert_string_equal(nd_beat_tell(&beat, text, sizeof text),
                        "send 64 KiB"); /* rows are of powers of two */
    assert_int_equal(nd_beat_parse("barrier", &beat), 0);
    assert_string_equal(nd_beat_tell(&beat, text, sizeof text), "barrier");
    assert_int_equal(beat.size_class, -1);
    assert_int_not_equal(nd_beat_parse("", &beat), 0);
    assert_int_not_equal(nd_beat_parse(":8", &beat), 0);
    assert_int_not_equal(nd_beat_parse("send:many", &beat), 0);
}

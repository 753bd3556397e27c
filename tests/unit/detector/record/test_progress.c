#include "detector/record/record.h"
#include "tests/unit/unit.h"

enum { S = 1000000000 };

TEST(a_file_gets_a_line_each_minute_and_at_each_tenth_but_none_within_ten_seconds) {
    struct nl_progress p;
    nl_progress_open(&p, NL_PROGRESS_LINES);
    nl_progress_begin(&p, 0);
    assert_int_equal(nl_progress_is_due(&p, INT64_C(9) * S, 0.9), 0);   /* too early */
    assert_int_equal(nl_progress_is_due(&p, INT64_C(59) * S, 0.05), 0); /* too little */
    assert_int_equal(nl_progress_is_due(&p, INT64_C(60) * S, 0.05), 1); /* by the clock */
    assert_int_equal(nl_progress_is_due(&p, INT64_C(30) * S, 0.11), 1);
    assert_int_equal(nl_progress_next_ns(&p), INT64_C(60) * S);
    p.last_ns = INT64_C(60) * S;
    p.last_share = 0.11;
    assert_int_equal(nl_progress_is_due(&p, INT64_C(100) * S, 0.2), 0);
    assert_int_equal(nl_progress_is_due(&p, INT64_C(100) * S, 0.22), 1);
}

TEST(a_terminal_is_redrawn_every_two_seconds_and_off_is_silent) {
    struct nl_progress p;
    nl_progress_open(&p, NL_PROGRESS_TERMINAL);
    nl_progress_begin(&p, 0);
    assert_int_equal(nl_progress_is_due(&p, INT64_C(1) * S, 0.5), 0);
    assert_int_equal(nl_progress_is_due(&p, INT64_C(2) * S, 0), 1);
    nl_progress_open(&p, NL_PROGRESS_OFF);
    nl_progress_begin(&p, 0);
    assert_int_equal(nl_progress_is_due(&p, INT64_C(1000) * S, 1), 0);
}

TEST(a_message_takes_the_place_of_the_line_that_is_redrawn) {
    char text[512];
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    struct nl_progress p;
    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    nl_set_program("x");
    nl_progress_open(&p, NL_PROGRESS_TERMINAL);
    nl_progress_show(&p, 0, 0.5, "x", "50 %");
    nl_warn("late");
    nl_progress_close(&p);
    nl_progress_show(&p, 0, 1, "x", "100 %");
    nl_progress_close(&p);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, "\r\033[Kx: 50 %\r\033[Kx: warning: late\n\r\033[Kx: 100 %\n");
}

TEST(the_time_left_is_that_of_the_same_pace) {
    struct nl_progress p;
    char text[64];
    nl_progress_open(&p, NL_PROGRESS_LINES);
    nl_progress_begin(&p, 0);
    nl_progress_tell(&p, INT64_C(30) * S, 0.25, "", text, sizeof text);
    assert_string_equal(text, "25 %, 90 s left");
    nl_progress_tell(&p, INT64_C(600) * S, 0.5, "at most ", text, sizeof text);
    assert_string_equal(text, "50 %, at most 10 min left");
    nl_progress_tell(&p, INT64_C(3600) * S, 0.25, "", text, sizeof text);
    assert_string_equal(text, "25 %, 3 h 00 min left");
    nl_progress_tell(&p, 0, 0, "", text, sizeof text);
    assert_string_equal(text, "0 %, 0 s left");
}

/* Options of a launch with barrier and alltoall at the levels 0 and 1. */
static struct nd_options *options(void) {
    static struct nd_options o;
    static char *words[] = {"noiselab-detect", "--op", "barrier,alltoall", "--levels", "0,1", "--seconds", "1", "--out", "nowhere", NULL};
    assert_int_equal(nd_options_parse(9, words, 0, &o), 1);
    o.progress = NL_PROGRESS_OFF;
    return &o;
}

/* Pairs of which the on half takes exp(ratio) as long. */
static void feed(struct nd_progress *p, int config, int level, const double *ratios, int n) {
    static int64_t pair;
    for (int i = 0; i < n; i++, pair++)
        for (int on = 0; on < 2; on++) {
            struct nd_half h = {.step = {.config = config, .level = on ? level : ND_OFF, .order = on, .pair = pair}, .n_operations = 1};
            h.all.wall_ns = (int64_t)llround(1e9 * (on ? exp(ratios[i]) : 1));
            nd_progress_half(p, &h);
        }
}

TEST(the_estimate_is_the_mean_of_the_pairs_with_students_interval) {
    char text[256];
    struct nd_progress *p = nd_progress_open(options(), 1000);
    assert_non_null(p);
    assert_string_equal(nd_progress_tell_arm(p, 2, text, sizeof text), "");
    feed(p, 0, 1, (const double[]){0.02, 0.03, 0.01, 0.02, 0.03, 0.01}, 6);
    assert_string_equal(nd_progress_tell_arm(p, 2, text, sizeof text), "");
    feed(p, 0, 1, (const double[]){0.02}, 1);
    /* mean 0.02, sd 0.008165, t(0.99, 6) 3.1427: 0.02 -+ 0.009699 of the logarithm */
    assert_string_equal(nd_progress_tell_arm(p, 2, text, sizeof text), "; so far at 1 %: barrier +2 % [+1, +3]");
    /* the other level has nothing yet, and six pairs are no verdict */
    assert_string_equal(nd_progress_tell_arm(p, 1, text, sizeof text), "");
    feed(p, 1, 1, (const double[]){0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 6);
    assert_null(strstr(nd_progress_tell_arm(p, 2, text, sizeof text), "alltoall"));
    feed(p, 1, 1, (const double[]){0.5}, 1);
    assert_string_equal(nd_progress_tell_arm(p, 2, text, sizeof text),
                        "; so far at 1 %: barrier +2 % [+1, +3], alltoall +65 % [+65, +65]");
    feed(p, 1, 0, (const double[]){2, 2, 2, 2, 2, 2, 2}, 7);
    assert_string_equal(nd_progress_tell_arm(p, 1, text, sizeof text), "; so far at 0 %: alltoall +639 % [+639, +639]");
    /* no more than three digits: this was [-100, +705239654729336785925896923008] */
    feed(p, 0, 0, (const double[]){18, -18, 18, -18, 18, -18, 18}, 7);
    assert_string_equal(nd_progress_tell_arm(p, 1, text, sizeof text),
                        "; so far at 0 %: barrier over +999 % [-100, over +999], alltoall +639 % [+639, +639]");
    /* what does not fit is left out whole */
    nd_progress_tell_arm(p, 2, text, 60);
    assert_null(strstr(text, "alltoall"));
    nd_progress_close(p);
}

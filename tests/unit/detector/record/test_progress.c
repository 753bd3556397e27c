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

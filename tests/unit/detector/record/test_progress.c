#include "detector/record/record.h"
#include "tests/unit/unit.h"

enum { S = 1000000000 };

TEST(a_file_gets_a_line_each_minute_and_tenth_but_none_within_ten_seconds_a_terminal_every_two) {
    static const struct {
        enum nl_progress_form form;
        int last_s;
        double last_share;
        int now_s;
        double share;
        int is_due;
    } rows[] = {{NL_PROGRESS_LINES, 0, 0, 9, 0.9, 0} /* too early */,
                {NL_PROGRESS_LINES, 0, 0, 59, 0.05, 0} /* too little */,
                {NL_PROGRESS_LINES, 0, 0, 60, 0.05, 1} /* by the clock */,
                {NL_PROGRESS_LINES, 0, 0, 30, 0.11, 1},
                {NL_PROGRESS_LINES, 60, 0.11, 100, 0.2, 0},
                {NL_PROGRESS_LINES, 60, 0.11, 100, 0.22, 1},
                {NL_PROGRESS_TERMINAL, 0, 0, 1, 0.5, 0},
                {NL_PROGRESS_TERMINAL, 0, 0, 2, 0, 1},
                {NL_PROGRESS_OFF, 0, 0, 1000, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nl_progress p;
        nl_progress_open(&p, rows[i].form);
        nl_progress_begin(&p, 0);
        if (rows[i].form == NL_PROGRESS_LINES) assert_int_equal(nl_progress_next_ns(&p), INT64_C(60) * S);
        p.last_ns = INT64_C(1) * rows[i].last_s * S;
        p.last_share = rows[i].last_share;
        assert_int_equal(nl_progress_is_due(&p, INT64_C(1) * rows[i].now_s * S, rows[i].share),
                         rows[i].is_due);
    }
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
    static const struct {
        int s;
        double share;
        const char *prefix, *text;
    } rows[] = {{30, 0.25, "", "25 %, 90 s left"},
                {600, 0.5, "at most ", "50 %, at most 10 min left"},
                {3600, 0.25, "", "25 %, 3 h 00 min left"},
                {0, 0, "", "0 %, 0 s left"}};
    struct nl_progress p;
    char text[64];
    nl_progress_open(&p, NL_PROGRESS_LINES);
    nl_progress_begin(&p, 0);
    for (int i = 0; i < 4; i++) {
        nl_progress_tell(&p, INT64_C(1) * rows[i].s * S, rows[i].share, rows[i].prefix, text, sizeof text);
        assert_string_equal(text, rows[i].text);
    }
}

/* Traces: what is accepted, what is refused and in which words, and that the second reading yields what the
 * first one found. Files that cannot be traces at all: tests/cli/gen.bats. */
#include "common/trace/nl_trace.h"
#include "tests/unit/files.h"

static char path[PATH_MAX];

FIXTURE(set_up) {
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/trace", folder);
    return 0;
}

/* The trace is refused, and the reason names the file and holds `wanted`. */
static void assert_refused(const char *wanted) {
    struct nl_trace trace;
    char reason[2 * PATH_MAX] = "";
    int before = dup(0), after;
    close(before);
    assert_int_equal(nl_trace_check(path, NL_TRACE_OF_USER, &trace, reason, sizeof reason), -1);
    close(after = dup(0));
    EQUAL(trace.fd, -1, after, before); /* no file is left open */
    assert_contains(reason, path);
    assert_contains(reason, wanted);
    assert_null(strchr(reason, '\n'));
}

static struct nl_trace checked(void) {
    struct nl_trace trace;
    char reason[2 * PATH_MAX] = "";
    if (nl_trace_check(path, NL_TRACE_OF_USER, &trace, reason, sizeof reason)) fail_msg("%s", reason);
    return trace;
}

static struct nl_trace accepted(const char *text) {
    put("trace", text);
    return checked();
}

/* How many bursts the file has; it is a trace. */
static int64_t n_bursts(void) {
    OWNED(nl_trace_close) struct nl_trace t = checked();
    return t.n_bursts;
}

/* ---- what is a trace ---- */

TEST(a_trace_of_two_columns_is_summed_up) {
    struct nl_trace t = accepted("# two bursts\n1000\t200\n3000\t100\n");
    EQUAL(t.n_bursts, 2, t.n_columns, 2, t.n_cpus, 0, t.first_ns, 1000, t.last_ns, 3000, t.busy_ns[0], 300,
          t.bursts[0], 2);
    EQUAL(t.longest_ns[0], 200);
    EQUAL(t.kind_rows, 0);
    /* from the first to the last start, and one mean distance more */
    assert_int_equal(t.span_ns, 4000);
    assert_false(t.has_span);
    nl_trace_close(&t);
    assert_int_equal(t.fd, -1);
    nl_trace_close(&t); /* twice is fine */
}

TEST(a_kind_may_be_left_to_the_options_and_a_task_named) {
    OWNED(nl_trace_close)
    struct nl_trace t = accepted("0\t10\t1\t-\tcollectd\n20\t30\t1\tspin\t-\n60\t5\t1\t-\t(a)b\n");
    struct nl_trace_reader reader;
    struct nl_trace_line line;
    EQUAL(t.n_columns, 5, t.n_bursts, 3);
    nl_trace_open(&reader, &t);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nl_trace_next(&reader, &line), 1);
        assert_true(i == 1 ? strcmp(nl_trace_kinds[line.kind_row], "spin") == 0 : line.kind_row == -1);
        assert_true(i == 1 ? line.task == NULL : strcmp(line.task, i == 0 ? "collectd" : "(a)b") == 0);
    }
    assert_int_equal(nl_trace_next(&reader, &line), 0);
}

TEST(a_trace_of_four_columns_is_summed_up_by_cpu) {
    OWNED(nl_trace_close)
    struct nl_trace t = accepted("0\t10\t7\tspin\n5\t10\t2\tprocfs\n20\t30\t7\tspin\n50\t1\t65535\tnet\n");
    EQUAL(t.n_columns, 4, t.n_cpus, 3, t.cpus[0], 2, t.cpus[1], 7, t.cpus[2], 65535, t.busy_ns[0], 10,
          t.busy_ns[1], 40, t.bursts[1], 2);
    uint32_t rows = 0;
    for (int i = 0; nl_trace_kinds[i]; i++)
        if (!strcmp(nl_trace_kinds[i], "spin") || !strcmp(nl_trace_kinds[i], "procfs") ||
            !strcmp(nl_trace_kinds[i], "net"))
            rows |= UINT32_C(1) << i;
    assert_int_equal(t.kind_rows, rows);
}

TEST(what_is_not_exact_but_clear_is_accepted_and_has_its_span) {
    static const struct {
        const char *text;
        int64_t n, span_ns;
    } rows[] = {
        {"0\t1\n5\t1\n", 2, 10},                 /* begins at 0 */
        {"1\t2\n3\t4", 2, 6},                    /* no final newline; the last one has to end */
        {"# a\r\n\r\n1\t2\r\n3\t4", 2, 6},       /* CRLF, an empty line, and no final newline */
        {"  1 \t 2  \n\t3\t\t4\t\n", 2, 6},      /* spaces, several, and around */
        {"\n\n# x\n1\t2\n\n#\n3\t4\n\n#", 2, 6}, /* empty lines and comments anywhere */
        {"1\t2\t-\tspin\n3\t4\t-\tsum\n", 2, 6}, /* a kind, and no CPU */
        {"0000001\t0002\n00003\t4\n", 2, 6},     /* leading zeros */
        {"#span_nanos: x\n#span_ns\n# spans_ns: 5\n1\t2\n3\t4\n", 2, 6}, /* comments that mean nothing */
        {"0\t10\t0\n0\t10\t1\n5\t10\t2\n10\t5\t0\n", 4, 15}, /* bursts may touch, and overlap on other CPUs */
        {"9223372036854775806\t1\n", 1, 1},
        {"0\t9223372036854775807\n", 1, INT64_MAX},
        {"0\t1\n9223372036854775806\t1\n", 2, INT64_MAX}, /* one mean distance more would be beyond */
        {"# span_ns: 5000\n1000\t200\n3000\t100\n", 2, 5000},
        {"1000\t200\n3000\t100\n  #span_ns:2100\n", 2, 2100}, /* anywhere, and the least there can be */
        {"# span_ns: 7\n# span_ns: 100\n1\t2\n", 1, 100},     /* the last one counts */
        {"777\t50\n", 1, 50},                                 /* one burst is a round */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(nl_trace_close) struct nl_trace t = accepted(rows[i].text);
        if (t.n_bursts != rows[i].n || t.span_ns != rows[i].span_ns)
            fail_msg("row %zu: span %" PRId64, i, t.span_ns);
        assert_int_equal(t.has_span, strstr(rows[i].text, "span_ns:") && !strstr(rows[i].text, "spans_ns"));
    }
}

/* ---- what is none ---- */

TEST(malformed_lines_are_refused_with_their_number) {
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"1\t2\n0\t1\n", ":2: starts before the burst above it: sort the trace"},
        {"-1\t2\n", ":1: the start is not a whole number of ns, 0 or more"},
        {"1\t-2\n", ":1: the duration is not a positive whole number of ns"},
        {"1\t0\n", ":1: the duration is not a positive whole number"},
        {"+1\t2\n", ":1: the start is not"},
        {"1\tNaN\n", ":1: the duration is not"},
        {"1\t2\n5.5\t2\n", ":2: the start is not"},
        {"1\t2us\n", ":1: the duration is not"},
        {"start_ns\tduration_ns\n1\t2\n", ":1: the start is not"},
        {"1,2\n", ":1: has no duration (wanted: start_ns<TAB>duration_ns)"},
        {"1\t\n", ":1: has no duration"},
        {"# x\n\n1\t2\n3\n", ":4: has no duration"},
        {"1\t2\t0\tspin\ttask\t6\t7\n", ":1: has more than five columns"},
        {"1\t2 # a comment\n",
         ":1: the third column is not a CPU number"}, /* comments have lines of their own */
        {"1\t2\t0\n3\t4\n", ":2: has 2 columns, the lines before it have 3"},
        {"1\t2\n3\t4\t0\n", ":2: has 3 columns, the lines before it have 2"},
        {"1\t2\t0\n3\t4\t-\n", ":2: some lines name a CPU and others do not"},
        {"1\t2\t-\n3\t4\t0\n", ":2: some lines name a CPU and others do not"},
        {"1\t2\tspin\n", ":1: the third column is not a CPU number (or -)"},
        {"1\t2\t65536\n", ":1: the third column is not a CPU number"},
        {"1\t2\t--\n", ":1: the third column is not a CPU number"},
        {"1\t2\t0\tburn\n", ":1: the fourth column is not a kind of load (see --list kinds)"},
        {"1\t2\t0\tspi\n", ":1: the fourth column is not a kind"},
        {"1\t2\t0\tspinn\n", ":1: the fourth column is not a kind"},
        {"1\t2\t0\tseed\n", ":1: this kind of load does not keep to a duration"},
        {"0\t10\n5\t1\n", ":2: overlaps the burst before it, which ends at 10 ns"},
        {"0\t10\t3\n0\t1\t4\n5\t1\t3\n", ":3: overlaps the burst before it on this CPU, which ends at 10 ns"},
        {"0\t10\t-\tspin\n9\t1\t-\tsum\n", ":2: overlaps the burst before it, which"},
        {"9223372036854775808\t1\n", ":1: the start is not"},
        {"1\t9223372036854775808\n", ":1: the duration is not"},
        {"99999999999999999999999999\t1\n", ":1: the start is not"},
        {"9223372036854775807\t1\n", ":1: ends beyond the range of 64 bits"},
        {"1\t2\r3\t4\r", ":1: the duration is not"}, /* lines that end as on old Macs are one line */
        {"1\t2\n\xef\xbb\xbf", ":2: has no duration"},
        {"\xef\xbb\xbf"
         "1\t2\n",
         "begins with a byte-order mark"},
        {"# span_ns: 1e9\n1\t2\n", ":1: span_ns is not a positive whole number of ns"},
        {"1\t2\n# span_ns:\n", ":2: span_ns is not a positive"},
        {"# span_ns: 0\n1\t2\n", ":1: span_ns is not a positive"},
        {"# span_ns: -5\n1\t2\n", ":1: span_ns is not a positive"},
        {"# span_ns: 10 s\n1\t2\n", ":1: span_ns is not a positive"},
        {"# span_ns: 99999999999999999999\n1\t2\n", ":1: span_ns is not a positive"},
        {"# span_ns: 2099\n1000\t200\n3000\t100\n", "span_ns is 2099, but its bursts last 2100 ns"},
        {"", "holds no burst"},
        {"\n\n\n", "holds no burst"},
        {"# nothing", "holds no burst"},
        {"   \n\t\n\r\n# span_ns: 5\n", "holds no burst"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put("trace", rows[i].text);
        assert_refused(rows[i].wanted);
    }
    put_bytes("trace", "1\t2\n\0\0\0\n", 8);
    assert_refused(":2: has a zero byte");
    put_bytes("trace", "1\0002\t3\n", 6);
    assert_refused(":1: has a zero byte");
}

TEST(more_cpus_than_there_is_room_for_are_refused) {
    for (int n = NL_TRACE_MAX_CPUS; n <= NL_TRACE_MAX_CPUS + 1; n++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        for (int i = 0; i < n; i++)
            fprintf(f, "%d\t5\t%d\n", i, i * 7);
        fclose(f);
        if (n == NL_TRACE_MAX_CPUS)
            assert_int_equal(n_bursts(), n);
        else
            assert_refused(":1025: names more than 1024 different CPUs");
    }
}

/* ---- long lines ---- */

/* Writes `n` times a character between two texts. */
static void write_long(const char *before, char c, size_t n, const char *after) {
    char *block = malloc(n);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_non_null(block);
    memset(block, c, n);
    fputs(before, f);
    fwrite(block, 1, n, f);
    fputs(after, f);
    free(block);
    assert_int_equal(fclose(f), 0);
}

TEST(a_line_of_10_mb_is_refused) {
    static const size_t bytes[] = {256, NL_TRACE_BLOCK_BYTES - 1, NL_TRACE_BLOCK_BYTES,
                                   NL_TRACE_BLOCK_BYTES + 1, 10 << 20};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        write_long("1\t2\n", '1', bytes[i], "");
        assert_refused(":2: is longer than 255 characters");
        write_long("1\t2\n", '1', bytes[i], "\n3\t4\n");
        assert_refused(":2: is longer than 255 characters");
        write_long("1\t2\n3\t4", ' ', bytes[i], "\n");
        assert_refused(":2: is longer than 255 characters");
    }
    write_long("1\t2", ' ', 252, "\n3\t4\n");
    assert_int_equal(n_bursts(), 2);
    write_long("1\t2", ' ', 253, "\n3\t4\n");
    assert_refused(":1: is longer than 255 characters");
}

TEST(comments_may_fill_a_block) {
    static const size_t bytes[] = {300, NL_TRACE_BLOCK_BYTES - 4, NL_TRACE_BLOCK_BYTES - 3};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        write_long("# ", '9', bytes[i], "\n1\t2\n3\n");
        assert_refused(":3: has no duration");     /* the lines are still counted right */
        write_long("1\t2\n# ", '9', bytes[i], ""); /* and at the end, without its newline */
        assert_int_equal(n_bursts(), 1);
    }
    write_long("1\t2\n# ", '9', 10 << 20, "\n3\t4\n");
    assert_refused(":2: is a comment longer than 16 KiB");
}

/* ---- what a launch left ---- */

TEST(a_file_of_a_launch_may_be_empty_cut_and_overlap_and_nothing_else) {
    static const struct {
        const char *text;
        int64_t n;
    } rows[] = {
        {"", 0},
        {"# lost: 3\n", 0}, /* nothing ran */
        {"1\t2\t0\t-\tx\n30\t4\t0\t-", 1},
        {"1\t2\n3", 1}, /* killed within a line */
        {"0\t10\t3\n5\t1\t3\n", 2},
        {"0\t0\t3\n5\t1\t3\n", 2},
        {"# span_ns: 5\n0\t10\t3\n", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(nl_trace_close) struct nl_trace t = {.fd = -1};
        struct nl_trace_reader r;
        struct nl_trace_line line;
        char reason[2 * PATH_MAX] = "";
        int64_t n = 0;
        put("trace", rows[i].text);
        if (nl_trace_check(path, NL_TRACE_OF_LAUNCH, &t, reason, sizeof reason))
            fail_msg("row %zu: %s", i, reason);
        nl_trace_open(&r, &t);
        while (nl_trace_next(&r, &line) > 0)
            n++;
        EQUAL(t.n_bursts, rows[i].n, n, rows[i].n);
        assert_null(r.problem);
    }
    put("trace", "5\t1\n3\t1\n");
    struct nl_trace trace;
    char reason[2 * PATH_MAX] = "";
    assert_int_equal(nl_trace_check(path, NL_TRACE_OF_LAUNCH, &trace, reason, sizeof reason), -1);
    assert_contains(reason, ":2: starts before the burst above it");
}

TEST(comments_are_given_to_who_asks_for_them) {
    OWNED(nl_trace_close) struct nl_trace t = accepted("# a\n1\t2\n#b\n # span_ns: 50\n3\t4\n");
    struct nl_trace_reader r;
    struct nl_trace_line line;
    static const char *const wanted[] = {" a", NULL, "b", " span_ns: 50", NULL};
    nl_trace_open(&r, &t);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(nl_trace_next_or_comment(&r, &line), 1);
        if (wanted[i])
            assert_string_equal(r.comment, wanted[i]);
        else
            assert_null(r.comment);
    }
    assert_int_equal(nl_trace_next_or_comment(&r, &line), 0);
}

/* ---- in words ---- */

TEST(share_rate_and_longest_burst_are_said) {
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"0\t1000000\n10000000\t3000000\n",
         "2 bursts in 20 ms: busy for 20 % of a CPU, 100 bursts per second, longest 3 ms"},
        {"# span_ns: 1000000000\n7\t1500\t2\n",
         "1 burst on 1 CPU in 1 s: busy for 0.00015 % of a CPU, 1 bursts per second, longest 1.5 us"},
        {"# span_ns: 1000\n0\t250\t2\n9\t125\t1\n300\t9\t2\n",
         "3 bursts on 2 CPUs in 1 us: busy for 38.4 % of a CPU (CPU 2 for 25.9 %), 3e+06 bursts per second, "
         "longest 250 ns"},
        {"0\t999999999\n3600000000000\t1\n",
         "2 bursts in 7200 s: busy for 0.0139 % of a CPU, 0.0002778 bursts per second, longest 1000 ms"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(nl_trace_close) struct nl_trace t = accepted(rows[i].text);
        char words[256];
        assert_string_equal(nl_trace_words(&t, words, sizeof words), rows[i].words);
    }
}

/* ---- the second reading ---- */

static int64_t nth_start(int64_t i) {
    return i * 1000 + i / 7 * INT64_C(1000000000000); /* numbers that grow longer */
}

/* Every line of a trace of `n` generated bursts, in order. */
static void assert_reads(struct nl_trace_reader *r, int64_t n) {
    struct nl_trace_line line;
    for (int64_t i = 0; i < n; i++) {
        if (nl_trace_next(r, &line) != 1)
            fail_msg("burst %" PRId64 ": %s", i, r->problem ? r->problem : "too early an end");
        assert_int_equal(line.start_ns, nth_start(i));
        EQUAL(line.duration_ns, 1 + i % 999, line.cpu, i % 3 * 5, line.cpu_index, i % 3, line.kind_row,
              i % 2);
    }
    assert_int_equal(nl_trace_next(r, &line), 0);
    assert_int_equal(nl_trace_next(r, &line), 0); /* the end stays the end */
}

static void write_bursts(int64_t n, int n_padding, const char *line_end, int has_last_end) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    /* the padding moves all lines against the borders of the blocks */
    fprintf(f, "#%*s%s", n_padding, "", line_end);
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%" PRId64 "\t%" PRId64 "\t%d\t%s%s", nth_start(i), 1 + i % 999, (int)(i % 3 * 5),
                nl_trace_kinds[i % 2], i + 1 < n || has_last_end ? line_end : "");
    assert_int_equal(fclose(f), 0);
}

TEST(lines_across_the_borders_of_blocks_are_read_whole_and_again_from_the_begin) {
    enum { N = 3000, PADDINGS = 40 };
    struct stat st;
    struct nl_trace_line line;
    write_bursts(N, 0, "\n", 1);
    assert_int_equal(stat(path, &st), 0);
    int to_border = (int)(NL_TRACE_BLOCK_BYTES - st.st_size % NL_TRACE_BLOCK_BYTES);
    /* a line has some 25 characters, so every place of the border within a line occurs; then files that end
     * at one, or nearly */
    for (int i = 0; i < PADDINGS + 5; i++) {
        int is_end = i >= PADDINGS;
        write_bursts(N, is_end ? to_border + i - PADDINGS - 2 : i, i % 2 && !is_end ? "\r\n" : "\n",
                     i % 3 > 0);
        OWNED(nl_trace_close) struct nl_trace t = checked();
        struct nl_trace_reader r;
        assert_int_equal(t.n_bursts, N);
        assert_true(t.size_bytes > 3 * NL_TRACE_BLOCK_BYTES);
        nl_trace_open(&r, &t);
        assert_reads(&r, N);
        nl_trace_rewind(&r);
        for (int k = 0; k < N / 2; k++)
            assert_int_equal(nl_trace_next(&r, &line), 1);
        nl_trace_rewind(&r); /* from the middle, too */
        assert_reads(&r, N);
    }
}

/* Puts the time of the last change out of step: a file may be written twice within one tick of the kernel's
 * clock. */
static void change_time(void) {
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(a_file_that_changes_while_it_is_replayed_is_noticed) {
    static const char before[] = "100\t2\t1\n200\t2\t3\n300\t2\t1\n";
    static const struct {
        const char *text;
        int n_good; /* bursts read before it is noticed */
    } rows[] = {
        {"", 0},            /* emptied */
        {"100\t2\t1\n", 1}, /* cut short */
        {"100\t2\t1\n200\t2\t3\n300\t2\t1\n400\t2\t1\n",
         3}, /* grown: the fourth is after the end of the round */
        {"100\t2\t1\n200\t2\t3\n300\t2\t1\n# more\n", 3},
        {"100\t2\t1\n200\t2\t3\n300\t3\t1\n", 3}, /* changed within */
        {"100\t2\t1\n200\t2\t2\n300\t2\t1\n", 1}, /* another CPU */
        {"100\t2\t1\n050\t2\t3\n300\t2\t1\n", 1}, /* back in time */
        {"050\t2\t1\n200\t2\t3\n300\t2\t1\n", 0},
        {"100\t2\t1\n200\t999\t3\n300\t2\t1\n", 1},    /* more load than was checked */
        {"100\t2\t1\n9223372036854775806\t1\t3\n", 1}, /* out of range */
        {"100\t2\t1\nhello\n", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(nl_trace_close) struct nl_trace t = accepted(before);
        struct nl_trace_reader r;
        struct nl_trace_line line;
        int n = 0, got;
        nl_trace_open(&r, &t);
        put("trace", rows[i].text);
        change_time();
        while ((got = nl_trace_next(&r, &line)) > 0)
            n++;
        assert_int_equal(got, -1);
        assert_contains(r.problem, "the file changed since it was checked");
        assert_int_equal(n, rows[i].n_good);
    }
}

TEST(a_file_that_cannot_be_read_any_more_is_a_failure) {
    OWNED(nl_trace_close) struct nl_trace t = accepted("100\t2\n200\t2\n");
    struct nl_trace_reader r;
    struct nl_trace_line line;
    nl_trace_open(&r, &t);
    r.fd = -1; /* as an error of the disk would do */
    assert_int_equal(nl_trace_next(&r, &line), -1);
}

GROUP(set_up, remove_tree)

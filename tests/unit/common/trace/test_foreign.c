/* Files of other tools where a trace is wanted: which are read, and as what, and which are refused by their
 * names. That all readers agree, and that the commands make traces: tests/cli/traces.bats. */
#include "common/trace/nl_foreign.h"
#include "common/trace/nl_trace.h"
#include "tests/unit/files.h"

static char path[PATH_MAX], bursts[4096], reason[16384];
static struct nl_trace trace;

FIXTURE(set_up) {
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/input", folder);
    return 0;
}

/* "START+DURATION@CPU ..." of a file of so many bytes, "!REASON" where it is refused. */
static const char *read_bytes(const char *bytes, size_t n) {
    static struct nl_trace_reader reader;
    struct nl_trace_line line;
    put_bytes("input", bytes, n);
    bursts[0] = '\0';
    if (nl_trace_check(path, NL_TRACE_OF_USER, &trace, reason, sizeof reason)) {
        snprintf(bursts, sizeof bursts, "!%.4000s", reason);
        return bursts;
    }
    nl_trace_open(&reader, &trace);
    while (nl_trace_next(&reader, &line) > 0)
        snprintf(bursts + strlen(bursts), sizeof bursts - strlen(bursts), "%s%" PRId64 "+%" PRId64 "@%d",
                 bursts[0] ? " " : "", line.start_ns, line.duration_ns, line.cpu);
    nl_trace_close(&trace);
    return bursts;
}

static const char *read_file(const char *text) { return read_bytes(text, strlen(text)); }

/* ---- what is read ---- */

TEST(detours_of_selfish_are_read_with_decimals_and_comments_anywhere) {
    /* as netgauge writes it: comments before and after, ns with decimals */
    assert_string_equal(
        read_file(
            "# Netgauge v2.4.6 MPI enabled (P=1)\n# noise, method selfish\n# time [ns] detour [ns]\n"
            "1000.40 250.6\n2000.5 99.9\n2000.49 10\n# in between\n5000 0.3\n7000 1e3\n# max 1000 ns\n"),
        "1000+251@-1 2000+110@-1 7000+1000@-1");
    assert_contains(trace.converted, "5 interruptions in units of 1 ns, rounded to ns; 1 with the start of "
                                     "another added to that, 1 shorter than ");
    assert_int_equal(trace.longest_ns[0], 1000);
    /* without a head: LogGOPSim's file of noise */
    assert_string_equal(read_file("0.0 10.5\n100.2 20\n"), "0+10@-1 100+20@-1");
    /* the head is believed though the first line is whole */
    assert_string_equal(read_file("# selfish\n0 10\n100.7 20.2\n"), "0+10@-1 101+20@-1");
    /* rounding alone makes these two overlap */
    assert_string_equal(read_file("0.4 10.5\n10.4 5.4\n"), "0+10@-1 10+5@-1");
    assert_string_equal(read_file("0.5 11.5\n11.4 5.4\n"), "0+12@-1 12+4@-1");
}

TEST(the_unit_is_that_of_the_head) {
    static const char *const rows[][2] = {
        {"# start[usec] duration[usec]\n1 2\n10 0.5\n", "1000+2000@-1 10000+500@-1"},
        {"# time [ms] detour [ms]\n1 0.002\n", "1000000+2000@-1"},
        {"# time [s] detour [s]\n1 0.25\n2 0.5\n", "1000000000+250000000@-1 2000000000+500000000@-1"},
        {"# start [us] duration [us] cpu\n1.5\t2\t3\n10\t0.5\t4\n", "1500+2000@3 10000+500@4"},
        {"# [tick] of a clock\n1\t2\n", "1+2@-1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(read_file(rows[i][0]), rows[i][1]);
}

TEST(a_file_of_ours_stays_as_it_is) {
    static const char *const rows[][2] = {
        {"# span_ns: 100\n1\t2\t0\t-\tprometheus_1.5\n10\t5\t0\t-\tx\n", "1+2@0 10+5@0"},
        {"# Frequency of the CPU: fixed\n# Operating System Noise\n1\t2\n",
         "1+2@-1"}, /* of people's words nothing is concluded */
        {"1\t2\t0\t-\tsched_switch:\n", "1+2@0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(read_file(rows[i][0]), rows[i][1]);
        assert_string_equal(trace.converted, "");
    }
    assert_contains(read_file("1\t2\n10.5\t5\n"), ":2: the start is not a whole number of ns");
    assert_contains(read_file("1\t2\n1\t5\n"), ":2: overlaps");
}

TEST(what_is_wrong_in_a_converted_file_is_said_with_its_own_line) {
    static const char *const files[][2] = {
        {"# selfish\n0.5 1\n\n-1 2\n", ":4: the start is not a number"},
        {"0.5 1\n2 nan\n", ":2: the duration is not a positive number"},
        {"0.5 1\n2 0\n", ":2: the duration is not a positive number"},
        {"0.5 1\n2 -4\n", ":2: the duration is not a positive number"},
        {"0.5 1\n2\n", ":2: the duration is not a positive number"},
        {"0.5 1\n1e300 1\n", ":2: the start is not a number"},
        {"0.5 1\n0x10 1\n", ":2: the start is not a number"},
        {"10.5 1\n# x\n10.6 1\n5 1\n", ":4: starts before the burst above it"},
        {"10.5 8\n# x\n10.6 1\n15 1\n", ":3: overlaps the burst before it"},
        {"9.1e18 1\n9.1e18 9e17\n", ":2: ends beyond the range"},
        {"0.001 0.000012\n0.002 0.000012\n", "none of its 2 bursts lasts 1 ns"},
        {"# selfish\n", "holds no burst"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_contains(read_file(files[i][0]), files[i][1]);
}

static const char osnoise_head[] =
    "# tracer: osnoise\n#\n#                                _-----=> irqs-off\n";

TEST(events_of_osnoise_are_read_with_their_cpus) {
    char text[2048];
    /* an irq within a thread: durations are net of what interrupts them */
    snprintf(text, sizeof text, "%s%s", osnoise_head,
             "       osnoise/8-961     [008] d.h.  5789.857532: irq_noise: local_timer:236 start "
             "5789.857529929 duration 1845 ns\n"
             "       osnoise/8-961     [008] dNh.  5789.858408: irq_noise: local_timer:236 start "
             "5789.858404871 duration 2848 ns\n"
             "     migration/8-54      [008] d...  5789.858413: thread_noise: migration/8:54 start "
             "5789.858409300 duration 3068 ns\n"
             "       [worker]/9-962    [009] ....  5789.858413: softirq_noise:  SCHED:7 start 5789.857000000 "
             "duration 10 ns\n"
             "       osnoise/8-961     [008] ....  5789.858413: sample_threshold: start 5789.858404555 "
             "duration 8812 ns interference 2\n");
    assert_string_equal(read_file(text),
                        "5789857000000+10@9 5789857529929+1845@8 5789858404871+2848@8 5789858409300+3068@8");
    assert_string_equal(
        read_file("cpus=2\n x-1 [000] 5.0: thread_noise: a:1 start 5.000000100 duration 50 ns\n"
                  " x-1 [000] 5.0: irq_noise: t:2 start 5.000000120 duration 30 ns\n"),
        "5000000100+80@0");
    assert_contains(trace.converted, "2 events of osnoise on 1 CPU(s); 1 within or beside another");
    assert_contains(read_file(" x-1 [000] 5.0: irq_noise: t:2 start 5.12 duration 30 ns\n"),
                    ":1: is not an event of osnoise");
    /* as perf script and trace-cmd have them, under the tracer nop, behind switches of tasks */
    assert_string_equal(
        read_file(
            "# tracer: nop\n    sh-9 [001] d..2. 5.1: sched_switch: prev_comm=sh prev_pid=9 ==> next_pid=1\n"
            "osnoise/1 961 [001] 5.2: osnoise:irq_noise: local_timer:236 start 5.200000001 duration 700 "
            "ns\n"),
        "5200000001+700@1");
}

/* ---- what is refused ---- */

TEST(files_without_interruptions_are_refused_by_their_names) {
    static const char *const rows[][2] = {
        {"# Frequency 1000.000000\n# Ticks per ns: 2.4\n# octave: pkg load signal\n0 37640\n1000000 37599\n",
         "is of FTQ"},
        {"# Ticks per ns: 2.4\n0 37640\n", "is of FTQ"},
        {"# tracer: osnoise\n#\n  <...>-859   [000] ....  81.637220: 1000000      190  99.98100      9    18 "
         "    0  1007  18  1\n",
         "has its sums per second, but no single interruptions"},
        {"# tracer: timerlat\n 1 2\n", "is of the tracer timerlat"},
        {"# tracer: function\n bash-1 [000] .... 5.0: do_x <-do_y\n",
         "is of Linux' tracer, with neither events of osnoise nor switches"},
        {"# tracer: hwlat\n <...>-1638 [000] d.h. 1733.281: #1 inner/outer(us): 12/14 ts:1733.281234567\n",
         "is of the tracer hwlat"},
        {"                       Operating System Noise\nduration:   0 00:00:04 | time is in us\n",
         "is a table of rtla osnoise"},
        {"# RTLA osnoise histogram\n# Time unit is microseconds (us)\n", "is a histogram of rtla osnoise"},
        {"# RTLA timerlat histogram\n", "is of rtla timerlat"},
        {"                 Timer Latency\n", "is a table of rtla timerlat"},
        {"# /dev/cpu_dma_latency set to 0us\nT: 0 ( 1234) P:80 I:1000\n", "is of cyclictest"},
        {"T: 0 ( 1234) P:80\n", "is of cyclictest"},
        {"  time    cpu  task name  wait time  sch delay   run time\n 79371.8 [0011]  gcc[31949] 0.014 0.000 "
         "1.148\n",
         "is of perf sched timehist"},
        {"  Task | Runtime ms | Count | Avg delay ms | Max delay ms |\n", "is of perf sched latency"},
        {"cpus=2\n sh-9 [001] 5.1: sched_switch: sh:9 [120] R ==> x:1 [120]\n",
         "has the switches of all tasks"},
        {"num_ranks 4\nrank 0 {\n", "is a schedule of LogGOPSim (GOAL)"},
        {"launch,operation,bytes\none,barrier,0\n", "is a table of noiselab"},
        {"# scan: repetition 1 variant all cpu 0 wall_ns 1000 detours 1 kept 1\n1\t2\t0\n",
         "has the detours of noiselab-accept"},
        {"PERFILE2\1\2", "is a recording of perf"},
        {"\x17\x08\x44tracing6", "is a recording of trace-cmd"},
        {"\x1f\x8b\x08", "is compressed by gzip"},
        {"\xef\xbb\xbf"
         "0\t5\n",
         "begins with a byte-order mark"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_contains(read_file(rows[i][0]), rows[i][1]);
    assert_contains(read_bytes("\xff\xfe"
                               "0\0\t\0"
                               "5\0\n\0",
                               10),
                    "is text in UTF-16");
}

/* What nl_foreign_doubt says of a file; "": nothing. */
static const char *doubt(const char *text) {
    read_file(text);
    if (bursts[0] == '!') fail_msg("%s", bursts);
    reason[0] = '\0';
    nl_foreign_doubt(&trace, reason, sizeof reason);
    return reason;
}

TEST(what_no_operating_system_does_is_in_another_unit_or_no_noise) {
    static const char *const rows[][2] = {
        {"0 12\n1000 12\n2000 12\n3000 12\n4000 12\n", "so briefly: its times are in another unit"}, /* us */
        {"0 300\n2000 300\n4000 300\n6000 300\n8000 300\n", "so often: its times are in another unit"},
        {"0 249\n1000000 249\n", "so briefly"},
        {"0 250\n1000000 250\n", ""},
        {"0 600000\n1000000 600000\n", "no noise takes so much of a CPU"},
        {"0 500000\n1000000 500000\n", ""},
        {"0 600000 0\n500000 1000 1\n1000000 600000 0\n", "(CPU 0 for 75 %)"},
        {"# span_ns: 2000000\n0 600000\n1000000 600000\n", ""}, /* whoever says how long it is means it */
        {"0.0 600000.5\n1000000.5 600000.5\n",
         ""},                /* another tool's durations are durations, on a busy machine, too */
        {"5 1000000\n", ""}, /* one burst has no share */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *said = doubt(rows[i][0]);
        if (rows[i][1][0] ? !strstr(said, rows[i][1]) : said[0]) fail_msg("row %zu: %s", i, said);
    }
}

GROUP(set_up, remove_tree)

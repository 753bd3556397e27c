/* Traces as other tools write them: netgauge's selfish and LogGOPSim, the tracer osnoise, FTQ. */
#include "noisegen/patterns/trace.h"
#include "tests/unit/unit.h"

static char bursts[4096], reason[512];
static struct ng_trace trace;

/* "START+DURATION@CPU ..." of a file with this content, "!REASON" where it is refused. */
static const char *read_file(const char *text, double unit_ns) {
    static struct ng_trace_reader reader;
    struct ng_trace_line line;
    char path[64];
    int fd = memfd_create("input", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    bursts[0] = '\0';
    if (ng_trace_check(path, unit_ns, &trace, reason, sizeof reason)) {
        snprintf(bursts, sizeof bursts, "!%s", reason);
    } else {
        ng_trace_open(&reader, &trace);
        while (ng_trace_next(&reader, &line) > 0)
            snprintf(bursts + strlen(bursts), sizeof bursts - strlen(bursts), "%s%" PRId64 "+%" PRId64 "@%d", bursts[0] ? " " : "",
                     line.start_ns, line.duration_ns, line.cpu);
        ng_trace_close(&trace);
    }
    close(fd);
    return bursts;
}

TEST(detours_of_selfish_are_read_with_decimals_and_comments_anywhere) {
    /* as netgauge writes it: comments before and after, ns with decimals */
    assert_string_equal(read_file("# Netgauge v2.4.6 MPI enabled (P=1)\n# noise, method selfish\n# time [ns] detour [ns]\n"
                                  "1000.40 250.6\n2000.5 99.9\n2000.49 10\n# in between\n5000 0.3\n7000 1e3\n# max 1000 ns\n", 0),
                        "1000+251@-1 2000+110@-1 7000+1000@-1");
    assert_contains(trace.said,
                    "5 interruptions in units of 1 ns, rounded to ns; 1 with the start of another added to that, 1 shorter than ");
    assert_int_equal(trace.longest_ns[0], 1000);
    /* without a head: LogGOPSim's file of noise */
    assert_string_equal(read_file("0.0 10.5\n100.2 20\n", 0), "0+10@-1 100+20@-1");
    /* the head is believed though the first line is whole */
    assert_string_equal(read_file("# selfish\n0 10\n100.7 20.2\n", 0), "0+10@-1 101+20@-1");
    /* rounding alone makes these two overlap */
    assert_string_equal(read_file("0.4 10.5\n10.4 5.4\n", 0), "0+10@-1 10+5@-1");
    assert_string_equal(read_file("0.5 11.5\n11.4 5.4\n", 0), "0+12@-1 12+4@-1");
}

TEST(a_file_in_another_unit_is_read_when_it_is_said) {
    assert_string_equal(read_file("1 2\n10 0.5\n", 1e3), "1000+2000@-1 10000+500@-1");
    assert_string_equal(read_file("# span_ns: 50000\n1.5\t2\t3\n10\t0.5\t4\n", 1e3), "1500+2000@3 10000+500@4");
    assert_int_equal(trace.span_ns, 50000);
    assert_contains(trace.said, "2 interruptions in units of 1000 ns");
    assert_string_equal(read_file("1 2\n", 1e9), "1000000000+2000000000@-1");
}

TEST(a_file_of_ours_stays_as_it_is) {
    assert_string_equal(read_file("# span_ns: 100\n1\t2\t0\t-\tprometheus_1.5\n10\t5\t0\t-\tx\n", 0), "1+2@0 10+5@0");
    assert_string_equal(trace.said, "");
    assert_contains(read_file("1\t2\n10.5\t5\n", 0), ":2: the start is not a whole number of ns");
    assert_contains(read_file("1\t2\n1\t5\n", 0), ":2: overlaps");
}

TEST(what_is_wrong_in_a_converted_file_is_said_with_its_own_line) {
    static const char *const files[][2] = {{"# selfish\n0.5 1\n\n-1 2\n", ":4: the start is not a number"},
                                           {"0.5 1\n2 nan\n", ":2: the duration is not a positive number"},
                                           {"0.5 1\n2 0\n", ":2: the duration is not a positive number"},
                                           {"0.5 1\n2 -4\n", ":2: the duration is not a positive number"},
                                           {"0.5 1\n2\n", ":2: the duration is not a positive number"},
                                           {"0.5 1\n1e300 1\n", ":2: the start is not a number"},
                                           {"0.5 1\n0x10 1\n", ":2: the start is not a number"},
                                           {"10.5 1\n# x\n10.6 1\n5 1\n", ":4: starts before the burst above it"},
                                           {"10.5 8\n# x\n10.6 1\n15 1\n", ":3: overlaps the burst before it"},
                                           {"9.1e18 1\n9.1e18 9e17\n", ":2: ends beyond the range"},
                                           {"# selfish\n", "holds no burst"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) assert_contains(read_file(files[i][0], 0), files[i][1]);
}

static const char osnoise_head[] = "# tracer: osnoise\n#\n#                                _-----=> irqs-off\n";

TEST(events_of_osnoise_are_read_with_their_cpus) {
    char text[2048];
    /* an irq within a thread: durations are net of what interrupts them */
    snprintf(text, sizeof text, "%s%s", osnoise_head,
             "       osnoise/8-961     [008] d.h.  5789.857532: irq_noise: local_timer:236 start 5789.857529929 duration 1845 ns\n"
             "       osnoise/8-961     [008] dNh.  5789.858408: irq_noise: local_timer:236 start 5789.858404871 duration 2848 ns\n"
             "     migration/8-54      [008] d...  5789.858413: thread_noise: migration/8:54 start 5789.858409300 duration 3068 ns\n"
             "       [worker]/9-962    [009] ....  5789.858413: softirq_noise:  SCHED:7 start 5789.857000000 duration 10 ns\n"
             "       osnoise/8-961     [008] ....  5789.858413: sample_threshold: start 5789.858404555 duration 8812 ns interference 2\n");
    assert_string_equal(read_file(text, 0), "5789857000000+10@9 5789857529929+1845@8 5789858404871+2848@8 5789858409300+3068@8");
    assert_string_equal(read_file("cpus=2\n x-1 [000] 5.0: thread_noise: a:1 start 5.000000100 duration 50 ns\n"
                                  " x-1 [000] 5.0: irq_noise: t:2 start 5.000000120 duration 30 ns\n", 0),
                        "5000000100+80@0");
    assert_contains(trace.said, "2 events of osnoise on 1 CPU(s); 1 within or beside another");
    assert_contains(read_file(" x-1 [000] 5.0: irq_noise: t:2 start 5.12 duration 30 ns\n", 0), ":1: is not an event of osnoise");
    assert_contains(read_file(" x-1 [000] 5.0: irq_noise: t:2 start 5.000000120 duration 30 ns\n", 1e3), "says its units itself");
}

TEST(files_without_interruptions_are_refused_by_their_names) {
    char text[1024];
    assert_contains(read_file("# Frequency 1000.000000\n# Ticks per ns: 2.4\n# octave: pkg load signal\n0 37640\n1000000 37599\n", 0),
                 "is of FTQ");
    assert_contains(read_file("# Frequency 1000.000000\n0 37640\n", 1e3), "is of FTQ");
    snprintf(text, sizeof text, "%s  <...>-859   [000] ....  81.637220: 1000000      190  99.98100      9    18     0  1007  18  1\n",
             osnoise_head);
    assert_contains(read_file(text, 0), "has its sums per second, but no single interruptions");
    assert_contains(read_file("# tracer: timerlat\n 1 2\n", 0), "is of the tracer timerlat");
}

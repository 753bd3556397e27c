#include "detector/sync/clocks.h"
#include "tests/unit/unit.h"

/* ---- MPI as far as clocks need it: these functions stand before those of the library, so one process can be
 * several ranks and MPI_Wtime a clock with any fault. ---- */

static struct {
    int is_initialized;
    enum { RIGHT, BACKWARDS_ONCE, STILL, UNLIKE_ON_EVERY_CPU } fault;
    int64_t n_readings;
    char sent[256]; /* what rank 0 broadcast */
    int is_root, n_broadcasts;
} mpi;

int MPI_Initialized(int *flag) {
    *flag = mpi.is_initialized;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

double MPI_Wtime(void) {
    double now_s = (double)(nl_mono_ns() % INT64_C(1000000000000)) * 1e-9;
    mpi.n_readings++;
    if (mpi.fault == STILL) return 7;
    if (mpi.fault == BACKWARDS_ONCE && mpi.n_readings == 50000) return now_s - 1e-3;
    /* by more than the thread can be away from a CPU: further on the higher ones */
    if (mpi.fault == UNLIKE_ON_EVERY_CPU) return now_s + 1e3 * sched_getcpu();
    return now_s;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    (void)comm;
    assert_true(type == MPI_BYTE && root == 0 && count > 0 && (size_t)count <= sizeof mpi.sent);
    if (mpi.is_root)
        memcpy(mpi.sent, buffer, (size_t)count);
    else
        memcpy(buffer, mpi.sent, (size_t)count);
    mpi.n_broadcasts++;
    return MPI_SUCCESS;
}

/* The CPUs of the program, so that a test finds them whatever the one before did. */
static cpu_set_t all_cpus;
static int knows_cpus; /* 0: more CPUs than a cpu_set_t names */

FIXTURE(fresh) {
    if (knows_cpus) sched_setaffinity(0, sizeof all_cpus, &all_cpus);
    memset(&mpi, 0, sizeof mpi);
    mpi.is_initialized = 1;
    return 0;
}

static const struct nd_clock_kind *kind(const char *name) {
    const struct nd_clock_kind *found = nl_find(nd_clock_kinds, name);
    assert_non_null(found);
    return found;
}

/* Opens a clock that every machine has. */
static struct nd_clock raw(void) {
    struct nd_clock c;
    char reason[256];
    if (nd_clock_open(&c, kind("monotonic-raw"), reason, sizeof reason)) fail_msg("%s", reason);
    return c;
}

TEST_WITH(every_clock_opens_or_says_why_not_in_one_line, fresh, NULL) {
    for (int i = 0; nd_clock_kinds[i]; i++) {
        struct nd_clock c;
        char reason[256];
        assert_ptr_equal(nl_find(nd_clock_kinds, nd_clock_kinds[i]->name), nd_clock_kinds[i]);
        if (nd_clock_open(&c, nd_clock_kinds[i], reason, sizeof reason)) {
            assert_true(reason[0] != '\0' && strchr(reason, '\n') == NULL);
            print_message("# %s is refused here: %s\n", nd_clock_kinds[i]->name, reason);
            continue;
        }
        assert_string_equal(reason, "");
        assert_ptr_equal(c.kind, nd_clock_kinds[i]);
        assert_true(c.resolution_ns >= 1 && c.read_ns > 0 && c.n_backwards == 0 && !c.is_fake);
        assert_true((c.read == ND_READ_COUNTER) == (c.error_ppm > 0));
    }
    struct nd_clock c;
    char reason[256];
    mpi.is_initialized = 0;
    assert_int_equal(nd_clock_open(&c, kind("mpi-wtime"), reason, sizeof reason), -1);
    assert_string_equal(reason, "MPI is not initialised");
}

TEST_WITH(without_a_wish_the_counter_is_taken_where_it_may_be_trusted, fresh, NULL) {
    struct nd_clock c;
    char reason[256], refusal[256];
    assert_int_equal(nd_clock_open(&c, NULL, reason, sizeof reason), 0);
    if (nl_counter_check(refusal, sizeof refusal)) {
        assert_string_equal(c.kind->name, "monotonic-raw");
        assert_string_equal(reason, refusal);
    } else if (strcmp(c.kind->name, "tsc") != 0) { /* the processor trusts it, the calibration did not */
        assert_string_equal(c.kind->name, "monotonic-raw");
        assert_true(reason[0] != '\0');
    }
}

TEST_WITH(only_clock_sources_that_read_a_counter_are_fast, fresh, NULL) {
    assert_true(nl_clocksource_is_counter("tsc") && nl_clocksource_is_counter("kvm-clock"));
    assert_true(nl_clocksource_is_counter("hyperv_clocksource_tsc_page") &&
                nl_clocksource_is_counter("arch_sys_counter"));
    assert_false(nl_clocksource_is_counter("hpet") || nl_clocksource_is_counter("acpi_pm") ||
                 nl_clocksource_is_counter("jiffies"));
    assert_false(nl_clocksource_is_counter("unknown") || nl_clocksource_is_counter("") ||
                 nl_clocksource_is_counter("tsc-early"));
    struct nd_clock c = raw();
    assert_true(c.source[0] != '\0' && c.is_slow_source == !nl_clocksource_is_counter(c.source));
}

TEST_WITH(a_clock_that_runs_backwards_stands_still_or_differs_between_cpus_is_refused, fresh, NULL) {
    static const char *const wanted[] = {[BACKWARDS_ONCE] = "it ran backwards in 1 of ",
                                         [STILL] = "it stood still",
                                         [UNLIKE_ON_EVERY_CPU] = "it ran backwards in "};
    for (mpi.fault = BACKWARDS_ONCE; mpi.fault <= UNLIKE_ON_EVERY_CPU; mpi.fault++) {
        struct nd_clock c;
        char reason[256];
        if (mpi.fault == UNLIKE_ON_EVERY_CPU && (!knows_cpus || CPU_COUNT(&all_cpus) < 2))
            SKIP("one CPU is all there is to run on, or there are more than the test can name");
        mpi.n_readings = 0;
        assert_int_equal(nd_clock_open(&c, kind("mpi-wtime"), reason, sizeof reason), -1);
        assert_non_null(strstr(reason, wanted[mpi.fault]));
        assert_true(mpi.n_readings >= 100000 && (mpi.fault != BACKWARDS_ONCE || c.n_backwards == 1));
    }
}

TEST_WITH(opening_gives_the_thread_its_cpus_back, fresh, NULL) {
    cpu_set_t one, after;
    if (!knows_cpus) SKIP("more CPUs than the test can name");
    raw();
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&all_cpus, &after));
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    raw();
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&one, &after));
}

struct moment {
    int64_t clock_ns, raw_ns, width_ns;
};

/* Both clocks at once: the raw time lies within half the width of raw_ns. */
static struct moment both_clocks(const struct nd_clock *c) {
    struct moment best = {.width_ns = INT64_MAX};
    for (int i = 0; i < 1000; i++) {
        int64_t before = nl_now_ns(CLOCK_MONOTONIC_RAW), clock = nd_clock_now(c),
                after = nl_now_ns(CLOCK_MONOTONIC_RAW);
        if (after - before < best.width_ns)
            best = (struct moment){clock, before + (after - before) / 2, after - before};
    }
    return best;
}

/* Three times what the widths and the calibration allow: its error is an estimate from two halves. */
TEST_WITH(the_counter_keeps_to_the_raw_clock_within_its_stated_error, fresh, NULL) {
    struct nd_clock c;
    char reason[256];
    if (nd_clock_open(&c, kind("tsc"), reason, sizeof reason)) SKIP("%s", reason);
    struct moment first = both_clocks(&c);
    while (nl_now_ns(CLOCK_MONOTONIC_RAW) - first.raw_ns < 60000000) {}
    struct moment last = both_clocks(&c);
    double widths_ns = (double)(first.width_ns + last.width_ns);
    double rate_off_ns = fabs((double)((last.clock_ns - first.clock_ns) - (last.raw_ns - first.raw_ns)));
    assert_true(rate_off_ns <= 3 * (c.error_ppm * 1e-6 * (double)(last.raw_ns - first.raw_ns) + widths_ns));
    /* and its zero is that of the raw clock, as far as the moment of the calibration is known (error_ppm of
     * 25 ms) */
    double zero_off_ns = fabs((double)(last.clock_ns - last.raw_ns));
    assert_true(zero_off_ns <=
                3 * (c.error_ppm * 1e-6 * ((double)(last.raw_ns - c.origin_ns) + 25e6) + widths_ns));
    assert_true(c.error_ppm <= 100);
}

TEST_WITH(ranks_of_a_node_convert_the_counter_alike_after_sharing, fresh, NULL) {
    struct nd_clock first = raw(), second = first, third = first, wanted;
    first.read = second.read = ND_READ_COUNTER;
    first.origin = 1000, first.mult = UINT64_C(1) << 31, first.origin_ns = 5000, first.error_ppm = 1.5;
    second.origin = 77, second.mult = UINT64_C(1) << 32, second.origin_ns = 42, second.error_ppm = 9,
    second.fake_drift = 0.25;
    second.read_ns = 16; /* as all else its own */
    memcpy(&wanted, &second, sizeof wanted);
    wanted.origin = 1000, wanted.mult = first.mult, wanted.origin_ns = 5000, wanted.error_ppm = 1.5;
    mpi.is_root = 1;
    nd_clock_share(&first, MPI_COMM_SELF);
    mpi.is_root = 0;
    nd_clock_share(&second, MPI_COMM_SELF);
    assert_memory_equal(&second, &wanted, sizeof second);
    /* a clock without a calibration takes part, and keeps to itself */
    nd_clock_share(&third, MPI_COMM_SELF);
    assert_true(third.origin == 0 && third.mult == 0 && third.error_ppm == 0);
    assert_int_equal(mpi.n_broadcasts, 3);
}

TEST(a_fake_clock_is_off_by_offset_drift_and_jump_exactly) {
    const int64_t hour = INT64_C(3600000000000), s = 1000000000;
    struct nd_clock c = {.is_fake = 1,
                         .fake_offset_ns = hour,
                         .fake_drift = 50e-6,
                         .fake_at_ns = s,
                         .fake_jump_ns = -1000000,
                         .fake_jump_at_ns = 3 * s},
                    slow = {.is_fake = 1, .fake_drift = -0.5e-6, .fake_at_ns = s};
    EQUAL(nd_clock_fake(&c, s), s + hour, nd_clock_fake(&c, 2 * s), 2 * s + hour + 50000,
          nd_clock_fake(&c, 0), hour - 50000);
    EQUAL(nd_clock_fake(&c, 3 * s - 1), 3 * s - 1 + hour + 100000, nd_clock_fake(&c, 3 * s),
          3 * s + hour + 100000 - 1000000);
    EQUAL(nd_clock_fake(&slow, 2 * s), 2 * s - 500);
}

TEST_WITH(a_fake_clock_is_parsed_and_multiplied_by_the_rank, fresh, NULL) {
    struct nd_clock c = raw();
    int64_t before = nd_clock_true_now(&c);
    assert_int_equal(nd_clock_parse_fake("1h,50ppm,-1ms@2s", 2, &c), 0);
    assert_true(c.is_fake == 1 && c.fake_offset_ns == INT64_C(7200000000000) && c.fake_drift == 100e-6 &&
                c.fake_jump_ns == -2000000);
    assert_true(c.fake_at_ns >= before && c.fake_at_ns <= nd_clock_true_now(&c));
    assert_true(c.fake_jump_at_ns - c.fake_at_ns == 2000000000);
    assert_int_equal(nd_clock_parse_fake("-3us,-0.5ppm", 1, &c), 0);
    assert_true(c.fake_offset_ns == -3000 && c.fake_drift == -0.5e-6 && c.fake_jump_ns == 0);
    assert_int_equal(nd_clock_parse_fake("1h,50ppm,-1ms@2s", 0, &c), 0);
    assert_true(c.is_fake == 1 && c.fake_offset_ns == 0 && c.fake_drift == 0 && c.fake_jump_ns == 0);
    assert_int_equal(nd_clock_parse_fake("0,0ppm,0@0", 5, &c), 0);
}

TEST_WITH(anything_odd_is_no_fake_clock_and_changes_nothing, fresh, NULL) {
    static const char *const odd[] = {
        "",
        "x",
        "--1ms",
        "1ms ",
        "nan",
        "1ms,",
        "1ms,50",
        "1ms,--5ppm",
        "1ms,50ppmx",
        "1ms,50ppm,1ms",
        "1ms,50ppm,1ms@-1s",
        "1ms,50ppm,1ms@1s,2",
        "1ms,600000ppm",
        "20000000h",
        NULL,
    };
    struct nd_clock c = raw(), before;
    memcpy(&before, &c, sizeof c);
    for (int i = 0; odd[i]; i++)
        if (nd_clock_parse_fake(odd[i], 1, &c) != -1) fail_msg("'%s' is taken", odd[i]);
    /* right for rank 1, beyond all bounds for a far one */
    EQUAL(nd_clock_parse_fake("1h,50ppm", 100000, &c), -1, nd_clock_parse_fake("80000h", 2000000000, &c), -1);
    assert_memory_equal(&before, &c, sizeof c);
}

FIXTURE(look_at_cpus) {
    knows_cpus = sched_getaffinity(0, sizeof all_cpus, &all_cpus) == 0;
    return 0;
}

GROUP(look_at_cpus, NULL)

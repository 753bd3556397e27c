/* What a rank finds out about itself around a half. */
#include "detector/measure/probe.h"
#include "tests/unit/files.h"

TEST(a_probe_counts_this_process_own_faults_and_its_trials_take_time) {
    enum { PAGES = 64, PAGE_BYTES = 4096 };
    struct nd_probe_sum sum;
    struct nd_probe *p = nd_probe_open();
    assert_non_null(p);
    char *memory = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
    nd_probe_begin(p);
    for (int i = 0; i < PAGES; i++)
        memory[i * PAGE_BYTES] = 1;
    nd_probe_end(p, &sum);
    munmap(memory, PAGES * PAGE_BYTES);
    assert_int_equal(sum.n_ranks, 1);
    assert_true(sum.faults >= PAGES && sum.faults < 2 * PAGES);
    assert_int_equal(sum.n_speed, 1);
    /* a step takes at least a third of a nanosecond, and no machine needs a microsecond */
    assert_true(sum.speed_ns > ND_PROBE_STEPS / 3. && sum.speed_ns < 1000. * ND_PROBE_STEPS);
    assert_true(!sum.n_memory || sum.memory_ns > 0);
    assert_true(!sum.n_lock || sum.lock_ns > 0);
    /* hardware counters are there, or why not is said */
    assert_int_equal(sum.n_perf == 1, nd_probe_problem(p)[0] == '\0');
    if (sum.n_perf) assert_true(sum.instructions > 0 && sum.cycles > 0);
    nd_probe_close(p);
}

/* Events of the kernel's own stand for the CPU's registers: any machine has them where perf is permitted. */
TEST_WITH(the_clock_of_the_cpu_is_counted_by_two_events_of_one_source_or_not_at_all, make_folder,
          remove_tree) {
    struct nd_probe_sum sum;
    put("type", "1\n"); /* PERF_TYPE_SOFTWARE; the event is the thread's time on a CPU */
    put("events/aperf", "event=0x01\n");
    for (int has_both = 0; has_both < 2; has_both++) {
        if (has_both) put("events/mperf", "event=0x01\n");
        struct nd_probe *p = nd_probe_open_with(folder);
        assert_non_null(p);
        nd_probe_begin(p);
        for (int64_t until_ns = nl_thread_cpu_ns() + 2000000; nl_thread_cpu_ns() < until_ns;)
            continue;
        nd_probe_end(p, &sum);
        nd_probe_close(p);
        assert_true(has_both || sum.n_clock == 0);
        if (sum.n_clock) assert_true(sum.aperf >= 2000000 && sum.mperf >= 2000000);
    }
    /* a thread of an unprivileged user may count itself where perf is not forbidden at all */
    if (geteuid() == 0) assert_int_equal(sum.n_clock, 1);
}

TEST(sums_over_ranks_are_the_same_in_any_order) {
    const struct nd_probe_sum one = {.n_ranks = 1,
                                     .n_speed = 1,
                                     .n_memory = 0,
                                     .n_lock = 1,
                                     .faults = 3,
                                     .moved = 1,
                                     .speed_ns = 5000,
                                     .lock_ns = 900},
                              two = {.n_ranks = 1,
                                     .n_speed = 1,
                                     .n_memory = 1,
                                     .n_lock = 1,
                                     .faults = 4,
                                     .speed_ns = 6000,
                                     .memory_ns = 80,
                                     .lock_ns = 1100,
                                     .voluntary = 2,
                                     .involuntary = 7,
                                     .n_perf = 1,
                                     .cycles = 10,
                                     .instructions = 20,
                                     .misses = 30,
                                     .n_clock = 1,
                                     .aperf = 40,
                                     .mperf = 50};
    struct nd_probe_sum ab = one, ba = two;
    nd_probe_join(&ab, &two);
    nd_probe_join(&ba, &one);
    assert_memory_equal(&ab, &ba, sizeof ab);
    assert_int_equal(ab.n_ranks, 2);
    assert_int_equal(ab.n_memory, 1);
    assert_int_equal(ab.faults, 7);
    assert_int_equal(ab.n_clock, 1);
    assert_int_equal(ab.aperf, 40);
    assert_int_equal(ab.mperf, 50);
    assert_int_equal(ab.involuntary, 7);
    assert_true(ab.speed_ns > 10999 && ab.speed_ns < 11001);
    assert_int_equal(ab.misses, 30);
}

static void assert_why(int error, const char *paranoid, const char *part) {
    char text[192];
    nd_probe_say_why(error, paranoid, text, sizeof text);
    assert_contains(text, "cycles, instructions and cache misses are not counted here (perf: ");
    assert_contains(text, part);
    assert_int_equal(text[strlen(text) - 1], ')');
}

TEST(why_counters_are_not_read_names_the_setting_that_forbids_it) {
    assert_why(EACCES, "4", "kernel.perf_event_paranoid is 4, and must be at most 2");
    assert_why(EPERM, "3", "kernel.perf_event_paranoid is 3, and must be at most 2");
    assert_why(EPERM, "2", "this user or container is not permitted to use it");
    assert_why(EACCES, "", "this user or container is not permitted to use it");
    assert_why(ENOENT, "4", "this machine has no hardware counters");
    assert_why(EMFILE, "4", strerror(EMFILE));
}

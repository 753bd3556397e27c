/* The clock of stretches on the CPU, beside the kernel's own account of CPU time. What is not permitted here
 * is skipped. */
#include "noisegen/patterns/stretch.h"
#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

static void open_or_skip(struct ng_stretch *s) {
    if (ng_stretch_open(s)) SKIP("this kernel does not let stretches be counted here (perf_event_open)");
}

static void use_cpu(int64_t ns) {
    int64_t until_ns = nl_thread_cpu_ns() + ns;
    while (nl_thread_cpu_ns() < until_ns) {}
}

/* Uses some CPU time several times over; at least half of the times both clocks must say the same.
 * Interrupts, and what the host of a virtual machine takes away, are part of a stretch and not of the
 * account. */
static void assert_counted(struct ng_stretch *s) {
    enum { N = 11 };
    int n_same = 0;
    int64_t used_ns = 0, wanted_ns = 0;
    for (int i = 0; i < N; i++) {
        int64_t before_ns = ng_stretch_ns(s), cpu_ns = nl_thread_cpu_ns();
        use_cpu(4 * MS);
        used_ns = ng_stretch_ns(s) - before_ns;
        wanted_ns = nl_thread_cpu_ns() - cpu_ns;
        assert_true(used_ns > wanted_ns / 2);
        n_same += used_ns > wanted_ns - wanted_ns / 5 && used_ns < wanted_ns + wanted_ns / 5;
    }
    if (n_same <= N / 2)
        fail_msg("%d of %d times the same, at last %" PRId64 " instead of %" PRId64, n_same, N, used_ns,
                 wanted_ns);
}

TEST(work_is_counted_as_the_kernel_counts_it) {
    OWNED(ng_stretch_close) struct ng_stretch s;
    open_or_skip(&s);
    assert_counted(&s);
}

TEST(sleep_is_not_counted) {
    OWNED(ng_stretch_close) struct ng_stretch s;
    open_or_skip(&s);
    const struct timespec pause = {.tv_nsec = 20 * MS};
    int64_t before_ns = ng_stretch_ns(&s);
    for (int i = 0; i < 5; i++)
        nanosleep(&pause, NULL);
    assert_true(ng_stretch_ns(&s) - before_ns < 50 * MS); /* of 100 */
}

TEST(more_switches_than_it_remembers_do_not_stop_it) {
    OWNED(ng_stretch_close) struct ng_stretch s;
    open_or_skip(&s);
    const struct timespec pause = {.tv_nsec = 1000};
    for (int i = 0; i < 5000; i++)
        nanosleep(&pause, NULL); /* without a look at the clock */
    int64_t before_ns = ng_stretch_ns(&s);
    assert_counted(&s);
    for (int i = 0; i < 5000; i++) {
        nanosleep(&pause, NULL);
        if (i % 100 == 0) assert_true(ng_stretch_ns(&s) >= before_ns);
        if (i % 100 == 0) before_ns = ng_stretch_ns(&s);
    }
}

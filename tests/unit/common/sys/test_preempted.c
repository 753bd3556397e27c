/* Preempted time by the scheduler and by clocks: a thread that shares its CPU with another one for a known
 * time, and one that sleeps. */
#include <pthread.h>

#include "common/sys/nl_preempted.h"
#include "common/sys/nl_whole.h"
#include "tests/unit/unit.h"

enum { MS = 1000000 };

static void spin_cpu(int64_t ns) {
    int64_t end_ns = nl_thread_cpu_ns() + ns;
    while (nl_thread_cpu_ns() < end_ns) {}
}

static void spin_wall(int64_t ns) {
    int64_t end_ns = nl_mono_ns() + ns;
    while (nl_mono_ns() < end_ns) {}
}

static void *burn(void *ns) {
    spin_cpu(*(int64_t *)ns);
    return NULL;
}

/* The calling thread on one CPU, and threads that it starts, too. */
static void share_one_cpu(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static void need_scheduler(struct nl_preempted *s) {
    if (nl_preempted_open(s, NL_PREEMPTED_SCHEDULER))
        SKIP("the kernel keeps no account of waiting for CPUs (schedstat)");
    assert_int_equal(nl_preempted_source(s), NL_PREEMPTED_SCHEDULER);
}

/* Ticks of 10 ms or so that the kernel counted on a CPU in which its tasks could not run: irq, softirq and
 * steal, ns; -1 unknown. */
static int64_t kernel_lost_ns(int cpu) {
    char text[65536], name[16];
    long long irq, softirq, steal;
    nl_read("/proc/stat", text, sizeof text);
    snprintf(name, sizeof name, "cpu%d ", cpu);
    const char *at = strstr(text, name);
    if (!at || sscanf(at, "%*s %*d %*d %*d %*d %*d %lld %lld %lld", &irq, &softirq, &steal) != 3) return -1;
    return (irq + softirq + steal) * (1000000000 / sysconf(_SC_CLK_TCK));
}

/* What neither we nor others ran is the hypervisor's, or an interrupt's: the kernel's own account has no
 * less, but for its ticks. Beside a busy thread it stays small while the waiting is large. */
TEST(steal_is_apart_from_waiting) {
    enum { TICKS_NS = 30 * MS };
    OWNED(nl_preempted_close) struct nl_preempted s;
    struct nl_thread_times from, to;
    pthread_t other;
    int64_t burnt_ns = 200 * MS;
    need_scheduler(&s);
    share_one_cpu();
    int cpu = sched_getcpu();
    for (int with_other = 0; with_other < 2; with_other++) {
        int64_t lost_ns = kernel_lost_ns(cpu);
        nl_thread_times_read(&s, &from);
        if (with_other) assert_int_equal(pthread_create(&other, NULL, burn, &burnt_ns), 0);
        spin_wall(1000 * MS);
        nl_thread_times_read(&s, &to);
        lost_ns = kernel_lost_ns(cpu) - lost_ns;
        if (with_other) pthread_join(other, NULL);
        int64_t steal_ns = nl_thread_times_steal_ns(&from, &to),
                waited_ns = nl_thread_times_preempted_ns(&s, &from, &to);
        print_message("%s: waited %.3f ms, steal %.3f ms, by the kernel's ticks %.1f ms\n",
                      with_other ? "beside a busy thread" : "alone", (double)waited_ns / MS,
                      (double)steal_ns / MS, (double)lost_ns / MS);
        assert_int_equal(to.wall_ns - from.wall_ns, to.cpu_ns - from.cpu_ns + waited_ns + steal_ns);
        assert_true(steal_ns > -MS);
        if (with_other) assert_true((double)waited_ns >= 0.99 * (double)burnt_ns);
        if (lost_ns < 0) skip();
        assert_true(steal_ns <= lost_ns + TICKS_NS);
        /* where others ran there, a part of what the CPU lost was theirs */
        if (waited_ns < 50 * MS) assert_true((double)steal_ns >= 0.6 * (double)lost_ns - TICKS_NS);
    }
}

/* Beside a busy thread a reading is often interrupted, and no wait may be taken for steal. */
TEST(a_wait_between_two_clocks_is_no_steal) {
    OWNED(nl_preempted_close) struct nl_preempted s;
    struct nl_thread_times from, to;
    pthread_t other;
    int64_t burnt_ns = 1000 * MS, most_ns = 0;
    need_scheduler(&s);
    share_one_cpu();
    int cpu = sched_getcpu();
    int64_t lost_ns = kernel_lost_ns(cpu), waited_ns = 0, end_ns = nl_mono_ns() + 2000 * MS;
    assert_int_equal(pthread_create(&other, NULL, burn, &burnt_ns), 0);
    nl_thread_times_read(&s, &from);
    while (nl_mono_ns() <
           end_ns) { /* nothing but readings: whenever the CPU is taken, it is between two clocks */
        nl_thread_times_read(&s, &to);
        int64_t steal_ns = nl_thread_times_steal_ns(&from, &to);
        if (steal_ns > most_ns) most_ns = steal_ns;
        waited_ns += nl_thread_times_preempted_ns(&s, &from, &to);
        from = to;
    }
    pthread_join(other, NULL);
    lost_ns = kernel_lost_ns(cpu) - lost_ns;
    print_message(
        "waited %.3f ms; most steal between two readings %.3f ms, by the kernel's ticks %.1f ms in all\n",
        (double)waited_ns / MS, (double)most_ns / MS, (double)lost_ns / MS);
    assert_true(waited_ns > 100 * MS);
    if (lost_ns > 0 && most_ns > MS / 2) skip();
    assert_true(most_ns <= MS / 2);
}

/* A thread that sleeps loses nothing. */
TEST(sleep_is_not_preempted) {
    OWNED(nl_preempted_close) struct nl_preempted s;
    need_scheduler(&s);
    struct timespec nap = nl_timespec(200 * MS);
    int64_t ns = nl_preempted_ns(&s);
    nanosleep(&nap, NULL);
    ns = nl_preempted_ns(&s) - ns;
    assert_true(ns >= 0 && ns < 100 * MS);
}

/* One that cannot be had is refused, or clocks take its place. */
TEST(sources_are_those_asked_for) {
    struct nl_preempted s;
    assert_int_equal(nl_preempted_open(&s, NL_PREEMPTED_CLOCKS), 0);
    assert_int_equal(nl_preempted_source(&s), NL_PREEMPTED_CLOCKS);
    assert_int_equal(nl_preempted_open(&s, NL_PREEMPTED_AUTO), 0);
    assert_int_equal(nl_preempted_source(&s), access("/proc/thread-self/schedstat", R_OK)
                                                  ? NL_PREEMPTED_CLOCKS
                                                  : NL_PREEMPTED_SCHEDULER);
    nl_preempted_close(&s);
    assert_int_equal(nl_preempted_source(&s), NL_PREEMPTED_CLOCKS);
    struct nl_thread_times from, to;
    int64_t ns = nl_preempted_ns(&s);
    nl_thread_times_read(&s, &from);
    spin_wall(20 * MS);
    nl_thread_times_read(&s, &to);
    ns = nl_preempted_ns(&s) - ns;
    assert_true(ns > -MS && ns < 1000 * (int64_t)MS);
    assert_int_equal(nl_thread_times_preempted_ns(&s, &from, &to),
                     to.wall_ns - from.wall_ns - (to.cpu_ns - from.cpu_ns));
}

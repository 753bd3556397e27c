/* Preempted time by the scheduler and by clocks: a thread that shares its CPU with another one for a known time, and one that sleeps. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nl_clock.h"
#include "nl_preempted.h"
#include "skip.h"

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
    if (nl_preempted_open(s, NL_PREEMPTED_SCHEDULER)) SKIP("the kernel keeps no account of waiting for CPUs (schedstat)");
    assert_int_equal(nl_preempted_source(s), NL_PREEMPTED_SCHEDULER);
}

/* What another thread burns on the CPU of one that spins is what that one waited: no less, and not much more. */
static void others_time_is_found(void **state) {
    (void)state;
    struct nl_preempted s, clocks;
    pthread_t other;
    int64_t burnt_ns = 200 * MS;
    need_scheduler(&s);
    assert_int_equal(nl_preempted_open(&clocks, NL_PREEMPTED_CLOCKS), 0);
    share_one_cpu();
    int64_t by_scheduler_ns = nl_preempted_ns(&s), by_clocks_ns = nl_preempted_ns(&clocks);
    assert_int_equal(pthread_create(&other, NULL, burn, &burnt_ns), 0);
    spin_wall(1000 * MS);
    by_scheduler_ns = nl_preempted_ns(&s) - by_scheduler_ns;
    by_clocks_ns = nl_preempted_ns(&clocks) - by_clocks_ns;
    pthread_join(other, NULL);
    print_message("burnt %.3f ms; by the scheduler %.3f ms, by clocks %.3f ms\n", (double)burnt_ns / MS, (double)by_scheduler_ns / MS,
                  (double)by_clocks_ns / MS);
    assert_true((double)by_scheduler_ns >= 0.99 * (double)burnt_ns);
    /* whatever else ran there, or a hypervisor took meanwhile, the clocks saw, too */
    assert_true(by_scheduler_ns <= by_clocks_ns + MS / 10);
    nl_preempted_close(&s);
}

/* A thread that sleeps loses nothing. */
static void sleep_is_not_preempted(void **state) {
    (void)state;
    struct nl_preempted s;
    need_scheduler(&s);
    struct timespec nap = nl_timespec(200 * MS);
    int64_t ns = nl_preempted_ns(&s);
    nanosleep(&nap, NULL);
    ns = nl_preempted_ns(&s) - ns;
    assert_true(ns >= 0 && ns < 100 * MS);
    nl_preempted_close(&s);
}

/* One that cannot be had is refused, or clocks take its place. */
static void sources_are_those_asked_for(void **state) {
    (void)state;
    struct nl_preempted s;
    assert_int_equal(nl_preempted_open(&s, NL_PREEMPTED_CLOCKS), 0);
    assert_int_equal(nl_preempted_source(&s), NL_PREEMPTED_CLOCKS);
    assert_int_equal(nl_preempted_open(&s, NL_PREEMPTED_AUTO), 0);
    assert_int_equal(nl_preempted_source(&s), access("/proc/thread-self/schedstat", R_OK) ? NL_PREEMPTED_CLOCKS : NL_PREEMPTED_SCHEDULER);
    nl_preempted_close(&s);
    assert_int_equal(nl_preempted_source(&s), NL_PREEMPTED_CLOCKS);
    int64_t ns = nl_preempted_ns(&s);
    spin_wall(20 * MS);
    ns = nl_preempted_ns(&s) - ns;
    assert_true(ns > -MS && ns < 1000 * (int64_t)MS);
    nl_preempted_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_time_is_found),
        cmocka_unit_test(sleep_is_not_preempted),
        cmocka_unit_test(sources_are_those_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

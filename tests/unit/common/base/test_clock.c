/* The tick counter on clocks that move in steps: what is said of them is measured. The test's own
 * clock_gettime takes the place of libc's.
 */
#include "tests/unit/unit.h"

static int64_t step_ns = 1; /* of the clock; 0: it stands still */

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (syscall(SYS_clock_gettime, clock, t)) return -1;
    int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
    *t = nl_timespec(step_ns ? ns - ns % step_ns : 5);
    return 0;
}

TEST(the_steps_of_a_clock_and_its_cost_are_measured) {
    static const int64_t steps_ns[] = {100000, 1000000, 10000000, 1, 0};
    for (size_t i = 0; i < sizeof steps_ns / sizeof *steps_ns; i++) {
        struct nl_ticks t;
        step_ns = steps_ns[i];
        /* by accident two spans of a clock in steps agree, and the counter is used */
        for (int k = 0; k == 0 || (step_ns > 1 && t.use_counter && k < 20); k++) nl_ticks_calibrate(&t);
        if (step_ns == 0) assert_true(t.resolution_ns > 1e300); /* no end of a step */
        if (step_ns == 1) assert_true(t.resolution_ns > 0 && t.resolution_ns < 1e5);
        if (step_ns < 2) continue;
        assert_string_equal(t.name, "clock_gettime");
        /* a preempted look sees several steps as one; never fewer */
        assert_true(t.resolution_ns >= (double)step_ns && t.resolution_ns < 3 * (double)step_ns);
        assert_true(t.read_ns > 1 && t.read_ns < 1e5);
    }
}

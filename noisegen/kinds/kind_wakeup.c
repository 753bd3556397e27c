/* wakeup: timers that only wake. Each costs a timer interrupt, two context switches and, on an idle CPU, the
 * way out of an idle state; the work itself is nothing. */
#include "noisegen/kinds/kinds.h"

/* Long enough that the CPU goes idle or to somebody else in between, short enough for thousands a second. */
enum { SLEEP_NS = 50000 };

static int64_t work(void *state) {
    (void)state;
    struct timespec until = nl_timespec(nl_mono_ns() + SLEEP_NS);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL); /* a signal wakes as well: no second try */
    return 1;
}

const struct ng_kind ng_kind_wakeup = {
    .name = "wakeup",
    .help = "timers that only wake the CPU, every 50 us within a burst",
    .unit = "wake-ups",
    .period_ns = 10000000,
    .units_per_wake_up = 1,
    .work = work,
};

/* An agent whose cost is known: it is on the CPU for BUSY in each PERIOD, by its own CPU time, at fixed
 * moments, until it is ended. bench_busy BUSY PERIOD     such as: bench_busy 1ms 1s */
#include "common/base/nl_units.h"

int main(int argc, char **argv) {
    int64_t busy_ns, period_ns;
    if (argc != 3 || nl_parse_duration(argv[1], &busy_ns) || nl_parse_duration(argv[2], &period_ns) ||
        busy_ns >= period_ns) {
        fprintf(stderr, "usage: bench_busy BUSY PERIOD\n");
        return 2;
    }
    for (int64_t next_ns = nl_mono_ns();; next_ns += period_ns) {
        struct timespec at = nl_timespec(next_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        /* what it was frozen for is not made up */
        while (nl_mono_ns() - next_ns > period_ns)
            next_ns += period_ns;
        int64_t from_ns = nl_thread_cpu_ns();
        while (nl_thread_cpu_ns() - from_ns < busy_ns)
            continue;
    }
}

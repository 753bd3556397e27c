/* What a thread that spins loses in each second, by the scheduler's account and by two clocks, and the cost of a reading.
 * bench_preempted SECONDS     on one CPU: taskset -c 1 bench_preempted 10, beside nothing, or beside: taskset -c 1 bench_busy 1ms 100ms */
#include "common/sys/nl_preempted.h"
#include "common/base/nl_units.h"

enum { READINGS = 100000 };

int main(int argc, char **argv) {
    struct nl_preempted scheduler, clocks;
    int64_t seconds;
    if (argc != 2 || nl_parse_int(argv[1], 1, 3600, &seconds)) {
        fprintf(stderr, "usage: bench_preempted SECONDS\n");
        return 2;
    }
    if (nl_preempted_open(&scheduler, NL_PREEMPTED_SCHEDULER)) {
        fprintf(stderr, "bench_preempted: the kernel does not say how long threads wait for a CPU\n");
        return 2;
    }
    nl_preempted_open(&clocks, NL_PREEMPTED_CLOCKS);
    int64_t begin_ns = nl_mono_ns();
    for (int i = 0; i < READINGS; i++) nl_preempted_ns(&scheduler);
    printf("reading %.0f ns\n", (double)(nl_mono_ns() - begin_ns) / READINGS);
    for (int64_t second = 0; second < seconds; second++) {
        int64_t until_ns = nl_mono_ns() + 1000000000, by_scheduler_ns = nl_preempted_ns(&scheduler),
                by_clocks_ns = nl_preempted_ns(&clocks);
        while (nl_mono_ns() < until_ns) continue;
        by_clocks_ns = nl_preempted_ns(&clocks) - by_clocks_ns;
        by_scheduler_ns = nl_preempted_ns(&scheduler) - by_scheduler_ns;
        printf("scheduler %.3f ms clocks %.3f ms\n", (double)by_scheduler_ns * 1e-6, (double)by_clocks_ns * 1e-6);
    }
    nl_preempted_close(&scheduler);
    return 0;
}

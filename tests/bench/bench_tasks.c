/* bench_tasks N PERIOD_MS: N processes that sleep, each of which wakes up once in PERIOD_MS; they end with
 * this one. It says "ready" when all are there. */
#include "common/base/nl_usual.h"

int main(int argc, char **argv) {
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0, period_ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (n < 1 || n > 100000 || period_ms < 1) {
        fprintf(stderr, "usage: bench_tasks N PERIOD_MS\n");
        return NL_EXIT_USAGE;
    }
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror("bench_tasks: fork");
            kill(0, SIGTERM);
            return NL_EXIT_USAGE;
        }
        if (pid > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
        nl_sleep_ns(i % period_ms * 1000000);
        for (;;)
            nl_sleep_ns(period_ms * 1000000);
    }
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}

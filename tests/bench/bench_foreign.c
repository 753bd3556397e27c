/* Files of other tools, measured here and written as these tools document them, for tests of what reads
 * traces. bench_foreign ftq SECONDS       time and amount of work of each quantum of 1 ms, as ftq 1.1
 * bench_foreign selfish SECONDS   start and length of each detour, as the method selfish of netgauge's
 * pattern noise */
#include "common/base/nl_usual.h"

enum { QUANTUM_NS = 1000000, MOST_DETOURS = 1 << 20 };

/* By the thread's CPU time: what else runs on this machine is no part of a test. */
static void ftq(int64_t n) {
    printf("# Frequency %f\n# Ticks per ns: %g\n# octave: pkg load signal\n# x = load(<file name>)\n# "
           "pwelch(x(:,2),[],[],[],%f)\n"
           "# thread 0, core 0\n# start delay 0 msec\n",
           1e9 / QUANTUM_NS, 1.0, 1e9 / QUANTUM_NS);
    int64_t start_ns = nl_thread_cpu_ns();
    for (int64_t i = 0; i < n; i++) {
        int64_t now_ns, end_ns = start_ns + (i + 1) * QUANTUM_NS, from_ns = nl_thread_cpu_ns(), count = 0;
        for (; (now_ns = nl_thread_cpu_ns()) < end_ns; count++)
            for (volatile int k = 0; k < 32; k++)
                continue;
        printf("%" PRId64 " %" PRId64 "\n", from_ns - start_ns, count);
    }
}

static int selfish(int64_t length_ns) {
    static int64_t at_ns[MOST_DETOURS], took_ns[MOST_DETOURS];
    int64_t least_ns = INT64_MAX, start_ns = nl_mono_ns(), before_ns = start_ns;
    size_t n = 0;
    for (int i = 0; i < 100000; i++) {
        int64_t now_ns = nl_mono_ns();
        if (now_ns - before_ns > 0 && now_ns - before_ns < least_ns) least_ns = now_ns - before_ns;
        before_ns = now_ns;
    }
    for (start_ns = before_ns; before_ns - start_ns < length_ns && n < MOST_DETOURS;) {
        int64_t now_ns = nl_mono_ns();
        if (now_ns - before_ns > 9 * least_ns) {
            at_ns[n] = before_ns - start_ns;
            took_ns[n++] = now_ns - before_ns;
        }
        before_ns = now_ns;
    }
    printf("# Netgauge v2.4.6 MPI enabled (P=1) (netgauge -x noise -m selfish)\n# time [ns] detour [ns]\n");
    for (size_t i = 0; i < n; i++)
        printf("%.2f %.2f\n", (double)at_ns[i], (double)took_ns[i]);
    printf("# min detour: %.2f ns, %zu detours\n", (double)(9 * least_ns), n);
    return n == 0;
}

int main(int argc, char **argv) {
    double seconds = argc == 3 ? atof(argv[2]) : 0;
    if (seconds <= 0 || (strcmp(argv[1], "ftq") && strcmp(argv[1], "selfish"))) {
        fprintf(stderr, "usage: bench_foreign ftq|selfish SECONDS\n");
        return 2;
    }
    if (strcmp(argv[1], "selfish") == 0) return selfish((int64_t)(seconds * 1e9));
    ftq((int64_t)(seconds * 1e9 / QUANTUM_NS));
    return 0;
}

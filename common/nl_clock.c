#include "nl_clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

void nl_clocksource(char *buf, size_t size) {
    snprintf(buf, size, "unknown");
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (!f) return;
    if (fgets(buf, (int)size, f)) buf[strcspn(buf, "\n")] = '\0';
    fclose(f);
}

/* Whether user space may trust the counter: constant rate, running in all sleep states, and trusted by the kernel too. */
static int counter_is_invariant(void) {
    char source[64];
    nl_clocksource(source, sizeof source);
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8))) return 0;
    return strcmp(source, "tsc") == 0 || strcmp(source, "kvm-clock") == 0 || strcmp(source, "hyperv_clocksource_tsc_page") == 0;
#elif defined(__aarch64__)
    return strcmp(source, "arch_sys_counter") == 0;
#else
    return 0;
#endif
}

/* A (counter, clock) reading whose two counter reads lie closest together out of 64: the least disturbed one. */
static void read_pair(uint64_t *counter, int64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t before = nl_counter_read();
        int64_t now = nl_mono_ns();
        uint64_t after = nl_counter_read();
        if (after - before < best) {
            best = after - before;
            *counter = before + (after - before) / 2;
            *ns = now;
        }
    }
}

static double measure_rate(int64_t span_ns) {
    uint64_t c0, c1;
    int64_t n0, n1;
    read_pair(&c0, &n0);
    while (nl_mono_ns() - n0 < span_ns) {
    }
    read_pair(&c1, &n1);
    return c1 > c0 ? (double)(n1 - n0) / (double)(c1 - c0) : 0;
}

void nl_ticks_calibrate(struct nl_ticks *t) {
    *t = (struct nl_ticks){.name = "clock_gettime", .tick_ns = 1, .mult = (uint64_t)1 << 32};
    if (counter_is_invariant()) {
        double first = measure_rate(10000000), second = measure_rate(10000000);
        if (first > 0 && second > 0 && fabs(first / second - 1) < 1e-4) {
            t->tick_ns = (first + second) / 2;
            t->mult = (uint64_t)llround(t->tick_ns * 4294967296.0);
            t->use_counter = 1;
#if defined(__x86_64__)
            t->name = "tsc";
#else
            t->name = "cntvct";
#endif
        }
    }
    enum { READS = 20000 };
    int64_t start = nl_mono_ns();
    uint64_t sink = 0;
    for (int i = 0; i < READS; i++) sink ^= nl_ticks_now(t);
    __asm__ volatile("" : : "r"(sink));
    t->read_ns = (double)(nl_mono_ns() - start) / READS;
}

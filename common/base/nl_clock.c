#include "common/base/nl_clock.h"

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

int nl_clocksource_is_counter(const char *source) {
    static const char *const names[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                        "arch_sys_counter"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(source, names[i]) == 0) return 1;
    return 0;
}

/* What the processor itself says. */
static const char *processor_refusal(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8)))
        return "the processor does not say that its TSC is invariant (CPUID 0x80000007, EDX bit 8)";
    return NULL;
#elif defined(__aarch64__)
    return NULL; /* constant by the architecture */
#else
    return "this processor has no counter that noiselab knows how to read";
#endif
}

int nl_counter_check(char *reason, size_t reason_size) {
    char source[64];
    const char *refusal = processor_refusal();
    if (refusal) return nl_say(reason, reason_size, "%s", refusal);
    nl_clocksource(source, sizeof source);
    if (nl_clocksource_is_counter(source)) return 0;
    return nl_say(reason, reason_size,
                  "the kernel's clock source is %s, so it does not trust the counter itself", source);
}

struct nl_counter_pair nl_counter_pair(clockid_t clock) {
    struct nl_counter_pair best = {.width = UINT64_MAX};
    for (int i = 0; i < 64; i++) {
        uint64_t before = nl_counter_read();
        int64_t now = nl_now_ns(clock);
        uint64_t after = nl_counter_read();
        if (after - before < best.width)
            best = (struct nl_counter_pair){before + (after - before) / 2, now, after - before};
    }
    return best;
}

static double measure_rate(int64_t span_ns) {
    struct nl_counter_pair first = nl_counter_pair(CLOCK_MONOTONIC);
    /* a clock that stands still must not hold us */
    for (int i = 0; i < 1 << 22 && nl_mono_ns() - first.ns < span_ns; i++)
        continue;
    struct nl_counter_pair last = nl_counter_pair(CLOCK_MONOTONIC);
    return last.counter > first.counter
               ? (double)(last.ns - first.ns) / (double)(last.counter - first.counter)
               : 0;
}

/* Cost and steps, from one step to another and over several of them: of a clock of 10 ms neither is seen in
 * less. */
static void measure_steps(struct nl_ticks *t) {
    enum { READS = 20000, MOST_READS = 1 << 23, STEPS = 4 };
    uint64_t start = 0, last = nl_ticks_now(t), smallest = UINT64_MAX;
    int64_t n_start = 0, n = 0;
    t->read_ns = 0;
    t->resolution_ns = INFINITY;
    while (++n < MOST_READS &&
           (n - n_start < READS || smallest == UINT64_MAX || last - start < STEPS * smallest)) {
        uint64_t now = nl_ticks_now(t);
        if (now == last) continue;
        if (start == 0) n_start = n;
        if (start == 0) start = now;
        if (now > last && now - last < smallest && start != now) smallest = now - last;
        last = now;
    }
    if (smallest == UINT64_MAX) return;
    t->resolution_ns = (double)smallest * t->tick_ns;
    t->read_ns = (double)(last - start) * t->tick_ns / (double)(n - n_start);
}

void nl_ticks_calibrate(struct nl_ticks *t) {
    *t = (struct nl_ticks){.name = "clock_gettime", .tick_ns = 1, .mult = (uint64_t)1 << 32};
    char reason[160];
    if (nl_counter_check(reason, sizeof reason) == 0) {
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
    measure_steps(t);
}

int64_t nl_wall_s(int64_t *step_ns) {
    static int64_t began_ns, behind_ns; /* on the wall; how far CLOCK_BOOTTIME is behind it */
    int64_t wall_ns = nl_now_ns(CLOCK_REALTIME);
    if (began_ns == 0) {
        began_ns = wall_ns;
        behind_ns = wall_ns - nl_now_ns(CLOCK_BOOTTIME);
    }
    int64_t steady_ns = nl_now_ns(CLOCK_BOOTTIME) + behind_ns;
    if (step_ns) *step_ns = wall_ns - steady_ns;
    return steady_ns / 1000000000;
}

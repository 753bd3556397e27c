/* What recording costs a rank, in two ways. First the CPU time of a context switch with and without a recorder: two threads on one CPU hand
 * a byte to and fro, in rounds with and without in random order; CPU time does not care what else the machine does. Then as a rank sees it:
 * a thread that computes on one CPU, and another one there that wakes up many times per second for a moment; preempted time (wall less CPU
 * time of the computing thread) in halves with and without a recorder of that CPU, in random order within each pair; medians of the pairs'
 * differences, with a 99 % interval by order statistics. bench_recording PAIRS WAKEUPS_PER_SECOND     prints: name value, one per line */
#include <pthread.h>

#include "tests/bench/median.h"
#include "common/base/nl_rng.h"
#include "noisegen/recorder/recorder.h"

enum { HALF_NS = 50000000, SETTLE_NS = 2000000, WAKE_WORK_NS = 5000, MOST_PAIRS = 2000, ROUND_TRIPS = 2000 };

static _Atomic int is_over;
static _Atomic int64_t half_number; /* odd: a half runs */
static _Atomic int64_t begun, answered;
static int64_t half_preempted_ns, half_wall_ns;

static void bind(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) nl_error("cannot bind to CPU %d", cpu);
}

static void *compute(void *argument) {
    bind(*(const int *)argument);
    for (int64_t seen = 0; !is_over;) {
        int64_t number = half_number;
        if (number == seen) continue;
        seen = number;
        if (number % 2 == 0) continue;
        int64_t wall_ns = nl_mono_ns(), cpu_ns = nl_thread_cpu_ns();
        begun = number;
        while (half_number == number) {}
        half_preempted_ns = (nl_mono_ns() - wall_ns) - (nl_thread_cpu_ns() - cpu_ns);
        half_wall_ns = nl_mono_ns() - wall_ns;
        answered = number;
    }
    return NULL;
}

struct waker { int cpu; int64_t period_ns; };

static void *wake(void *argument) {
    const struct waker *w = argument;
    bind(w->cpu);
    for (int64_t next_ns = nl_mono_ns(); !is_over; next_ns += w->period_ns) {
        struct timespec at = nl_timespec(next_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        for (int64_t from_ns = nl_thread_cpu_ns(); nl_thread_cpu_ns() - from_ns < WAKE_WORK_NS;) {}
        if (nl_mono_ns() - next_ns > w->period_ns) next_ns = nl_mono_ns();
    }
    return NULL;
}

static struct nr_totals recorded; /* over all halves with a recorder */

/* One half; returns the preempted share in percent, a negative number after an error. */
static double half(int cpu, int is_recorded) {
    struct nr_config config = {.source = "cpu", .cpus = &cpu, .n_cpus = 1, .max_bursts = 100000, .keep = 1u << NR_OTHER};
    struct nr_recorder *recorder = NULL;
    if (is_recorded && nr_open(&recorder, &config)) return -1;
    nl_sleep_ns(SETTLE_NS);
    if (is_recorded) nr_begin(recorder, 0);
    int64_t number = ++half_number;
    while (begun != number) sched_yield(); /* its CPU may be busy */
    nl_sleep_ns(HALF_NS);
    half_number++;
    while (answered != number) sched_yield();
    if (is_recorded) {
        struct nr_totals totals;
        nr_end(recorder, &totals);
        recorded.ins += totals.ins;
        recorded.wall_ns += totals.wall_ns;
        recorded.lost += totals.lost;
        nr_close(recorder);
    }
    return 100 * (double)half_preempted_ns / (double)half_wall_ns;
}

/* ---- the CPU time of a switch ---- */

struct player { int cpu, in, out; };

static void *play(void *argument) {
    const struct player *p = argument;
    char byte;
    bind(p->cpu);
    while (read(p->in, &byte, 1) == 1 && write(p->out, &byte, 1) == 1) {}
    return NULL;
}

/* CPU time of this process per switch, ns, with the calling thread and a player on the same CPU; negative after an error. */
static double switch_ns(int cpu, const int *there, const int *back, int is_recorded) {
    struct nr_config config = {.source = "cpu", .cpus = &cpu, .n_cpus = 1};
    struct nr_recorder *recorder = NULL;
    char byte = 0;
    if (is_recorded && (nr_open(&recorder, &config) || nr_begin(recorder, 0))) return -1;
    int64_t cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < ROUND_TRIPS; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return -1;
    cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    if (is_recorded) nr_close(recorder);
    return (double)cpu_ns / (2 * ROUND_TRIPS);
}

/* The median difference of n pairs of rounds, ns; negative after an error. */
static double added_per_switch_ns(int cpu, int n, struct nl_rng *rng) {
    static double differences[MOST_PAIRS];
    int there[2], back[2], is_good = 1;
    pthread_t playing;
    if (pipe(there) || pipe(back)) return -1;
    struct player player = {cpu, there[0], back[1]};
    if (pthread_create(&playing, NULL, play, &player)) return -1;
    bind(cpu);
    for (int i = 0; i < n && is_good; i++) {
        int first = (int)nl_rng_below(rng, 2);
        double a = switch_ns(cpu, there, back, first), b = switch_ns(cpu, there, back, !first);
        is_good = a > 0 && b > 0;
        differences[i] = first ? a - b : b - a;
    }
    close(there[1]);
    pthread_join(playing, NULL);
    return is_good ? median(differences, n) : -1;
}

int main(int argc, char **argv) {
    static double differences[MOST_PAIRS];
    cpu_set_t allowed;
    struct nl_rng rng;
    pthread_t computing, waking;
    nl_set_program("bench_recording");
    int n = argc == 3 ? atoi(argv[1]) : 0, status = 0;
    double rate = argc == 3 ? atof(argv[2]) : 0;
    if (n < 10 || n > MOST_PAIRS || rate < 1 || sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 2) {
        nl_error("usage: bench_recording PAIRS WAKEUPS_PER_SECOND, with 10 to %d pairs and at least two CPUs", MOST_PAIRS);
        return NL_EXIT_USAGE;
    }
    int cpu = CPU_SETSIZE - 1, own = 0;
    while (!CPU_ISSET(cpu, &allowed)) cpu--;
    while (!CPU_ISSET(own, &allowed)) own++;
    struct waker waker = {cpu, (int64_t)(1e9 / rate)};
    nl_rng_init(&rng, 1, 0);
    double added_ns = added_per_switch_ns(cpu, n, &rng);
    if (added_ns < 0) return NL_EXIT_USAGE;
    bind(own);
    if (pthread_create(&computing, NULL, compute, &cpu)) return NL_EXIT_USAGE;
    if (pthread_create(&waking, NULL, wake, &waker)) return NL_EXIT_USAGE;
    for (int i = 0; i < n && status == 0; i++) {
        int first = (int)nl_rng_below(&rng, 2);
        double a = half(cpu, first), b = half(cpu, !first);
        if (a < 0 || b < 0) status = NL_EXIT_USAGE;
        differences[i] = first ? a - b : b - a;
    }
    is_over = 1;
    pthread_join(computing, NULL);
    pthread_join(waking, NULL);
    if (status) return status;
    double middle = median(differences, n); /* sorts them */
    int reach = (int)(2.576 * sqrt(n) / 2) + 1;
    double switches_per_s = (double)recorded.ins / ((double)recorded.wall_ns / 1e9);
    printf("added_percent %.5f\n", middle);
    printf("added_lo_percent %.5f\n", differences[n / 2 - reach < 0 ? 0 : n / 2 - reach]);
    printf("added_hi_percent %.5f\n", differences[n / 2 + reach >= n ? n - 1 : n / 2 + reach]);
    printf("switches_per_s %.1f\n", switches_per_s);
    printf("switch_adds_ns %.1f\n", added_ns);
    printf("bound_percent %.5f\n", 100 * added_ns * 2 * rate / 1e9); /* a wake-up is a switch away from the rank and one back */
    printf("lost %lld\n", (long long)recorded.lost);
    return 0;
}

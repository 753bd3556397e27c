/* What recording costs: the CPU time of a context switch with and without a recorder. Two threads on one CPU
 * hand a byte to and fro, in rounds with and without in random order; CPU time does not care what else the
 * machine does. bench_recording [PAIRS]     prints: name value, one per line */
#include <pthread.h>

#include "tests/bench/median.h"
#include "common/base/nl_rng.h"
#include "noisegen/recorder/recorder.h"

enum { MOST_PAIRS = 2000, ROUND_TRIPS = 2000 };

static struct { int cpu, there[2], back[2]; } game; /* pipes */
static int64_t n_lost;

static void bind(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(game.cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) nl_error("cannot bind to CPU %d", game.cpu);
}

static void *play(void *unused) {
    char byte;
    bind();
    while (read(game.there[0], &byte, 1) == 1 && write(game.back[1], &byte, 1) == 1) {}
    return unused;
}

/* CPU time of this process per switch, ns, with the calling thread and a player on the same CPU; negative
 * after an error. */
static double switch_ns(int is_recorded) {
    struct nr_config config = {.source = "cpu", .cpus = &game.cpu, .n_cpus = 1};
    struct nr_recorder *recorder = NULL;
    struct nr_totals totals;
    char byte = 0;
    if (is_recorded && (nr_open(&recorder, &config) || nr_begin(recorder, 0))) return -1;
    int64_t cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < ROUND_TRIPS; i++)
        if (write(game.there[1], &byte, 1) != 1 || read(game.back[0], &byte, 1) != 1) return -1;
    cpu_ns = nl_now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    if (is_recorded) {
        nr_end(recorder, &totals);
        n_lost += totals.lost;
        nr_close(recorder);
    }
    return (double)cpu_ns / (2 * ROUND_TRIPS);
}

int main(int argc, char **argv) {
    static double differences[MOST_PAIRS];
    int n = argc == 2 && *argv[1] ? atoi(argv[1]) : 400;
    struct nl_rng rng;
    pthread_t playing;
    cpu_set_t allowed;
    nl_set_program("bench_recording");
    if (n < 1 || n > MOST_PAIRS || sched_getaffinity(0, sizeof allowed, &allowed) || pipe(game.there) ||
        pipe(game.back))
        return NL_EXIT_USAGE;
    for (game.cpu = CPU_SETSIZE - 1; !CPU_ISSET(game.cpu, &allowed);)
        game.cpu--;
    nl_rng_init(&rng, 1, 0);
    if (pthread_create(&playing, NULL, play, NULL)) return NL_EXIT_USAGE;
    bind();
    for (int i = 0; i < n; i++) {
        int first = (int)nl_rng_below(&rng, 2);
        double a = switch_ns(first), b = switch_ns(!first);
        if (a < 0 || b < 0) return NL_EXIT_USAGE;
        differences[i] = first ? a - b : b - a;
    }
    printf("switch_adds_ns %.1f\nlost %lld\n", median(differences, n), (long long)n_lost);
    return 0;
}

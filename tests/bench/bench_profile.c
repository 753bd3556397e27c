/* What noiselab profile adds to a call. Under it MPI_X is counted and PMPI_X is not: both in turn, in one
 * process, so that their difference means something on a busy machine. bench_profile [ROUNDS]: lines of a
 * name and a number (medians over the rounds, ns per call). */
#include <mpi.h>

#include "tests/bench/median.h"

enum { CALLS = 500, MOST_ROUNDS = 20000 };

/* NAME and NAME_bare: the call, counted and not. */
#define CALL(name, function, ...)                                                                            \
    static void name(void) { MPI_##function(__VA_ARGS__); }                                                  \
    static void name##_bare(void) { PMPI_##function(__VA_ARGS__); }

static double value = 1, sum;
static int is_there;
static MPI_Request none = MPI_REQUEST_NULL;
CALL(allreduce, Allreduce, &value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF)
CALL(iprobe, Iprobe, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE)
CALL(test, Test, &none, &is_there, MPI_STATUS_IGNORE)

static double took_ns(void (*call)(void)) {
    int64_t start_ns = nl_mono_ns();
    for (int i = 0; i < CALLS; i++)
        call();
    return (double)(nl_mono_ns() - start_ns) / CALLS;
}

static void pairs(const char *name, void (*counted)(void), void (*bare)(void), int n) {
    static double added[MOST_ROUNDS], own[MOST_ROUNDS];
    for (int i = 0; i < n; i++) {
        /* each comes first as often as the other */
        double first = took_ns(i % 2 ? bare : counted), second = took_ns(i % 2 ? counted : bare);
        own[i] = i % 2 ? first : second;
        added[i] = (i % 2 ? second : first) - own[i];
    }
    printf("%s_adds %.1f\n%s_bare %.1f\n", name, median(added, n), name, median(own, n));
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2000;
    if (n < 1 || n > MOST_ROUNDS) return 2;
    MPI_Init(&argc, &argv);
    pairs("allreduce", allreduce, allreduce_bare, n);
    pairs("iprobe", iprobe, iprobe_bare, n);
    pairs("test", test, test_bare, n);
    MPI_Finalize();
    return 0;
}

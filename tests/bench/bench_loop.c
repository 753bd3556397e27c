/* What the harness costs, against a bare loop around the same call in the same binary and the same run.
 * Started with mpirun -n 2. bench_loop [SETS [OPERATIONS]], these of a block: one line each: name value unit
 * Blocks of the four variants alternate in random order, and medians of paired ratios are taken, so that the
 * wander of the machine's speed falls out. */
#include <mpi.h>

#include "detector/measure/measure.h"
#include "tests/bench/median.h"
#include "common/base/nl_rng.h"
#include "detector/measure/slices.h"
#include "detector/measure/together.h"

enum { MOST_SETS = 300 };

static struct nl_hist hist;
static struct nd_slices slices;
static struct nd_together together; /* every loop could end by the clock, as in a launch */
static double operation_ns = 500;

static int64_t bare_barrier(int64_t n) {
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t start_ns = nl_mono_ns();
    for (int64_t i = 0; i < n; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return nl_mono_ns() - start_ns;
}

static int64_t harness(const char *op, struct nl_hist *h, struct nd_slices *s, const struct nl_ticks *ticks,
                       int64_t n) {
    const struct nd_op *row = nl_find(nd_ops, op);
    struct nd_op_state state = {.comm = MPI_COMM_WORLD, .op = row, .call = row->call};
    struct nd_loop loop = {.op = row,
                           .state = &state,
                           .n_operations = n,
                           .chunk = n,
                           .ticks = ticks,
                           .slices = s,
                           .hist = h,
                           .detour_threshold_ns = 5000,
                           .together = &together,
                           .most_ns = INT64_C(60000000000),
                           .operation_ns = operation_ns,
                           .look_every = nd_slices_operations(operation_ns)};
    struct nd_loop_result r;
    MPI_Barrier(MPI_COMM_WORLD);
    nd_loop_warm(&loop, 8);
    nd_loop_run(&loop, &r);
    return r.wall_ns;
}

int main(int argc, char **argv) {
    static double plain_ratio[MOST_SETS], sliced_ratio[MOST_SETS], timed_ns[MOST_SETS], bare_ns[MOST_SETS],
        empty_ns[MOST_SETS], empty_plain_ns[MOST_SETS];
    struct nl_ticks ticks;
    struct nl_rng rng;
    int rank, n_sets = argc > 1 ? atoi(argv[1]) : MOST_SETS, n_operations = argc > 2 ? atoi(argv[2]) : 40000;
    if (n_sets < 1 || n_sets > MOST_SETS || n_operations < 1) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    nl_ticks_calibrate(&ticks);
    slices.n_per_slice = 500;
    struct nd_team team;
    nd_team_open(&team);
    nd_together_open(&together, &team);
    int has_page = together.page != NULL;
    nl_rng_init(&rng, 1, 0);
    for (int set = 0; set < n_sets; set++) {
        enum { BARE, PLAIN, TIMED, SLICED, N };
        int order[N] = {BARE, PLAIN, TIMED, SLICED};
        double ns[N];
        nl_rng_shuffle(&rng, order, N);
        for (int i = 0; i < N; i++) {
            int64_t wall_ns = order[i] == BARE
                                  ? bare_barrier(n_operations)
                                  : harness("barrier", order[i] == TIMED ? &hist : NULL,
                                            order[i] == SLICED ? &slices : NULL, &ticks, n_operations);
            ns[order[i]] = (double)wall_ns / n_operations;
        }
        bare_ns[set] = ns[BARE];
        plain_ratio[set] = ns[PLAIN] / ns[BARE];
        sliced_ratio[set] = ns[SLICED] / ns[BARE];
        timed_ns[set] = ns[TIMED] - ns[BARE];
        operation_ns = ns[BARE];
        MPI_Bcast(&operation_ns, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        slices.n_per_slice = nd_slices_operations(ns[BARE]);
        empty_plain_ns[set] = (double)harness("empty", NULL, NULL, &ticks, n_operations) / n_operations;
        empty_ns[set] = (double)harness("empty", &hist, NULL, &ticks, n_operations) / n_operations;
    }
    if (rank == 0) {
        printf("together_by %s -\n", has_page ? "page" : "messages");
        printf("barrier_bare_loop %.1f ns\n", median(bare_ns, n_sets));
        printf("barrier_single_over_bare_loop %.4f ratio\n", median(plain_ratio, n_sets));
        printf("barrier_with_slices_over_bare_loop %.4f ratio\n", median(sliced_ratio, n_sets));
        printf("barrier_timing_adds %.1f ns\n", median(timed_ns, n_sets));
        printf("empty_plain %.1f ns\n", median(empty_plain_ns, n_sets));
        printf("empty_timed %.1f ns\n", median(empty_ns, n_sets));
        printf("clock_read %.1f ns\n", ticks.read_ns);
    }
    nd_together_close(&together);
    nd_team_close(&team);
    MPI_Finalize();
    return 0;
}

/* What telling rank 0 about a half costs: the reduction along trees that the detector makes after every half, beside a plain MPI_Gather of
 * every rank's figures, which it replaces, and MPI_Reduce with the same join. In turn, in the same run, so that their ratio means something
 * on a busy machine. Also how much memory the tree adds, on ranks other than 0, to what the library itself holds for its collectives.
 *   bench_gather [ROUNDS]: lines of a name and a number (medians over the rounds, us). */
#include <mpi.h>

#include "detector/halves/half_sum.h"
#include "tests/bench/median.h"
#include "detector/nodes/provenance.h"
#include "detector/nodes/team.h"

enum { CALLS = 20, MOST_ROUNDS = 10000 };

static struct nd_sample *samples; /* rank 0 */
static MPI_Datatype sum_type;
static MPI_Op sum_op;

static void join_many(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++) nd_half_sum_join((struct nd_half_sum *)inout + i, (struct nd_half_sum *)in + i);
}

static void by_gather(const struct nd_team *t, const struct nd_sample *s) {
    struct nd_half_sum all;
    MPI_Gather(s, sizeof *s, MPI_BYTE, samples, sizeof *s, MPI_BYTE, 0, t->world);
    for (int i = 0; t->rank == 0 && i < t->n_ranks; i++) {
        struct nd_half_sum one = nd_half_sum_of(i, &samples[i]);
        if (i == 0) all = one;
        else nd_half_sum_join(&all, &one);
    }
}

static void by_tree(const struct nd_team *t, const struct nd_sample *s) {
    struct nd_half_sum all = nd_half_sum_of(t->rank, s);
    nd_tree_reduce(t->node, &all, sizeof all, nd_half_sum_reduce);
    if (t->node_rank == 0) nd_tree_reduce(t->leaders, &all, sizeof all, nd_half_sum_reduce);
}

static void by_reduce(const struct nd_team *t, const struct nd_sample *s) {
    struct nd_half_sum mine = nd_half_sum_of(t->rank, s), all;
    MPI_Reduce(&mine, &all, 1, sum_type, sum_op, 0, t->world);
}

/* A row for each way. */
static const struct {
    const char *name;
    void (*tell)(const struct nd_team *t, const struct nd_sample *s);
} ways[] = {{"gather", by_gather}, {"tree", by_tree}, {"reduce", by_reduce}};
enum { N_WAYS = sizeof ways / sizeof *ways };

int main(int argc, char **argv) {
    static double took_us[N_WAYS][MOST_ROUNDS], ratios[MOST_ROUNDS];
    struct nd_team team;
    struct nd_sample mine = {.loop = {.wall_ns = 10000000, .preempted_ns = 10000, .n_operations = 1000}};
    int n_rounds = argc > 1 ? atoi(argv[1]) : 200;
    if (n_rounds < 1 || n_rounds > MOST_ROUNDS) return 2;
    MPI_Init(&argc, &argv);
    nd_team_open(&team);
    if (team.rank == 0 && !(samples = calloc((size_t)team.n_ranks, sizeof *samples))) MPI_Abort(team.world, 2);
    MPI_Type_contiguous((int)sizeof(struct nd_half_sum), MPI_BYTE, &sum_type);
    MPI_Type_commit(&sum_type);
    MPI_Op_create(join_many, 1, &sum_op);
    by_gather(&team, &mine); /* connections; so are the first two rounds */
    by_reduce(&team, &mine);
    MPI_Barrier(team.world);
    int64_t before_kib = nd_peak_memory_kib();
    for (int round = -2; round < n_rounds; round++)
        for (int w = 0; w < N_WAYS; w++) {
            MPI_Barrier(team.world);
            int64_t start_ns = nl_mono_ns();
            for (int i = 0; i < CALLS; i++) {
                ways[w].tell(&team, &mine);
                MPI_Barrier(team.world); /* as between two halves: the cost is that of the last to be done */
            }
            if (round >= 0) took_us[w][round] = (double)(nl_mono_ns() - start_ns) * 1e-3 / CALLS;
        }
    int64_t others_kib = team.rank ? nd_peak_memory_kib() - before_kib : 0, most_kib = 0;
    MPI_Reduce(&others_kib, &most_kib, 1, MPI_INT64_T, MPI_MAX, 0, team.world);
    if (team.rank == 0) {
        printf("ranks %d\nnodes %d\n", team.n_ranks, team.n_nodes);
        for (int round = 0; round < n_rounds; round++) ratios[round] = took_us[1][round] / took_us[0][round];
        printf("tree_over_gather %.3f\n", median(ratios, n_rounds));
        for (int w = 0; w < N_WAYS; w++) printf("%s_us %.2f\n", ways[w].name, median(took_us[w], n_rounds));
        printf("tree_adds_kib %lld\n", (long long)most_kib);
    }
    MPI_Op_free(&sum_op);
    MPI_Type_free(&sum_type);
    nd_team_close(&team);
    free(samples);
    MPI_Finalize();
    return 0;
}

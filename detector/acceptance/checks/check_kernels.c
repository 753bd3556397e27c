#include "detector/acceptance/kernels/kernels.h"
#include "detector/acceptance/accept_run.h"

extern const struct nx_kernel nx_kernel_matmul, nx_kernel_sort, nx_kernel_montecarlo;
static const struct nx_kernel *const nx_kernels[] = {&nx_kernel_matmul, &nx_kernel_sort,
                                                     &nx_kernel_montecarlo, NULL};

int nx_kernel_doubling(int n, int most) {
    if (n == most) return 0;
    return n == 0 ? 1 : 2 * n < most ? 2 * n : most;
}

static struct nx_row row_of(const struct nx_run *r, const struct nx_kernel *k, int n_ranks) {
    struct nx_row row = nx_row(k->name);
    row.n_ranks = n_ranks;
    row.n_nodes = 1;
    for (int rank = 0; rank < n_ranks; rank++) /* nodes count in the order of their first ranks */
        if (r->node_of[rank] >= row.n_nodes) row.n_nodes = r->node_of[rank] + 1;
    return row;
}

/* A kernel on the first n ranks; the others are idle. */
static int run_on(struct nx_run *r, struct nx_task *t, const struct nx_kernel *k, int n) {
    struct nx_kernel_run run = {.size = r->o->is_quick ? k->quick_size : k->full_size};
    int failed = 0;
    MPI_Comm_split(r->team.world, r->team.rank < n ? 0 : MPI_UNDEFINED, r->team.rank, &run.comm);
    if (run.comm != MPI_COMM_NULL) {
        MPI_Comm_rank(run.comm, &run.rank);
        MPI_Comm_size(run.comm, &run.n_ranks);
        failed = k->bytes && !(run.memory = calloc((size_t)k->bytes(run.size, n), 1));
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_LOR, run.comm);
        if (!failed) k->run(&run);
        MPI_Allreduce(MPI_IN_PLACE, &run.ns, 1, MPI_DOUBLE, MPI_MAX, run.comm);
        MPI_Allreduce(MPI_IN_PLACE, &run.is_wrong, 1, MPI_INT, MPI_SUM, run.comm);
        MPI_Comm_free(&run.comm);
        free(run.memory);
    }
    nx_quiet_barrier(r->team.world);
    if (nx_agree(r, failed, t->reason, "not enough memory for %s", k->name)) return -1;
    if (r->team.rank != 0) return 0;
    r->n_wrong += run.is_wrong;
    const struct nx_row row = row_of(r, k, n);
    nx_put(r, &row, "time", "ns", run.ns, 1);
    nx_put(r, &row, "wrong", "count", run.is_wrong, 1);
    return 0;
}

static int measure_kernels(struct nx_run *r, struct nx_task *t) {
    for (int i = 0; nx_kernels[i]; i++)
        for (int n = 0; (n = nx_kernels[i]->next_ranks(n, r->team.n_ranks)) > 0;)
            if (run_on(r, t, nx_kernels[i], n)) return -1;
    return 0;
}

const struct nx_check nx_check_kernels = {
    .name = "kernels",
    .help = "block matrix product, odd-even block sort and Monte Carlo sum on 1, 2, 4, ... ranks: time of a "
            "problem of fixed size, and its "
            "result",
    .unit = "ns",
    .least_ranks = 1,
    .is_on_request = 1,
    .quick_share = 8,
    .full_share = 20,
    .measure = measure_kernels,
};

#include "detector/measure/start_sum.h"
#include "detector/measure/starts.h"

static void join_last(int64_t *last_ns, int64_t *second_ns, int32_t *rank, int64_t other_ns,
                      int64_t other_second_ns, int32_t other_rank) {
    int other_wins = other_ns > *last_ns || (other_ns == *last_ns && other_rank < *rank);
    int64_t loser_ns = other_wins ? *last_ns : other_ns;
    if (other_second_ns > *second_ns) *second_ns = other_second_ns;
    if (loser_ns > *second_ns) *second_ns = loser_ns;
    if (!other_wins) return;
    *last_ns = other_ns;
    *rank = other_rank;
}

void nd_start_sum_join(struct nd_start_sum *a, const struct nd_start_sum *b) {
    if (b->first_start_ns < a->first_start_ns ||
        (b->first_start_ns == a->first_start_ns && b->first_start_rank < a->first_start_rank)) {
        a->first_start_ns = b->first_start_ns;
        a->first_start_rank = b->first_start_rank;
    }
    join_last(&a->last_start_ns, &a->second_start_ns, &a->last_start_rank, b->last_start_ns,
              b->second_start_ns, b->last_start_rank);
    join_last(&a->last_end_ns, &a->second_end_ns, &a->last_end_rank, b->last_end_ns, b->second_end_ns,
              b->last_end_rank);
    if (b->overshoot_ns > a->overshoot_ns) a->overshoot_ns = b->overshoot_ns;
    a->n_late += b->n_late;
    a->arrival_sum += b->arrival_sum;
    a->arrival_square_sum += b->arrival_square_sum;
    a->node_square += b->node_square;
}

void nd_start_sum_variance(const struct nd_start_sum *s, int n_ranks, double *within_ns2,
                           double *between_ns2) {
    *within_ns2 = (s->arrival_square_sum - s->node_square) / n_ranks;
    *between_ns2 = (s->node_square - s->arrival_sum * s->arrival_sum / n_ranks) / n_ranks;
    if (*within_ns2 < 0) *within_ns2 = 0; /* rounding */
    if (*between_ns2 < 0) *between_ns2 = 0;
}

static void reduce(void *in, void *inout, int *n, MPI_Datatype *type) {
    const struct nd_start_sum *b = in;
    struct nd_start_sum *a = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        nd_start_sum_join(&a[i], &b[i]);
}

void nd_start_sum_mpi(MPI_Datatype *type, MPI_Op *op) {
    MPI_Type_contiguous((int)sizeof(struct nd_start_sum), MPI_BYTE, type);
    MPI_Type_commit(type);
    MPI_Op_create(reduce, 1, op);
}

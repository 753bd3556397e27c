#include "detector/measure/lateness.h"

int nd_lateness_slices(int n_ranks) {
    int n = ND_LATENESS_CELLS / n_ranks / 2 * 2;
    return n < 2 ? 2 : n > ND_LATENESS_SLICES ? ND_LATENESS_SLICES : n;
}

struct nd_lateness *nd_lateness_open(int n_ranks, int64_t slice_ns) {
    struct nd_lateness *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->n_ranks = n_ranks;
    l->most_slices = nd_lateness_slices(n_ranks);
    l->slice_ns = slice_ns > 0 ? slice_ns : 1;
    l->cells = calloc((size_t)n_ranks * (size_t)l->most_slices, sizeof *l->cells);
    if (l->cells) return l;
    free(l);
    return NULL;
}

void nd_start_rank_count(struct nd_start_rank *ranks, const struct nd_start_sum *s) {
    ranks[s->first_start_rank].first_starts++;
    ranks[s->last_start_rank].last_starts++;
    ranks[s->last_start_rank].start_cost_ns += nd_start_cost_ns(s->last_start_ns, s->second_start_ns);
    ranks[s->last_end_rank].last_ends++;
    ranks[s->last_end_rank].end_cost_ns += nd_start_cost_ns(s->last_end_ns, s->second_end_ns);
}

void nd_start_rank_join(struct nd_start_rank *to, const struct nd_start_rank *from) {
    to->first_starts += from->first_starts;
    to->last_starts += from->last_starts;
    to->last_ends += from->last_ends;
    to->start_cost_ns += from->start_cost_ns;
    to->end_cost_ns += from->end_cost_ns;
}

static void join_slices(struct nd_lateness *l) {
    size_t n = (size_t)l->n_ranks;
    for (int i = 0; i < l->most_slices; i++) {
        int64_t n_starts = l->n_starts[i];
        l->n_starts[i] = 0;
        l->n_starts[i / 2] += n_starts;
        for (size_t rank = 0; rank < n; rank++) {
            struct nd_start_rank cell = l->cells[(size_t)i * n + rank];
            l->cells[(size_t)i * n + rank] = (struct nd_start_rank){0};
            nd_start_rank_join(&l->cells[(size_t)(i / 2) * n + rank], &cell);
        }
    }
    l->slice_ns *= 2;
    l->n_slices = (l->n_slices + 1) / 2;
}

void nd_lateness_add(struct nd_lateness *l, int64_t at_ns, const struct nd_start_sum *s) {
    if (at_ns < 0) at_ns = 0;
    while (at_ns / l->slice_ns >= l->most_slices && l->slice_ns < INT64_MAX / 2) join_slices(l);
    int slice = (int)(at_ns / l->slice_ns);
    if (slice >= l->n_slices) l->n_slices = slice + 1;
    l->n_starts[slice]++;
    nd_start_rank_count(&l->cells[(size_t)slice * (size_t)l->n_ranks], s);
}

void nd_lateness_close(struct nd_lateness *l) {
    if (!l) return;
    NL_FREE(l->cells, l);
}

static void join_last(int64_t *last_ns, int64_t *second_ns, int32_t *rank, int64_t other_ns, int64_t other_second_ns, int32_t other_rank) {
    int other_wins = other_ns > *last_ns || (other_ns == *last_ns && other_rank < *rank);
    int64_t loser_ns = other_wins ? *last_ns : other_ns;
    if (other_second_ns > *second_ns) *second_ns = other_second_ns;
    if (loser_ns > *second_ns) *second_ns = loser_ns;
    if (!other_wins) return;
    *last_ns = other_ns;
    *rank = other_rank;
}

void nd_start_sum_join(struct nd_start_sum *a, const struct nd_start_sum *b) {
    if (b->first_start_ns < a->first_start_ns || (b->first_start_ns == a->first_start_ns && b->first_start_rank < a->first_start_rank)) {
        a->first_start_ns = b->first_start_ns;
        a->first_start_rank = b->first_start_rank;
    }
    join_last(&a->last_start_ns, &a->second_start_ns, &a->last_start_rank, b->last_start_ns, b->second_start_ns, b->last_start_rank);
    join_last(&a->last_end_ns, &a->second_end_ns, &a->last_end_rank, b->last_end_ns, b->second_end_ns, b->last_end_rank);
    if (b->overshoot_ns > a->overshoot_ns) a->overshoot_ns = b->overshoot_ns;
    a->n_late += b->n_late;
    a->arrival_sum += b->arrival_sum;
    a->arrival_square_sum += b->arrival_square_sum;
    a->node_square += b->node_square;
}

void nd_start_sum_variance(const struct nd_start_sum *s, int n_ranks, double *within_ns2, double *between_ns2) {
    *within_ns2 = (s->arrival_square_sum - s->node_square) / n_ranks;
    *between_ns2 = (s->node_square - s->arrival_sum * s->arrival_sum / n_ranks) / n_ranks;
    if (*within_ns2 < 0) *within_ns2 = 0; /* rounding */
    if (*between_ns2 < 0) *between_ns2 = 0;
}

static void reduce(void *in, void *inout, int *n, MPI_Datatype *type) {
    const struct nd_start_sum *b = in;
    struct nd_start_sum *a = inout;
    (void)type;
    for (int i = 0; i < *n; i++) nd_start_sum_join(&a[i], &b[i]);
}

void nd_start_sum_mpi(MPI_Datatype *type, MPI_Op *op) {
    MPI_Type_contiguous((int)sizeof(struct nd_start_sum), MPI_BYTE, type);
    MPI_Type_commit(type);
    MPI_Op_create(reduce, 1, op);
}

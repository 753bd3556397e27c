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

static void join_slices(struct nd_lateness *l) {
    size_t n = (size_t)l->n_ranks;
    for (int i = 0; i < l->most_slices; i++) {
        int64_t n_starts = l->n_starts[i];
        l->n_starts[i] = 0;
        l->n_starts[i / 2] += n_starts;
        for (size_t rank = 0; rank < n; rank++) {
            struct nd_lateness_cell cell = l->cells[(size_t)i * n + rank], *to = &l->cells[(size_t)(i / 2) * n + rank];
            l->cells[(size_t)i * n + rank] = (struct nd_lateness_cell){0};
            to->n_last_starts += cell.n_last_starts;
            to->n_last_ends += cell.n_last_ends;
            to->start_cost_ns += cell.start_cost_ns;
            to->end_cost_ns += cell.end_cost_ns;
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
    struct nd_lateness_cell *cells = &l->cells[(size_t)slice * (size_t)l->n_ranks];
    l->n_starts[slice]++;
    cells[s->last_start_rank].n_last_starts++;
    cells[s->last_start_rank].start_cost_ns += nd_start_cost_ns(s->last_start_ns, s->second_start_ns);
    cells[s->last_end_rank].n_last_ends++;
    cells[s->last_end_rank].end_cost_ns += nd_start_cost_ns(s->last_end_ns, s->second_end_ns);
}

void nd_lateness_close(struct nd_lateness *l) {
    if (!l) return;
    free(l->cells);
    free(l);
}

#include "detector/acceptance/accept_run.h"
#include "detector/acceptance/topologies.h"

enum { SMALLEST_BYTES = 64 << 10, LARGEST_BYTES = 1 << 20, LEAST = 3, MOST = 1000 };

/* A topology and a size. */
struct cell {
    const struct nx_topology *topology;
    int n_ranks, n_peers;
    int64_t n_channels;
    MPI_Comm comm; /* of those that take part; MPI_COMM_NULL elsewhere */
    int *peers;
    int bytes;
};

struct state {
    struct cell *cells;
    int n_cells;
    struct nx_buffers buffers; /* for the rank's most neighbours, who are those of the cell at work */
};

static int has_size(int64_t bytes, int64_t largest) {
    return (bytes >= SMALLEST_BYTES && bytes <= LARGEST_BYTES) ||
           (largest < SMALLEST_BYTES && bytes == largest && bytes > 0);
}

/* One cell, if its buffers fit into memory. 0, 1 left out (with a reason), -1. */
static int open_cell(struct nx_run *r, struct nx_task *t, struct cell *c, int64_t *room, int *most_peers) {
    char reason[NX_REASON_BYTES];
    int is_in = r->team.rank < c->n_ranks;
    c->comm = MPI_COMM_NULL;
    if (is_in) c->n_peers = c->topology->neighbours(c->topology, c->n_ranks, r->team.rank, NULL);
    int64_t needed = (int64_t)c->n_peers * c->bytes;
    if (nx_lacks_memory(r, 2 * needed, reason)) {
        snprintf(t->reason, sizeof t->reason, "%s with %d bytes left out: %.150s", c->topology->name,
                 c->bytes, reason);
        return 1;
    }
    c->peers = calloc((size_t)c->n_peers + 1, sizeof *c->peers);
    if (nx_is_out_of_memory(r, t, !c->peers)) return -1;
    if (is_in) c->topology->neighbours(c->topology, c->n_ranks, r->team.rank, c->peers);
    c->n_channels = nx_channels(c->topology, c->n_ranks);
    MPI_Comm_split(r->team.world, is_in ? 0 : MPI_UNDEFINED, r->team.rank, &c->comm);
    if (needed > *room) *room = needed;
    if (c->n_peers > *most_peers) *most_peers = c->n_peers;
    return 0;
}

static int open_topology(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    int64_t room = 1, largest = r->o->sizes[r->o->n_sizes - 1];
    int most_peers = 1;
    size_t n_topologies = 0;
    while (nx_topologies[n_topologies].name)
        n_topologies++;
    if (nx_is_out_of_memory(r, t, !NL_NEW(s->cells, (size_t)r->o->n_sizes * n_topologies))) return -1;
    for (int i = 0; i < r->o->n_sizes; i++)
        for (int k = 0; nx_topologies[k].name && has_size(r->o->sizes[i], largest); k++) {
            struct cell *c = &s->cells[s->n_cells];
            const struct nx_topology *topology = &nx_topologies[k];
            *c = (struct cell){.topology = topology,
                               .n_ranks = nx_topology_ranks(topology, r->team.n_ranks),
                               .bytes = (int)r->o->sizes[i]};
            int rc = open_cell(r, t, c, &room, &most_peers);
            if (rc < 0) return -1;
            s->n_cells += rc == 0;
        }
    if (s->n_cells == 0) {
        if (!t->reason[0]) snprintf(t->reason, sizeof t->reason, "--sizes has none for this check");
        return 1;
    }
    return nx_buffers_lack(r, t, &s->buffers, room, most_peers) ? -1 : 0;
}

/* n exchanges over all channels between two barriers, ns. Collective over those that take part. */
static int64_t between_barriers(const struct state *s, const struct cell *c, int64_t n) {
    MPI_Barrier(c->comm);
    int64_t begin_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    for (int64_t i = 0; i < n; i++)
        nx_exchange(c->comm, &s->buffers, c->n_peers, c->bytes);
    MPI_Barrier(c->comm);
    return nl_now_ns(CLOCK_MONOTONIC_RAW) - begin_ns;
}

static void measure_cell(struct nx_run *r, const struct state *s, const struct cell *c, int64_t slice_ns) {
    memcpy(s->buffers.peers, c->peers, (size_t)c->n_peers * sizeof *c->peers);
    between_barriers(s, c, 1);
    int64_t took_ns = 0, n = 0, more, begin_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    for (; n < MOST && (more = nx_how_many_more(c->comm, n, LEAST, begin_ns, slice_ns)) > 0; n += more)
        took_ns += between_barriers(s, c, more);
    double total = 2e9 * (double)c->bytes * (double)c->n_channels * (double)n / (double)took_ns;
    if (r->team.rank != 0) return;
    struct nx_row row = nx_row("");
    nx_topology_tell(c->topology, c->n_ranks, row.variant, sizeof row.variant);
    row.bytes = c->bytes;
    row.n_ranks = c->n_ranks;
    nx_put(r, &row, "total", "bytes_per_s", total, n);
    nx_put(r, &row, "per_channel", "bytes_per_s", total / (double)c->n_channels, n);
}

static int measure_topology(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    for (int i = 0; i < s->n_cells; i++) {
        if (s->cells[i].comm != MPI_COMM_NULL) measure_cell(r, s, &s->cells[i], t->budget_ns / s->n_cells);
        nx_quiet_barrier(r->team.world);
    }
    return 0;
}

static void close_topology(void *state) {
    struct state *s = state;
    for (int i = 0; i < s->n_cells; i++) {
        if (s->cells[i].comm != MPI_COMM_NULL) MPI_Comm_free(&s->cells[i].comm);
        free(s->cells[i].peers);
    }
    nx_buffers_close(&s->buffers);
    free(s->cells);
}

const struct nx_check nx_check_topology = {
    .name = "topology",
    .help = "all channels of a star, ring, complete graph, 2-D and 3-D grid and hypercube both ways at once: "
            "total and mean per channel",
    .unit = "bytes_per_s",
    .least_ranks = 2,
    .quick_share = 4,
    .full_share = 8,
    .open = open_topology,
    .measure = measure_topology,
    .state_bytes = sizeof(struct state),
    .close = close_topology,
};

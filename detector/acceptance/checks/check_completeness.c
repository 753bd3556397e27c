#include "detector/acceptance/accept_run.h"

enum { LARGEST_BYTES = 256 << 10, ROOM_BYTES = 128 << 20, MOST_SUBSETS = 32 };

/* Groups of 2, 4, 8, ... and of all nodes, each by its first rank; on one node, of its ranks. */
struct state {
    int n_groups, sizes[MOST_SUBSETS];
    MPI_Comm comms[MOST_SUBSETS]; /* MPI_COMM_NULL where this rank is no part */
    int bytes;
    struct nx_buffers buffers;
};

static int open_completeness(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    int is_between = r->team.n_nodes > 1, n_members = is_between ? r->team.n_nodes : r->team.n_ranks;
    int member = is_between ? r->team.node_index : r->team.rank,
        takes_part = !is_between || r->team.node_rank == 0;
    s->bytes = LARGEST_BYTES;
    while (s->bytes > 1024 && (int64_t)s->bytes * n_members > ROOM_BYTES)
        s->bytes /= 2;
    int64_t room = (int64_t)s->bytes * n_members;
    if (nx_lacks_memory(r, 2 * room, t->reason)) return 1;
    if (nx_buffers_lack(r, t, &s->buffers, room, n_members)) return -1;
    for (int size = 2; s->n_groups < MOST_SUBSETS; size = 2 * size < n_members ? 2 * size : n_members) {
        MPI_Comm_split(r->team.world, takes_part && member < size ? 0 : MPI_UNDEFINED, r->team.rank,
                       &s->comms[s->n_groups]);
        s->sizes[s->n_groups++] = size;
        if (size == n_members) break;
    }
    return 0;
}

static int measure_completeness(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    int is_between = r->team.n_nodes > 1;
    struct nx_row row = nx_row(is_between ? "nodes" : "ranks");
    row.bytes = s->bytes;
    for (int i = 0; i < s->n_groups; i++) {
        row.n_ranks = s->sizes[i];
        row.n_nodes = is_between ? s->sizes[i] : 1;
        if (s->comms[i] != MPI_COMM_NULL) {
            struct nx_completeness c;
            nx_completeness_measure(s->comms[i], &s->buffers, s->bytes, t->budget_ns / s->n_groups, &c);
            if (r->team.rank == 0) {
                nx_put(r, &row, "coefficient", "ratio", c.coefficient, c.n);
                nx_put(r, &row, "link_speed", "bytes_per_s", c.link_bytes_per_s, -1);
                nx_put(r, &row, "exchange", "ns", c.exchange_ns, c.n);
            }
            row.rank = r->team.rank; /* of the last group */
            if (i == s->n_groups - 1) nx_put(r, &row, "own_exchange", "ns", c.own_ns, c.n);
            row.rank = -1;
        }
        nx_quiet_barrier(r->team.world);
    }
    return 0;
}

static void close_completeness(void *state) {
    struct state *s = state;
    for (int i = 0; i < s->n_groups; i++)
        if (s->comms[i] != MPI_COMM_NULL) MPI_Comm_free(&s->comms[i]);
    nx_buffers_close(&s->buffers);
}

const struct nx_check nx_check_completeness = {
    .name = "completeness",
    .help = "completeness coefficient F_e: do simultaneous exchanges of 2, 4, 8, ... and all nodes slow each "
            "other down",
    .unit = "ratio",
    .least_ranks = 2,
    .quick_share = 4,
    .full_share = 8,
    .open = open_completeness,
    .measure = measure_completeness,
    .state_bytes = sizeof(struct state),
    .close = close_completeness,
};

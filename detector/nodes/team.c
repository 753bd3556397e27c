#include "detector/nodes/team.h"
#include "detector/nodes/tree.h"

void nd_team_open(struct nd_team *t) {
    *t = (struct nd_team){.leaders = MPI_COMM_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &t->world);
    MPI_Comm_rank(t->world, &t->rank);
    MPI_Comm_size(t->world, &t->n_ranks);
    MPI_Comm_split_type(t->world, MPI_COMM_TYPE_SHARED, t->rank, MPI_INFO_NULL, &t->node);
    MPI_Comm_rank(t->node, &t->node_rank);
    MPI_Comm_size(t->node, &t->n_node_ranks);
    MPI_Comm_split(t->world, t->node_rank == 0 ? 0 : MPI_UNDEFINED, t->rank, &t->leaders);
    int node[2] = {0, 0};
    if (t->node_rank == 0) {
        MPI_Comm_rank(t->leaders, &node[0]);
        MPI_Comm_size(t->leaders, &node[1]);
    }
    MPI_Bcast(node, 2, MPI_INT, 0, t->node);
    t->node_index = node[0];
    t->n_nodes = node[1];
}

void nd_team_close(struct nd_team *t) {
    if (t->leaders != MPI_COMM_NULL) MPI_Comm_free(&t->leaders);
    MPI_Comm_free(&t->node);
    MPI_Comm_free(&t->world);
}

int nd_team_agree(const struct nd_team *t, int flags) {
    int any = 0;
    MPI_Allreduce(&flags, &any, 1, MPI_INT, MPI_BOR, t->world);
    return any;
}

int nd_team_agree_max(const struct nd_team *t, int flags, int64_t *value) {
    int64_t all[1 + ND_N_FLAGS] = {*value};
    int any = 0;
    for (int i = 0; i < ND_N_FLAGS; i++)
        all[1 + i] = flags >> i & 1;
    MPI_Allreduce(MPI_IN_PLACE, all, 1 + ND_N_FLAGS, MPI_INT64_T, MPI_MAX, t->world);
    for (int i = 0; i < ND_N_FLAGS; i++)
        any |= (int)all[1 + i] << i;
    *value = all[0];
    return any;
}

int64_t nd_team_max(const struct nd_team *t, int64_t value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, t->world);
    return value;
}

void nd_team_share(const struct nd_team *t, int64_t *values, int n) {
    if (t->rank != 0) memset(values, 0, (size_t)n * sizeof *values);
    MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INT64_T, MPI_SUM, t->world);
}

struct collection {
    char *all;
    size_t size;
};

static void collect(void *context, int rank, const void *entry) {
    struct collection *c = context;
    memcpy(c->all + (size_t)rank * c->size, entry, c->size);
}

void nd_team_gather(MPI_Comm comm, const void *mine, int size, void *all) {
    struct collection c = {.all = all, .size = (size_t)size};
    nd_tree_gather(comm, mine, size, collect, &c);
}

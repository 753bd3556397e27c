#include "detector/nodes/tree.h"
#include "detector/nodes/team.h"
#include "common/base/nl_usual.h"

enum { TAG = 20044 }; /* any: nothing else is sent on these communicators while a tree is at work */

struct place {
    MPI_Comm comm;
    int rank, n_ranks, size;
};

static struct place place_in(MPI_Comm comm, int size) {
    struct place p = {.comm = comm, .size = size};
    MPI_Comm_rank(comm, &p.rank);
    MPI_Comm_size(comm, &p.n_ranks);
    return p;
}

/* Whether the edge of length `bit` leads down from here; it leads to rank + bit. */
static int has_child(const struct place *p, int bit) {
    return (p->rank & bit) == 0 && bit < p->n_ranks - p->rank;
}

static int parent_of(int rank) { return rank & (rank - 1); }

/* Ranks from `rank` on that hand on through it, itself among them. */
static int subtree(int rank, int bit, int n_ranks) { return bit < n_ranks - rank ? bit : n_ranks - rank; }

static void *reserve(const struct place *p, int n) {
    void *block = malloc((size_t)n * (size_t)p->size);
    if (block) return block;
    nl_error("not enough memory for %d bytes of book-keeping", n * p->size);
    MPI_Abort(p->comm, NL_EXIT_USAGE);
    return NULL;
}

void nd_tree_reduce(MPI_Comm comm, void *value, int size, void (*join)(void *into, const void *from)) {
    struct place p = place_in(comm, size);
    void *other = p.n_ranks > 1 ? reserve(&p, 1) : NULL;
    for (int bit = 1; has_child(&p, bit); bit <<= 1) {
        MPI_Recv(other, size, MPI_BYTE, p.rank + bit, TAG, comm, MPI_STATUS_IGNORE);
        join(value, other);
        MPI_Send(other, size, MPI_BYTE, p.rank + bit, TAG, comm);
    }
    if (p.rank > 0) {
        MPI_Send(value, size, MPI_BYTE, parent_of(p.rank), TAG, comm);
        MPI_Recv(other, size, MPI_BYTE, parent_of(p.rank), TAG, comm, MPI_STATUS_IGNORE);
    }
    free(other);
}

/* What goes through a rank: at rank 0 to `take`, elsewhere on to the parent, in blocks of `n_block` entries
 * but the last. */
struct relay {
    struct place at;
    char *held; /* entries not yet handed on: fewer than a block, and room for a block behind them */
    int n_held, n_block, n_taken;
    void (*take)(void *context, int rank, const void *entry);
    void *context;
};

static void hand_on(struct relay *r, int is_end) {
    size_t size = (size_t)r->at.size;
    int n = r->n_held < r->n_block ? r->n_held : r->n_block;
    if (n == 0 || (n < r->n_block && !is_end && r->at.rank > 0)) return;
    if (r->at.rank == 0)
        for (int i = 0; i < n; i++)
            r->take(r->context, r->n_taken++, r->held + (size_t)i * size);
    else
        MPI_Send(r->held, n * r->at.size, MPI_BYTE, parent_of(r->at.rank), TAG, r->at.comm);
    r->n_held -= n;
    memmove(r->held, r->held + (size_t)n * size, (size_t)r->n_held * size);
}

void nd_tree_gather(MPI_Comm comm, const void *mine, int size,
                    void (*take)(void *context, int rank, const void *entry), void *context) {
    struct relay r = {
        .at = place_in(comm, size), .n_block = ND_TREE_BLOCK_BYTES / size, .take = take, .context = context};
    if (r.n_block < 1) r.n_block = 1;
    if (!has_child(&r.at, 1)) { /* every other rank: nothing comes through it */
        if (r.at.rank == 0)
            take(context, 0, mine);
        else
            MPI_Send(mine, size, MPI_BYTE, parent_of(r.at.rank), TAG, comm);
        return;
    }
    r.held = reserve(&r.at, 2 * r.n_block);
    memcpy(r.held, mine, (size_t)size);
    r.n_held = 1;
    for (int bit = 1; has_child(&r.at, bit); bit <<= 1)
        for (int left = subtree(r.at.rank + bit, bit, r.at.n_ranks), n; left > 0; left -= n) {
            n = left < r.n_block ? left : r.n_block;
            MPI_Recv(r.held + (size_t)r.n_held * (size_t)size, n * size, MPI_BYTE, r.at.rank + bit, TAG, comm,
                     MPI_STATUS_IGNORE);
            r.n_held += n;
            hand_on(&r, 0);
        }
    while (r.n_held > 0)
        hand_on(&r, 1);
    free(r.held);
}

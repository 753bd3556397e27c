/* Trees over all ranks, over those that are left when every third is taken out, and over each rank alone:
 * what comes out is compared with what everybody knows each rank to bring. Prints TAP: one line for each kind
 * of tree. */
#include <mpi.h>

#include "common/base/nl_usual.h"
#include "detector/nodes/team.h"
#include "detector/nodes/tree.h"

enum { MOST_BYTES = ND_TREE_BLOCK_BYTES + 1000 };

/* What went to other ranks more than came from them, by the weight of the rank. */
static int64_t surplus;

int MPI_Send(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    surplus += (int64_t)n * (to + 1);
    return PMPI_Send(buffer, n, type, to, tag, comm);
}

int MPI_Recv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    surplus -= (int64_t)n * (from + 1);
    return PMPI_Recv(buffer, n, type, from, tag, comm, status);
}

/* A stretch of neighbouring ranks. Joined in any other order than that of the ranks it breaks, and stays
 * broken. */
struct stretch {
    int32_t first, last, is_broken;
    int64_t sum;
};

static void join(void *into, const void *from) {
    struct stretch *a = into;
    const struct stretch *b = from;
    a->is_broken |= b->is_broken || b->first != a->last + 1;
    a->last = b->last;
    a->sum += b->sum;
}

static int reduces(MPI_Comm comm, int rank, int n_ranks) {
    struct stretch mine = {.first = rank, .last = rank, .sum = (int64_t)rank * rank};
    int64_t wanted = 0;
    surplus = 0;
    nd_tree_reduce(comm, &mine, sizeof mine, join);
    if (surplus != 0) return 0;
    for (int64_t i = 0; i < n_ranks; i++)
        wanted += i * i;
    return rank != 0 ||
           (mine.first == 0 && mine.last == n_ranks - 1 && !mine.is_broken && mine.sum == wanted);
}

static char byte_of(int rank, int i) { return (char)(rank * 31 + i * 7 + i / 251); }

struct seen {
    int size, n, is_wrong;
};

static void take(void *context, int rank, const void *entry) {
    struct seen *seen = context;
    const char *bytes = entry;
    if (rank != seen->n++) seen->is_wrong = 1;
    for (int i = 0; i < seen->size; i++)
        if (bytes[i] != byte_of(rank, i)) seen->is_wrong = 1;
}

static int gathers(MPI_Comm comm, int rank, int n_ranks, int size) {
    static char mine[MOST_BYTES];
    struct seen seen = {.size = size};
    for (int i = 0; i < size; i++)
        mine[i] = byte_of(rank, i);
    nd_tree_gather(comm, mine, size, take, &seen);
    return !seen.is_wrong && seen.n == (rank == 0 ? n_ranks : 0);
}

static int works(MPI_Comm comm, int size) {
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    return size == 0 ? reduces(comm, rank, n_ranks) : gathers(comm, rank, n_ranks, size);
}

int main(int argc, char **argv) {
    /* of a gather: small entries, blocks of two and of one and a bit, entries larger than a block */
    static const int sizes[] = {0,         1, 40, ND_TREE_BLOCK_BYTES / 2 - 3, ND_TREE_BLOCK_BYTES / 2 + 1,
                                MOST_BYTES};
    int rank, n = 0, n_failed = 0;
    MPI_Comm comms[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 2, rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank, rank, &comms[2]);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int works_here = 1, works_everywhere = 0;
        for (int c = 0; c < 3; c++)
            works_here &= works(comms[c], sizes[k]);
        MPI_Reduce(&works_here, &works_everywhere, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
        if (rank != 0) continue;
        n_failed += !works_everywhere;
        printf("%s %d - %s", works_everywhere ? "ok" : "not ok", ++n,
               sizes[k] ? "gather" : "reduction in the order of ranks, as much in both directions\n");
        if (sizes[k]) printf(" of %d bytes each\n", sizes[k]);
    }
    if (rank == 0) printf("1..%d\n", n);
    for (int c = 0; c < 3; c++)
        MPI_Comm_free(&comms[c]);
    MPI_Finalize();
    return n_failed > 0;
}

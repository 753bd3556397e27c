/* Who is who: ranks, nodes, and the first rank of each node, its leader. */
#pragma once

#include <mpi.h>

#include "common/base/nl_usual.h"

struct nd_team {
    MPI_Comm world;   /* all ranks */
    MPI_Comm node;    /* the ranks of this node */
    MPI_Comm leaders; /* the first rank of every node; MPI_COMM_NULL elsewhere */
    int rank, n_ranks;
    int node_rank, n_node_ranks;
    int node_index, n_nodes; /* by the order of the leaders' ranks */
};

/* What ranks tell each other after each half; or-ed together. */
enum nd_flag {
    ND_FLAG_STOP = 1,       /* a signal asked to stop */
    ND_FLAG_GENERATOR = 2,  /* a generator is gone or refused */
    ND_FLAG_RECORD = 4,     /* rank 0 cannot write */
    ND_FLAG_CHECKPOINT = 8, /* rank 0 wants histograms and sums written */
    ND_FLAG_SETUP = 16,     /* something is wrong before the first half; its rank has said what */
    ND_FLAG_CLOCK = 32,     /* a clock jumped or ran backwards */
    ND_FLAG_AGENT = 64,     /* an agent died, or cannot be switched */
    ND_FLAG_OVER = 128,     /* the program that is followed has ended */
    ND_FLAG_TIME = 256      /* by rank 0's clock no other pair is to begin */
};
enum { ND_N_FLAGS = 9 };

void nd_team_open(struct nd_team *t);
void nd_team_close(struct nd_team *t);

/* Ors the flags of all ranks. Collective, as all below. */
int nd_team_agree(const struct nd_team *t, int flags);

/* The same, and leaves in `value` (0 or more) the largest of all ranks, in one message. */
int nd_team_agree_max(const struct nd_team *t, int flags, int64_t *value);

/* The `n` values of rank 0, on all. A sum, as much in either direction between two ranks. */
void nd_team_share(const struct nd_team *t, int64_t *values, int n);

int64_t nd_team_max(const struct nd_team *t, int64_t value);

/* Gathers `size` bytes of each rank to rank 0, along a tree. `all` is not looked at elsewhere. */
void nd_team_gather(MPI_Comm comm, const void *mine, int size, void *all);

/* Small things of all ranks to rank 0 along a binomial tree (Thakur, Rabenseifner, Gropp 2005), not by the
 * library's collectives, whose options users change. A reduction sends as much back: a barrier of Open
 * MPI 4.1 takes 146 to 172 ns by how many messages the two ranks had sent each other (each moves its sender's
 * place in a ring), and halves were slow and fast by turns. A gather relays whole subtrees block by block:
 * ranks between hold two blocks, however many ranks there are. */

enum { ND_TREE_BLOCK_BYTES = 65536 }; /* or one entry, where that is larger */

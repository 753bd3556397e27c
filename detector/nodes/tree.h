/* Bringing small things of all ranks to rank 0 of a communicator along a binomial tree: rank r hands on to r without its lowest bit set.
 * The library's own collectives are not used: the options that users try on the collectives under test would change what the book-keeping
 * costs.
 *
 * A reduction sends as much back: between two halves no edge may have more in one direction than in the other. A barrier of Open
 * MPI 4.1 takes 146 to 172 ns by how many messages the two ranks had sent each other before (in shared memory each moves its sender's
 * place in a ring): with one message more in one direction the halves were slow and fast by turns.
 *
 * Cost with n ranks: a reduction is one message per rank and one back, and rank 0 takes log2 n of them. A gather sends each byte over
 * at most log2 n edges; rank 0 takes what fills blocks and log2 n messages more, and the ranks between hold two blocks, however many
 * ranks there are.
 * Source: Thakur, Rabenseifner, Gropp 2005 (binomial tree); whole subtrees are relayed block by block, which keeps the memory constant. */
#pragma once

#include <mpi.h>

enum { ND_TREE_BLOCK_BYTES = 65536 }; /* or one entry, where that is larger */

/* Joins the `size` bytes of all ranks into those of rank 0; `value` is overwritten on the others. Collective; MPI's error handler ends the
 * run when it fails, and so does a lack of memory.
 * @param join  adds `from`, of higher ranks, to `into`, of lower ones; associative. */
void nd_tree_reduce(MPI_Comm comm, void *value, int size, void (*join)(void *into, const void *from));

/* Hands the `size` bytes of every rank to `take` on rank 0, in the order of the ranks. Collective, errors as above.
 * @param take  not looked at elsewhere; `entry` is good until it returns. */
void nd_tree_gather(MPI_Comm comm, const void *mine, int size, void (*take)(void *context, int rank, const void *entry), void *context);

/* Joins the ranks' parts of a figure: within a node, then between nodes. */
#pragma once

#include "detector/nodes/team.h"

/* Into those of rank 0; overwritten on the others. `join` adds `from`, of higher ranks; associative. Ends the
 * run when it fails. */
void nd_tree_reduce(MPI_Comm comm, void *value, int size, void (*join)(void *into, const void *from));

/* Hands the `size` bytes of every rank to `take` on rank 0, in the order of the ranks; `entry` is good until
 * it returns. */
void nd_tree_gather(MPI_Comm comm, const void *mine, int size,
                    void (*take)(void *context, int rank, const void *entry), void *context);

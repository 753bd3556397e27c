/* Collective algorithms of the MPI library, chosen by name: a communicator for each. Names and numbers are the library's own, from the
 * enumerators of its control variables (MPI 3.1, section 14.3). Open MPI's component `tuned` reads them when a communicator is made, so
 * that arms with different algorithms are communicators of one launch. */
#pragma once

#include <mpi.h>

#include "detector/ops/ops.h"

enum { ND_ALGORITHM_BYTES = 32 };

/* Sets what the library must be told before MPI_Init for algorithms to be chosen at all; what the user has set stays. Local. */
void nd_algorithms_prepare(void);

/* A duplicate of `from` on which the operation runs by this algorithm ("default": the library's own choice). Collective over `from`, with
 * the same words on all ranks, between MPI_Init and MPI_Finalize.
 * @param number  the library's number of the algorithm; 0: its own choice.
 * @return 0; or -1 with a reason in one line, the same on all ranks but for what differs between them, and no communicator. */
int nd_algorithm_comm(const struct nd_op *op, const char *algorithm, MPI_Comm from, MPI_Comm *comm, int *number, char *reason,
                      size_t reason_size);

/* What a library runs in place of an algorithm that such a call does not suit; the algorithm itself where it suits; NULL where the call
 * would fail. Segments are as without a setting of the user's: none. Source: Open MPI 4.1 and 5.0, ompi/mca/coll/base: the algorithms' own
 * first lines. Pure.
 * @param count  elements of the whole vector, or of one message. */
const char *nd_algorithm_in_fact(const char *operation, const char *algorithm, int64_t count, int n_ranks);

/* Whether the environment gives the library a file of rules that noiselab run advise wrote for another version of it (its first line has
 * "holds for VERSION"). 1: `line` says so; 0: no such file, or it is for this version. Local, no communication. */
int nd_algorithms_foreign_rules(char *line, size_t size);

/* Prints `operation,algorithm` for every algorithm that this library lets one choose. Before MPI_Init. 0, or -1 with a reason. */
int nd_algorithms_print(FILE *out, char *reason, size_t reason_size);

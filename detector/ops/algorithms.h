/* Collective algorithms of the MPI library, chosen by name: a communicator for each. Names and numbers are
 * the library's own, from its control variables (MPI 3.1, section 14.3). Open MPI's component `tuned` reads
 * them when a communicator is made, MPICH at each call (per_call.h): arms with different algorithms are in
 * one launch. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#include "detector/ops/ops.h"

/* MPICH looks at its variables at each call: while an operation is called they hold what was chosen, at other
 * times what they had. */

struct nd_op;
struct nd_op_state;

enum { ND_PER_CALL_VARIABLES = 2, ND_PER_CALL_NAME_BYTES = 64 };

/* What holds while an operation is called. Zeros: nothing. */
struct nd_per_call {
    int n; /* variables */
    struct nd_held {
        MPI_T_cvar_handle handle;
        int value, usual;
    } held[ND_PER_CALL_VARIABLES + 1]; /* the last one: by which a call fails where the algorithm cannot act,
                                          in place of running another */
    int can_insist;                    /* 1: there is such a one */
};

enum { ND_ALGORITHM_BYTES = 32 };

/* Sets what the library must be told before MPI_Init for algorithms to be chosen at all; what the user has
 * set stays. Local. */
void nd_algorithms_prepare(void);

/* How an operation runs by an algorithm. Zeros but for MPI_COMM_NULL: nobody asked for one. */
struct nd_algorithm {
    MPI_Comm comm; /* a duplicate, on which it runs */
    int number;    /* the library's; 0: its own choice */
    struct nd_per_call per_call;
    int is_per_call; /* 1: the library looks at each call. What it would run in place of the algorithm is then
                        not known by its name. */
};

/* Finds the algorithm ("default": the library's own choice) and duplicates `from`. Collective over `from`. 0,
 * and then to be closed; or -1 with a reason, the same on all ranks but for what differs between them. */
int nd_algorithm_open(const struct nd_op *op, const char *name, MPI_Comm from, struct nd_algorithm *a,
                      char *reason, size_t reason_size);
void nd_algorithm_close(struct nd_algorithm *a); /* collective; fine where comm is MPI_COMM_NULL */

/* What Open MPI runs in place of an algorithm that a call with so many elements does not suit; NULL where the
 * call would fail. Source: Open MPI 4.1 and 5.0, ompi/mca/coll/base: the algorithms' own first lines. Pure.
 */
const char *nd_algorithm_in_fact(const char *operation, const char *algorithm, int64_t count, int n_ranks);

/* Whether the environment gives the library a file of rules that noiselab run advise wrote for another
 * version of it; `line` says so. */
int nd_algorithms_foreign_rules(char *line, size_t size);

/* Prints `operation,algorithm` for every algorithm that this library lets one choose. Before MPI_Init. 0, or
 * -1 with a reason. */
int nd_algorithms_print(FILE *out, char *reason, size_t reason_size);

/* Algorithms of a library that looks at its control variables at each call (MPICH): while an operation is called they hold what was chosen,
 * and at all other times what they had, for the library's own collectives and ours look at them, too. Which names there are is in the
 * variable's description, in the order of their numbers (with 5.0.2 the environment, which takes names, sets the number of each of all 92).
 */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

struct nd_op;
struct nd_op_state;

enum { ND_PER_CALL_VARIABLES = 2, ND_PER_CALL_NAME_BYTES = 64 };

/* What holds while an operation is called. Zeros: nothing. */
struct nd_per_call {
    int n; /* variables */
    struct nd_held {
        MPI_T_cvar_handle handle;
        int value, usual;
    } held[ND_PER_CALL_VARIABLES + 1]; /* the last one: by which a call fails where the algorithm cannot act, in place of running another */
    int can_insist;                    /* 1: there is such a one */
};

/* Finds the algorithm ("default": nothing will hold). After MPI_T_init_thread; local.
 * @param number  the library's number of it.
 * @return 1; 0: the library has no such variable; -1 with a reason. Close it in the first case. */
int nd_per_call_open(const struct nd_op *op, const char *algorithm, struct nd_per_call *p, int *number, char *reason, size_t reason_size);
void nd_per_call_close(struct nd_per_call *p); /* fine on zeros */

/* Around calls; NULL and zeros: nothing. No allocation, no output. Local. */
void nd_per_call_begin(const struct nd_per_call *p);
void nd_per_call_end(const struct nd_per_call *p);

/* Calls the operation once, the library being told to fail rather than to run another algorithm. Collective over the state's communicator.
 * @param name  what the variables say then: an algorithm, or default; "" where the call failed on any rank. ND_PER_CALL_NAME_BYTES.
 * @return whether it acts; the same on all ranks. */
int nd_per_call_acts(const struct nd_per_call *p, struct nd_op_state *s, char *name);

/* Prints `operation,algorithm` for each algorithm of the operation; returns their number. After MPI_T_init_thread. */
int nd_per_call_print(const struct nd_op *op, FILE *out);

/* Algorithms of an MPI library that looks for them at each call. */
#pragma once

#include "detector/ops/algorithms.h"

/* Finds the algorithm and its number. After MPI_T_init_thread; local. 1, to be closed; 0: no such variable;
 * -1 with a reason. */
int nd_per_call_open(const struct nd_op *op, const char *algorithm, struct nd_per_call *p, int *number,
                     char *reason, size_t reason_size);
void nd_per_call_close(struct nd_per_call *p); /* fine on zeros */

/* Around calls; NULL and zeros: nothing. Local. */
void nd_per_call_begin(const struct nd_per_call *p);
void nd_per_call_end(const struct nd_per_call *p);

/* Calls once, insisting on it; `name`: what the variables say then, "" where it failed. Collective; whether
 * it acts, on all ranks. */
int nd_per_call_acts(const struct nd_per_call *p, struct nd_op_state *s, char *name);

/* Prints `operation,algorithm` for each algorithm of the operation; returns their number. After
 * MPI_T_init_thread. */
int nd_per_call_print(const struct nd_op *op, FILE *out);

/* What the starts of a half come to. */
#pragma once

#include "detector/measure/starts.h"

/* Joins b into a; associative and commutative: of equal times the lower rank counts. */
void nd_start_sum_join(struct nd_start_sum *a, const struct nd_start_sum *b);

/* Variance of the arrivals between ranks of a node, and between nodes, ns^2. Source: one-way analysis of
 * variance; Parsons (2015). */
void nd_start_sum_variance(const struct nd_start_sum *s, int n_ranks, double *within_ns2,
                           double *between_ns2);

/* The reduction as MPI wants it. Collective over nothing; the caller frees both. */
void nd_start_sum_mpi(MPI_Datatype *type, MPI_Op *op);

/* Who is whose neighbour in collectives of neighbours. */
#pragma once

#include "detector/ops/ops.h"

/* Two in each of three dimensions: the halo of a domain that is divided in space. A rank that has nobody
 * beside it in a dimension is its own neighbour there. */
enum { ND_NEIGHBOURS = 6 };

/* Hooks of a row: a communicator with a periodic grid of three dimensions, as equal as the number of ranks
 * allows (MPI_Dims_create), and its neighbours in the order of MPI 3.1, section 7.6: in each dimension the
 * one before, the one behind. Ranks keep their numbers. */
int nd_neighbours_open(struct nd_op_state *s);
void nd_neighbours_close(struct nd_op_state *s);

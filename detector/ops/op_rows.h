/* What the files of the rows (op_*.c) lean on: requests, and the persistent operations of this MPI library. */
#pragma once

#include "detector/ops/ops.h"

/* Persistent collectives are part of MPI 4. Open MPI had them before: as an extension with names of its own in 4, by their right names in
 * 5. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define ND_HAS_PERSISTENT 1
#define ND_PERSISTENT_CALL(name) MPIX_##name
#endif
#elif MPI_VERSION >= 4 || defined(OPEN_MPI)
#define ND_HAS_PERSISTENT 1
#define ND_PERSISTENT_CALL(name) MPI_##name
#endif

#ifndef ND_HAS_PERSISTENT
#define ND_HAS_PERSISTENT 0
#endif

/* Allocates s->requests, two for each rank. 0 or -1. Local. */
int nd_op_requests(struct nd_op_state *s);

/* Which of Open MPI's algorithms a collective runs by: its own functions
 * (ompi_coll_base_<operation>_intra_<algorithm>) are taken first by this program, as the dynamic linker
 * prefers a program's symbols to a library's, noted, and called. Where the library keeps them to itself
 * nothing is seen. */
#pragma once

#include <mpi.h>

/* Forgets what was seen; from here on algorithms are noted that run on this communicator, which no other call
 * is made by. Local. */
void nd_watch_begin(MPI_Comm comm);

/* The first that ran on it since, without its prefix; "parts": on parts of it only, made by another component
 * (han); "": none. Static. */
const char *nd_watch_end(void);

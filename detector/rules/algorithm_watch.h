/* Which of Open MPI's algorithms a collective runs by: its own functions (ompi_coll_base_<operation>_intra_<algorithm>) are taken first by
 * this program, as the dynamic linker prefers a program's symbols to a library's, noted, and called. Where the library keeps them to itself
 * nothing is seen. */
#pragma once

#include <mpi.h>

/* Forgets what was seen; from here on algorithms are noted that run on this communicator, which no other call is made by. Local. */
void nd_watch_begin(MPI_Comm comm);

/* The first algorithm that ran on the communicator since, without its prefix, and so the outermost; "parts": only on parts of it, which
 * another component (han) made for the call; "": none was seen. Static text. Local. */
const char *nd_watch_end(void);

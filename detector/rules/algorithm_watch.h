/* Which of Open MPI's algorithms a collective runs by: its own functions (ompi_coll_base_<operation>_intra_<algorithm>) are taken first by
 * this program, as the dynamic linker prefers a program's symbols to a library's, noted, and called. Where the library keeps them to itself
 * nothing is seen. */
#ifndef ND_ALGORITHM_WATCH_H
#define ND_ALGORITHM_WATCH_H

/* Forgets what was seen. Local. */
void nd_watch_begin(void);

/* The first algorithm that ran since, without its prefix, and so the outermost; "": none was seen. Static text. Local. */
const char *nd_watch_end(void);

#endif

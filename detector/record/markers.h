/* LIKWID's regions. */
#pragma once

#include "detector/record/record.h"

/* LIKWID's marker regions, such as alltoall_2048:off, under likwid-perfctr -m or likwid-mpirun; elsewhere
 * nothing. */
struct nd_markers;

/* Before MPI_Init: LIKWID starts processes, and is tried in a child first, because it may end its process.
 * NULL: nothing to mark. */
struct nd_markers *nd_markers_open(const struct nd_options *o);
const char *
nd_markers_problem(const struct nd_markers *m); /* why its counters cannot be used; "": they can */

/* Around a loop, outside of its measured time. `region`: config x (n_arms + 1) + arm + 1, as the histograms
 * are counted. */
void nd_markers_start(struct nd_markers *m, int region);
void nd_markers_stop(struct nd_markers *m, int region);

enum { ND_REGION_BYTES = 320 };
const char *nd_markers_name(const struct nd_options *o, int region, char name[ND_REGION_BYTES]);

void nd_markers_close(struct nd_markers *m);

/* LIKWID's marker regions: counters for each operation and arm, where the launch runs under likwid-perfctr -m or likwid-mpirun, and the
 * program was built with LIKWID. Everywhere else nothing here does anything. Regions are called OPERATION_BYTES:ARM, such as
 * alltoall_2048:off and alltoall_2048:spin_0.3; docs/reference/formats.md has the rules. */
#pragma once

#include "detector/options/options.h"

struct nd_markers;

/* Opens LIKWID if it asks for regions, and registers one for each operation and arm. Counters that cannot be used are no failure: regions
 * are left out then, and nd_markers_problem says why. Before MPI_Init: LIKWID starts processes, and is tried in a child first, because it
 * may end the process that it is in.
 * @return NULL when there is nothing to mark. */
struct nd_markers *nd_markers_open(const struct nd_options *o);

/* Why LIKWID was asked for and is not used; "" otherwise. */
const char *nd_markers_problem(const struct nd_markers *m);

/* Around a loop, outside of its measured time. NULL is fine.
 * @param region  config x (n_arms + 1) + arm + 1, as the histograms are counted. */
void nd_markers_start(struct nd_markers *m, int region);
void nd_markers_stop(struct nd_markers *m, int region);

/* What a region is called, into `name`; returns name. */
enum { ND_REGION_BYTES = 320 };
const char *nd_markers_name(const struct nd_options *o, int region, char name[ND_REGION_BYTES]);

/* Has LIKWID write what it counted, and frees everything. NULL is fine. */
void nd_markers_close(struct nd_markers *m);

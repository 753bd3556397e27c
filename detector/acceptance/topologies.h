/* Logical topologies: which ranks have a channel between them. Pure. */
#pragma once

#include "common/base/nl_usual.h"

struct nx_topology {
    const char *name;
    /* Neighbours of a rank among n, rising, each once, without itself; returns their number. `out` NULL: only
     * counts. */
    int (*neighbours)(const struct nx_topology *t, int n, int rank, int *out);
    int n_sides; /* of a grid; 0: it is none */
};

extern const struct nx_topology nx_topologies[]; /* ends with a row without name */

/* How many of n ranks take part: n, or fewer where the shape wants a number of its own. */
int nx_topology_ranks(const struct nx_topology *t, int n);

/* The name, and of a grid of n ranks its sides: "grid2d:3x2". Returns buf. */
const char *nx_topology_tell(const struct nx_topology *t, int n, char *buf, size_t size);

/* Channels of a topology with n ranks: pairs of neighbours. */
int64_t nx_channels(const struct nx_topology *t, int n);

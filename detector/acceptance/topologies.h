/* Logical topologies: which ranks have a channel between them. Pure. */
#pragma once

#include "common/base/nl_usual.h"

struct nx_topology {
    const char *name;
    /* How many of n ranks take part: n, or fewer where the shape wants a number of its own. */
    int (*ranks)(int n);
    /* Neighbours of a rank among n (as `ranks` gave it), rising, each once, without itself; returns their number. `out` NULL: only
     * counts. */
    int (*neighbours)(int n, int rank, int *out);
    /* The shape with n ranks in a few characters, such as 3x2; NULL: nothing to say. */
    const char *(*shape)(int n, char *buf, size_t size);
};

extern const struct nx_topology nx_topologies[]; /* ends with a row without name */

/* Channels of a topology with n ranks: pairs of neighbours. */
int64_t nx_channels(const struct nx_topology *t, int n);

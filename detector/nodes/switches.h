/* How MPI and network are set on a node. */
#pragma once

#include "detector/nodes/provenance.h"

/* The switches above a node, from the top, of an address such as s0.s[3,1-2].node7 of pattern
 * switch.switch.node (SLURM_TOPOLOGY_ADDR,
 * ..._PATTERN), written one way; what is too long ends in a checksum. `node`: Slurm's name of it, or NULL. ""
 * where they do not fit. */
void nd_switches_read(const char *address, const char *pattern, const char *node, char *out, size_t size);

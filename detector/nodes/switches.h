/* The switches above a node, as Slurm says them. */
#pragma once

#include "common/base/nl_usual.h"

/* The switches of an address such as s0.s[3,1-2].node7 of pattern switch.switch.node (SLURM_TOPOLOGY_ADDR, SLURM_TOPOLOGY_ADDR_PATTERN),
 * from the top, with points between. Several of one level are written one way, however Slurm wrote them; what is too long ends in a
 * checksum. Local.
 * @param node  Slurm's name of the node (SLURMD_NODENAME), which may have points; NULL: not known.
 * @param out   "" where address and pattern do not fit each other, or one is NULL: not known. */
void nd_switches_read(const char *address, const char *pattern, const char *node, char *out, size_t size);

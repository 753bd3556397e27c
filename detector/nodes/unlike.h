/* Nodes that are not alike: what differs among them, and which. A collective waits for its slowest node, so such a launch measures that
 * one. */
#ifndef ND_UNLIKE_H
#define ND_UNLIKE_H

#include "detector/nodes/provenance.h"

/* Writes into `line` what differs among the nodes and which of them differ from the most common kind, "" when they are all alike. Looks at
 * CPU model, CPUs that may be used, hardware threads per core, kernel and ranks per node; what is not known of a node is not compared.
 * @return number of properties in which they differ. Local. */
int nd_unlike_describe(const struct nd_host *hosts, int n_hosts, char *line, size_t size);

#endif

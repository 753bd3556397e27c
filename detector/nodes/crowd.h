/* Ranks that may use fewer CPUs than they are. */
#ifndef ND_CROWD_H
#define ND_CROWD_H

#include "detector/nodes/provenance.h"

/* Writes into `line` which ranks of which node have fewer CPUs than they are, by their bindings ("" when none have), such as "2 ranks of n1
 * may use CPU 1 only"; of several crowds on a node the one with most ranks too many, and other nodes as a number. Local, on the rank that
 * has the bindings of all.
 * @param bindings  of all ranks; `node` is the index in `hosts`.
 * @return number of such nodes, -1 without memory. */
int nd_crowd_tell(const struct nd_binding *bindings, int n_ranks, const struct nd_host *hosts, int n_hosts, char *line, size_t size);

#endif

/* Time the hypervisor took from this node's CPUs, from /proc/stat (resolution: one tick of USER_HZ, 10 ms). */
#ifndef ND_STEAL_H
#define ND_STEAL_H

#include "common/base/nl_usual.h"

struct nd_steal;

/* Opens /proc/stat and measures what one reading costs.
 * @param cpu_used n_cpus flags by CPU number: the CPUs of the node's ranks. Borrowed.
 * @param half_ns  length of a half: reading must cost less than a hundredth of it, otherwise it is refused.
 * @return NULL when it cannot be read or is too slow. */
struct nd_steal *nd_steal_open(const unsigned char *cpu_used, int n_cpus, int64_t half_ns);

/* Steal time since boot over the CPUs, ns; -1 when it cannot be read. Allocates nothing. */
int64_t nd_steal_read(struct nd_steal *s);

void nd_steal_close(struct nd_steal *s);

#endif

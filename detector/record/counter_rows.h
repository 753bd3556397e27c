/* counters.HOST.csv. */
#pragma once

#include "detector/record/record.h"

/* counters.HOST.csv: what the kernel counted on the CPUs of one node's ranks in every recorded half, and the
 * ranks for themselves. Written by the node's first rank. */
struct nd_counter_half {
    struct nd_step step;
    int64_t span_ns; /* between the two readings */
    int64_t counts[NL_N_KERNEL];
    int n_cpus;                       /* read */
    const struct nd_probe_sum *ranks; /* of this node */
};

/* As the rows of an agent (agent_rows.h). */
struct nd_node_rows *nd_counter_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                          int node, const char *host);
int nd_counter_rows_add(struct nd_node_rows *rows, const struct nd_counter_half *half);

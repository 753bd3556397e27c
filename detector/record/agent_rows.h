/* agent.HOST.csv: a node's agent in every recorded half. */
#pragma once

#include "detector/record/record.h"

/* Makes the file in the launch's folder; `host` is borrowed. NULL after a message. */
struct nd_node_rows *nd_agent_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                        int node, const char *host);

/* start_ns counts from the first row's. 0, or -1 after a message (the first time). */
int nd_agent_rows_add(struct nd_node_rows *rows, const struct nd_agent_half *half);

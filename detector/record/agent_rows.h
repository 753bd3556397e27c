/* agent.HOST.csv: what the agent of one node did in every recorded half (docs/reference/formats.md). Written by the node's first rank. */
#pragma once

#include "detector/halves/half_sum.h"
#include "common/page/nl_agent.h"
#include "detector/options/options.h"

struct nd_agent_rows;

struct nd_agent_half {
    struct nd_step step;
    int64_t switch_ns, settle_ns;
    struct nl_agent_account account;
    const struct nd_half_sum *ranks; /* of this node's ranks */
};

/* Makes the file in the launch's folder.
 * @param launch, host, node  for the columns; borrowed.
 * @return NULL after a message. */
struct nd_agent_rows *nd_agent_rows_open(const struct nd_options *o, const char *folder, const char *launch, int node, const char *host);

/* Appends a row and hands it to the system; start_ns counts from the first row's. 0, or -1 after a message (the first time). */
int nd_agent_rows_add(struct nd_agent_rows *rows, const struct nd_agent_half *half);
void nd_agent_rows_close(struct nd_agent_rows *rows);

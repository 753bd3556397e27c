/* Which nodes a treatment is on: what the user said (--noise-nodes). */
#pragma once

#include "common/base/nl_hostlist.h"

#define ND_MAX_NODES_LISTED 1024

enum nd_which_nodes { ND_NODES_ALL, ND_NODES_FIRST /* that of rank 0 */, ND_NODES_LISTED };

struct nd_nodes {
    enum nd_which_nodes which;
    struct nl_hostlist hosts; /* LISTED: names, with or without their domain; lives as long as the process */
    const char *text; /* as given; NULL: not given */
};

/* Who else had a node's CPUs during a launch: noiselab-record, started by the node's first rank and ended with the last check. */
#pragma once

#include "common/base/nl_usual.h"
#include "detector/nodes/launcher.h"

enum { NX_OTHERS_REASON_BYTES = 160 };

struct nx_others {
    pid_t pid;    /* of noiselab-record; 0: none, this is not the node's first rank, or it could not be started */
    int fd;       /* what it says */
    int is_first; /* this rank answers for its node */
    int n_cpus;   /* watched */
    char reason[NX_OTHERS_REASON_BYTES]; /* why there is no record; "" */
};

/* Before what a rank sends of its node: the record's text, or the reason, follows with its 0. */
struct nx_others_head { int n_cpus, has_record; };

/* Starts it on the node's first rank. Before MPI_Init: an initialised MPI must not fork. Ranks and what started them are no others.
 * @param longest_ns  it ends by itself then, whatever happens to us. */
void nx_others_start(struct nx_others *others, const struct nd_launcher *launcher, int64_t longest_ns);

/* Ends it. What it says (JSON), to be freed; NULL: nothing, and `reason` says why where this rank answers for its node. Local. */
char *nx_others_stop(struct nx_others *others);

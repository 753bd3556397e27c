/* The ranks of the node under a detector: when one of them is gone, no load may go on, whether or not the owner can say so. */
#ifndef NG_RANKS_H
#define NG_RANKS_H

#include "common/page/nl_control.h"

/* Watches the page's rank_pids from a thread of its own, which sleeps: when one ends the load ends at once, and the process half a second
 * later unless it has been told to quit by then. To be called once, after PLACE. Without memory, or pidfds in the kernel, nothing is
 * watched. */
void ng_ranks_watch(struct nl_control *page);

#endif

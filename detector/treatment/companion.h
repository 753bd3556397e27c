/* The agent of one node: its companion, noiselab-agent, commanded through the agent's page by the node's
 * first rank. */
#pragma once

#include "common/page/nl_agent.h"

struct nd_companion;

/* Waits until it is ready. Before MPI_Init. `timeout_ns`: of a switch, not waited for once stop_asked is set.
 * 0, or -1 after a message. */
int nd_companion_start(struct nd_companion **companion, const char *const *words, int64_t timeout_ns,
                       const volatile int *stop_asked);

int nd_companion_check(
    const char *const *words); /* whether it would take these words, and could switch the agent here. 0, -1 */

enum nd_companion_end {
    ND_COMPANION_DONE,
    ND_COMPANION_STOPPED, /* not waited for: a signal asked to stop */
    ND_COMPANION_DIED,    /* the agent has ended by itself */
    ND_COMPANION_REFUSED, /* it cannot be done */
    ND_COMPANION_GONE     /* the companion is gone, or does not answer in time */
};

struct nl_agent *nd_companion_page(struct nd_companion *c);

/* Sends a command whose fields stand in the page, and waits for its end; after BEGIN also until the companion
 * sleeps. */
enum nd_companion_end nd_companion_command(struct nd_companion *c, enum nl_agent_command command);

const char *nd_companion_reason(const struct nd_companion *c);
void nd_companion_close(
    struct nd_companion *c); /* leaves the agent as it was found, without waiting. Safe in a signal handler */
void nd_companion_stop(struct nd_companion *c, char *text,
                       int text_size); /* the same, and takes the certificate (JSON), or "" */
void nd_companion_free(struct nd_companion *c);

/* The agent of one node: its companion, noiselab-agent, which switches it and accounts for it, commanded through the agent's page. Only the
 * first rank of a node whose agent is switched has one. */
#pragma once

#include "common/page/nl_agent.h"

struct nd_companion;

/* Starts noiselab-agent and waits until it is ready. Before MPI_Init.
 * @param words  of its command line, ended by NULL.
 * @param timeout_ns  how long a switch may take.
 * @param stop_asked  looked at while a switch takes long: then it is not waited for any more.
 * @return 0, or -1 after a message (the companion's own stands before it). */
int nd_companion_start(struct nd_companion **companion, const char *const *words, int64_t timeout_ns, const volatile int *stop_asked);

/* Asks noiselab-agent whether it would take these words, and could switch the agent here; it says itself what it does not like. 0, -1. */
int nd_companion_check(const char *const *words);

/* How a command ended. */
enum nd_companion_end {
    ND_COMPANION_DONE,
    ND_COMPANION_STOPPED, /* not waited for: a signal asked to stop */
    ND_COMPANION_DIED,    /* the agent has ended by itself */
    ND_COMPANION_REFUSED, /* it cannot be done */
    ND_COMPANION_GONE     /* the companion is gone, or does not answer in time */
};

/* The page, for the fields of PLACE, the account and what else the companion says. */
struct nl_agent *nd_companion_page(struct nd_companion *c);

/* Sends a command whose fields stand in the page, and waits for its end. After BEGIN it also waits until the companion sleeps. */
enum nd_companion_end nd_companion_command(struct nd_companion *c, enum nl_agent_command command);

/* Why the last command did not end in DONE: one line. */
const char *nd_companion_reason(const struct nd_companion *c);

/* The agent is to be left as it was found, at once, without waiting. Safe in a signal handler. */
void nd_companion_close(struct nd_companion *c);

/* Has the agent's state restored and takes the certificate (JSON) into `text`: "" when the companion was gone. */
void nd_companion_stop(struct nd_companion *c, char *text, int text_size);

/* Ends the companion, which restores the agent's state if it has not done so yet, and frees everything. NULL is fine. */
void nd_companion_free(struct nd_companion *c);

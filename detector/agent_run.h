/* The agent of a node in the course of a launch: its companion, its switches, its account of each half. */
#pragma once

#include "detector/run_state.h"

/* agent_run.c, nothing without an agent. place and collect are collective; 0, or -1 after a message. */
int nd_agent_place(struct nd_run *r); /* tells every companion about its node's ranks and the launch's folder,
                                         and opens the rows */
void nd_agent_switch(struct nd_run *r,
                     const struct nd_step *step); /* to what the step wants; does not wait for it to settle */
void nd_agent_begin(struct nd_run *r, const struct nd_step *step);
void nd_agent_end(struct nd_run *r, const struct nd_step *step,
                  struct nd_sample *s); /* `s` gets what it used: the dose of its arm */
void nd_agent_row(
    struct nd_run *r,
    const struct nd_half_sum *node); /* of the half that ended last. `node`: sum over this node's ranks */
void nd_agent_collect(
    struct nd_run *r); /* ends the companions, who put their agents back, and takes their certificates */

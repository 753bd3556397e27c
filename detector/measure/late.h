/* Ranks that come late on purpose where operations run back to back, in halves of an arm of their own: each
 * waits before a call. */
#pragma once

#include "detector/measure/starts.h"
#include "detector/nodes/team.h"
#include "detector/ops/ops.h"

/* One for all operations of a launch; its calls go on counting from half to half. */
struct nd_late {
    int64_t *delays_ns;        /* this rank's, ND_ARRIVAL_CYCLE of them; owned */
    int64_t *longest_ns;       /* the same: of all ranks, call by call; owned */
    double mean_ns;            /* of longest_ns */
    int64_t n_calls, n_before; /* so far; and before this half */
    uint64_t *delay_ticks;     /* delays_ns by the clock; owned */
    struct nl_ticks ticks;
    int yields;                             /* 1: ranks share CPUs: one that waits lets others run */
    int (*call)(struct nd_op_state *state); /* the operation's own, during a half */
};

/* Of this rank, ND_ARRIVAL_CYCLE of them; amount_ns x the pattern's shares. Collective. The longest of all
 * ranks, -1 after a message. */
int64_t nd_late_delays(const struct nd_start_options *o, const struct nd_team *team, double amount_ns,
                       uint64_t seed, int64_t *delays_ns);

int nd_late_open(struct nd_late *l, const struct nd_start_options *o, const struct nd_team *team,
                 const struct nl_ticks *ticks, int yields, uint64_t seed);

/* How many operations a late half has where an off half has n. */
int64_t nd_late_operations(const struct nd_late *l, int64_t n, double operation_ns);

/* A late half begins: its calls wait first. And its end: by how much the last rank came late, summed over its
 * calls, ns. Local. */
void nd_late_begin(struct nd_late *l, struct nd_op_state *state);
int64_t nd_late_end(struct nd_late *l, struct nd_op_state *state);

void nd_late_close(struct nd_late *l);

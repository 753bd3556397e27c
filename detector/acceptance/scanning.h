/* Scans of every CPU of every node: all at once, and one at a time while the others are idle. */
#pragma once

#include "detector/acceptance/accept_run.h"

struct nx_scanning {
    void (*scan)(struct nx_scan *s);
    const char *metric; /* of the histogram */
    int keeps_detours;
    int64_t n_steps; /* quantum */
    int64_t *n_room; /* detours that may still be kept, by core and variant; owned */
    /* hands in the figures of a scan */
    void (*add)(struct nx_run *r, const struct nx_scan *s, const struct nx_row *base);
};

/* Shares CPUs out and fills t->state, a struct nx_scanning. Collective. As nx_check.open. */
int nx_scanning_open(struct nx_run *r, struct nx_task *t, const struct nx_scanning *kind);

/* Scans all cores at once for half of the time, and each by itself in the other half, at least 20 ms.
 * Collective. 0, or -1 with a reason. */
int nx_scanning_measure(struct nx_run *r, struct nx_task *t);

void nx_scanning_close(void *state);
/* Shares the CPUs of every node out among its ranks: a rank has the one that it is bound to, and those
 * without a rank go round. Fills r->cores, r->n_cores, r->n_slots. Nodes take their turns together, or, where
 * they are parts of one machine, one after the other. Collective. 0, or -1 with a reason. */
int nx_cores_share(struct nx_run *r, char reason[NX_REASON_BYTES]);

enum { NX_MASK_BYTES = 1024 };
union nx_mask {
    cpu_set_t set;
    unsigned char bytes[NX_MASK_BYTES];
};

/* Gives every CPU in `cpus` one of the node's ranks, into owners[8 * NX_MASK_BYTES]; -1: not looked at. The
 * rank that is bound to this CPU alone; else ranks in turn that are bound to it among others; else ranks in
 * turn. Pure.
 * @param masks  what each rank is bound to, one behind the other. @param bound  the CPU of a rank that is
 * bound to one; -1. */
void nx_cores_assign(int *owners, const union nx_mask *cpus, const union nx_mask *masks, const int *bound,
                     int n_ranks);

/* Scans of every CPU of every node: all at once, and one at a time while the others are idle. */
#ifndef NX_SCANNING_H
#define NX_SCANNING_H

#include "detector/acceptance/accept_run.h"

struct nx_scanning {
    void (*scan)(struct nx_scan *s);
    const char *metric;  /* of the histogram */
    int keeps_detours;
    int64_t n_steps;     /* quantum */
    int64_t *n_room;     /* detours that may still be kept, by core and variant; owned */
    /* hands in the figures of a scan */
    void (*add)(struct nx_run *r, const struct nx_scan *s, const struct nx_row *base);
};

/* Shares CPUs out and allocates t->state. Collective. As nx_check.open. */
int nx_scanning_open(struct nx_run *r, struct nx_task *t, const struct nx_scanning *kind);

/* Scans all cores at once for half of the time, and each by itself in the other half, at least 20 ms. Collective. 0, or -1 with a
 * reason. */
int nx_scanning_measure(struct nx_run *r, struct nx_task *t);

void nx_scanning_close(struct nx_task *t);

#endif

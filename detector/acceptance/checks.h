/* The checks: one row of nx_checks and one small file each. */
#pragma once

#include "common/base/nl_usual.h"

enum { NX_MAX_CHECKS = 16, NX_REASON_BYTES = 256, NX_LEAST_REPETITIONS = 2 };

struct nx_run;
struct nx_task;

struct nx_check {
    const char *name;
    const char *help; /* what it measures */
    const char *unit; /* of its main figure */
    int least_ranks, least_nodes;
    int is_on_request;              /* 1: only when --checks names it */
    double quick_share, full_share; /* of the measuring time, against those of the other checks chosen */
    /* Prepares. Collective. 0; 1 with a reason when it is not possible here (the same on all ranks), -1
     * likewise when it failed. NULL: nothing. */
    int (*open)(struct nx_run *r, struct nx_task *t);
    /* One repetition, about t->budget_ns long; hands its figures to nx_put. Required. Collective. 0, or -1
     * with a reason. */
    int (*measure)(struct nx_run *r, struct nx_task *t);
    /* Figures over all repetitions. Collective. NULL: none. */
    void (*finish)(struct nx_run *r, struct nx_task *t);
    size_t state_bytes; /* of t->state: zeroed before `open`, freed after `close` */
    /* Gives back what open made, as far as it came. Called once at the end. Local. NULL: nothing. */
    void (*close)(void *state);
};

enum nx_status { NX_PLANNED, NX_RAN, NX_SKIPPED, NX_FAILED };
extern const char *const nx_status_names[]; /* by enum */

struct nx_task {
    const struct nx_check *check;
    int index; /* into nx_checks */
    enum nx_status status;
    char reason[NX_REASON_BYTES]; /* why it was skipped or failed, or what was left out; "": nothing to say.
                                     Rank 0's counts */
    int64_t planned_ns;           /* of one repetition */
    int64_t budget_ns; /* of the repetition under way: planned_ns, or less when those before took longer */
    int64_t took_ns;   /* of all so far, rank 0 */
    int n_repetitions; /* made */
    void *state;       /* the row's own; NULL: none */
};

extern const struct nx_check *const nx_checks[]; /* ends with NULL; at most NX_MAX_CHECKS */

/* Index of a check by name; -1 when there is none. */
int nx_check_find(const char *name);

/* The time of a check in repetition k of n, ns: what its planned time still holds, in equal parts for the
 * repetitions to come, and not more than planned. A check that takes longer than that whatever it is told
 * (slow networks, more ranks than CPUs) makes NX_LEAST_REPETITIONS and then as many as its time holds: 0, it
 * is left out. Pure. */
int64_t nx_task_budget_ns(const struct nx_task *t, int k, int n);

/* Why a check cannot run on so many ranks and nodes; NULL: it can. */
const char *nx_check_problem(const struct nx_check *c, int n_ranks, int n_nodes,
                             char reason[NX_REASON_BYTES]);

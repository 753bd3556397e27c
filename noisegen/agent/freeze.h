/* Freezing the processes of an agent and thawing them again: a table of freezers, of which the first that the machine allows is used.
 * What is frozen stands in the undo record before it is frozen. */
#pragma once

#include "noisegen/agent/undo.h"

struct na_freezer;

struct na_freeze {
    const struct na_freezer *row; /* NULL: not prepared */
    struct na_undo *undo;
    struct na_set *set;     /* the agent's processes; grows */
    char given[PATH_MAX];   /* an existing cgroup that is the agent, full path; "": the agent is a tree of processes */
    int is_given_wanted;      /* while a freezer is looked for: `given` itself is to be frozen, not a cgroup of ours */
    char directory[PATH_MAX]; /* the frozen cgroup; "" for signals */
    char reason[512];       /* why not a better freezer; "" when the first one is used */
    int64_t timeout_ns;
};

/* A row of the table. */
struct na_freezer {
    const char *name, *help;
    /* Whether this one can be used here: tried, not guessed, and without freezing. 0, -1 with a line in `reason`. With is_trial nothing is
     * left changed. Required. */
    int (*prepare)(struct na_freeze *f, const struct na_freezer *row, int is_trial, char *reason, int reason_size);
    /* Returns when every thread stands still, or may run again. 0, -1 with a line in `reason`: then nothing is frozen. Required. */
    int (*freeze)(struct na_freeze *f, char *reason, int reason_size);
    int (*thaw)(struct na_freeze *f, char *reason, int reason_size);
    /* Of cgroups: which hierarchy, and the file that says and takes the state. Not required. */
    const char *controller, *state_file, *frozen_text, *thawed_text, *look_file, *look_frozen, *look_thawed;
};

/* Best first; ends with NULL. */
extern const struct na_freezer *const na_freezers[];
extern const struct na_freezer na_freezer_v1, na_freezer_v2, na_freezer_signals;

/* Chooses the freezer: moves the processes into a cgroup of ours where that is the way. With is_trial: only tries.
 * Refuses processes that stand still already. 0, -1 with a line in `reason`. */
int na_freeze_prepare(struct na_freeze *f, int is_trial, char *reason, int reason_size);

/* Waits until is_done(context) says so, spinning at first: a freeze takes some 100 us. 0, -1 when it takes longer than timeout_ns. */
int na_freeze_await(int (*is_done)(const void *context), const void *context, int64_t timeout_ns);

/* The agent's processes now, into f->set: pruned, and with those that came meanwhile. Returns their number. */
int na_freeze_members(struct na_freeze *f);

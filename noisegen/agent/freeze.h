/* Freezing the processes of an agent and thawing them again: a table of freezers, of which the first that the machine allows is used.
 * What is frozen stands in the undo record before it is frozen. */
#pragma once

#include "noisegen/agent/undo.h"

struct na_freeze {
    const struct na_freezer *row; /* NULL: not prepared */
    struct na_undo *undo;
    struct na_set *set;       /* the agent's processes; grows */
    char given[PATH_MAX];     /* an existing cgroup that is the agent, full path; "": the agent is a tree of processes */
    char directory[PATH_MAX]; /* the frozen cgroup; "" for signals */
    char reason[512];         /* why not a better freezer; "" when the first one is used */
    int64_t timeout_ns;
};

/* A row of the table. */
struct na_freezer {
    const char *name, *help;
    /* Whether this one can be used here: tried, not guessed, and without freezing; own 0: on the cgroup given. With is_trial nothing is
     * left changed. 0, -1 with a line in `reason`; -2: found frozen, which is not a matter of the freezer. */
    int (*prepare)(struct na_freeze *f, const struct na_freezer *row, int own, int is_trial, char *reason, int reason_size);
    /* Returns when every thread stands still. 0, -1 with a line in `reason`: then nothing is frozen. */
    int (*freeze)(struct na_freeze *f, char *reason, int reason_size);
    /* Of cgroups: which hierarchy, and the file that says and takes the state. Not required. */
    const char *controller, *state_file, *frozen_text, *thawed_text, *look_file, *look_frozen, *look_thawed;
};

extern const struct na_freezer *const na_freezers[]; /* best first; ends with NULL */

/* Chooses the freezer: moves the processes into a cgroup of ours where that is the way. With is_trial: only tries.
 * Refuses processes that stand still already. All: 0, -1 with a line in `reason`. */
int na_freeze_prepare(struct na_freeze *f, int is_trial, char *reason, int reason_size);
int na_freeze_freeze(struct na_freeze *f, char *reason, int reason_size);
int na_freeze_thaw(struct na_freeze *f, char *reason, int reason_size);

/* The agent's processes now, into f->set: pruned, and with those that came meanwhile. */
void na_freeze_members(struct na_freeze *f);

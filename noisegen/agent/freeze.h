/* Ways to freeze processes. */
#pragma once

#include "noisegen/agent/agent.h"

/* Chooses the freezer: moves the processes into a cgroup of ours where that is the way. With is_trial: only
 * tries. Refuses processes that stand still already. All: 0, -1 with a line in `reason`. */
int na_freeze_prepare(struct na_freeze *f, int is_trial, char *reason, int reason_size);
int na_freeze_freeze(struct na_freeze *f, char *reason, int reason_size);
int na_freeze_thaw(struct na_freeze *f, char *reason, int reason_size);

/* The agent's processes now, into f->set: pruned, and with those that came meanwhile. */
void na_freeze_members(struct na_freeze *f);

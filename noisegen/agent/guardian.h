/* The guardian of a companion: it undoes what a killed one left. */
#pragma once

#include "noisegen/agent/session.h"

/* Forks it. 0, -1 with errno. */
int na_guardian_start(struct nl_guard *guardian, struct na_undo *undo);

/* The journal: what is frozen now, in a file of its own, so that it can be thawed even when companion and guardian were killed together (by
 * the end of a job's cgroup, say). It lies in /run/noiselab (root) or in XDG_RUNTIME_DIR/noiselab, a folder that only its owner can write,
 * and is there only while something is frozen. */
#pragma once

#include "noisegen/agent/undo.h"

/* Chooses the file; without a folder for it there is none, and undo->journal_file stays "". */
void na_journal_open(struct na_undo *undo);

/* Writes what is frozen by `undo`, or removes the file when that is nothing. 0, -1 with errno. */
int na_journal_note(struct na_undo *undo);

/* Undoes what stands in journals whose companion and guardian have ended, and says so by nl_warn().
 * @return how many could not be undone; their journals stay. */
int na_journal_restore(void);

/* The guardian: a tiny process that undoes what stands in the undo record when the companion ends without having undone it itself:
 * killed by SIGKILL, say, while the agent is frozen. It is in a session of its own and, as root, outside of the job's cgroups, so that what
 * ends those does not end it. */
#pragma once

#include "noisegen/agent/undo.h"

struct na_guardian {
    pid_t pid;
    int fd; /* our end of the pipe: its end of file is our end */
};

/* Forks it, or another one when the one before has ended. 0, -1 with errno. */
int na_guardian_start(struct na_guardian *guardian, struct na_undo *undo);

/* Tells it that something is about to be frozen: it opens what thawing takes (na_undo_hold). */
void na_guardian_hold(void);

/* Tells it that all is undone, and waits for its end. */
void na_guardian_end(struct na_guardian *guardian);

/* Leaves the undoing to it: it begins when we end, and tries again for some minutes. */
void na_guardian_leave(struct na_guardian *guardian);

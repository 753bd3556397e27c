/* The guardian: a tiny process that undoes what stands in the undo record when the companion ends without having undone it itself: killed by
 * SIGKILL, say, while the agent is frozen. */
#ifndef NA_GUARDIAN_H
#define NA_GUARDIAN_H

#include <sys/types.h>

#include "undo.h"

struct na_guardian {
    pid_t pid;
    int fd; /* our end of the pipe: its end of file is our end */
};

/* Forks it; to be called before anything is opened, and while there is one thread. 0, -1 with errno. */
int na_guardian_start(struct na_guardian *guardian, struct na_undo *undo);

/* Tells it that all is undone, and waits for its end. */
void na_guardian_dismiss(struct na_guardian *guardian);

#endif

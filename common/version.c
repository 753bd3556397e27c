#include "version.h"

/* the Makefile says it to this file alone, so that a commit recompiles no other */
#ifndef NOISELAB_GIT
#define NOISELAB_GIT "unknown"
#endif

const char nl_git[] = NOISELAB_GIT;

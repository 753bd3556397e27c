#include "common/base/version.h"
#include "common/base/nl_usual.h"

/* the Makefile says it to this file alone, so that a commit recompiles no other */
#ifndef NOISELAB_GIT
#define NOISELAB_GIT "unknown"
#endif

const char nl_git[] = NOISELAB_GIT;

#ifdef NOISELAB_LIKWID
const char *const nl_likwid = NOISELAB_LIKWID;
#else
const char *const nl_likwid = NULL;
#endif

/* The version of all programs; the Makefile adds the commit. */
#ifndef NL_VERSION_H
#define NL_VERSION_H

#define NOISELAB_VERSION "0.1.0"
#ifndef NOISELAB_GIT
#define NOISELAB_GIT "unknown"
#endif

/* Layout of the files in a campaign (docs/reference/formats.md). */
#define NOISELAB_SCHEMA 2

#endif

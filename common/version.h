/* The version of all programs. */
#ifndef NL_VERSION_H
#define NL_VERSION_H

#define NOISELAB_VERSION "0.1.0"

/* The commit the programs were built from; "unknown" outside of a clone. */
extern const char nl_git[];

/* Layout of the files in a campaign (docs/reference/formats.md). */
#define NOISELAB_SCHEMA 2

#endif

/* The version of all programs. */
#pragma once

#define NOISELAB_VERSION "1.1.0"

/* The commit the programs were built from; "unknown" outside of a clone. */
extern const char nl_git[];

/* LIKWID's library, under the name that it is opened by; NULL: built without. */
extern const char *const nl_likwid;

/* Layout of the files in a campaign (docs/reference/formats.md). */
#define NOISELAB_SCHEMA 2

/* The reader of traces that the C programs have, as part of this package: analysis/src/common/trace is a link
 * to common/trace, and what packs or copies this folder follows it. */
#define _GNU_SOURCE
#include "common/trace/nl_foreign.c"

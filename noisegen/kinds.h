/* The table of load kinds. A kind is one file with the four functions below and one row in kinds.c; it knows nothing of clocks, periods or
 * levels. */
#ifndef NG_KINDS_H
#define NG_KINDS_H

#include <stdint.h>

/* How a kind is paced (pace.h). */
enum ng_pacing {
    NG_PACING_DEADLINE, /* absolute deadlines, thread CPU time: the default */
    NG_PACING_PUBLISHED /* wall time and relative sleeps, as published in 2021; kept for comparison */
};

/* What a kind may be told by the user. */
struct ng_kind_options {
    int64_t array_bytes; /* size of the array a kind walks; 0: the kind's own default */
};

struct ng_kind {
    const char *name; /* Required. As in --kind. */
    const char *help; /* Required. One line. */
    enum ng_pacing pacing;
    int64_t period_ns;   /* Required. Default period. */
    int64_t array_bytes; /* Default size of the array; 0: the kind has none, and --array-bytes is an error. */
    int has_fixed_array; /* 1: the size cannot be chosen. */

    /* Not required. Why this machine cannot run the kind, NULL when it can. */
    const char *(*supported)(void);

    /* Not required. Allocates and touches what `work` needs; called on the CPU that will carry the load.
     * @param state set to what the other hooks get, NULL when nothing is needed; freed by clean_up.
     * @return 0, -1 when there is no memory. */
    int (*prepare)(const struct ng_kind_options *options, void **state);

    /* Required. One quantum of work, well under a microsecond (NG_PACING_PUBLISHED: one pass of the published loop). No system calls. */
    void (*work)(void *state);

    /* Not required. Frees what prepare allocated. */
    void (*clean_up)(void *state);
};

/* The rows, ended by NULL. */
extern const struct ng_kind *const ng_kinds[];

/* The kind of that name, NULL when there is none. */
const struct ng_kind *ng_kind_find(const char *name);

#endif

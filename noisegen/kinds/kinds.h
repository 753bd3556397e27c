/* The table of load kinds. A kind is one file with the hooks below and one row in kinds.c; it knows nothing
 * of clocks, periods or levels. */
#pragma once

#include "common/base/nl_usual.h"

/* How a kind is paced (pace.h). */
enum ng_pacing {
    NG_PACING_DEADLINE, /* absolute deadlines, thread CPU time: the default */
    NG_PACING_PUBLISHED /* wall time and relative sleeps, as published in 2021; kept for comparison */
};

/* Which keys of --kind it listens to; any other one is refused for it. */
enum {
    NG_USES_ARRAY = 1, /* array-bytes */
    NG_USES_FOLDER = 2 /* folder; required */
};

/* What a kind may be told. */
struct ng_kind_options {
    int64_t array_bytes; /* size of the array a kind walks; 0: the kind's own default */
    const char *folder;  /* an existing folder; NULL: not given */
    int cpu;             /* the CPU that carries this load */
    const int *cpus; /* all allowed CPUs of this machine, this one included; owned by the caller, valid until
                        prepare returns */
    int n_cpus;
};

struct ng_kind {
    const char *name; /* Required. As in --kind. */
    const char *help; /* Required. One line. */
    /* Not required. Unit of dose beside CPU time, plural ("messages"); NULL: only CPU time, and --rate is an
     * error. */
    const char *unit;
    const char *needs; /* Not required. What it needs of the machine or of the user, a few words. */
    enum ng_pacing pacing;
    int64_t period_ns;     /* Required. Default period. */
    int64_t array_bytes;   /* Default size of the array. */
    unsigned uses;         /* NG_USES_... */
    int units_per_wake_up; /* Units that a wake-up of the pacer already is: 1 for a kind that does nothing but
                              wake up. */

    /* Not required. Why this machine cannot run the kind, NULL when it can. Called often: cheap. */
    const char *(*supported)(void);

    size_t state_bytes; /* Of what the other hooks get: zeroed before `prepare`, freed after `clean_up`. 0:
                           NULL. */

    /* Not required. Opens and touches what `work` needs; called on the CPU that will carry the load, once per
     * CPU.
     * @return 0, or -1 with one line in `reason` ("no memory for 64 bytes"); clean_up follows in both cases.
     */
    int (*prepare)(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size);

    /* Required. One quantum of work, as short as the kind allows (arithmetic: well under a microsecond;
     * NG_PACING_PUBLISHED: one pass of the published loop). No stdio, no allocation, no exit.
     * @return units of dose finished by this quantum, 0 when a unit takes several quanta; -1 when the kind
     * cannot go on (see failure). */
    int64_t (*work)(void *state);

    /* Not required. After work returned -1: why, one line without its end. Static or in `text`. */
    const char *(*failure)(const void *state, char *text, size_t size);

    /* Not required. What the certificate has to say of how the load is made here. Static or within the state.
     */
    const char *(*remark)(const void *state);

    /* Not required. CPU time the kind caused outside of this thread so far (children), ns. */
    int64_t (*extra_cpu_ns)(const void *state);

    /* Not required. Gives back what prepare opened, as far as it came. */
    void (*clean_up)(void *state);
};

/* The rows, ended by NULL. */
extern const struct ng_kind *const ng_kinds[];

/* The kind of that name, NULL when there is none. */
const struct ng_kind *ng_kind_find(const char *name);

/* Allocates a kind's state and prepares it. 0, -1 with a reason: then *state is NULL. */
int ng_kind_open(const struct ng_kind *kind, const struct ng_kind_options *options, void **state,
                 char *reason, size_t reason_size);

/* Gives it back; NULL is fine. */
void ng_kind_close(const struct ng_kind *kind, void *state);

/* What several load kinds share. For prepare and clean_up only: nothing here may be called from `work`. */

/* The array that a kind walks. A kind that opens one has it as the first member of its state: tests look at
 * what was written there. */
struct ng_array {
    unsigned char *bytes;
    size_t n_bytes;
};

enum ng_pages {
    NG_PAGES_DEFAULT, /* as the machine is set */
    NG_PAGES_HUGE /* aligned to 2 MiB and in huge pages where the machine gives them: physically contiguous,
                     few TLB misses */
};

/* Allocates an array and touches all of it, after a look at whether the memory is there: the kernel promises
 * more than it has. 0, -1 with a reason; then the array is empty. */
int ng_array_open(struct ng_array *array, int64_t n_bytes, enum ng_pages pages, char *reason,
                  size_t reason_size);

/* The clean_up of a kind whose state begins with its array and holds nothing else. */
void ng_array_clean_up(void *state);

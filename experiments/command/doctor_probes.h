/* What this machine permits: one row per thing looked at. Nothing is changed, nothing measured but one second
 * of /proc/stat. */
#pragma once

#include "common/base/nl_usual.h"

enum nc_state {
    NC_GOOD,
    NC_LIMITED, /* works, with a limit that is said */
    NC_MISSING  /* something cannot be done */
};

enum { NC_TEXT_BYTES = 320 };

/* What was found of one thing. */
struct nc_finding {
    enum nc_state state;
    char here[NC_TEXT_BYTES];   /* what is here */
    char means[NC_TEXT_BYTES];  /* what that means; "": nothing to say */
    char change[NC_TEXT_BYTES]; /* the command, or what else would change it; "": nothing to change, or
                                   nothing can */
};

/* What later rows, and the experiments, need to know. */
struct nc_machine {
    const char *bin; /* folder of the programs, without / at its end */
    int is_root, n_cores, first_cpu;
    int launcher_works, has_python, has_r, has_slurm, is_slurm_job, can_freeze;
};

/* One thing that is looked at. */
struct nc_probe {
    const char *name;
    void (*look)(struct nc_machine *m, struct nc_finding *f); /* f is zeroed: good, without words */
};
extern const struct nc_probe
    nc_probes[]; /* in the order of the table, and of what needs what; ends with a row without name */

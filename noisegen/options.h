/* The command line of noiselab-gen. argv is parsed once, here; everything else gets this structure, const. */
#ifndef NG_OPTIONS_H
#define NG_OPTIONS_H

#include <stdint.h>

#include "kinds.h"

/* A real-time load above this percentage could lock a CPU up for everybody else. */
#define NG_FIFO_CAP_PERCENT 50.

struct ng_options {
    const struct ng_kind *kind;
    int64_t array_bytes;  /* of the kind's array; 0: it has none */
    double level_percent; /* of one CPU; -1: not given (under a detector) */
    int64_t period_ns;
    int64_t duration_ns; /* 0: not given (under a detector) */
    int64_t phase_ns;    /* wait before the first period */
    int is_random;       /* bursts at random places within their periods */
    uint64_t random_seed;
    int cpu;        /* operating system's number, -1: the first allowed one */
    int control_fd; /* -1: alone */
    int64_t carry_bursts;
    double duty_cap_percent; /* most in any one period */
    double tolerance_percent;
    int fifo_priority; /* 0: leave the scheduling policy alone */
    int outlive_parent;
    int json;
    int dry_run;
};

/* Parses and checks the command line. Prints one line on stderr for what is wrong. Local.
 * @return 1 go on, 0 everything was done (--help, --list-kinds, --version), -1 usage error. */
int ng_options_parse(int argc, char **argv, struct ng_options *options);

#endif

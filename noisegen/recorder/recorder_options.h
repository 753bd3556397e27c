/* The options of noiselab-record. */
#pragma once

#include "common/base/nl_usual.h"

enum { NR_MAX_PIDS = 256, NR_MAX_CPUS = 4096 };

struct nr_options {
    pid_t pids[NR_MAX_PIDS];
    int n_pids;
    pid_t except[NR_MAX_PIDS]; /* left out, with their children */
    int n_except;
    const char *cgroup; /* NULL: none */
    const char *name;   /* prefix; NULL: none */
    int cpus[NR_MAX_CPUS];
    int n_cpus;          /* 0: all */
    char **command;      /* NULL: none; ends with NULL */
    int64_t duration_ns; /* 0: until the command ends */
    const char *out;     /* NULL: no trace, only the summary */
    int may_replace;     /* --force */
    const char *source;
    int64_t group_gap_ns; /* 0: found from the distribution */
    int is_json;
};

/* @return 1: go on; 0: the work is done (a list, the help); -1 after a message. */
int nr_options_parse(int argc, char **argv, struct nr_options *options);

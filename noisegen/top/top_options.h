/* The command line of noiselab-top. */
#pragma once

#include "noisegen/top/top.h"

enum { NT_MOST_CPUS = 4096, NT_MOST_PIDS = 4096 };

struct nt_options {
    int64_t interval_ns, duration_ns; /* duration 0: until it is ended */
    int is_once, is_batch, is_json;
    const char *metrics; /* file; NULL: none */
    int cpus[NT_MOST_CPUS], n_cpus;
    int pids[NT_MOST_PIDS], n_pids;
    const char *command;
    const char *source;
    int n_rows; /* -1: as the screen has room, or 20 */
    int n_nodes;
    int64_t every_ns;
    enum nt_sort sort;
};

/* @return 1 go on, 0 all is said, -1 after a message. */
int nt_options_parse(int argc, char **argv, struct nt_options *options);

/* The tasks in groups that somebody said (agent, rank, ...), each with its account by the scheduler: what the sources without switch
 * records look at. */
#pragma once

#include "noisegen/recorder/source.h"

struct nr_suspect {
    pid_t pid, tid;
    uint32_t name;
    uint8_t group;
    int fd;         /* of its schedstat; -1: it is gone */
    int64_t run_ns; /* at the last look */
    int64_t switches, involuntary;
    int cpu;
    int is_active;                       /* a burst lasts (source schedstat) ... */
    int64_t start_ns, burst_ns, last_ns; /* ... since when, CPU time in it, and when it was last seen running */
};

enum { NR_MAX_SUSPECTS = 512 };

struct nr_suspects {
    struct nr_suspect a[NR_MAX_SUSPECTS];
    int n;
    int n_left_out; /* there was no room for them */
};

/* Looks for tasks that are new and forgets those that are gone. Allocates: between measured stretches, or in a sampler's own thread. */
void nr_suspects_update(struct nr_suspects *suspects, struct nr_recorder *r);
void nr_suspects_close(struct nr_suspects *suspects);

/* Where a number comes from: hosts, kernel, placement, MPI library. */
#pragma once

#include <jansson.h>

#include "common/base/nl_usual.h"
#include "common/sys/nl_cgroup.h"

enum { ND_HOST_BYTES = 65 }; /* the longest name that Linux lets a host have, and its end */

/* One node. Fixed size without pointers, so that it can be gathered as bytes; "" means unknown. */
struct nd_host {
    char host[ND_HOST_BYTES];
    char kernel[160];
    char isolcpus[128];
    char nohz_full[128];
    char tick[64];
    char clocksource[32];
    char governor[32];
    char cpuset[128];
    char topology[160];
    char cpu_model[96];
    char switches[128];    /* above it (nd_switches_read); "": not known */
    int smt;               /* hardware threads per core, 0 unknown */
    int n_allowed;         /* CPUs this node's processes may use */
    int n_ranks;           /* of the launch; not filled in by nd_host_read, nor is the next */
    int is_treated;        /* 1: it has a generator, or an agent that is switched */
    int has_agent;         /* 1: such an agent */
    struct nl_quota quota; /* of CPU time, by the cgroups of whoever asked; without its accounts */
};

struct nd_binding {
    int rank, node;
    int pid;
    int cpu; /* the one CPU it is bound to, -1 when the binding holds several */
    int first_cpu;
    char host[ND_HOST_BYTES];
    char cpus[128];
};

/* Reads this node; unknown parts stay "". Local. */
void nd_host_read(struct nd_host *h);
void nd_binding_read(struct nd_binding *s, int rank);

/* {library, version, parameters}: settings in the environment, and the library's own variables for the
 * operations. New reference. */
json_t *nd_mpi_json(const char *const *operations, int n_operations);

/* What Slurm's environment says of the job, with mpi_type and account_sampling; JSON null outside of Slurm.
 * New reference. */
json_t *nd_slurm_json(void);

/* Most memory held so far (VmHWM), KiB; -1 when the system does not say. */
int64_t nd_peak_memory_kib(void);

json_t *nd_host_json(const struct nd_host *h);
json_t *nd_binding_json(const struct nd_binding *s);

/* What is known to differ among the nodes, and which of them differ from most; "". Returns the number of
 * properties. */
int nd_unlike_describe(const struct nd_host *hosts, int n_hosts, char *line, size_t size);

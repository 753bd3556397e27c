/* Where a number comes from: hosts, kernel, placement, MPI library. Everything is read, nothing is changed. */
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
    char switches[128]; /* above it (nd_switches_read); "": not known */
    int smt;      /* hardware threads per core, 0 unknown */
    int n_allowed; /* CPUs this node's processes may use */
    int n_ranks;   /* of the launch; not filled in by nd_host_read, nor is the next */
    int is_treated; /* 1: it has a generator, or an agent that is switched */
    int has_agent;  /* 1: such an agent */
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

/* Reads this node. Opens the topology for a moment. Local; unknown parts stay "". */
void nd_host_read(struct nd_host *h);
void nd_binding_read(struct nd_binding *s, int rank);

/* {library, version, parameters}: the library's version string, the settings in the environment that choose algorithms and transports,
 * and the library's own variables for the given operations (MPI tool interface). New reference. */
json_t *nd_mpi_json(const char *const *operations, int n_operations);

/* What Slurm's environment says of the job, by its own variables' names, with mpi_type (pmix, pmi2, pmi; null: not known) and
 * account_sampling (as for --acctg-freq; null: the cluster's own setting); JSON null outside of Slurm. New reference. */
json_t *nd_slurm_json(void);

/* Most memory this process has held so far (VmHWM), KiB; -1 when the system does not say. Local. */
int64_t nd_peak_memory_kib(void);

json_t *nd_host_json(const struct nd_host *h);
json_t *nd_binding_json(const struct nd_binding *s);

/* Nodes that are not alike: what differs among them, and which. A collective waits for its slowest node, so such a launch measures that
 * one. */

/* Writes into `line` what differs among the nodes and which of them differ from the most common kind, "" when they are all alike. Looks at
 * CPU model, CPUs that may be used, hardware threads per core, kernel and ranks per node; what is not known of a node is not compared.
 * @return number of properties in which they differ. Local. */
int nd_unlike_describe(const struct nd_host *hosts, int n_hosts, char *line, size_t size);

/* The switches above a node, as Slurm says them. */

/* The switches of an address such as s0.s[3,1-2].node7 of pattern switch.switch.node (SLURM_TOPOLOGY_ADDR, SLURM_TOPOLOGY_ADDR_PATTERN),
 * from the top, with points between. Several of one level are written one way, however Slurm wrote them; what is too long ends in a
 * checksum. Local.
 * @param node  Slurm's name of the node (SLURMD_NODENAME), which may have points; NULL: not known.
 * @param out   "" where address and pattern do not fit each other, or one is NULL: not known. */
void nd_switches_read(const char *address, const char *pattern, const char *node, char *out, size_t size);

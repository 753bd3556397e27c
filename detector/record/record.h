/* The files of a launch of noiselab-detect. Only rank 0 has one. */
#pragma once

#include <jansson.h>

#include "common/base/nl_hist.h"
#include "common/page/nl_agent.h"
#include "common/sys/nl_kernel.h"
#include "detector/halves/half_sum.h"
#include "detector/measure/starts.h"
#include "detector/nodes/provenance.h"
#include "detector/options/options.h"
#include "detector/record/launch_files.h"
#include "detector/record/node_rows.h"

struct nd_record {
    struct nd_files files;
    const struct nd_options *options;
    int n_ranks;
    FILE *rows;
    off_t rows_bytes;  /* up to the end of the last complete row */
    const char *table; /* the one that is being written */
    FILE *clocks;      /* opened by the first synchronisation */
};

/* What a rank or a node came to in one arm, summed over the halves. Gathered as bytes. */
struct nd_sum {
    int64_t n_halves;
    int64_t wall_ns; /* of the slowest rank, where there are several */
    int64_t preempted_ns, n_detours, detour_ns, n_involuntary; /* over ranks */
    int64_t rank_steal_ns;    /* over ranks, by their own clocks; may be below 0 */
    int64_t knows_rank_steal; /* 0: it is not known */
    struct nd_moments
        shift; /* over pairs: preempted share of the on half minus that of the off half, percent of one CPU */
};

/* The same of one rank, with what it alone knows of synchronised starts. */
struct nd_rank_sum {
    struct nd_sum sum;
    int64_t overshoot_ns_sum, overshoot_ns_max;
};

/* Whether `out` can hold a campaign of this schema: absent, empty, or launches of this schema. 0, or -1 after
 * a message. */
int nd_record_check_campaign(const char *out);

/* Makes the launch's folder and opens its rows. 0, or -1 after a message; to be closed in either case. */
int nd_record_open(struct nd_record **record, const struct nd_options *o, int n_ranks);

/* Appends a row. `n_cpus`: loaded on all nodes. 0, or -1: the disk is full or gone, and the file ends with
 * the last complete row. */
int nd_record_row(struct nd_record *r, const struct nd_half *h, int n_cpus);

/* One at a time: begin, ..._add, and end, which replaces the file. 0, or -1: after the first failure none is
 * begun any more. */
enum nd_table { ND_TABLE_HIST, ND_TABLE_STARTS_HIST, ND_TABLE_RANKS, ND_TABLE_NODES };
int nd_record_begin(struct nd_record *r, enum nd_table table);
int nd_record_end(struct nd_record *r);

/* `arm` counts from 0, ND_OFF: off; `measure` is an enum nd_start_measure, -1 in hist.csv. */
int nd_record_hist_add(struct nd_record *r, const struct nd_config *config, int arm, int measure,
                       const struct nl_hist *h);

/* A rank, or a node: n_arms + 1 of everything, 0 is off. */
int nd_record_ranks_add(struct nd_record *r, const struct nd_binding *binding, const struct nd_rank_sum *sums,
                        const int64_t *n_slowest, const struct nd_start_rank *starts);
int nd_record_nodes_add(struct nd_record *r, int node, const struct nd_host *host, const struct nd_sum *sums,
                        const int64_t *n_slowest);

int nd_record_clocks(struct nd_record *r, int run, const char *reason, const char *method,
                     const struct nd_sync_report *reports, const struct nd_binding *bindings,
                     int64_t zero_ns);

void nd_record_close(struct nd_record *r);

/* agent.HOST.csv: what the agent of one node did in every recorded half. Written by the node's first rank. */
struct nd_agent_half {
    struct nd_step step;
    int64_t switch_ns, settle_ns;
    struct nl_agent_account account;
    const struct nd_half_sum *ranks; /* of this node's ranks */
};

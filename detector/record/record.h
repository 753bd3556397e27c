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

/* The plan of a dry run on stdout: for people, or as one line of JSON (0, -1). */
void nd_rehearsal_print(const struct nd_options *o);
int nd_rehearsal_print_json(const struct nd_options *o);

/* Every start of every rank in a binary file (docs/reference/formats.md, Raw file). Opens `path`, which must
 * not exist, and writes the header; both count on rank 0 only. Collective; 0, or -1 after a message. */
int nd_raw_open(struct nd_raw **raw, const struct nd_team *team, const char *path, const json_t *header);

/* Appends a batch: s->records, s->n_done .. as blocks. Collective. 0, or -1 on rank 0 when the file cannot be
 * written. */
int nd_raw_write(struct nd_raw *raw, const struct nd_starter *s, int n_starts, int64_t n_switches);

void nd_raw_close(struct nd_raw *raw); /* NULL is fine */

/* agent.HOST.csv: what the agent of one node did in every recorded half. Written by the node's first rank. */
struct nd_agent_half {
    struct nd_step step;
    int64_t switch_ns, settle_ns;
    struct nl_agent_account account;
    const struct nd_half_sum *ranks; /* of this node's ranks */
};

/* Makes the file in the launch's folder; `host` is borrowed. NULL after a message. */
struct nd_node_rows *nd_agent_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                        int node, const char *host);

/* start_ns counts from the first row's. 0, or -1 after a message (the first time). */
int nd_agent_rows_add(struct nd_node_rows *rows, const struct nd_agent_half *half);

/* counters.HOST.csv: what the kernel counted on the CPUs of one node's ranks in every recorded half, and the
 * ranks for themselves. Written by the node's first rank. Used as the rows above. */
struct nd_counter_half {
    struct nd_step step;
    int64_t span_ns; /* between the two readings */
    int64_t counts[NL_N_KERNEL];
    int n_cpus;                       /* read */
    const struct nd_probe_sum *ranks; /* of this node */
};
struct nd_node_rows *nd_counter_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                          int node, const char *host);
int nd_counter_rows_add(struct nd_node_rows *rows, const struct nd_counter_half *half);

/* LIKWID's marker regions, such as alltoall_2048:off, under likwid-perfctr -m or likwid-mpirun; elsewhere
 * nothing. */
struct nd_markers;

/* Before MPI_Init: LIKWID starts processes, and is tried in a child first, because it may end its process.
 * NULL: nothing to mark. */
struct nd_markers *nd_markers_open(const struct nd_options *o);
const char *
nd_markers_problem(const struct nd_markers *m); /* why its counters cannot be used; "": they can */

/* Around a loop, outside of its measured time. `region`: config x (n_arms + 1) + arm + 1, as the histograms
 * are counted. */
void nd_markers_start(struct nd_markers *m, int region);
void nd_markers_stop(struct nd_markers *m, int region);

enum { ND_REGION_BYTES = 320 };
const char *nd_markers_name(const struct nd_options *o, int region, char name[ND_REGION_BYTES]);

void nd_markers_close(struct nd_markers *m);

/* Progress for people, on rank 0 between halves: how far, and how long still. */
struct nd_progress;
struct nd_progress *nd_progress_open(const struct nd_options *o, int64_t n_halves);
void nd_progress_begin(struct nd_progress *p);
void nd_progress_half(struct nd_progress *p);
int64_t
nd_progress_tick(struct nd_progress *p,
                 int64_t now_ns); /* shows a line where one is due. When the next one is; INT64_MAX: never */
void nd_progress_look(struct nd_progress *p, int look, int n_decided, int n_cells);
void nd_progress_close(struct nd_progress *p);

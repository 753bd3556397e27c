/* The files of a launch of noiselab-accept. Only rank 0 has one. */
#pragma once

#include "common/base/nl_hist.h"
#include "detector/acceptance/scan.h"
#include "detector/record/launch_files.h"

enum { NX_NAME_BYTES = 40 };

/* One figure. Sent as bytes. NaN, -1: unknown or not applicable. */
struct nx_row {
    char metric[NX_NAME_BYTES], unit[16], variant[NX_NAME_BYTES];
    double value, sd, min, max, median;
    int64_t n;            /* values behind it; -1 */
    int64_t bytes;        /* message size; -1 */
    int n_ranks, n_nodes; /* that took part; -1: all */
    int node;             /* -1: that of the rank */
    int rank;             /* -1: of all ranks */
    int peer_rank;        /* -1: none */
    int cpu;              /* -1: that the rank is bound to, where there is a rank */
};

/* What a row is written with, besides itself. */
struct nx_row_context {
    const char *check;
    int repetition, order;        /* 0: over all repetitions */
    int64_t start_ns, wall_ns;    /* of the check in that repetition; since the launch's first */
    int node, cpu, peer_node;     /* -1: none */
    const char *host, *peer_host; /* NULL: none */
    int n_ranks, n_nodes;
};

/* A histogram of a rank, named. Sent as bytes. */
struct nx_hist_name {
    char check[NX_NAME_BYTES], metric[NX_NAME_BYTES], variant[NX_NAME_BYTES];
    int64_t bytes;
    int cpu;
};
struct nx_hist {
    struct nx_hist_name name;
    struct nl_hist hist;
};

/* A word of an array that did not arrive as it was sent. Sent as bytes. */
struct nx_mismatch {
    int repetition, sender, receiver;
    int64_t bytes;        /* size of the message */
    int64_t offset_bytes; /* of the word in it */
    uint32_t expected, found;
};

/* What was kept of a scan. Sent as bytes, the detours behind it. */
struct nx_trace_head {
    int cpu, repetition, is_alone;
    int64_t wall_ns, n_detours, n_kept;
};

struct nx_record {
    struct nd_files files;
    FILE *rows;
    FILE *mismatches; /* NULL: none yet */
};

/* Makes the launch's folder and opens accept.csv. 0, or -1 after a message; to be closed in either case. */
int nx_record_open(struct nx_record **record, const char *out, const char *launch_id);

/* Appends a row; nx_record_flush hands rows to the system. 0, or -1 after a message. */
int nx_record_row(struct nx_record *r, const struct nx_row *row, const struct nx_row_context *c);
int nx_record_flush(struct nx_record *r);

/* accept_hist.csv, written whole: begin, bins as often as needed, end. 0 or -1. */
int nx_record_hists_begin(struct nx_record *r);
void nx_record_hist_bin(struct nx_record *r, const struct nx_hist_name *name, int rank, int node,
                        const char *host, int bin, uint64_t count);
int nx_record_hists_end(struct nx_record *r);

/* Appends to mismatches.csv, which exists once there is one. 0 or -1. */
int nx_record_mismatch(struct nx_record *r, const struct nx_mismatch *m, const char *sender_host,
                       const char *receiver_host);

/* Appends a scan to detours.HOST.trace. 0 or -1. */
int nx_record_trace(struct nx_record *r, const char *host, const struct nx_trace_head *head,
                    const struct nx_detour *detours);
void nx_record_close(struct nx_record *r);

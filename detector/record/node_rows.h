#pragma once

#include "detector/nodes/provenance.h"
#include "detector/record/launch_files.h"

struct nd_options;

/* A file KIND.HOST.csv of a launch, with a row for every recorded half, written as taken by the first rank of
 * a node. */
struct nd_node_rows {
    const struct nd_options *options;
    const char *host;
    int node;
    struct nd_files files; /* of the launch's folder */
    char name[ND_HOST_BYTES + 16];
    FILE *file;
    int64_t zero_ns; /* when the first row's half began */
};

/* Makes the file, and writes `header` (with the end of its line); `host` and `o` are borrowed. NULL after a
 * message. */
struct nd_node_rows *nd_node_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                       int node, const char *host, const char *kind, const char *header);
void nd_node_rows_close(struct nd_node_rows *rows); /* NULL is fine */

/* Tables of a profile, from the files of its ranks. */
#pragma once

#include <jansson.h>

#include "common/base/nl_usual.h"

/* What is known of a launch that has rank files. */
struct nf_tables {
    const char *folder, *launch; /* its id, in every row */
    int n_ranks;                 /* files that were read; 0: there are none */
    int n_expected;              /* ranks of the program */
    int n_nodes;
    int n_unfinished; /* ranks that did not come to MPI_Finalize */
    char library[129], program[257];
};

/* Reads the ranks' files and writes operations.csv, ranks.csv and arrivals.csv beside them. 0, or -1 with a
 * line on stderr: a file is none of this version, or a table cannot be written. */
int nf_tables_write(struct nf_tables *t);

/* Calls `use` for each rank.N.END of a folder, until it does not return 0. What it returned, 0, or -1: there
 * is no folder. */
int nf_each_file(const char *folder, const char *end, int (*use)(const char *path, void *context),
                 void *context);

/* Removes these files. */
void nf_tidy(const char *folder, const char *end);

/* The folder of a launch, and how files in it are written. Only rank 0 has one. Failures are -1; the first is
 * said in a line. */
#pragma once

#include <jansson.h>

#include "common/sys/nl_whole.h"

struct nd_files {
    char launch[192], folder[PATH_MAX]; /* its id; OUT/ID */
    int64_t n_rows;                     /* in the file of rows, so far */
    int has_failed;                     /* a full disk makes every later write fail, too */
    int is_hushed;                      /* and that has been said */
    struct nl_whole whole;              /* what is being written to replace a file */
};

/* Makes OUT, where it is not there, and in it the launch's folder, which must not be there. `launch_id` NULL:
 * by time, host, pid. */
int nd_files_open(struct nd_files *f, const char *out, const char *launch_id);

FILE *nd_files_make(struct nd_files *f, const char *name, const char *mode);

/* That a file cannot be written is said, and why, unless it has been. -1. */
int nd_files_fail(struct nd_files *f, const char *name, const char *why);

/* Hands what was written to the system, and looks whether the file still has its name. */
int nd_files_flush(struct nd_files *f, FILE *file, const char *name);

/* Opens f->whole; nd_files_end moves it into its place, or (`is_bad`, nothing open) leaves the old one there.
 */
int nd_files_begin(struct nd_files *f, const char *name);
int nd_files_end(struct nd_files *f, const char *name, int is_bad);

/* Replaces launch.json by `json` (borrowed); tried even after a failure. */
int nd_files_launch_json(struct nd_files *f, json_t *json);

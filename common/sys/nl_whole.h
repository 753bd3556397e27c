/* Whole files: a reader finds the old file or the new one, never half of one, and so it is after a crash of
 * the node. A file is written beside its place, brought to the disk, and moved there. */
#pragma once

#include "common/base/nl_usual.h"

enum { NL_WHOLE_BYTES = PATH_MAX + 320 };

/* One file under way; all zero: none. */
struct nl_whole {
    FILE *f;                   /* to write to; NULL: none is open */
    char path[NL_WHOLE_BYTES]; /* its place */
};

/* Opens PATH.new, a file of its own whatever stood there (in a folder that others can write it may be a
 * link). 0, or -1 with errno. */
int nl_whole_open(struct nl_whole *w, const char *path, mode_t mode);

/* Puts it into its place, or, where `is_bad` or anything fails, removes it and leaves the old one there.
 * Without an open file: -1.
 * @return 0, or -1 with errno (that of the caller where it is_bad). */
int nl_whole_close(struct nl_whole *w, int is_bad);

/* The same for a file that is replaced again and again, and need not outlive a crash of the node: it is not
 * brought to the disk, which would make work for others each time. */
int nl_whole_replace(struct nl_whole *w, int is_bad);

/* A small file as a string, "" when it cannot be read; what does not fit is left out. Its length, -1 with
 * errno. */
int nl_read(const char *path, char *text, size_t size);

/* Its first line, without the end. Returns `text`. */
const char *nl_read_line(const char *path, char *text, size_t size);

/* What comes from a pipe until its end, until there is no more room, or until the time is over; as a string.
 * Its length. */
size_t nl_read_fd(int fd, char *text, size_t size, int64_t patience_ns);

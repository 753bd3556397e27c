/* Slices of the loop: how long every few hundred operations took, written to slices.HOST.bin between halves
 * by the node's first rank. */
#pragma once

#include <jansson.h>

#include "detector/design/schedule.h"

#define ND_SLICE_NS INT64_C(200000) /* planned length of a slice */

enum {
    ND_SLICES_MOST = 32768
}; /* kept until they are written: a loop that outlasts them has them written between two of its chunks */

/* What is wrong with a block of slices; or-ed together. */
enum nd_slices_flag {
    ND_SLICES_SATURATED = 1, /* a slice took longer than 32 bits of ns hold, and stands as 2^32 - 1 */
    ND_SLICES_CUT = 2        /* the last slices are missing */
};

struct nd_slices_file;
struct nd_burst_log;

struct nd_slices {
    int64_t n_per_slice; /* operations */
    int64_t start_ns;    /* of the first one kept, CLOCK_MONOTONIC */
    int64_t last_ns;     /* end of the last one */
    int64_t n_left;      /* operations until the next one ends */
    int64_t n;           /* kept */
    uint32_t flags;      /* enum nd_slices_flag */
    uint32_t ns[ND_SLICES_MOST];
    const struct nd_step
        *step; /* the half they belong to; NULL: it is not recorded, and what does not fit is forgotten */
    struct nd_slices_file *file; /* borrowed */
    struct nd_burst_log
        *bursts;    /* of the node's generator, taken in between chunks; borrowed, NULL: there is none */
    int has_failed; /* a block could not be written */
};

static inline void nd_slices_begin(struct nd_slices *s, int64_t now_ns) {
    s->start_ns = s->last_ns = now_ns;
    s->n_left = s->n_per_slice;
    s->n = 0;
    s->flags = 0;
}

static inline void nd_slices_pass(struct nd_slices *s, int64_t n) {
    s->n_left -= n;
    if (s->n_left > 0) return;
    int64_t now_ns = nl_mono_ns(), took_ns = now_ns - s->last_ns;
    if (took_ns > UINT32_MAX) {
        took_ns = UINT32_MAX;
        s->flags |= ND_SLICES_SATURATED;
    }
    if (s->n < ND_SLICES_MOST)
        s->ns[s->n++] = (uint32_t)took_ns;
    else
        s->flags |= ND_SLICES_CUT;
    s->last_ns = now_ns;
    s->n_left = s->n_per_slice;
}

int64_t nd_slices_operations(double operation_ns);

/* Takes in the generator's bursts; slices kept that would leave no room for those of n_operations are
 * written, and begin anew. */
void nd_slices_before_chunk(struct nd_slices *s, int64_t n_operations);

/* 0, or -1 with errno, as where the file exists. */
int nd_slices_open(struct nd_slices_file **file, const char *path, const json_t *header);

/* Appends what is kept as a block of its half, all of it or nothing, and forgets it. 0, or -1 with errno. */
int nd_slices_write(struct nd_slices *s);

void nd_slices_close(struct nd_slices_file *file); /* NULL is fine */

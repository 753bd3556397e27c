/* Buffers of an operation: how many sets, and whether caches know them. */
#pragma once

#include "common/base/nl_usual.h"

enum nd_buffer_use {
    ND_BUFFER_REUSE,  /* the same buffers every time: in cache, as far as they fit */
    ND_BUFFER_ROTATE, /* the next of so many sets that together exceed the last-level cache twice (or of
                         ND_BUFFERS_MOST_SETS) */
    ND_BUFFER_FLUSH   /* the same buffers, whose lines are evicted before every operation */
};
extern const char *const nd_buffer_use_names[]; /* by enum, ends with NULL */

struct nd_buffer_options {
    enum nd_buffer_use use;
    int n_sets; /* 0: what nd_buffers_sets says */
};

/* Small messages touch a line or two of a set's pages: with so many sets they do not exceed the cache, and
 * flushing is the way. */
#define ND_BUFFERS_MOST_SETS 4096

/* Sets of a send and a receive buffer, all of equal size, each at a multiple of 4 KiB. */
struct nd_buffers {
    int n_sets, current;
    int64_t send_bytes, receive_bytes; /* of one set; at least 1 */
    void **send, **receive;            /* n_sets each */
    void *memory;                      /* what they lie in; owned */
    size_t memory_bytes;
    void *walk; /* what is read to evict lines where there is no instruction for that; NULL where there is
                   one; owned */
    size_t walk_bytes;
};

/* Size of the last-level cache of the calling CPU, bytes; 32 MiB where nobody says. Local. */
int64_t nd_buffers_cache_bytes(void);

/* How many sets the options ask for with buffers of that size; and the memory that nd_buffers_open takes at
 * most for them. Local. */
int nd_buffers_sets(const struct nd_buffer_options *o, int64_t set_bytes);

int64_t nd_buffers_memory_bytes(const struct nd_buffer_options *o, int64_t set_bytes);

/* Allocates all sets and touches everything. 0, or -1 when memory is short. Local. */
int nd_buffers_open(struct nd_buffers *b, const struct nd_buffer_options *o, int64_t send_bytes,
                    int64_t receive_bytes);

void nd_buffers_flush(const struct nd_buffers *b);

void nd_buffers_close(struct nd_buffers *b); /* fine on a zeroed one */

/* When a load ran: a ring of bursts in shared memory with one writer, the thread that runs them, and one
 * reader. The writer never waits: bursts that the reader was too late for are lost, and the reader counts
 * them. */
#pragma once

#include "common/base/nl_usual.h"

enum { NL_BURSTS_MOST = 1024 };

struct nl_burst {
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
};

struct nl_bursts {
    _Atomic int64_t since_ns; /* start of the burst that now runs; 0: none */
    _Atomic int64_t n;        /* bursts ended, ever */
    struct nl_burst ring[NL_BURSTS_MOST];
};

/* A burst begins. */
static inline void nl_bursts_begin(struct nl_bursts *b, int64_t start_ns) {
    atomic_store_explicit(&b->since_ns, start_ns, memory_order_release);
}

/* The burst that runs ends. */
static inline void nl_bursts_end(struct nl_bursts *b, int64_t end_ns) {
    int64_t n = atomic_load_explicit(&b->n, memory_order_relaxed);
    b->ring[n % NL_BURSTS_MOST] =
        (struct nl_burst){atomic_load_explicit(&b->since_ns, memory_order_relaxed), end_ns};
    atomic_store_explicit(&b->n, n + 1, memory_order_release);
    atomic_store_explicit(&b->since_ns, 0, memory_order_release);
}

/* Takes the bursts that ended since `taken`, which is moved on, in the order of their ends.
 * @param bursts  room for NL_BURSTS_MOST. @param n_lost  raised by those that were overwritten before.
 * @return how many were taken. */
static inline int nl_bursts_take(struct nl_bursts *b, int64_t *taken, struct nl_burst *bursts,
                                 int64_t *n_lost) {
    int64_t from = *taken, n = atomic_load_explicit(&b->n, memory_order_acquire);
    /* the oldest place may be written to just now */
    if (n - from > NL_BURSTS_MOST - 1) from = n - (NL_BURSTS_MOST - 1);
    for (int64_t i = from; i < n; i++)
        bursts[i - from] = b->ring[i % NL_BURSTS_MOST];
    atomic_thread_fence(memory_order_acquire);
    int64_t good = atomic_load_explicit(&b->n, memory_order_relaxed) - (NL_BURSTS_MOST - 1);
    if (good < from) good = from;
    if (good > n) good = n;
    for (int64_t i = good; i < n; i++)
        bursts[i - good] = bursts[i - from];
    *n_lost += good - *taken;
    *taken = n;
    return (int)(n - good);
}

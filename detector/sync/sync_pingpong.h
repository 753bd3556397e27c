/* What the methods of clock synchronisation share: exchanges between two ranks, walks along a binomial tree, and an eye on the own
 * clock. */
#pragma once

#include "detector/sync/sync.h"

/* An exchange: asked at T', answered with the other's clock T0, the answer here at T''. The other read its clock between T' and T'', so
 * offset_ns is right to rtt_ns/2, whatever happened to either rank meanwhile. */
struct nd_exchange {
    int64_t local_ns;  /* (T' + T'')/2, on the asker's clock */
    int64_t offset_ns; /* local_ns - T0 */
    int64_t rtt_ns;    /* T'' - T' */
};

/* What was seen of a clock that cannot be. Larger numbers are surer about whose clock it was. */
enum nd_sync_fault { ND_SYNC_GOOD, ND_SYNC_STEPPED_OF_TWO, ND_SYNC_STEPPED, ND_SYNC_BACKWARDS };

/* One rank's end of all exchanges, and what it has seen of its own clock. */
struct nd_pingpong {
    const struct nd_clock *clock;
    MPI_Comm comm;
    int rank, n_ranks;                 /* of `comm` */
    const struct nd_sync_model *model; /* answers are in global time by this model; NULL: the clock's own time */
    int64_t n_exchanges;               /* asked for */

    int64_t last_ns; /* the last reading: none may be smaller */
    /* the clock beside CLOCK_MONOTONIC_RAW at the last look */
    int is_watched;
    int64_t watched_ns, watched_raw_ns, watched_error_ns;

    enum nd_sync_fault fault;
    int64_t fault_ns; /* by how much */
    int fault_peer;   /* ND_SYNC_STEPPED_OF_TWO: the other rank, of `comm` */
};

/* The fastest that two clocks may drift apart; what is faster counts as a step. Crystals stay below 100 ppm, NTP slews by 500 ppm at
 * most. */
#define ND_SYNC_MAX_RATE 1000e-6

/* `comm` must outlive it and carry nothing else meanwhile; MPI_COMM_NULL where the rank only watches its clock. Local. */
void nd_pingpong_open(struct nd_pingpong *p, const struct nd_clock *clock, MPI_Comm comm);

/* Notes a fault unless a surer one is known. Local. */
void nd_pingpong_fault(struct nd_pingpong *p, enum nd_sync_fault fault, int64_t ns, int peer);

/* Compares how far the clock and CLOCK_MONOTONIC_RAW have gone since the last look. A difference above ND_SYNC_MAX_RATE is a step of this
 * rank's own clock. Costs three clock readings. Local. */
void nd_pingpong_watch(struct nd_pingpong *p);

/* How far the offset of an exchange may be off at most, ns: half the round trip, and what the clocks' resolution and rates add to it. */
double nd_pingpong_bound_ns(const struct nd_pingpong *p, const struct nd_exchange *e);

/* Makes exchanges with `peer`, who calls nd_pingpong_answer with n = 0, until the shortest round trip has not become shorter for `patience`
 * > 0 exchanges (Kurnosov 2012), 100 x patience in all at most. */
void nd_pingpong_ask_patiently(struct nd_pingpong *p, int peer, int patience, struct nd_exchange *best);

void nd_pingpong_answer(struct nd_pingpong *p, int peer, int n);

/* The binomial tree over `comm`: rank r's parent is r without its lowest set bit. In round k of a walk the ranks that differ in bit k only
 * are pairs, so all pairs of a round work at the same time and a walk takes ceil(log2 n) rounds. */

/* Lets every rank make n exchanges with its parent. Collective over `comm`.
 * @return 1, with the best exchange in `best`; 0 at the root, which has no parent. */
int nd_pingpong_walk(struct nd_pingpong *p, int n, struct nd_exchange *best);

/* Receives `size` bytes from the parent; the root does nothing. Each rank then calls nd_pingpong_hand_down. */
void nd_pingpong_take_from_above(struct nd_pingpong *p, void *data, int size);
void nd_pingpong_hand_down(struct nd_pingpong *p, const void *data, int size);

/* Which call of a program is its beat, and after how many beats it repeats itself: pure functions. */
#ifndef ND_BEATS_H
#define ND_BEATS_H

#include "common/base/nl_usual.h"

enum { ND_BEAT_WINDOWS = 10 };

/* How often a row's calls came in equal windows of time, one after the other. */
struct nd_beat_counts {
    int64_t n[ND_BEAT_WINDOWS];
    int is_polling;       /* 1: it asks whether something has come (test, iprobe): its number says nothing about progress */
    int is_synchronising; /* 1: all ranks meet in it */
};

/* The row that repeats most regularly: of those whose counts scatter little more than the least (relative standard deviation, and half a
 * call for where a window ends), one where ranks meet, else the most frequent.
 * @return its index; -1: none comes in every second window at least. */
int nd_beats_choose(const struct nd_beat_counts *rows, int n_rows);

/* After how many beats their distances repeat, by autocorrelation; 1 where they do not.
 * @param at_ns  when n beats ended, in order. */
int64_t nd_beats_period(const int64_t *at_ns, int n);

/* Median distance of beats, ns; 0 for fewer than two. */
int64_t nd_beats_median_ns(const int64_t *at_ns, int n);

#endif

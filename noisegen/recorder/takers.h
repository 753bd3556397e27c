/* Who had the CPUs: the tasks with the most time, and in what rhythm each came. */
#pragma once

#include "noisegen/recorder/recorder.h"

enum { NR_MOST_TAKERS = 12 };

/* All tasks of one name; of the kernel's threads what stands before the slash (kworker/1:2 is kworker). */
struct nr_taker {
    char task[16];
    int64_t busy_ns;    /* on CPUs */
    int64_t n_bursts;   /* bursts as the task's own activities; -1: this source sees none, nor what follows */
    int64_t typical_ns; /* the median of their time on CPUs */
    int64_t longest_ns;
    double period_ns;   /* 0: none found */
    char cpus[48];      /* those with a twentieth of its time or more, the busiest first */
};

/* Fills at most `most` takers, those with the most time first.
 * @param bursts  sorted by start; none: the recorder's account of CPU time counts, without idle time and noiselab itself.
 * @return their number, -1 without memory. */
int nr_takers(const struct nr_recorder *recorder, const struct nr_burst *bursts, size_t n, struct nr_taker *takers, int most);

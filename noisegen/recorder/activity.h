/* From single bursts to activities. An agent's threads switch among themselves and sleep for moments, so one activity (a sample taken, a
 * scrape answered) leaves many bursts; what repeats with a period, and what a replay needs, are the activities. */
#pragma once

#include "noisegen/recorder/recorder.h"

/* One activity on one CPU, or on all of them. */
struct nr_activity {
    int64_t start_ns, end_ns;
    int64_t busy_ns;    /* time on CPUs within it */
    int64_t longest_ns; /* of one burst */
    int64_t n_bursts;
    int32_t cpu;   /* -1: not known, or of all CPUs */
    uint32_t name; /* of its longest burst */
};

/* Joins bursts that are at most gap_ns apart.
 * @param bursts      sorted by start.
 * @param by_cpu      1: each CPU for itself; 0: all CPUs as one.
 * @param activities  room for n; sorted by start afterwards.
 * @return their number. */
size_t nr_activities(const struct nr_burst *bursts, size_t n, int64_t gap_ns, int by_cpu, struct nr_activity *activities);

/* What repeats. */
struct nr_rhythm {
    int64_t gap_ns;    /* bursts closer than this belong to one activity */
    double period_ns;  /* 0: there is none */
    double regularity; /* share of the activities' CPU time whose next one starts one or two periods later, within 15 %; or how far starts
                        * keep to one phase (Rayleigh's R over 32 of them at a time), where that is more */
    double period_error_ns; /* half of the period's 99 % interval */
    double jitter_ns;  /* median distance of starts from one period (or two) after the one before */
};

/* Finds gap and period together: for each gap of a 1-2-5 series, the median distance of the starts of those activities that carry most of
 * the CPU time is a candidate, the period near it to whose phase the first 32 keep best another; a candidate is as good as its regularity;
 * the longest period among the good ones is taken (shorter ones come from the parts of an activity) with the middle of the gaps that lead
 * to it. The period is then the slope of a line through the starts against their whole numbers, in which missed activities count as what
 * they are and late ones are left out: the median of the slopes of all pairs (Theil 1950), with Sen's interval (1968, by Kendall's S),
 * wider where delays add up: a program that sleeps after its work has no clock to keep to.
 * @param bursts  sorted by start.
 * @param gap_ns  0: to be found.
 * @return 0, -1 without memory. */
int nr_rhythm(const struct nr_burst *bursts, size_t n, int64_t gap_ns, struct nr_rhythm *rhythm);

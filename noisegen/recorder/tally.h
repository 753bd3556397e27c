/* The table of tasks: arm x CPU x name x group, with bursts, time, a histogram of lengths (bins of nl_hist)
 * and the number of threads. Histograms are kept as counts of the bins in use, so that thousands of rows fit.
 */
#pragma once

#include "noisegen/recorder/recorder.h"

/* Counts by a 64-bit key, in open addressing. Grows only in nr_map_reserve, so that counting allocates
 * nothing. */

struct nr_map_entry {
    uint64_t key; /* 0: free */
    uint64_t count;
};

struct nr_map {
    struct nr_map_entry *entries;
    size_t capacity, n; /* capacity: a power of two, 0 before the first reserve */
    uint64_t n_dropped; /* keys that found no room */
};

/* Room for n_new keys more. @return 0, -1 without memory. */
int nr_map_reserve(struct nr_map *map, size_t n_new);

/* The count of a key other than 0, made with 0 where it is new; NULL when the table is full. No
 * allocation. */
uint64_t *nr_map_at(struct nr_map *map, uint64_t key);

void nr_map_free(struct nr_map *map);

struct nr_row {
    int arm, cpu;
    uint32_t name;
    enum nr_group group;
    int64_t n_bursts, wall_ns, max_ns;
    int64_t cpu_ns;    /* -1: not known by this source */
    int has_wall;      /* 0: this source counts, but sees no times */
    int64_t n_threads; /* distinct ones */
};

struct nr_tally {
    struct nr_row *rows;
    uint32_t n_rows, capacity;
    struct nr_map index;   /* row by what it is about; + 1 */
    struct nr_map bins;    /* bursts by row and bin of nl_hist */
    struct nr_map threads; /* those seen, by row and number */
    struct nr_map processes; /* of sources without bursts: CPU time by row and process */
};

/* Room for what the next measured stretch may bring. @return 0, -1 without memory. */
int nr_tally_reserve(struct nr_tally *tally);
void nr_tally_free(struct nr_tally *tally);

/* The row, made where it is new; NULL when there is no room. No allocation. */
struct nr_row *nr_tally_row(struct nr_tally *tally, int arm, int cpu, uint32_t name, enum nr_group group);

/* Adds a burst of a thread (0: not known). No allocation. */
void nr_tally_burst(struct nr_tally *tally, const struct nr_burst *burst);

/* Adds CPU time of a process to what a row has. May allocate. */
void nr_tally_process(struct nr_tally *tally, const struct nr_row *row, pid_t pid, int64_t ns);

/* Quantiles of the lengths of a row's bursts, ns; -1 where there are none. `sorted` is
 * nr_tally_sorted_bins. */
struct nr_quantiles { int64_t p50_ns, p90_ns, p99_ns; };
struct nr_map_entry *nr_tally_sorted_bins(const struct nr_tally *tally,
                                          size_t *n); /* to be freed; NULL without memory or bins */
struct nr_quantiles nr_tally_quantiles(const struct nr_map_entry *sorted, size_t n, uint32_t row);

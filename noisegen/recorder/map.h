/* Counts by a 64-bit key, in open addressing. Grows only in nr_map_reserve, so that counting allocates nothing. */
#ifndef NR_MAP_H
#define NR_MAP_H

#include "common/base/nl_usual.h"

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

/* The count of a key other than 0, made with 0 where it is new; NULL when the table is full. No allocation. */
uint64_t *nr_map_at(struct nr_map *map, uint64_t key);

void nr_map_free(struct nr_map *map);

#endif

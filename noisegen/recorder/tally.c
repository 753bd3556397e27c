#include "noisegen/recorder/tally.h"
#include "common/base/nl_hist.h"

enum { NEW_ROWS = 1024, NEW_BINS = 65536, NEW_THREADS = 65536, BIN_BITS = 14 };
_Static_assert(NL_HIST_BINS <= 1 << BIN_BITS, "a bin of nl_hist fits into its bits of a key");

int nr_tally_reserve(struct nr_tally *t) {
    if (t->capacity - t->n_rows < NEW_ROWS) {
        struct nr_row *rows = realloc(t->rows, (t->n_rows + 2 * (size_t)NEW_ROWS) * sizeof *rows);
        if (!rows) return -1;
        t->rows = rows;
        t->capacity = t->n_rows + 2 * NEW_ROWS;
    }
    return nr_map_reserve(&t->index, NEW_ROWS) || nr_map_reserve(&t->bins, NEW_BINS) ||
                   nr_map_reserve(&t->threads, NEW_THREADS)
               ? -1
               : 0;
}

void nr_tally_free(struct nr_tally *t) {
    free(t->rows);
    nr_map_free(&t->index);
    nr_map_free(&t->bins);
    nr_map_free(&t->threads);
    nr_map_free(&t->processes);
    *t = (struct nr_tally){0};
}

static uint64_t *row_number(struct nr_tally *t, int arm, int cpu, uint32_t name, enum nr_group group) {
    uint64_t key = ((((uint64_t)arm << 16 | (uint16_t)cpu) << 16 | name) << 8 | (uint64_t)group) + 1;
    uint64_t *number = t->n_rows < t->capacity ? nr_map_at(&t->index, key) : NULL;
    if (number && *number == 0) {
        t->rows[t->n_rows++] =
            (struct nr_row){.arm = arm, .cpu = cpu, .name = name, .group = group, .max_ns = -1, .cpu_ns = -1};
        *number = t->n_rows;
    }
    return number;
}

struct nr_row *nr_tally_row(struct nr_tally *t, int arm, int cpu, uint32_t name, enum nr_group group) {
    const uint64_t *number = row_number(t, arm, cpu, name, group);
    return number ? &t->rows[*number - 1] : NULL;
}

void nr_tally_burst(struct nr_tally *t, const struct nr_burst *burst) {
    const uint64_t *number = row_number(t, burst->arm, burst->cpu, burst->name, burst->group);
    if (!number) return;
    struct nr_row *row = &t->rows[*number - 1];
    int64_t length_ns = burst->end_ns - burst->start_ns;
    row->n_bursts++;
    row->wall_ns += length_ns;
    row->has_wall = 1;
    if (length_ns > row->max_ns) row->max_ns = length_ns;
    uint64_t *count = nr_map_at(&t->bins, *number << BIN_BITS | (uint64_t)nl_hist_index(length_ns));
    if (count) ++*count;
    uint64_t *thread = burst->tid > 0 ? nr_map_at(&t->threads, *number << 32 | (uint32_t)burst->tid) : NULL;
    if (thread && ++*thread == 1) row->n_threads++;
}

void nr_tally_process(struct nr_tally *t, const struct nr_row *row, pid_t pid, int64_t ns) {
    if (nr_map_reserve(&t->processes, 1)) return;
    uint64_t *had = nr_map_at(&t->processes, ((uint64_t)(row - t->rows) + 1) << 32 | (uint32_t)pid);
    if (had) *had += (uint64_t)ns;
}

static int compare_keys(const void *a, const void *b) {
    const struct nr_map_entry *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

struct nr_map_entry *nr_tally_sorted_bins(const struct nr_tally *t, size_t *n) {
    *n = 0;
    struct nr_map_entry *sorted = t->bins.n > 0 ? malloc(t->bins.n * sizeof *sorted) : NULL;
    if (!sorted) return NULL;
    for (size_t i = 0; i < t->bins.capacity; i++)
        if (t->bins.entries[i].key) sorted[(*n)++] = t->bins.entries[i];
    qsort(sorted, *n, sizeof *sorted, compare_keys);
    return sorted;
}

struct nr_quantiles nr_tally_quantiles(const struct nr_map_entry *sorted, size_t n, uint32_t row) {
    struct nl_hist hist = {{0}};
    uint64_t first = (uint64_t)(row + 1) << BIN_BITS, end = (uint64_t)(row + 2) << BIN_BITS;
    size_t lo = 0, hi = n;
    while (lo < hi) { /* the first bin of this row */
        size_t middle = (lo + hi) / 2;
        if (sorted[middle].key < first) lo = middle + 1;
        else hi = middle;
    }
    for (; lo < n && sorted[lo].key < end; lo++) hist.bins[sorted[lo].key - first] = sorted[lo].count;
    return (struct nr_quantiles){nl_hist_quantile(&hist, 0.5), nl_hist_quantile(&hist, 0.9),
                                 nl_hist_quantile(&hist, 0.99)};
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): neighbouring keys land far apart. */
static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static struct nr_map_entry *find(struct nr_map_entry *entries, size_t capacity, uint64_t key) {
    size_t i = mixed(key) & (capacity - 1);
    while (entries[i].key && entries[i].key != key) i = (i + 1) & (capacity - 1);
    return &entries[i];
}

/* A table is at most three quarters full. */
static size_t room(const struct nr_map *map) { return map->capacity / 4 * 3; }

int nr_map_reserve(struct nr_map *map, size_t n_new) {
    if (map->n + n_new <= room(map)) return 0;
    size_t capacity = map->capacity ? map->capacity : 1024;
    while (capacity / 4 * 3 < map->n + n_new) capacity *= 2;
    struct nr_map_entry *entries = calloc(capacity, sizeof *entries);
    if (!entries) return -1;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key) *find(entries, capacity, map->entries[i].key) = map->entries[i];
    free(map->entries);
    map->entries = entries;
    map->capacity = capacity;
    return 0;
}

uint64_t *nr_map_at(struct nr_map *map, uint64_t key) {
    if (map->capacity == 0) return NULL;
    struct nr_map_entry *entry = find(map->entries, map->capacity, key);
    if (entry->key) return &entry->count;
    if (map->n >= room(map)) {
        map->n_dropped++;
        return NULL;
    }
    map->n++;
    entry->key = key;
    return &entry->count;
}

void nr_map_free(struct nr_map *map) {
    free(map->entries);
    *map = (struct nr_map){0};
}

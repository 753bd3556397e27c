#include "noisegen/recorder/map.h"

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
static size_t room(const struct nr_map *map) {
    return map->capacity / 4 * 3;
}

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

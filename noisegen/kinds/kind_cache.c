/* cache: writes to every line of a buffer as large as the CPU's last cache, L3 or L2, and so evicts what
 * others had in it. The order of the lines is one that no prefetcher follows: each is fetched because this
 * thread asks for it. */
#include <hwloc.h>

#include "noisegen/kinds/kinds.h"

/* Few enough for half a microsecond where every one of them comes from memory. */
enum { LINES_PER_QUANTUM = 4 };

struct cache_state {
    struct ng_array array;
    size_t line_bytes;
    uint64_t n_lines, n_touched; /* in the buffer, in this sweep */
    uint64_t random,
        mask; /* of the order: a random number below mask + 1, a power of two not below n_lines */
    int shift;
};

/* Size and line of the cache of a CPU. */
struct cache {
    int64_t n_bytes;
    size_t line_bytes;
};

/* That of the last level. */
static int find_cache(hwloc_topology_t topology, int cpu, struct cache *cache, char *reason,
                      size_t reason_size) {
    hwloc_obj_t object = cpu < 0 ? NULL : hwloc_get_pu_obj_by_os_index(topology, (unsigned)cpu), found = NULL;
    if (!object) return nl_say(reason, reason_size, "CPU %d is not in this machine's topology", cpu);
    for (; object; object = object->parent) {
        if (object->type == HWLOC_OBJ_L2CACHE || object->type == HWLOC_OBJ_L3CACHE) found = object;
    }
    if (!found) return nl_say(reason, reason_size, "CPU %d has neither L2 nor L3 cache, or hides them", cpu);
    if (found->attr->cache.size == 0)
        return nl_say(reason, reason_size, "CPU %d does not tell the size of its cache", cpu);
    cache->n_bytes = (int64_t)found->attr->cache.size;
    cache->line_bytes = found->attr->cache.linesize ? found->attr->cache.linesize : 64;
    return 0;
}

static int ask_topology(int cpu, struct cache *cache, char *reason, size_t reason_size) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology)) return nl_say(reason, reason_size, "no memory for the topology");
    int rc = hwloc_topology_load(topology)
                 ? nl_say(reason, reason_size, "cannot read this machine's topology")
                 : find_cache(topology, cpu, cache, reason, reason_size);
    hwloc_topology_destroy(topology);
    return rc;
}

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    struct cache cache = {0};
    if (ask_topology(options->cpu, &cache, reason, reason_size)) return -1;
    int64_t n_lines = cache.n_bytes / (int64_t)cache.line_bytes;
    struct cache_state *s = state;
    if (ng_array_open(&s->array, n_lines * (int64_t)cache.line_bytes, NG_PAGES_HUGE, reason, reason_size))
        return -1;
    s->line_bytes = cache.line_bytes;
    s->n_lines = (uint64_t)n_lines;
    int n_bits = 0;
    while ((UINT64_C(1) << n_bits) < s->n_lines)
        n_bits++;
    s->mask = (UINT64_C(1) << n_bits) - 1;
    s->shift = n_bits / 2 + 1;
    return 0;
}

/* The next line. A congruential generator of full period (Hull & Dobell 1962: multiplier 1 mod 4, odd
 * increment) visits all numbers of n bits once before it repeats; folding the upper half into the lower one,
 * which alone would follow a short pattern, keeps it a permutation, and so does leaving out the numbers
 * beyond the last line. */
static uint64_t next_line(struct cache_state *s) {
    for (;;) {
        s->random = (s->random * 6364136223846793005u + 1442695040888963407u) & s->mask;
        uint64_t line = s->random ^ (s->random >> s->shift);
        if (line < s->n_lines) return line;
    }
}

static int64_t work(void *state) {
    struct cache_state *s = state;
    for (int i = 0; i < LINES_PER_QUANTUM; i++) {
        /* read and written: a mere store would retire before its line came, and its time would be somebody
         * else's */
        ++*(volatile unsigned char *)(s->array.bytes + next_line(s) * s->line_bytes);
        if (++s->n_touched < s->n_lines) continue;
        s->n_touched = 0;
        return 1;
    }
    return 0;
}

const struct ng_kind ng_kind_cache = {
    .name = "cache",
    .help = "evicts the L3 cache, or the L2 where there is none",
    .unit = "sweeps",
    .needs = "as much memory as that cache",
    .period_ns = 10000000,
    .state_bytes = sizeof(struct cache_state),
    .prepare = prepare,
    .work = work,
    .clean_up = ng_array_clean_up,
};

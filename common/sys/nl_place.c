#include "common/sys/nl_place.h"
#include "common/sys/nl_whole.h"

#include <hwloc.h>

struct nl_place {
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed;
};

int nl_place_open(struct nl_place **place) {
    struct nl_place *p = calloc(1, sizeof *p);
    if (!p) return -1;
    if (hwloc_topology_init(&p->topology)) {
        free(p);
        return -1;
    }
    if (hwloc_topology_load(p->topology) == 0)
        p->allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(p->topology));
    if (p->allowed) {
        *place = p;
        return 0;
    }
    nl_place_close(p);
    return -1;
}

void nl_place_close(struct nl_place *p) {
    if (!p) return;
    hwloc_bitmap_free(p->allowed);
    hwloc_topology_destroy(p->topology);
    free(p);
}

void nl_place_restrict_to_binding(struct nl_place *p) {
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (bound && hwloc_get_cpubind(p->topology, bound, HWLOC_CPUBIND_THREAD) == 0)
        hwloc_bitmap_and(p->allowed, p->allowed, bound);
    hwloc_bitmap_free(bound);
}

int nl_place_is_allowed(const struct nl_place *p, int cpu) {
    return cpu >= 0 && hwloc_bitmap_isset(p->allowed, (unsigned)cpu);
}

int nl_place_first(const struct nl_place *p) { return hwloc_bitmap_first(p->allowed); }

int nl_place_count(const struct nl_place *p) { return hwloc_bitmap_weight(p->allowed); }

int nl_place_cores(const struct nl_place *p) {
    int n = 0;
    for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_CORE, core));)
        n += hwloc_bitmap_intersects(core->cpuset, p->allowed);
    return n ? n : nl_place_count(p);
}

int nl_place_cpus(const struct nl_place *p, int *cpus, int max) {
    int n = 0;
    for (int cpu = hwloc_bitmap_first(p->allowed); cpu >= 0 && n < max;
         cpu = hwloc_bitmap_next(p->allowed, cpu))
        cpus[n++] = cpu;
    return n;
}

const char *nl_place_list(const struct nl_place *p, char *buf, size_t size) {
    hwloc_bitmap_list_snprintf(buf, size, p->allowed);
    return buf;
}

int nl_place_pin(struct nl_place *p, int cpu) {
    if (!nl_place_is_allowed(p, cpu)) return -1;
    hwloc_bitmap_t one = hwloc_bitmap_alloc();
    if (!one) return -1;
    hwloc_bitmap_only(one, (unsigned)cpu);
    int rc = hwloc_set_cpubind(p->topology, one, HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT);
    hwloc_bitmap_free(one);
    return rc ? -1 : 0;
}

/* ---- placement in words ---- */

struct resolving {
    const struct nl_place *place;
    const int *rank_cpus;
    int n_ranks;
    char *reason;
    size_t reason_size;
};

#define cannot(r, ...) nl_say((r)->reason, (r)->reason_size, __VA_ARGS__) /* -1 */

/* "cpu:3" -> 3; -1 when the word is not `prefix` and a number. */
static int number_after(const char *word, const char *prefix) {
    size_t n = strlen(prefix);
    if (strncmp(word, prefix, n) != 0 || word[n] < '0' || word[n] > '9') return -1;
    char *end;
    long value = strtol(word + n, &end, 10);
    return *end == '\0' && value >= 0 && value <= 65535 ? (int)value : -1;
}

static int is_used(const struct resolving *r, int cpu) {
    for (int i = 0; i < r->n_ranks; i++)
        if (r->rank_cpus[i] == cpu) return 1;
    return 0;
}

static hwloc_obj_t object_of(const struct resolving *r, int cpu, hwloc_obj_type_t type) {
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(r->place->topology, (unsigned)cpu);
    return pu ? hwloc_get_ancestor_obj_by_type(r->place->topology, type, pu) : NULL;
}

/* Whether a rank runs on any hardware thread of the CPU's core. */
static int is_core_used(const struct resolving *r, int cpu) {
    hwloc_obj_t core = object_of(r, cpu, HWLOC_OBJ_CORE);
    if (!core) return is_used(r, cpu);
    for (int i = 0; i < r->n_ranks; i++)
        if (r->rank_cpus[i] >= 0 && hwloc_bitmap_isset(core->cpuset, (unsigned)r->rank_cpus[i])) return 1;
    return 0;
}

/* The best allowed CPU of `set` (NULL: of the machine) but for those avoided (or NULL): one on an idle core
 * before one that is merely unused itself; with `any` at worst one that a rank uses. -1: none. */
static int best_of(const struct resolving *r, hwloc_const_bitmap_t set, hwloc_const_bitmap_t avoided,
                   int any) {
    int unused = -1, used = -1;
    for (int cpu = hwloc_bitmap_first(r->place->allowed); cpu >= 0;
         cpu = hwloc_bitmap_next(r->place->allowed, cpu)) {
        if ((set && !hwloc_bitmap_isset(set, (unsigned)cpu)) ||
            (avoided && hwloc_bitmap_isset(avoided, (unsigned)cpu)))
            continue;
        if (!is_core_used(r, cpu)) return cpu;
        if (unused < 0 && !is_used(r, cpu)) unused = cpu;
        if (used < 0) used = cpu;
    }
    return unused >= 0 || !any ? unused : used;
}

static int cpu_of_rank(const struct resolving *r, const char *word, int rank) {
    if (r->n_ranks == 0)
        return cannot(r, "'%s': there are no ranks here; say where they run (--ranks 0,1)", word);
    if (rank >= r->n_ranks)
        return cannot(r, "'%s': this node has ranks 0 to %d (counted on the node)", word, r->n_ranks - 1);
    if (r->rank_cpus[rank] < 0) return cannot(r, "'%s': rank %d is not bound to one CPU", word, rank);
    return r->rank_cpus[rank];
}

static int spare_cpu(const struct resolving *r, const char *word) {
    char list[256];
    if (r->n_ranks == 0)
        return cannot(r, "'%s': there are no ranks here; say where they run (--ranks 0,1)", word);
    int cpu = best_of(r, NULL, NULL, 0);
    if (cpu >= 0) return cpu;
    return cannot(r, "'%s': ranks use every allowed CPU (%s)", word,
                  nl_place_list(r->place, list, sizeof list));
}

static int find_cpu(const struct resolving *r, const char *word);

/* Another allowed CPU of the core of the CPU that `of` means, or, by_cache, of another core below its
 * last-level cache. */
static int neighbour_of(const struct resolving *r, const char *word, const char *of, int by_cache) {
    char list[256];
    int cpu = find_cpu(r, of), found = -1;
    if (cpu < 0) return -1;
    hwloc_obj_t core = object_of(r, cpu, HWLOC_OBJ_CORE), cache = object_of(r, cpu, HWLOC_OBJ_L3CACHE);
    if (!cache) cache = object_of(r, cpu, HWLOC_OBJ_L2CACHE);
    if (by_cache && cache) found = best_of(r, cache->cpuset, core ? core->cpuset : NULL, 1);
    for (int i = !by_cache && core ? hwloc_bitmap_first(core->cpuset) : -1; i >= 0 && found < 0;
         i = hwloc_bitmap_next(core->cpuset, i))
        if (i != cpu && nl_place_is_allowed(r->place, i)) found = i;
    if (found >= 0 && found != cpu) return found;
    if (!hwloc_get_pu_obj_by_os_index(r->place->topology, (unsigned)cpu))
        return cannot(r, "'%s': this machine has no CPU %d", word, cpu);
    if (by_cache && !cache)
        return cannot(r, "'%s': the topology knows no L3 or L2 cache of CPU %d", word, cpu);
    if (by_cache && core && hwloc_bitmap_isincluded(cache->complete_cpuset, core->complete_cpuset))
        return cannot(r, "'%s': the core of CPU %d has its last-level cache to itself", word, cpu);
    if (!by_cache && !core)
        return cannot(r,
                      "'%s': the topology knows no cores here: which CPUs share one with CPU %d is not known",
                      word, cpu);
    if (!by_cache && hwloc_bitmap_weight(core->complete_cpuset) < 2)
        return cannot(r, "'%s': the core of CPU %d has one hardware thread (no SMT, or it is switched off)",
                      word, cpu);
    return cannot(r,
                  by_cache ? "'%s': cores share the last-level cache of CPU %d, and none of them is among "
                             "the allowed CPUs (%s)"
                           : "'%s': the core of CPU %d has other hardware threads, and none of them is among "
                             "the allowed CPUs (%s)",
                  word, cpu, nl_place_list(r->place, list, sizeof list));
}

/* One CPU for one word (not `all`), allowed or not: a rank may run where we may not, and its neighbour where
 * we may. -1 after the reason was said. */
static int find_cpu(const struct resolving *r, const char *word) {
    int cpu = number_after(word, "cpu:"), rank = number_after(word, "rank:");
    if (rank >= 0)
        cpu = cpu_of_rank(r, word, rank);
    else if (strcmp(word, "last") == 0)
        cpu = cpu_of_rank(r, word, r->n_ranks > 0 ? r->n_ranks - 1 : 0);
    else if (strcmp(word, "spare") == 0)
        cpu = spare_cpu(r, word);
    else if (strncmp(word, "sibling:", 8) == 0)
        cpu = neighbour_of(r, word, word + 8, 0);
    else if (strncmp(word, "same-l3:", 8) == 0)
        cpu = neighbour_of(r, word, word + 8, 1);
    else if (cpu < 0)
        return cannot(r, "'%s' is not a place (%s)", word, NL_PLACE_HELP);
    return cpu;
}

/* The same, and it is allowed. */
static int resolve_word(const struct resolving *r, const char *word) {
    char list[256];
    int cpu = find_cpu(r, word);
    if (cpu < 0 || nl_place_is_allowed(r->place, cpu)) return cpu;
    nl_place_list(r->place, list, sizeof list);
    if (strncmp(word, "cpu:", 4) == 0)
        return cannot(r, "CPU %d is not among the allowed CPUs (%s)", cpu, list);
    return cannot(r, "CPU %d, which is '%s', is not among the allowed CPUs (%s)", cpu, word, list);
}

static int add_cpu(int *cpus, int n, int max, int cpu) {
    for (int i = 0; i < n; i++)
        if (cpus[i] == cpu) return n;
    if (n < max) cpus[n] = cpu;
    return n + 1;
}

int nl_place_resolve(const struct nl_place *p, const char *words, const int *rank_cpus, int n_ranks,
                     int *cpus, int max, char *reason, size_t reason_size) {
    const struct resolving r = {p, rank_cpus, n_ranks, reason, reason_size};
    char copy[1024];
    int n = 0;
    if (snprintf(copy, sizeof copy, "%s", words) >= (int)sizeof copy)
        return cannot(&r, "the list of places is too long");
    for (char *next = copy; next;) {
        const char *word = strsep(&next, ",");
        if (strcmp(word, "all") == 0) {
            for (int cpu = hwloc_bitmap_first(p->allowed); cpu >= 0; cpu = hwloc_bitmap_next(p->allowed, cpu))
                n = add_cpu(cpus, n, max, cpu);
        } else {
            int cpu = resolve_word(&r, word);
            if (cpu < 0) return -1;
            n = add_cpu(cpus, n, max, cpu);
        }
        if (n > max) return cannot(&r, "'%s' means more than %d CPUs", words, max);
    }
    return n;
}

static int count_type(const struct nl_place *p, hwloc_obj_type_t type) {
    int n = hwloc_get_nbobjs_by_type(p->topology, type);
    return n > 0 ? n : 0;
}

const char *nl_place_summary(const struct nl_place *p, char *buf, size_t size) {
    snprintf(buf, size, "Package:%d NUMANode:%d L3:%d L2:%d Core:%d PU:%d", count_type(p, HWLOC_OBJ_PACKAGE),
             count_type(p, HWLOC_OBJ_NUMANODE), count_type(p, HWLOC_OBJ_L3CACHE),
             count_type(p, HWLOC_OBJ_L2CACHE), count_type(p, HWLOC_OBJ_CORE), count_type(p, HWLOC_OBJ_PU));
    return buf;
}

int nl_place_smt(const struct nl_place *p) {
    int cores = count_type(p, HWLOC_OBJ_CORE), threads = count_type(p, HWLOC_OBJ_PU);
    return cores > 0 ? threads / cores : 1;
}

int nl_binding_of_thread(char *list, size_t size, int *n_cpus, int *first) {
    /* sched_getaffinity wants a mask at least as wide as the kernel's; 8192 CPUs are the kernel's own upper
     * limit on x86. */
    enum { MAX_CPUS = 8192 };
    union {
        cpu_set_t set;
        unsigned char bytes[MAX_CPUS / 8];
    } mask = {.bytes = {0}};
    hwloc_bitmap_t bits = sched_getaffinity(0, sizeof mask, &mask.set) ? NULL : hwloc_bitmap_alloc();
    if (!bits) return -1;
    for (size_t cpu = 0; cpu < MAX_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof mask, &mask.set)) hwloc_bitmap_set(bits, (unsigned)cpu);
    *n_cpus = hwloc_bitmap_weight(bits);
    *first = hwloc_bitmap_first(bits);
    hwloc_bitmap_list_snprintf(list, size, bits);
    hwloc_bitmap_free(bits);
    return 0;
}

void nl_narrow_to_one_thread(void) {
    char binding[256], siblings[256], path[128];
    int n_cpus, first;
    if (nl_binding_of_thread(binding, sizeof binding, &n_cpus, &first) || n_cpus < 2) return;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", first);
    if (strcmp(binding, nl_read_line(path, siblings, sizeof siblings)) != 0) return;
    cpu_set_t one;
    if (first >= CPU_SETSIZE) return;
    CPU_ZERO(&one);
    CPU_SET((size_t)first, &one);
    sched_setaffinity(0, sizeof one, &one);
}

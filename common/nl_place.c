#include "nl_place.h"

#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

struct nl_place {
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed;
};

int nl_place_open(struct nl_place **place) {
    struct nl_place *p = calloc(1, sizeof *p);
    if (!p) return -1;
    if (hwloc_topology_init(&p->topology)) goto fail;
    if (hwloc_topology_load(p->topology)) goto fail_topology;
    p->allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(p->topology));
    if (!p->allowed) goto fail_topology;
    *place = p;
    return 0;
fail_topology:
    hwloc_topology_destroy(p->topology);
fail:
    free(p);
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

int nl_place_restrict_to_list(struct nl_place *p, const char *list) {
    if (list[0] == '\0' || list[strspn(list, "0123456789,-")] != '\0') return -1;
    hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
    int rc = wanted ? hwloc_bitmap_list_sscanf(wanted, list) : -1;
    if (rc == 0) hwloc_bitmap_and(p->allowed, p->allowed, wanted);
    hwloc_bitmap_free(wanted);
    return rc ? -1 : 0;
}

int nl_place_is_allowed(const struct nl_place *p, int cpu) { return cpu >= 0 && hwloc_bitmap_isset(p->allowed, (unsigned)cpu); }

int nl_place_first(const struct nl_place *p) { return hwloc_bitmap_first(p->allowed); }

int nl_place_count(const struct nl_place *p) { return hwloc_bitmap_weight(p->allowed); }

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

static int count_type(const struct nl_place *p, hwloc_obj_type_t type) {
    int n = hwloc_get_nbobjs_by_type(p->topology, type);
    return n > 0 ? n : 0;
}

const char *nl_place_summary(const struct nl_place *p, char *buf, size_t size) {
    snprintf(buf, size, "Package:%d NUMANode:%d L3:%d L2:%d Core:%d PU:%d", count_type(p, HWLOC_OBJ_PACKAGE),
             count_type(p, HWLOC_OBJ_NUMANODE), count_type(p, HWLOC_OBJ_L3CACHE), count_type(p, HWLOC_OBJ_L2CACHE),
             count_type(p, HWLOC_OBJ_CORE), count_type(p, HWLOC_OBJ_PU));
    return buf;
}

int nl_place_smt(const struct nl_place *p) {
    int cores = count_type(p, HWLOC_OBJ_CORE), threads = count_type(p, HWLOC_OBJ_PU);
    return cores > 0 ? threads / cores : 1;
}

int nl_binding_of_thread(char *list, size_t size, int *n_cpus, int *first) {
    /* sched_getaffinity wants a mask at least as wide as the kernel's; 8192 CPUs are the kernel's own upper limit on x86. */
    enum { MAX_CPUS = 8192 };
    cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
    if (!set) return -1;
    size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
    int rc = -1;
    CPU_ZERO_S(bytes, set);
    if (sched_getaffinity(0, bytes, set)) goto out;
    hwloc_bitmap_t bits = hwloc_bitmap_alloc();
    if (!bits) goto out;
    *n_cpus = CPU_COUNT_S(bytes, set);
    for (int cpu = 0; cpu < MAX_CPUS; cpu++)
        if (CPU_ISSET_S((size_t)cpu, bytes, set)) hwloc_bitmap_set(bits, (unsigned)cpu);
    *first = hwloc_bitmap_first(bits);
    hwloc_bitmap_list_snprintf(list, size, bits);
    hwloc_bitmap_free(bits);
    rc = 0;
out:
    CPU_FREE(set);
    return rc;
}

void nl_narrow_to_one_thread(void) {
    char binding[256], siblings[256] = "", path[128];
    int n_cpus, first;
    if (nl_binding_of_thread(binding, sizeof binding, &n_cpus, &first) || n_cpus < 2) return;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", first);
    FILE *f = fopen(path, "r");
    if (!f) return;
    if (!fgets(siblings, sizeof siblings, f)) siblings[0] = '\0';
    fclose(f);
    siblings[strcspn(siblings, "\n")] = '\0';
    if (strcmp(binding, siblings) != 0) return;
    cpu_set_t one;
    if (first >= CPU_SETSIZE) return;
    CPU_ZERO(&one);
    CPU_SET((size_t)first, &one);
    sched_setaffinity(0, sizeof one, &one);
}

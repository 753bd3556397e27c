#include "detector/nodes/crowd.h"

#include <hwloc.h>

/* Of `n` ranks of one node: how many more are bound within the CPUs of the worst one than these are; that rank and their number. */
static int find_worst(const hwloc_const_bitmap_t *cpus, int n, int *worst, int *n_within) {
    int most = 0;
    for (int i = 0; i < n; i++) {
        int n_cpus = cpus[i] ? hwloc_bitmap_weight(cpus[i]) : n, k = 0;
        if (n_cpus >= n) continue;
        for (int other = 0; other < n; other++) k += cpus[other] && hwloc_bitmap_isincluded(cpus[other], cpus[i]);
        if (k - n_cpus <= most) continue;
        most = k - n_cpus;
        *worst = i;
        *n_within = k;
    }
    return most;
}

int nd_crowd_tell(const struct nd_binding *bindings, int n_ranks, const struct nd_host *hosts, int n_hosts, char *line, size_t size) {
    hwloc_bitmap_t *cpus = calloc((size_t)n_ranks, sizeof *cpus);
    int *at = calloc((size_t)n_ranks + (size_t)n_hosts + 1, sizeof *at), *first = at ? at + n_ranks : NULL, n_crowded = 0;
    line[0] = '\0';
    if (!cpus || !at) n_crowded = -1;
    /* the ranks of each node side by side */
    for (int i = 0; i < n_ranks && n_crowded == 0; i++) first[bindings[i].node + 1]++;
    for (int node = 0; node < n_hosts && n_crowded == 0; node++) first[node + 1] += first[node];
    for (int i = 0; i < n_ranks && n_crowded == 0; i++) at[first[bindings[i].node]++] = i;
    for (int i = 0; i < n_ranks && n_crowded == 0; i++) {
        const char *list = bindings[at[i]].cpus;
        /* one that was cut off says nothing */
        if (!list[0] || strlen(list) + 1 == sizeof bindings->cpus || !(cpus[i] = hwloc_bitmap_alloc())) continue;
        if (hwloc_bitmap_list_sscanf(cpus[i], list)) hwloc_bitmap_zero(cpus[i]);
        if (!hwloc_bitmap_iszero(cpus[i])) continue;
        hwloc_bitmap_free(cpus[i]);
        cpus[i] = NULL;
    }
    for (int node = 0, begin = 0; node < n_hosts && n_crowded >= 0; begin = first[node++]) {
        int worst = 0, n_within = 0;
        if (!find_worst((const hwloc_const_bitmap_t *)cpus + begin, first[node] - begin, &worst, &n_within) || n_crowded++) continue;
        const struct nd_binding *b = &bindings[at[begin + worst]];
        snprintf(line, size, "%d ranks of %s may use CPU%s %s only", n_within, hosts[node].host, strpbrk(b->cpus, ",-") ? "s" : "",
                 b->cpus);
    }
    if (n_crowded > 1) snprintf(line + strlen(line), size - strlen(line), ", and so on %d other node(s)", n_crowded - 1);
    for (int i = 0; cpus && i < n_ranks; i++)
        if (cpus[i]) hwloc_bitmap_free(cpus[i]);
    free(cpus);
    free(at);
    return n_crowded;
}

#include "detector/acceptance/cores.h"

#include "common/sys/nl_place.h"

enum { MASK_BYTES = NX_MASK_BYTES, MOST_CPUS = 8 * MASK_BYTES };

static int holds(const unsigned char *mask, int cpu) { return mask[cpu / 8] >> (cpu % 8) & 1; }
static void put(unsigned char *mask, int cpu) { mask[cpu / 8] |= (unsigned char)(1 << (cpu % 8)); }

/* The CPUs that this rank is bound to; the kernel's mask is of longs, whose bytes stand in this order on little-endian machines only. */
static void own_mask(unsigned char mask[MASK_BYTES]) {
    union {
        cpu_set_t set;
        unsigned char bytes[MASK_BYTES];
    } bound = {.bytes = {0}};
    memset(mask, 0, MASK_BYTES);
    if (sched_getaffinity(0, MASK_BYTES, &bound.set)) return;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, MASK_BYTES, &bound.set)) put(mask, cpu);
}

/* The CPUs that this node's processes may use. */
static void allowed_mask(unsigned char mask[MASK_BYTES]) {
    struct nl_place *place;
    static int cpus[MOST_CPUS];
    memset(mask, 0, MASK_BYTES);
    if (nl_place_open(&place)) return;
    int n = nl_place_cpus(place, cpus, MOST_CPUS);
    for (int i = 0; i < n; i++)
        if (cpus[i] < MOST_CPUS) put(mask, cpus[i]);
    nl_place_close(place);
}

void nx_cores_assign(int *owners, const unsigned char *cpus, const unsigned char *masks, const int *bound, int n_ranks) {
    int next = 0;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) owners[cpu] = -1;
    for (int rank = n_ranks - 1; rank >= 0; rank--)
        if (bound[rank] >= 0 && bound[rank] < MOST_CPUS && holds(cpus, bound[rank])) owners[bound[rank]] = rank;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) {
        int rank = next, n_asked = 0;
        if (!holds(cpus, cpu) || owners[cpu] >= 0) continue;
        while (n_asked < n_ranks && !holds(masks + (size_t)rank * MASK_BYTES, cpu)) {
            rank = (rank + 1) % n_ranks;
            n_asked++;
        }
        owners[cpu] = rank; /* after a whole round: next again */
        next = (rank + 1) % n_ranks;
    }
}

/* Where this node's turns begin and how many there are in all. Collective. */
static void number_slots(struct nx_run *r, int n_cpus, int *first) {
    int mine = r->team.node_rank == 0 ? n_cpus : 0, most = 0, sum = 0;
    *first = 0;
    if (r->team.node_rank == 0) MPI_Exscan(&mine, first, 1, MPI_INT, MPI_SUM, r->team.leaders);
    if (r->team.node_index == 0 || !r->shares_kernel) *first = 0;
    MPI_Bcast(first, 1, MPI_INT, 0, r->team.node);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, r->team.world);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, r->team.world);
    r->n_slots = r->shares_kernel ? sum : most;
}

int nx_cores_share(struct nx_run *r, char reason[NX_REASON_BYTES]) {
    unsigned char mask[MASK_BYTES], own[MASK_BYTES], of_ranks[MASK_BYTES];
    struct nd_binding binding;
    int first_slot, n = 0;
    if (r->n_slots > 0) return 0; /* done before */
    enum nx_cpus which = r->o->cpus != NX_CPUS_AUTO ? r->o->cpus : r->shares_kernel ? NX_CPUS_RANKS : NX_CPUS_ALLOWED;
    size_t n_ranks = (size_t)r->team.n_node_ranks;
    int *owners = malloc(MOST_CPUS * sizeof *owners), *bound = malloc(n_ranks * sizeof *bound), failed = 0;
    unsigned char *masks = malloc(n_ranks * MASK_BYTES);
    snprintf(reason, NX_REASON_BYTES, "not enough memory");
    if (nx_agree(r, !owners || !bound || !masks, reason)) {
        failed = 1;
        goto done;
    }
    nd_binding_read(&binding, r->team.rank);
    own_mask(own);
    MPI_Allgather(&binding.cpu, 1, MPI_INT, bound, 1, MPI_INT, r->team.node);
    MPI_Allgather(own, MASK_BYTES, MPI_BYTE, masks, MASK_BYTES, MPI_BYTE, r->team.node);
    MPI_Allreduce(own, of_ranks, MASK_BYTES, MPI_BYTE, MPI_BOR, r->team.node);
    memset(mask, 0, MASK_BYTES);
    if (which == NX_CPUS_ALLOWED && r->team.node_rank == 0) allowed_mask(mask);
    MPI_Bcast(mask, MASK_BYTES, MPI_BYTE, 0, r->team.node); /* what the first rank found counts */
    for (int i = 0; i < MASK_BYTES; i++) mask[i] |= of_ranks[i]; /* ranks in cpusets of their own have more than the first one sees */
    nx_cores_assign(owners, mask, masks, bound, r->team.n_node_ranks);
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) n += owners[cpu] >= 0;
    number_slots(r, n, &first_slot);
    r->cores = calloc((size_t)n + 1, sizeof *r->cores);
    for (int cpu = 0, slot = first_slot; cpu < MOST_CPUS && r->cores; cpu++) {
        if (owners[cpu] < 0) continue;
        if (owners[cpu] == r->team.node_rank) r->cores[r->n_cores++] = (struct nx_core){cpu, slot};
        slot++;
    }
    failed = nx_agree(r, !r->cores, reason);
done:
    free(owners);
    free(bound);
    free(masks);
    return failed ? -1 : 0;
}

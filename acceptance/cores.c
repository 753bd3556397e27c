#include "cores.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nl_place.h"

enum { MASK_BYTES = 1024, MOST_CPUS = 8 * MASK_BYTES };

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

/* By CPU: the rank of the node that looks at it, -1 none. */
static void share_out(int *owners, const unsigned char *mask, const int *bound, int n_ranks) {
    int next = 0;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) owners[cpu] = -1;
    for (int rank = n_ranks - 1; rank >= 0; rank--)
        if (bound[rank] >= 0 && bound[rank] < MOST_CPUS && holds(mask, bound[rank])) owners[bound[rank]] = rank;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) {
        if (!holds(mask, cpu) || owners[cpu] >= 0) continue;
        owners[cpu] = next;
        next = (next + 1) % n_ranks;
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
    unsigned char mask[MASK_BYTES], of_ranks[MASK_BYTES];
    struct nd_seat seat;
    int first_slot, n = 0;
    if (r->n_slots > 0) return 0; /* done before */
    enum nx_cpus which = r->o->cpus != NX_CPUS_AUTO ? r->o->cpus : r->shares_kernel ? NX_CPUS_RANKS : NX_CPUS_ALLOWED;
    int *owners = malloc(MOST_CPUS * sizeof *owners), *bound = malloc((size_t)r->team.n_node_ranks * sizeof *bound);
    snprintf(reason, NX_REASON_BYTES, "not enough memory");
    if (nx_agree(r, !owners || !bound, reason)) {
        free(owners);
        free(bound);
        return -1;
    }
    nd_seat_read(&seat, r->team.rank);
    MPI_Allgather(&seat.cpu, 1, MPI_INT, bound, 1, MPI_INT, r->team.node);
    own_mask(mask);
    MPI_Allreduce(mask, of_ranks, MASK_BYTES, MPI_BYTE, MPI_BOR, r->team.node);
    if (which == NX_CPUS_RANKS) memcpy(mask, of_ranks, MASK_BYTES);
    else allowed_mask(mask);
    MPI_Bcast(mask, MASK_BYTES, MPI_BYTE, 0, r->team.node); /* what the first rank found counts */
    share_out(owners, mask, bound, r->team.n_node_ranks);
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) n += owners[cpu] >= 0;
    number_slots(r, n, &first_slot);
    r->cores = calloc((size_t)n + 1, sizeof *r->cores);
    for (int cpu = 0, slot = first_slot; cpu < MOST_CPUS && r->cores; cpu++) {
        if (owners[cpu] < 0) continue;
        if (owners[cpu] == r->team.node_rank) r->cores[r->n_cores++] = (struct nx_core){cpu, slot};
        slot++;
    }
    free(owners);
    free(bound);
    return nx_agree(r, !r->cores, reason) ? -1 : 0;
}

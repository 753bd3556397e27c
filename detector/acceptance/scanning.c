#include "detector/acceptance/scanning.h"

#include <pthread.h>

#include "detector/nodes/quiet.h"
#include "common/sys/nl_place.h"

enum {
    KEPT = 20000 /* detours of a CPU and variant that are kept over all repetitions */,
    LEAST_SLOT_NS = 20000000,
    SETTLE_NS = 2000000,
    PREPARE_CPU_NS = 100000
};

/* A scan on one CPU, in a thread of its own: the rank itself stays where it is bound. */
struct job {
    const struct nx_scanning *kind;
    struct nx_scan scan;
    int cpu;
    int64_t due_ns;   /* CLOCK_MONOTONIC */
    int64_t steal_ns; /* -1: unknown */
    int has_failed, is_running;
    pthread_t thread;
};

static void sleep_until(int64_t due_ns) {
    struct timespec due = nl_timespec(due_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static void *scan_thread(void *argument) {
    struct job *j = argument;
    struct nd_steal *reader = NULL;
    union nx_mask mask = {.bytes = {0}};
    unsigned char *flags = calloc((size_t)j->cpu + 1, 1);
    CPU_SET_S((size_t)j->cpu, sizeof mask, &mask.set);
    j->steal_ns = -1;
    j->has_failed = !flags || sched_setaffinity(0, sizeof mask, &mask.set);
    if (!j->has_failed) {
        flags[j->cpu] = 1;
        reader = nd_steal_open(flags, j->cpu + 1, INT64_C(1000000000));
        int64_t before_ns = reader ? nd_steal_read(reader) : -1;
        sleep_until(j->due_ns);
        j->kind->scan(&j->scan);
        if (before_ns >= 0) j->steal_ns = nd_steal_read(reader) - before_ns;
    }
    nd_steal_close(reader);
    free(flags);
    return NULL;
}

static void take_trace(struct nx_run *r, int rank, const void *data, int64_t bytes) {
    for (const char *at = data, *end = at + bytes; at < end;) {
        struct nx_trace_head head;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        nx_record_trace(r->record, r->hosts[r->node_of[rank]].host, &head, (const struct nx_detour *)at);
        at += (size_t)head.n_kept * sizeof(struct nx_detour);
    }
}

/* Brings what was kept of these scans to the trace files. Collective. */
static void write_traces(struct nx_run *r, const struct job *jobs, int n, int is_alone) {
    size_t room = 1, used = 0;
    for (int i = 0; i < n; i++)
        room += sizeof(struct nx_trace_head) + (size_t)jobs[i].scan.n_room * sizeof(struct nx_detour);
    char *packed = malloc(room);
    if (!packed) r->has_no_memory = 1;
    for (int i = 0; packed && i < n; i++) {
        const struct nx_scan *s = &jobs[i].scan;
        if (jobs[i].has_failed) continue;
        int64_t n_kept = s->n_detours < s->n_room ? s->n_detours : s->n_room;
        struct nx_trace_head head = {jobs[i].cpu, r->repetition, is_alone, s->wall_ns, s->n_detours, n_kept};
        memcpy(packed + used, &head, sizeof head);
        used += sizeof head;
        memcpy(packed + used, s->detours, (size_t)head.n_kept * sizeof(struct nx_detour));
        used += (size_t)head.n_kept * sizeof(struct nx_detour);
    }
    nx_collect(r, packed, (int64_t)used, take_trace);
    free(packed);
}

/* What a scan of any kind has to say. */
static void add_figures(struct nx_run *r, const struct nx_scanning *kind, const struct job *j,
                        const char *variant) {
    struct nx_row row = nx_row(variant);
    double percent = 100. / (double)j->scan.wall_ns;
    row.rank = r->team.rank;
    row.cpu = j->cpu;
    nx_put(r, &row, "preempted", "percent", percent * (double)j->scan.preempted_ns, j->scan.n_turns);
    nx_put(r, &row, "steal", "percent", j->steal_ns < 0 ? NAN : percent * (double)j->steal_ns,
           j->scan.n_turns);
    kind->add(r, &j->scan, &row);
}

/* Runs the jobs, each at its time; the rank sleeps meanwhile. */
static void run_jobs(struct job *jobs, int n) {
    for (int i = 0; i < n; i++)
        if (!jobs[i].has_failed) {
            jobs[i].is_running = pthread_create(&jobs[i].thread, NULL, scan_thread, &jobs[i]) == 0;
            /* one that has begun says itself whether it failed, and may have said so by now */
            if (!jobs[i].is_running) jobs[i].has_failed = 1;
        }
    for (int i = 0; i < n; i++)
        if (jobs[i].is_running) pthread_join(jobs[i].thread, NULL);
}

static int open_jobs(struct nx_run *r, struct nx_scanning *kind, struct job *jobs, int is_alone,
                     int64_t begin_ns, int64_t slot_ns) {
    int failed = 0;
    for (int i = 0; i < r->n_cores; i++) {
        struct job *j = &jobs[i];
        *j = (struct job){.kind = kind, .cpu = r->cores[i].cpu};
        j->due_ns = begin_ns + (is_alone ? r->cores[i].slot * slot_ns + SETTLE_NS : 0);
        j->scan = (struct nx_scan){.ticks = &r->ticks,
                                   .span_ns = is_alone ? slot_ns - 2 * SETTLE_NS : slot_ns,
                                   .threshold_ns = r->o->detour_threshold_ns,
                                   .n_steps = kind->n_steps,
                                   .n_room = kind->n_room[2 * i + is_alone],
                                   .hist = nx_hist(r, kind->metric, is_alone ? "alone" : "all", j->cpu, -1)};
        if (kind->keeps_detours)
            j->scan.detours = calloc((size_t)j->scan.n_room + 1, sizeof *j->scan.detours);
        j->has_failed = !j->scan.hist || (kind->keeps_detours && !j->scan.detours);
        failed |= j->has_failed;
    }
    return failed;
}

static int scan_all(struct nx_run *r, struct nx_task *t, struct nx_scanning *kind, struct job *jobs,
                    int is_alone) {
    int64_t slot_ns = t->budget_ns / 2 / (is_alone ? r->n_slots : 1);
    if (slot_ns < LEAST_SLOT_NS) slot_ns = LEAST_SLOT_NS;
    nx_quiet_barrier(r->team.world);
    /* threads read /proc/stat before they begin, which takes its time where CPUs are many; the turns of a
     * node's ranks are counted from one moment */
    int64_t begin_ns = nl_mono_ns() + 5 * SETTLE_NS + r->n_allowed * PREPARE_CPU_NS;
    MPI_Allreduce(MPI_IN_PLACE, &begin_ns, 1, MPI_INT64_T, MPI_MAX, r->team.node);
    r->has_no_memory |= open_jobs(r, kind, jobs, is_alone, begin_ns, slot_ns);
    run_jobs(jobs, r->n_cores);
    sleep_until(begin_ns + (is_alone ? r->n_slots : 1) * slot_ns);
    nx_quiet_barrier(r->team.world);
    int lost = -1; /* a CPU that could not be scanned */
    for (int i = 0; i < r->n_cores; i++) {
        if (jobs[i].has_failed)
            lost = jobs[i].cpu;
        else
            add_figures(r, kind, &jobs[i], is_alone ? "alone" : "all");
    }
    if (kind->keeps_detours) write_traces(r, jobs, r->n_cores, is_alone);
    for (int i = 0; i < r->n_cores; i++) {
        kind->n_room[2 * i + is_alone] -=
            jobs[i].scan.n_detours < jobs[i].scan.n_room ? jobs[i].scan.n_detours : jobs[i].scan.n_room;
        free(jobs[i].scan.detours);
    }
    return -nx_agree(r, lost >= 0, t->reason,
                     "rank %d may not use CPU %d, or has no memory (try --checks default:cpus=ranks)",
                     r->team.rank, lost);
}

int nx_scanning_measure(struct nx_run *r, struct nx_task *t) {
    struct nx_scanning *kind = t->state;
    struct job *jobs = calloc((size_t)r->n_cores + 1, sizeof *jobs);
    int failed = nx_is_out_of_memory(r, t, !jobs);
    for (int is_alone = 0; is_alone < 2 && !failed; is_alone++)
        failed = scan_all(r, t, kind, jobs, is_alone);
    free(jobs);
    return failed ? -1 : 0;
}

int nx_scanning_open(struct nx_run *r, struct nx_task *t, const struct nx_scanning *kind) {
    struct nx_scanning *s = t->state;
    if (nx_cores_share(r, t->reason)) return -1;
    *s = *kind;
    if (nx_is_out_of_memory(r, t, !NL_NEW(s->n_room, 2 * r->n_cores + 1))) return -1;
    for (int i = 0; i < 2 * r->n_cores; i++)
        s->n_room[i] = KEPT;
    return 0;
}

void nx_scanning_close(void *state) { free(((struct nx_scanning *)state)->n_room); }

enum { MASK_BYTES = NX_MASK_BYTES, MOST_CPUS = 8 * MASK_BYTES };

static int holds(const union nx_mask *mask, int cpu) {
    return CPU_ISSET_S((size_t)cpu, MASK_BYTES, &mask->set);
}

/* The CPUs that this node's processes may use. */
static void allowed_mask(union nx_mask *mask) {
    struct nl_place *place;
    if (nl_place_open(&place)) return;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        if (nl_place_is_allowed(place, cpu)) CPU_SET_S((size_t)cpu, MASK_BYTES, &mask->set);
    nl_place_close(place);
}

void nx_cores_assign(int *owners, const union nx_mask *cpus, const union nx_mask *masks, const int *bound,
                     int n_ranks) {
    int next = 0;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        owners[cpu] = -1;
    for (int rank = n_ranks - 1; rank >= 0; rank--)
        if (bound[rank] >= 0 && bound[rank] < MOST_CPUS && holds(cpus, bound[rank]))
            owners[bound[rank]] = rank;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) {
        int rank = next, n_asked = 0;
        if (!holds(cpus, cpu) || owners[cpu] >= 0) continue;
        while (n_asked < n_ranks && !holds(&masks[rank], cpu)) {
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
    union nx_mask mask = {.bytes = {0}}, own = mask, of_ranks;
    struct nd_binding binding;
    int first_slot, n = 0;
    if (r->n_slots > 0) return 0; /* done before */
    enum nx_cpus which = r->o->cpus != NX_CPUS_AUTO ? r->o->cpus
                         : r->shares_kernel         ? NX_CPUS_RANKS
                                                    : NX_CPUS_ALLOWED;
    size_t n_ranks = (size_t)r->team.n_node_ranks;
    int *owners = malloc(MOST_CPUS * sizeof *owners), *bound = malloc(n_ranks * sizeof *bound), failed = 0;
    union nx_mask *masks = malloc(n_ranks * MASK_BYTES);
    failed = nx_agree(r, !owners || !bound || !masks, reason, "not enough memory");
    if (failed) goto done;
    nd_binding_read(&binding, r->team.rank);
    sched_getaffinity(0, MASK_BYTES, &own.set);
    MPI_Allgather(&binding.cpu, 1, MPI_INT, bound, 1, MPI_INT, r->team.node);
    MPI_Allgather(&own, MASK_BYTES, MPI_BYTE, masks, MASK_BYTES, MPI_BYTE, r->team.node);
    MPI_Allreduce(&own, &of_ranks, MASK_BYTES, MPI_BYTE, MPI_BOR, r->team.node);
    if (which == NX_CPUS_ALLOWED && r->team.node_rank == 0) allowed_mask(&mask);
    MPI_Bcast(&mask, MASK_BYTES, MPI_BYTE, 0, r->team.node); /* what the first rank found counts */
    for (int i = 0; i < MASK_BYTES; i++)
        mask.bytes[i] |= of_ranks.bytes[i]; /* ranks may have cpusets of their own */
    nx_cores_assign(owners, &mask, masks, bound, r->team.n_node_ranks);
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        n += owners[cpu] >= 0;
    number_slots(r, n, &first_slot);
    r->cores = calloc((size_t)n + 1, sizeof *r->cores);
    for (int cpu = 0, slot = first_slot; cpu < MOST_CPUS && r->cores; cpu++) {
        if (owners[cpu] < 0) continue;
        if (owners[cpu] == r->team.node_rank) r->cores[r->n_cores++] = (struct nx_core){cpu, slot};
        slot++;
    }
    failed = nx_agree(r, !r->cores, reason, "not enough memory");
done:
    NL_FREE(owners, bound, masks);
    return failed ? -1 : 0;
}

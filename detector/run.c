#include "run.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch_json.h"
#include "measure.h"
#include "nl_error.h"
#include "nl_place.h"
#include "nl_rng.h"
#include "pilot.h"
#include "progress.h"
#include "record.h"
#include "steal.h"
#include "team.h"

#define CHECKPOINT_NS INT64_C(30000000000)    /* histograms and sums are written at least this often */
#define STOP_LOOK_NS INT64_C(100000000)       /* long loops look for a stop about this often */
#define LEASE_LENGTHS 4                       /* a load without fixed dose ends by itself after this many planned lengths of its loop */
#define SLOT_LENGTHS 1.2                      /* slot of a pattern in planned lengths of a half */
#define SHORT_HALF 0.9                        /* an on half shorter than this share of its planned length may have missed its last burst */
#define PHASE_STREAM (UINT64_C(1) << 40)      /* streams of the seed that draw the phase of the noise, one per node ... */
#define COMMON_PHASE_STREAM (PHASE_STREAM - 1) /* ... and one for all */
#define SKIP_STREAM (UINT64_C(1) << 41)       /* where patterns that go on from half to half begin, one per node */
#define MEMORY_BYTES (INT64_C(8) << 20)       /* histograms beyond this are worth a warning */
#define WARMUP_STREAM_ROUND (INT64_C(1) << 38) /* rounds from here on are warm-up: other draws than those of the record */

/* What a rank knows of the half it just ran. Gathered as bytes. */
struct sample {
    struct nd_loop_result loop;
    int64_t n_involuntary;
    int64_t delivered_ns, n_bursts; /* leaders with a generator; 0 elsewhere */
    int64_t requested_ns, bursts_asked; /* the same: the dose asked for */
    int64_t n_due;                  /* the same: CPUs on which a burst was due, known before the half */
    int64_t first_burst_ns;         /* the same: when its first burst was due; 0: none */
    int64_t lead_ns;                /* from drawing the dose to the start of the loop */
    int64_t steal_ns;               /* leaders; -1 unknown */
};

struct run {
    const struct nd_options *o;
    const volatile int *stop_asked;
    struct nd_treatment *treatment; /* NULL on ranks without a generator */
    struct nd_team team;
    struct nl_ticks ticks;
    struct nd_schedule schedule;
    struct nl_rng phase_rng, common_phase_rng;
    double skip;                    /* where a continued pattern begins on this node when its phase is random */
    struct nd_op_state *states;     /* n_configs */
    struct nd_cell *cells;          /* n_configs */
    struct nl_hist *hists;          /* n_configs x n_arms, NULL: operations are not timed one by one */
    struct nl_hist *scratch;        /* where every loop counts: the same addresses in every arm */
    struct nd_rank_sum *sums;       /* n_arms, this rank */
    struct nd_node_end *node_end;   /* leaders */
    struct nd_steal *steal;         /* leaders, may be NULL */
    unsigned char *cpu_used;        /* n_cpu_used flags: CPUs of this node's ranks */
    int n_cpu_used;
    int n_arms, n_generators;
    uint8_t is_active[ND_MAX_FACTOR][NL_CONTROL_MAX_WORKERS]; /* leaders with a generator: which of its CPUs belong to which place */
    int n_place_cpus[ND_MAX_FACTOR]; /* the same: CPUs of a place on this node */
    int n_loaded[ND_MAX_FACTOR];     /* CPUs of a place on all nodes */
    int n_loose_ranks;              /* ranks that are not bound to one CPU, where there is a load to place */
    int64_t lead_ns;                /* longest way from drawing a dose to the start of its loop, seen in the warm-up; the same on all ranks */
    pid_t parent_pid;               /* the launcher */
    int flags;                      /* what this rank tells the others next time */
    /* rank 0 only */
    struct sample *samples;         /* n_ranks */
    struct nd_rank_sum *all_sums;   /* n_ranks x n_arms */
    int64_t *times_slowest;         /* n_ranks x n_arms */
    struct nd_seat *seats;          /* n_ranks */
    struct nd_host *hosts;          /* n_nodes */
    struct nd_node_end *node_ends;  /* n_nodes */
    struct nd_record *record;
    struct nd_progress *progress;
    json_t *launch;
    int64_t first_start_ns, last_checkpoint_ns;
    int64_t n_on_halves, n_short_halves; /* short: too short for the noise periods they were to hold */
};

/* ---- set-up: each step is collective, says what is wrong where it is wrong, and is agreed on by all ranks ------------------------------ */

static int agree_failed(struct run *r, int failed) { return nd_team_agree(&r->team, failed ? ND_FLAG_SETUP : 0) != 0; }

static int allocate(struct run *r) {
    const struct nd_options *o = r->o;
    size_t n_configs = (size_t)o->n_configs, n_arms = (size_t)r->n_arms, n_ranks = (size_t)r->team.n_ranks;
    int ok = 1;
    ok &= (r->states = calloc(n_configs, sizeof *r->states)) != NULL;
    ok &= (r->cells = calloc(n_configs, sizeof *r->cells)) != NULL;
    ok &= (r->sums = calloc(n_arms, sizeof *r->sums)) != NULL;
    ok &= (r->scratch = calloc(1, sizeof *r->scratch)) != NULL;
    if (nd_options_times_operations(o)) ok &= (r->hists = calloc(n_configs * n_arms, sizeof *r->hists)) != NULL;
    if (r->team.node_rank == 0) ok &= (r->node_end = calloc(1, sizeof *r->node_end)) != NULL;
    if (r->team.rank == 0) {
        ok &= (r->samples = calloc(n_ranks, sizeof *r->samples)) != NULL;
        ok &= (r->all_sums = calloc(n_ranks * n_arms, sizeof *r->all_sums)) != NULL;
        ok &= (r->times_slowest = calloc(n_ranks * n_arms, sizeof *r->times_slowest)) != NULL;
        ok &= (r->seats = calloc(n_ranks, sizeof *r->seats)) != NULL;
        ok &= (r->hosts = calloc((size_t)r->team.n_nodes, sizeof *r->hosts)) != NULL;
        ok &= (r->node_ends = calloc((size_t)r->team.n_nodes, sizeof *r->node_ends)) != NULL;
    }
    if (!ok) nl_error("not enough memory for the histograms of %d operations x %d arms", o->n_configs, r->n_arms);
    return agree_failed(r, !ok);
}

/* Whether the generator sits where the launcher's environment said the node's first rank is. */
static int check_generators(struct run *r) {
    int expected = r->o->n_arms > 0 && r->team.node_rank == 0 && (r->o->noise_on_all_nodes || r->team.rank == 0);
    int wrong = expected != (r->treatment != NULL);
    if (wrong)
        nl_error("cannot tell a node's first rank before MPI_Init from this launcher's environment; start with mpirun or srun (or use --levels none)");
    int mine = r->treatment != NULL;
    MPI_Allreduce(&mine, &r->n_generators, 1, MPI_INT, MPI_SUM, r->team.world);
    return agree_failed(r, wrong);
}

static int64_t mine_or_first(const struct nd_seat *seat) { return seat->cpu >= 0 ? seat->cpu : seat->first_cpu; }

/* The node's CPUs of every place asked for, and all of them together. Returns their number, -1 after a message. */
static int choose_noise_cpus(struct run *r, const struct nd_seat *seats, int *all) {
    const struct nd_options *o = r->o;
    char reason[512];
    int n_all = 0, n_ranks = r->team.n_node_ranks;
    int *rank_cpus = calloc((size_t)n_ranks, sizeof *rank_cpus);
    struct nl_place *place = NULL;
    if (!rank_cpus || nl_place_open(&place)) {
        nl_error("cannot read this machine's topology");
        free(rank_cpus);
        return -1;
    }
    for (int i = 0; i < n_ranks; i++) {
        rank_cpus[i] = (int)mine_or_first(&seats[i]);
        if (seats[i].cpu < 0)
            nl_warn("rank %d may run on CPUs %s: noise that is meant for it goes to CPU %d and may miss it (bind ranks: mpirun --bind-to core)",
                    seats[i].rank, seats[i].binding, seats[i].first_cpu);
    }
    for (int p = 0; p < o->n_places && n_all >= 0; p++) {
        int cpus[NL_CONTROL_MAX_WORKERS];
        int n = nl_place_resolve(place, o->places[p], rank_cpus, n_ranks, cpus, NL_CONTROL_MAX_WORKERS, reason, sizeof reason);
        if (n < 0) nl_error("--on: %s", reason);
        for (int i = 0; i < n && n_all >= 0; i++) {
            int w = 0;
            while (w < n_all && all[w] != cpus[i]) w++;
            if (w == NL_CONTROL_MAX_WORKERS) nl_error("--on: the places mean more than %d CPUs", NL_CONTROL_MAX_WORKERS);
            if (w == n_all && w < NL_CONTROL_MAX_WORKERS) all[n_all++] = cpus[i];
            if (w == NL_CONTROL_MAX_WORKERS) n = -1;
            else r->is_active[p][w] = 1;
        }
        r->n_place_cpus[p] = n;
        if (n < 0) n_all = -1;
    }
    nl_place_close(place);
    free(rank_cpus);
    return n_all;
}

static int place_noise(struct run *r, const struct nd_seat *seats) {
    char reason[512];
    int cpus[NL_CONTROL_MAX_WORKERS];
    if (!r->treatment) return 0;
    int n = choose_noise_cpus(r, seats, cpus);
    if (n < 0) return -1;
    if (nd_treatment_place(r->treatment, cpus, n, reason, sizeof reason) == 0) return 0;
    nl_error("the generator refuses: %s", reason);
    return -1;
}

static int mark_used_cpus(struct run *r, const struct nd_seat *seats) {
    r->n_cpu_used = 1;
    for (int i = 0; i < r->team.n_node_ranks; i++)
        if (seats[i].cpu >= r->n_cpu_used) r->n_cpu_used = seats[i].cpu + 1;
    r->cpu_used = calloc((size_t)r->n_cpu_used, 1);
    if (!r->cpu_used) return -1;
    for (int i = 0; i < r->team.n_node_ranks; i++)
        if (seats[i].cpu >= 0) r->cpu_used[seats[i].cpu] = 1;
    return 0;
}

/* What a node's leader does about its node. */
static int set_up_node(struct run *r, const struct nd_seat *seats, struct nd_host *host) {
    nd_host_read(host);
    if (host->n_allowed && r->team.n_node_ranks > host->n_allowed && !r->o->oversubscribe) {
        nl_error("%d ranks share the %d CPUs of %s and would measure each other: start fewer, or allow it with --oversubscribe",
                 r->team.n_node_ranks, host->n_allowed, host->host);
        return -1;
    }
    if (mark_used_cpus(r, seats)) return -1;
    int all_bound = 1;
    for (int i = 0; i < r->team.n_node_ranks; i++) all_bound &= seats[i].cpu >= 0;
    /* without a fixed CPU per rank nobody can say whose steal time it is: unknown, not 0 */
    if (all_bound) r->steal = nd_steal_open(r->cpu_used, r->n_cpu_used, r->o->half_ns);
    return place_noise(r, seats);
}

static int set_up_nodes(struct run *r) {
    struct nd_seat mine, *node_seats = NULL;
    struct nd_host host;
    int failed = 0;
    nd_seat_read(&mine, r->team.rank);
    mine.node = r->team.node_index;
    nd_team_gather(r->team.world, &mine, sizeof mine, r->seats);
    int loose = mine.cpu < 0 && r->o->n_arms > 0;
    MPI_Allreduce(&loose, &r->n_loose_ranks, 1, MPI_INT, MPI_SUM, r->team.world);
    if (r->team.node_rank == 0) failed = (node_seats = calloc((size_t)r->team.n_node_ranks, sizeof *node_seats)) == NULL;
    if (agree_failed(r, failed)) return -1;
    nd_team_gather(r->team.node, &mine, sizeof mine, node_seats);
    if (r->team.node_rank == 0) {
        failed = set_up_node(r, node_seats, &host) != 0;
        nd_team_gather(r->team.leaders, &host, sizeof host, r->hosts);
    }
    free(node_seats);
    MPI_Allreduce(r->n_place_cpus, r->n_loaded, ND_MAX_FACTOR, MPI_INT, MPI_SUM, r->team.world);
    return agree_failed(r, failed);
}

/* Lets the generator's kind ipi reach this rank where it may not open events on other programs' CPUs. */
static void accept_interrupts(const struct nd_options *o) {
    for (int i = 0; i < o->n_kinds; i++)
        if (strcmp(o->kinds[i], "ipi") == 0) syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

static int open_operations(struct run *r) {
    const struct nd_options *o = r->o;
    for (int i = 0; i < o->n_configs; i++) {
        const struct nd_config *c = &o->configs[i];
        /* ranks fill their buffers at once: memory that is not there would end in the kernel's out-of-memory killer, not in an error */
        int64_t needed_bytes = c->op->memory_bytes(c->bytes, r->team.n_ranks), free_bytes = nd_free_memory_bytes();
        int failed = free_bytes >= 0 && needed_bytes > free_bytes / r->team.n_node_ranks;
        if (nd_team_agree(&r->team, failed ? ND_FLAG_SETUP : 0) == 0) failed = nd_op_open(c->op, &r->states[i], r->team.world, c->bytes) != 0;
        if (failed)
            nl_error("--bytes: no memory for %s with %lld bytes on %d ranks (%lld bytes per rank)", c->op->name, (long long)c->bytes,
                     r->team.n_ranks, (long long)needed_bytes);
        if (agree_failed(r, failed)) return -1;
    }
    return 0;
}

static int run_pilots(struct run *r) {
    const struct nd_options *o = r->o;
    for (int i = 0; i < o->n_configs; i++) {
        if (nd_pilot_run(&r->team, o, i, &r->states[i], &r->ticks, r->scratch, &r->cells[i])) {
            if (r->team.rank == 0) nl_error("%s received wrong data: this MPI installation is broken", o->configs[i].op->name);
            return -1;
        }
    }
    /* rank 0's pilot decides for all: equal numbers on all ranks are what keeps the loops together */
    MPI_Bcast(r->cells, (int)((size_t)o->n_configs * sizeof *r->cells), MPI_BYTE, 0, r->team.world);
    memset(r->scratch, 0, sizeof *r->scratch);
    for (int i = 0; i < o->n_configs && o->n_arms > 0; i++) {
        if (r->cells[i].pilot_ns * (double)r->cells[i].n_operations >= 0.9 * (double)o->period_ns) continue;
        if (r->team.rank == 0)
            nl_error("--count: %lld operations of %s take %.3g ms, less than one noise period of %.3g ms: raise it", (long long)o->count,
                     o->configs[i].op->name, r->cells[i].pilot_ns * (double)r->cells[i].n_operations * 1e-6, (double)o->period_ns * 1e-6);
        return -1;
    }
    return 0;
}

static int64_t planned_halves(const struct run *r) {
    return r->schedule.n_rounds * r->o->design->round_steps(r->o->n_configs, r->o->n_arms);
}

static void warn_of_memory(const struct run *r, int64_t hist_bytes) {
    char line[160];
    snprintf(line, sizeof line, "the histograms of %d operations x %d arms take %lld MiB on every rank (--per-operation-timing off does without)",
             r->o->n_configs, r->n_arms, (long long)(hist_bytes >> 20));
    nl_warn("%s", line);
    nd_launch_json_warn(r->launch, line);
}

static int open_record(struct run *r) {
    int failed = 0;
    if (r->team.rank == 0) {
        const struct nd_options *o = r->o;
        failed = nd_record_open(&r->record, o, r->team.n_ranks) != 0;
        if (!failed) {
            r->launch = nd_launch_json_new(nd_record_launch(r->record), o, &r->team, r->schedule.seed, &r->ticks, r->cells, r->hosts, r->seats,
                                           r->schedule.n_rounds * nd_schedule_round_pairs(&r->schedule), r->n_generators);
            if (!r->steal)
                nd_launch_json_warn(r->launch, "steal time of the hypervisor is not known: ranks are not bound, or /proc/stat is absent or too slow to read");
            int64_t hist_bytes = r->hists ? (int64_t)sizeof *r->hists * o->n_configs * r->n_arms : 0;
            if (hist_bytes > MEMORY_BYTES) warn_of_memory(r, hist_bytes);
            if (r->n_loose_ranks)
                nd_launch_json_warn(r->launch, "ranks are not bound to one CPU each: the load may miss them (mpirun --bind-to core)");
            failed = nd_record_launch_json(r->record, r->launch) != 0;
            r->progress = nd_progress_open(o, planned_halves(r));
        }
    }
    return agree_failed(r, failed);
}

/* ---- one half ------------------------------------------------------------------------------------------------------------------------ */

/* Whether the dose of a half follows from the options alone: a whole number of bursts. Other patterns bring what falls into the half, and
 * the generator says how much that was. */
static int is_periodic(const struct nd_options *o, const struct nd_arm *arm) { return strcmp(o->patterns[arm->pattern], "periodic") == 0; }

/* The place in the period, 0..1. Both draws are made for every half, so that all nodes stay in step. */
static double draw_phase(struct run *r, enum nd_phase phase) {
    double own = nl_rng_uniform(&r->phase_rng), common = nl_rng_uniform(&r->common_phase_rng);
    if (phase == ND_PHASE_RANDOM) return own;
    double u = common + (phase == ND_PHASE_STAGGERED ? (double)r->team.node_index / r->team.n_nodes : 0);
    return u < 1 ? u : u - 1;
}

/* A pattern of its own: the same on all nodes when aligned. It starts with the half, where the one before left off; short halves are given
 * slots of equal length, a little longer than they should last, because the nodes' clocks would otherwise part half by half. */
static void dose_of_pattern(const struct run *r, enum nd_phase phase, double length_ns, struct nd_dose *dose) {
    if (r->o->design->fixed_dose) dose->slot_ns = (int64_t)(SLOT_LENGTHS * length_ns);
    dose->n_periods = (int64_t)(LEASE_LENGTHS * length_ns / (double)dose->period_ns) + LEASE_LENGTHS;
    dose->half_ns = (int64_t)length_ns;
    dose->first_burst_ns = nl_mono_ns() + r->lead_ns;
    dose->seed = r->schedule.seed;
    if (phase == ND_PHASE_ALIGNED) return;
    dose->seed += (uint64_t)(r->team.node_index + 1) << 52;
    dose->skip = phase == ND_PHASE_RANDOM ? r->skip : (double)r->team.node_index / r->team.n_nodes;
}

/* Bursts of an on half and when the first one starts. The phase is drawn anew for every half, so that no burst keeps step with the tick;
 * in a fixed-dose design the bursts keep clear of both ends, because the length of a half wanders with the machine's speed. */
static struct nd_dose draw_dose(struct run *r, const struct nd_step *step) {
    const struct nd_options *o = r->o;
    struct nd_dose dose = {.period_ns = o->period_ns};
    enum nd_phase phase = step->level == ND_OFF ? ND_PHASE_RANDOM : o->phases[o->arms[step->level].phase];
    double u = draw_phase(r, phase);
    if (step->level == ND_OFF) return dose;
    const struct nd_arm *arm = &o->arms[step->level];
    const struct nd_cell *cell = &r->cells[step->config];
    double length_ns = cell->pilot_ns * (double)cell->n_operations, period_ns = (double)o->period_ns;
    double burst_ns = period_ns * arm->level_percent / 100, first_ns = u * period_ns;
    dose.account = step->level + 1;
    dose.kind = arm->kind;
    dose.pattern = arm->pattern;
    dose.level_percent = arm->level_percent;
    dose.is_active = r->is_active[arm->place];
    if (!is_periodic(o, arm)) {
        dose_of_pattern(r, phase, length_ns, &dose);
        return dose;
    }
    dose.n_periods = (int64_t)(LEASE_LENGTHS * length_ns / period_ns) + LEASE_LENGTHS; /* the end of the loop ends it */
    if (o->design->fixed_dose) {
        double earliest_ns = 0.1 * period_ns + (double)r->lead_ns, latest_ns = (double)r->lead_ns + 0.7 * period_ns - burst_ns;
        if (latest_ns < earliest_ns) earliest_ns = latest_ns = (double)r->lead_ns + (period_ns - burst_ns) / 4;
        first_ns = earliest_ns + u * (latest_ns - earliest_ns);
        dose.n_periods = (int64_t)(length_ns / period_ns + 0.5);
        if (dose.n_periods < 1) dose.n_periods = 1;
    }
    dose.half_ns = dose.n_periods * o->period_ns;
    dose.first_burst_ns = nl_mono_ns() + (int64_t)first_ns;
    return dose;
}

static int64_t involuntary_switches(void) {
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nivcsw;
}

static void switch_arm(struct run *r, const struct nd_step *step, struct sample *s) {
    s->bursts_asked = s->first_burst_ns = s->n_due = 0;
    if (!r->treatment) return;
    struct nd_dose dose = draw_dose(r, step);
    if (nd_treatment_switch(r->treatment, &dose)) {
        const char *reason = nd_treatment_refusal(r->treatment);
        if (reason[0]) nl_error("the generator refuses: %s", reason);
        r->flags |= ND_FLAG_GENERATOR;
    }
    s->n_due = nd_treatment_n_due(r->treatment);
    if (step->level == ND_OFF || !is_periodic(r->o, &r->o->arms[step->level])) return;
    s->bursts_asked = dose.n_periods * r->n_place_cpus[r->o->arms[step->level].place];
    s->first_burst_ns = dose.first_burst_ns;
}

/* Waits for all ranks without holding the CPU: the generator that was just woken needs it, and would otherwise wait for the scheduler's next
 * tick behind a rank that spins in a barrier. The real barrier afterwards brings the ranks together. */
static void wait_politely(MPI_Comm comm) {
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(comm, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) break;
        sched_yield();
    }
    MPI_Barrier(comm);
}

/* Untimed operations before a loop: a few, and never more than a hundredth of the half. */
static int64_t untimed_operations(const struct nd_cell *cell, int64_t half_ns) {
    double n = 0.01 * (double)half_ns / cell->pilot_ns;
    return n < 1 ? 1 : n > 8 ? 8 : (int64_t)n;
}

static void end_arm(struct run *r) {
    /* a fixed dose ends by itself, and the next switch ends what is left of it */
    if (!r->treatment || r->o->design->fixed_dose) return;
    if (nd_treatment_idle(r->treatment)) r->flags |= ND_FLAG_GENERATOR;
}

/* The dose of a half in CPU time; without a fixed dose the load went on as long as the loop did.
 * @param became_due_ns  what the generator says became due during the loop, for patterns that are not periodic. */
static void ask_for_time(const struct run *r, const struct nd_step *step, int64_t became_due_ns, struct sample *s) {
    s->requested_ns = 0;
    if (!r->treatment || step->level == ND_OFF) return;
    const struct nd_arm *arm = &r->o->arms[step->level];
    if (!is_periodic(r->o, arm)) {
        s->requested_ns = became_due_ns;
        return;
    }
    int n_cpus = r->n_place_cpus[arm->place];
    if (!r->o->design->fixed_dose) s->bursts_asked = s->loop.wall_ns / r->o->period_ns * n_cpus;
    double asked_ns = r->o->design->fixed_dose ? (double)s->bursts_asked * (double)r->o->period_ns : (double)s->loop.wall_ns * n_cpus;
    s->requested_ns = (int64_t)(asked_ns * arm->level_percent / 100);
}

static int64_t chunk_of(const struct nd_cell *cell) {
    double length_ns = cell->pilot_ns * (double)cell->n_operations;
    if (length_ns < 2. * (double)STOP_LOOK_NS) return cell->n_operations;
    int64_t chunk = (int64_t)((double)STOP_LOOK_NS / cell->pilot_ns);
    return chunk < 1 ? 1 : chunk;
}

/* Adds the loop's histogram to that of its arm and empties it. The loop itself must not count in the arm's own: histograms at different
 * addresses fall on different cache sets, and an arm would be slower for where its counters lie. */
static void keep_hist(struct run *r, const struct nd_step *step) {
    if (!r->hists) return;
    uint64_t *sum = r->hists[step->config * r->n_arms + step->level + 1].bins;
    for (int i = 0; i < NL_HIST_BINS; i++) sum[i] += r->scratch->bins[i];
}

struct delivery {
    int64_t cpu_ns, n_bursts, requested_ns;
};

/* What the node's generator has used and run; zeros on ranks without one. */
static struct delivery delivered_so_far(struct run *r) {
    struct delivery d = {0};
    if (!r->treatment) return d;
    d.cpu_ns = nd_treatment_cpu_ns(r->treatment);
    d.n_bursts = nd_treatment_bursts_run(r->treatment);
    d.requested_ns = nd_treatment_requested_ns(r->treatment);
    if (d.cpu_ns < 0 || nd_treatment_is_gone(r->treatment)) r->flags |= ND_FLAG_GENERATOR;
    return d;
}

/* Runs one half on all ranks and leaves this rank's figures in `s`. */
static void run_half(struct run *r, const struct nd_step *step, struct sample *s) {
    const struct nd_cell *cell = &r->cells[step->config];
    const struct nd_loop loop = {
        .op = r->o->configs[step->config].op,
        .state = &r->states[step->config],
        .n_operations = cell->n_operations,
        .chunk = chunk_of(cell),
        .ticks = &r->ticks,
        .hist = r->hists ? r->scratch : NULL,
        .detour_threshold_ns = cell->detour_threshold_ns,
        .typical_ns = cell->typical_ns,
        .stop_asked = r->stop_asked,
        .parent_pid = r->parent_pid,
    };
    int64_t drawn_ns = nl_mono_ns();
    int64_t steal_ns = r->steal ? nd_steal_read(r->steal) : -1;
    memset(r->scratch, 0, sizeof *r->scratch);
    switch_arm(r, step, s);
    wait_politely(r->team.world); /* all nodes have switched */
    nd_loop_warm(&loop, untimed_operations(cell, r->o->half_ns));
    int64_t switches = involuntary_switches();
    struct delivery before = delivered_so_far(r);
    nd_loop_run(&loop, &s->loop);
    struct delivery after = delivered_so_far(r);
    s->delivered_ns = after.cpu_ns - before.cpu_ns;
    s->n_bursts = after.n_bursts - before.n_bursts;
    s->lead_ns = s->loop.start_ns - drawn_ns;
    s->n_involuntary = involuntary_switches() - switches;
    ask_for_time(r, step, after.requested_ns - before.requested_ns, s);
    end_arm(r);
    s->steal_ns = r->steal && steal_ns >= 0 ? nd_steal_read(r->steal) - steal_ns : -1;
}

/* ---- from the ranks' figures to a row (rank 0) ------------------------------------------------------------------------------------------ */

static void merge_rank(struct nd_half *h, const struct sample *s, int rank, int64_t *stolen_max_ns, double *base_sum, int *n_base) {
    int64_t stolen_ns = s->loop.wall_ns - s->loop.cpu_ns;
    if (rank == 0 || s->loop.wall_ns > h->wall_ns) {
        h->wall_ns = s->loop.wall_ns;
        h->slowest_rank = rank;
    }
    if (rank == 0 || stolen_ns > *stolen_max_ns) {
        *stolen_max_ns = stolen_ns;
        h->stolen_rank = rank;
    }
    h->stolen_ns_sum += stolen_ns;
    h->n_involuntary += s->n_involuntary;
    h->delivered_ns += s->delivered_ns;
    h->n_bursts += s->n_bursts;
    h->n_due += s->n_due;
    h->requested_ns += s->requested_ns;
    if (s->steal_ns >= 0) h->steal_ns = (h->steal_ns < 0 ? 0 : h->steal_ns) + s->steal_ns;
    if (s->loop.detour_ns > h->detour_ns) {
        h->detour_ns = s->loop.detour_ns;
        h->n_detours = s->loop.n_detours;
    }
    int64_t n_typical = s->loop.n_operations - s->loop.n_detours;
    if (n_typical > 0) {
        *base_sum += (double)s->loop.base_ns_sum / (double)n_typical;
        *n_base += 1;
    }
}

static void merge_samples(const struct run *r, const struct nd_step *step, struct nd_half *h) {
    double base_sum = 0;
    int n_base = 0;
    *h = (struct nd_half){.step = *step, .steal_ns = -1, .base_ns = -1};
    h->start_ns = r->samples[0].loop.start_ns - r->first_start_ns;
    h->n_operations = r->samples[0].loop.n_operations;
    for (int rank = 0; rank < r->team.n_ranks; rank++) merge_rank(h, &r->samples[rank], rank, &h->stolen_ns_max, &base_sum, &n_base);
    if (!r->hists)
        h->detour_ns = h->n_detours = -1;
    else if (n_base > 0)
        h->base_ns = base_sum / n_base;
    if (r->n_generators == 0) h->delivered_ns = h->n_bursts = h->n_due = h->requested_ns = -1;
}

static void record_half(struct run *r, const struct nd_step *step) {
    struct nd_half h;
    if (nd_record_rows(r->record) == 0) r->first_start_ns = r->samples[0].loop.start_ns;
    merge_samples(r, step, &h);
    if (r->o->design->fixed_dose && step->level != ND_OFF) {
        r->n_on_halves++;
        r->n_short_halves += (double)h.wall_ns < SHORT_HALF * (double)r->o->half_ns;
    }
    r->times_slowest[h.slowest_rank * r->n_arms + step->level + 1]++;
    int n_cpus = step->level == ND_OFF ? r->n_generators : r->n_loaded[r->o->arms[step->level].place];
    if (nd_record_row(r->record, &h, n_cpus)) r->flags |= ND_FLAG_RECORD;
    if (r->progress) nd_progress_half(r->progress, &h);
}

static void add_to_sums(struct run *r, const struct nd_step *step, const struct sample *s) {
    struct nd_rank_sum *sum = &r->sums[step->level + 1];
    sum->n_halves++;
    sum->wall_ns += s->loop.wall_ns;
    sum->stolen_ns += s->loop.wall_ns - s->loop.cpu_ns;
    sum->n_detours += s->loop.n_detours;
    sum->detour_ns += s->loop.detour_ns;
    sum->n_involuntary += s->n_involuntary;
    if (!r->treatment || step->level == ND_OFF) return;
    struct nd_level_sum *level = &r->node_end->levels[step->level];
    if (s->loop.start_ns > s->first_burst_ns && s->bursts_asked > 0 && r->o->arms[step->level].level_percent > 0) r->node_end->n_early_bursts++;
    level->n_halves++;
    level->wall_ns += s->loop.wall_ns;
    level->n_cpus = r->n_place_cpus[r->o->arms[step->level].place];
    level->requested_ns += s->requested_ns;
    level->delivered_ns += s->delivered_ns;
    level->bursts_run += s->n_bursts;
    level->bursts_planned += s->bursts_asked;
}

/* ---- files that are written whole --------------------------------------------------------------------------------------------------- */

/* Merges the ranks' histograms one by one, so that rank 0 never holds more than one. Collective. */
static int write_hists(struct run *r) {
    const struct nd_options *o = r->o;
    int failed = 0;
    if (!r->hists) return 0;
    if (r->record) failed = nd_record_hist_begin(r->record);
    for (int i = 0; i < o->n_configs * r->n_arms; i++) {
        int arm = i % r->n_arms;
        MPI_Reduce(r->hists[i].bins, r->scratch->bins, NL_HIST_BINS, MPI_UINT64_T, MPI_SUM, 0, r->team.world);
        if (r->record && !failed)
            failed = nd_record_hist_add(r->record, &o->configs[i / r->n_arms], arm - 1, r->scratch);
    }
    if (r->record && !failed) failed = nd_record_hist_end(r->record);
    return failed;
}

static int write_ranks(struct run *r) {
    nd_team_gather(r->team.world, r->sums, (int)((size_t)r->n_arms * sizeof *r->sums), r->all_sums);
    if (!r->record) return 0;
    for (int i = 0; i < r->team.n_ranks * r->n_arms; i++) r->all_sums[i].n_slowest = r->times_slowest[i];
    return nd_record_ranks(r->record, r->seats, r->all_sums, r->team.n_ranks);
}

static void write_checkpoint(struct run *r) {
    if (write_hists(r) | write_ranks(r)) r->flags |= ND_FLAG_RECORD;
    r->last_checkpoint_ns = nl_mono_ns();
}

/* Takes the certificate of every node's generator. Collective. */
static void collect_certificates(struct run *r) {
    if (r->team.node_rank != 0) return;
    gethostname(r->node_end->host, sizeof r->node_end->host - 1);
    r->node_end->has_generator = r->treatment != NULL;
    if (r->treatment) {
        const struct nl_hist *times = nd_treatment_switch_times(r->treatment);
        r->node_end->n_switches = (int64_t)nl_hist_total(times);
        r->node_end->switch_p50_ns = nl_hist_quantile(times, 0.5);
        r->node_end->switch_p99_ns = nl_hist_quantile(times, 0.99);
        r->node_end->switch_max_ns = nl_hist_max(times);
        nd_treatment_stop(r->treatment, r->node_end->certificate, sizeof r->node_end->certificate);
    }
    nd_team_gather(r->team.leaders, r->node_end, sizeof *r->node_end, r->node_ends);
    if (r->launch) nd_launch_json_generators(r->launch, r->o, r->node_ends, r->team.n_nodes);
}

/* ---- the loop over halves --------------------------------------------------------------------------------------------------------------- */

static int agree(struct run *r) {
    /* the launcher is our parent: when it is killed, nobody waits for the result, and the load must not outlive it */
    if (*r->stop_asked || getppid() != r->parent_pid) r->flags |= ND_FLAG_STOP;
    if (r->record && nl_mono_ns() - r->last_checkpoint_ns > CHECKPOINT_NS) r->flags |= ND_FLAG_CHECKPOINT;
    int flags = nd_team_agree(&r->team, r->flags);
    r->flags &= ~ND_FLAG_CHECKPOINT;
    return flags;
}

/* Runs the schedule for the warm-up's time and forgets it: code, buffers, connections and the generator are as they will be. The number of
 * halves follows from the options alone, not from the data. */
static int warm_up(struct run *r, struct nd_step *steps) {
    int n_steps = r->o->design->round_steps(r->o->n_configs, r->o->n_arms);
    int64_t lead_ns = 0;
    int64_t n_halves = r->o->design->single_loop ? 0 : (r->o->warmup_ns + r->o->half_ns - 1) / r->o->half_ns;
    for (int64_t i = 0; i < n_halves; i++) {
        struct sample s;
        if (i % n_steps == 0) r->o->design->fill_round(&r->schedule, WARMUP_STREAM_ROUND + i / n_steps, steps);
        run_half(r, &steps[i % n_steps], &s);
        int flags = agree(r) & ~ND_FLAG_CHECKPOINT;
        if (flags) return flags;
        if (s.lead_ns > lead_ns) lead_ns = s.lead_ns;
    }
    /* bursts are timed from when the dose is drawn, and the loop begins a little later; a rare long delay must not push them all back */
    int64_t most_ns = r->o->period_ns / 20;
    MPI_Allreduce(&lead_ns, &r->lead_ns, 1, MPI_INT64_T, MPI_MAX, r->team.world);
    if (r->lead_ns > most_ns) r->lead_ns = most_ns;
    return 0;
}

static int run_round(struct run *r, const struct nd_step *steps, int n_steps) {
    for (int i = 0; i < n_steps; i++) {
        const struct nd_step *step = &steps[i];
        struct sample s;
        run_half(r, step, &s);
        int flags = agree(r);
        if (flags & (ND_FLAG_GENERATOR | ND_FLAG_STOP)) return flags; /* this half may be without its load: not recorded */
        if (s.loop.n_operations < r->cells[step->config].n_operations) return flags | ND_FLAG_STOP;
        add_to_sums(r, step, &s);
        keep_hist(r, step);
        nd_team_gather(r->team.world, &s, sizeof s, r->samples);
        if (r->record) record_half(r, step);
        if (flags & ND_FLAG_CHECKPOINT) write_checkpoint(r);
        if (flags & ~ND_FLAG_CHECKPOINT) return flags;
    }
    return 0;
}

static int run_schedule(struct run *r) {
    int n_steps = r->o->design->round_steps(r->o->n_configs, r->o->n_arms);
    struct nd_step *steps = calloc((size_t)n_steps, sizeof *steps);
    if (agree_failed(r, !steps)) {
        free(steps);
        return ND_FLAG_SETUP;
    }
    r->last_checkpoint_ns = nl_mono_ns();
    int flags = warm_up(r, steps);
    for (int64_t round = 0; round < r->schedule.n_rounds && !flags; round++) {
        r->o->design->fill_round(&r->schedule, round, steps);
        flags = run_round(r, steps, n_steps);
    }
    free(steps);
    return flags;
}

static int set_up(struct run *r) {
    if (allocate(r) || check_generators(r) || set_up_nodes(r)) return -1;
    nl_ticks_calibrate(&r->ticks);
    r->schedule = (struct nd_schedule){r->o->design, r->o->n_configs, r->o->n_arms, r->o->seed, r->o->n_rounds};
    MPI_Bcast(&r->schedule.seed, 1, MPI_UINT64_T, 0, r->team.world);
    nl_rng_init(&r->phase_rng, r->schedule.seed, PHASE_STREAM + (uint64_t)r->team.node_index);
    nl_rng_init(&r->common_phase_rng, r->schedule.seed, COMMON_PHASE_STREAM);
    struct nl_rng skip_rng;
    nl_rng_init(&skip_rng, r->schedule.seed, SKIP_STREAM + (uint64_t)r->team.node_index);
    r->skip = nl_rng_uniform(&skip_rng);
    accept_interrupts(r->o);
    if (open_operations(r) || run_pilots(r)) return -1;
    return open_record(r) ? -1 : 0;
}

/* The number of operations is fixed; when the machine gets faster after the pilot, halves get shorter than planned. */
static void warn_of_short_halves(const struct run *r) {
    char line[192];
    if (r->n_short_halves * 50 <= r->n_on_halves) return;
    snprintf(line, sizeof line, "%.0f %% of the on halves were over 10 %% shorter than planned (the machine got faster after the pilot) and may lack bursts",
             100. * (double)r->n_short_halves / (double)r->n_on_halves);
    nd_launch_json_warn(r->launch, line);
}

static enum nd_end finish(struct run *r, int flags) {
    const char *ended = "complete";
    enum nd_end end = ND_END_COMPLETE;
    write_checkpoint(r);
    flags |= nd_team_agree(&r->team, r->flags);
    if (flags & (ND_FLAG_GENERATOR | ND_FLAG_RECORD | ND_FLAG_SETUP)) {
        ended = flags & ND_FLAG_GENERATOR ? "failed: a generator is gone, refused or does not answer"
                : flags & ND_FLAG_RECORD  ? "failed: results could not be written"
                                          : "failed: no memory for the schedule";
        end = ND_END_FAILED;
        if (r->team.rank == 0) nl_error("%s; rows taken so far are in '%s'", ended, nd_record_folder(r->record));
    } else if (flags & ND_FLAG_STOP) {
        ended = "interrupted";
        end = ND_END_INTERRUPTED;
    }
    collect_certificates(r);
    int64_t peak_kib = nd_peak_memory_kib();
    MPI_Allreduce(MPI_IN_PLACE, &peak_kib, 1, MPI_INT64_T, MPI_MAX, r->team.world);
    int failed = 0;
    if (r->record) {
        warn_of_short_halves(r);
        nd_launch_json_end(r->launch, ended, nd_record_rows(r->record), peak_kib);
        failed = nd_record_launch_json(r->record, r->launch) || (r->flags & ND_FLAG_RECORD);
        nd_progress_close(r->progress);
        r->progress = NULL;
        if (!failed) fprintf(stdout, "%s\n", nd_record_folder(r->record));
        if (end == ND_END_INTERRUPTED) nl_warn("interrupted: %lld rows are in '%s'", (long long)nd_record_rows(r->record), nd_record_folder(r->record));
    }
    return agree_failed(r, failed) ? ND_END_FAILED : end;
}

static void tear_down(struct run *r) {
    for (int i = 0; r->states && i < r->o->n_configs; i++) nd_op_close(&r->states[i]);
    nd_steal_close(r->steal);
    nd_progress_close(r->progress);
    nd_record_close(r->record);
    json_decref(r->launch);
    free(r->states);
    free(r->cells);
    free(r->hists);
    free(r->scratch);
    free(r->sums);
    free(r->node_end);
    free(r->cpu_used);
    free(r->samples);
    free(r->all_sums);
    free(r->times_slowest);
    free(r->seats);
    free(r->hosts);
    free(r->node_ends);
    nd_team_close(&r->team);
}

enum nd_end nd_run(const struct nd_options *o, struct nd_treatment *treatment, int has_failed, const volatile int *stop_asked) {
    struct run r = {.o = o, .treatment = treatment, .stop_asked = stop_asked, .n_arms = o->n_arms + 1, .parent_pid = getppid()};
    nd_team_open(&r.team);
    enum nd_end end = ND_END_FAILED;
    if (!agree_failed(&r, has_failed) && set_up(&r) == 0) end = finish(&r, run_schedule(&r));
    tear_down(&r);
    return end;
}

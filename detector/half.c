/* One half: switching the arm, running the loop, and from the ranks' figures to a row. */
#include "detector/half.h"
#include "detector/run_state.h"
#include "detector/agent_run.h"
#include "detector/counters_run.h"
#include "detector/halves/pairs.h"
#include "detector/load_log.h"
#include "detector/nodes/tree.h"
#include "detector/plan/noise_nodes.h"
#include "detector/plan/sequential.h"
#include "detector/record/progress.h"
#include "detector/record/markers.h"
#include "detector/starts/starter.h"

#define STOP_LOOK_NS INT64_C(100000000) /* long loops look for a stop about this often */
#define LEASE_LENGTHS                                                                                        \
    4 /* a load without fixed dose ends by itself after this many planned lengths of its loop */
#define SLOT_LENGTHS 1.2               /* slot of a pattern in planned lengths of a half */
#define YIELD_NS     INT64_C(10000000) /* a wait for other ranks longer than this leaves them the CPU */
#define MOST_LENGTHS 2 /* no half lasts longer than so many planned lengths, and an operation */

static const struct timespec nap = {.tv_nsec = 100000};

/* Whether a half's dose follows from the options alone; of other patterns the generator says how
 * much it was. */
static int is_periodic(const struct nd_options *o, const struct nd_arm *arm) {
    return strcmp(o->patterns[arm->pattern], "periodic") == 0;
}

/* When the next beat of a program comes nobody knows: its load runs on all the while. */
static int has_fixed_dose(const struct nd_options *o) { return o->design->fixed_dose && !o->app; }

static int has_dose(const struct nd_options *o, const struct nd_step *step) {
    return step->level != ND_OFF && !o->arms[step->level].name;
}

/* The place in the period, 0..1. Both draws are made for every half, so that all nodes stay in step. */
static double draw_phase(struct nd_run *r, enum nd_phase phase) {
    double own = nl_rng_uniform(&r->phase_rng), common = nl_rng_uniform(&r->common_phase_rng);
    return nd_noise_phase(phase, own, common, r->leader.treated_index, r->n_generators);
}

/* A pattern of its own: the same on all nodes when aligned. It goes on where the half before left off; short
 * halves are given slots of equal length, because the nodes' clocks would otherwise part half by half. */
static void dose_of_pattern(const struct nd_run *r, enum nd_phase phase, double length_ns,
                            struct nl_dose *dose) {
    if (has_fixed_dose(r->o)) dose->slot_ns = (int64_t)(SLOT_LENGTHS * length_ns);
    dose->n_periods = (int64_t)(LEASE_LENGTHS * length_ns / (double)dose->period_ns) + LEASE_LENGTHS;
    dose->half_ns = (int64_t)length_ns;
    dose->first_burst_ns = nl_mono_ns() + r->lead_ns;
    dose->seed = r->schedule.seed;
    if (phase == ND_PHASE_ALIGNED) return;
    dose->seed += (uint64_t)(r->team.node_index + 1) << 52;
    dose->skip = nd_noise_phase(phase, r->skip, 0, r->leader.treated_index, r->n_generators);
}

/* By how much a dose lengthens its half: bursts come at once on one node, and on several one after the other
 * unless aligned. */
static double stretch_of(const struct nd_run *r, const struct nd_step *step) {
    const struct nd_arm *arm = &r->o->arms[step->level];
    int n = r->n_hit[arm->place];
    if (n > 1 &&
        (r->o->phases[arm->phase] == ND_PHASE_ALIGNED || !r->o->configs[step->config].op->is_synchronising))
        n = 1;
    return nd_follow_stretch(n * arm->level_percent / 100);
}

/* The generator's account of a step. Periodic bursts too small for a wake-up of their own are merged, and
 * would fall on any operation: as long as there are accounts enough, each has its own. */
static int account_of(const struct nd_options *o, const struct nd_step *step) {
    int n_accounts = 1 + o->n_doses * o->n_configs;
    if (n_accounts > NL_CONTROL_MAX_LEVELS || !is_periodic(o, &o->arms[step->level])) return step->level + 1;
    return 1 + step->level + step->config * o->n_doses;
}

/* Bursts of an on half and when the first one starts. The phase is drawn anew for every half, so that no
 * burst keeps step with the tick. */
static struct nl_dose draw_dose(struct nd_run *r, const struct nd_step *step, struct nd_sample *s) {
    const struct nd_options *o = r->o;
    struct nl_dose dose = {.period_ns = o->period_ns};
    enum nd_phase phase = has_dose(o, step) ? o->phases[o->arms[step->level].phase] : ND_PHASE_RANDOM;
    double u = draw_phase(r, phase);
    if (!has_dose(o, step)) return dose;
    const struct nd_arm *arm = &o->arms[step->level];
    double length_ns = nd_follow_mean_ns(&r->follow[step->config]), period_ns = (double)o->period_ns,
           first_ns = u * period_ns;
    dose.account = s->account = account_of(o, step);
    dose.kind = arm->kind;
    dose.pattern = arm->pattern;
    dose.level_percent = arm->level_percent;
    memcpy(dose.is_active, r->leader.is_active[arm->place], sizeof dose.is_active);
    if (!is_periodic(o, arm)) {
        dose_of_pattern(r, phase, length_ns, &dose);
        return dose;
    }
    if (has_fixed_dose(o)) {
        struct nd_bursts b;
        int64_t n_periods = (o->half_ns + o->period_ns / 2) / o->period_ns;
        nd_follow_draw(&r->follow[step->config], n_periods < 1 ? 1 : n_periods, arm->level_percent,
                       stretch_of(r, step), r->lead_ns, u, &b);
        first_ns = (double)b.first_ns;
        dose.n_periods = b.n;
        dose.period_ns = b.period_ns;
        s->asked_ns = b.n * b.burst_ns * r->n_place_cpus[arm->place];
        /* the half before may have left something that is not known yet */
        const struct nd_ledger *ledger = &r->leader.ledgers[dose.account];
        if (r->leader.last_account != dose.account)
            dose.extra_ns =
                (int64_t)(nd_ledger_extra_ns(ledger, (double)s->asked_ns) / r->n_place_cpus[arm->place]);
        s->last_burst_ns = (b.n - 1) * b.period_ns + b.burst_ns;
    } else {
        dose.n_periods = (int64_t)(LEASE_LENGTHS * length_ns / period_ns) +
                         LEASE_LENGTHS; /* the end of the loop ends it */
    }
    dose.half_ns = dose.n_periods * dose.period_ns;
    dose.first_burst_ns = nl_mono_ns() + (int64_t)first_ns;
    if (s->last_burst_ns > 0) s->last_burst_ns += dose.first_burst_ns; /* so far from the first burst on */
    return dose;
}

static void switch_arm(struct nd_run *r, const struct nd_step *step, struct nd_sample *s) {
    s->bursts_asked = s->first_burst_ns = s->n_due = s->last_burst_ns = s->asked_ns = 0;
    if (!r->leader.treatment) return;
    struct nl_dose dose = draw_dose(r, step, s);
    const struct nl_control *page = nd_treatment_page(r->leader.treatment);
    int rc = nd_treatment_switch(r->leader.treatment, &dose);
    if (rc == -1) nl_error("the generator refuses: %s", page->text);
    if (rc) r->flags |= ND_FLAG_GENERATOR;
    r->leader.ledgers[r->leader.last_account].owed_ns = (double)nl_control_owed_ns(page);
    r->leader.last_account = dose.account;
    s->n_due = nl_control_n_due(page);
    if (!has_dose(r->o, step) || !is_periodic(r->o, &r->o->arms[step->level])) return;
    s->bursts_asked = dose.n_periods * r->n_place_cpus[r->o->arms[step->level].place];
    s->first_burst_ns = dose.first_burst_ns;
}

/* Waits for all ranks without holding the CPU, which the generator that was just woken needs. The real
 * barrier brings them together. */
static void wait_politely(MPI_Comm comm) {
    MPI_Request request;
    int done = 0;
    int64_t nap_ns = nl_mono_ns() + YIELD_NS;
    MPI_Ibarrier(comm, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) break;
        /* an agent may take seconds to start; settling, which follows, wakes the rank up for good */
        if (nl_mono_ns() < nap_ns)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
    MPI_Barrier(comm);
}

static void end_arm(struct nd_run *r) {
    /* a fixed dose ends by itself, and the next switch ends what is left of it */
    if (!r->leader.treatment || has_fixed_dose(r->o)) return;
    if (nd_treatment_idle(r->leader.treatment)) r->flags |= ND_FLAG_GENERATOR;
}

static int64_t share_of(int64_t wall_ns, int n_cpus, const struct nd_arm *arm) {
    return (int64_t)((double)wall_ns * n_cpus * arm->level_percent / 100 + 0.5);
}

/* The dose of a half in CPU time: the level's share of its length as it turned out, or what became due by the
 * generator. */
static void ask_for_time(const struct nd_run *r, const struct nd_step *step, int64_t became_due_ns,
                         struct nd_sample *s) {
    s->requested_ns = 0;
    if (!r->leader.treatment || !has_dose(r->o, step)) return;
    const struct nd_arm *arm = &r->o->arms[step->level];
    if (!is_periodic(r->o, arm)) {
        s->requested_ns = became_due_ns;
        return;
    }
    int n_cpus = r->n_place_cpus[arm->place];
    if (!has_fixed_dose(r->o)) s->bursts_asked = s->loop.wall_ns / r->o->period_ns * n_cpus;
    s->requested_ns = share_of(s->loop.wall_ns, n_cpus, arm);
}

/* Untimed operations: what an agent does at first after its switch falls into them. */
static void settle(struct nd_run *r, const struct nd_step *step, const struct nd_loop *loop) {
    int64_t settle_ns = nd_options_settle_ns(r->o, step->planned_ns);
    if (!nd_options_has_agent(r->o)) return;
    wait_politely(r->team.world); /* all agents have been switched */
    int64_t before_ns = nl_mono_ns();
    if (settle_ns > 0) nd_loop_settle(loop, settle_ns);
    r->agent.half.settle_ns = nl_mono_ns() - before_ns;
}

static int64_t chunk_of(const struct nd_cell *cell, int64_t n_operations) {
    double length_ns = cell->pilot_ns * (double)n_operations;
    if (length_ns < 2. * (double)STOP_LOOK_NS) return n_operations;
    int64_t chunk = (int64_t)((double)STOP_LOOK_NS / cell->pilot_ns);
    return chunk < 1 ? 1 : chunk;
}

void nd_run_follow(struct nd_run *r, const struct nd_step *step, int64_t wall_ns, int64_t n_operations) {
    if (step->level != ND_OFF || step->planned_ns != r->o->half_ns || n_operations == 0) return;
    double whole = (double)r->cells[step->config].n_operations / (double)n_operations;
    nd_follow_off(&r->follow[step->config], (int64_t)((double)wall_ns * whole));
}

void nd_run_set_operations(struct nd_run *r) {
    const struct nd_options *o = r->o;
    int64_t numbers[ND_MAX_CONFIGS];
    if (o->count || o->design->single_loop) return;
    for (int i = 0; i < o->n_configs; i++) {
        numbers[i] = nd_follow_operations(&r->follow[i], r->cells[i].n_operations);
        if (r->program) numbers[i] = nd_whole_periods_of_beats(numbers[i], r->beat.period);
    }
    /* rank 0's: processors of different kinds may round differently */
    nd_team_share(&r->team, numbers, o->n_configs);
    for (int i = 0; i < o->n_configs; i++) {
        struct nd_cell *cell = &r->cells[i];
        if (numbers[i] == cell->n_operations) continue;
        nd_follow_rescale(&r->follow[i], cell->n_operations, numbers[i]);
        cell->n_operations = numbers[i];
        cell->pilot_ns = nd_follow_mean_ns(&r->follow[i]) / (double)numbers[i];
        /* chunks follow from it, and without equal ones ranks would wait for each other */
        int64_t pilot_ps = (int64_t)(1e3 * cell->pilot_ns);
        nd_team_share(&r->team, &pilot_ps, 1);
        cell->pilot_ns = 1e-3 * (double)pilot_ps;
        r->n_settings++;
    }
}

static void join_rank(struct nd_start_rank *to, const struct nd_start_rank *from) {
    to->first_starts += from->first_starts;
    to->last_starts += from->last_starts;
    to->last_ends += from->last_ends;
    to->start_cost_ns += from->start_cost_ns;
    to->end_cost_ns += from->end_cost_ns;
}

static void keep_starts(struct nd_run *r, const struct nd_step *step) {
    struct nd_starter *s = r->starter;
    if (!s) return;
    size_t arm = (size_t)(step->level + 1), cell = (size_t)step->config * (size_t)r->n_arms + arm;
    struct nd_rank_sum *sum = &r->sums[arm];
    nd_starter_accept(s);
    nl_hist_join(&r->overshoots[cell], s->overshoots);
    sum->overshoot_ns_sum += s->overshoot_ns_sum;
    if (s->overshoot_ns_max > sum->overshoot_ns_max) sum->overshoot_ns_max = s->overshoot_ns_max;
    if (!r->root.measures) return;
    for (int m = 0; m < ND_MEASURE_OVERSHOOT; m++)
        nl_hist_join(&r->root.measures[cell * ND_N_MEASURES + (size_t)m], &s->measures[m]);
    for (int rank = 0; rank < r->team.n_ranks; rank++)
        join_rank(&r->root.start_ranks[(size_t)rank * (size_t)r->n_arms + arm], &s->rank_sums[rank]);
}

struct delivery {
    int64_t cpu_ns, n_bursts, requested_ns;
};

static struct delivery delivered_so_far(struct nd_run *r) {
    struct delivery d = {0};
    if (!r->leader.treatment) return d;
    d.cpu_ns = nd_treatment_cpu_ns(r->leader.treatment);
    d.n_bursts = atomic_load(&nd_treatment_page(r->leader.treatment)->bursts_run);
    d.requested_ns = nl_control_requested_ns(nd_treatment_page(r->leader.treatment));
    if (d.cpu_ns < 0 || nd_treatment_is_gone(r->leader.treatment)) r->flags |= ND_FLAG_GENERATOR;
    return d;
}

/* What the generator did while starts were run: load that comes while they are summed up disturbs none. */
struct stretches {
    struct nd_run *r;
    struct delivery begin, sum;
};

static void count_stretch(void *context, int begins) {
    struct stretches *s = context;
    struct delivery now = delivered_so_far(s->r);
    if (begins) {
        s->begin = now;
        return;
    }
    s->sum.cpu_ns += now.cpu_ns - s->begin.cpu_ns;
    s->sum.n_bursts += now.n_bursts - s->begin.n_bursts;
    s->sum.requested_ns += now.requested_ns - s->begin.requested_ns;
}

static void begin_beats(struct nd_run *r, const struct nd_step *step, const struct nd_loop *loop,
                        int is_recorded) {
    nd_program_begin(r->program, loop->n_operations, r->cells[step->config].typical_ns, r->stop_asked);
    if (is_recorded) nd_agent_begin(r, step);
}

static int64_t tell_progress(void *progress, int64_t now_ns) { return nd_progress_tick(progress, now_ns); }

/* The steps have one order, whatever the arm is, because everything that differs between the arms beside the
 * treatment would be taken for its effect:
 *   1. The clocks of synchronised starts are looked after: it may take long, and nothing of this half is
 *      counted yet.
 *   2. The leader switches the agent, and all wait until that has settled. A switch wakes processes and
 *      empties caches, and an arm that is already on still runs the same operations meanwhile.
 *   3. The kernel's accounts (steal, quota, agent, counters) are read, after the switch so that they do not
 *      hold it, and before the dose so that they hold all of it.
 *   4. The leader draws the dose and tells the generator, as late as possible: its bursts are due from now
 * on.
 *   5. All nodes wait for each other, so that none times an operation while another one still switches.
 *   6. A few operations run without being timed: they fetch what the steps before have pushed out of caches.
 *   7. The loop. Between the marks of LIKWID's region and of the dose stands nothing else.
 *   8. What ended with the loop is read at once, nearest to it first: the ranks' own switches, then counters
 *      and the agent's account, while the agent is still on.
 *   9. The dose is settled: what was owed goes into the ledger, for the halves to come.
 *  10. The arm ends, and the accounts of step 3 are read again. */
void nd_run_half(struct nd_run *r, const struct nd_step *step, int is_recorded, struct nd_sample *s) {
    const struct nd_cell *cell = &r->cells[step->config];
    struct stretches stretches = {.r = r};
    /* the cell's are of a half */
    int64_t n_operations =
        step->planned_ns == r->o->half_ns
            ? cell->n_operations
            : (int64_t)((double)cell->n_operations * ((double)step->planned_ns / (double)r->o->half_ns));
    int is_late = nd_options_is_late(r->o, step->level);
    double operation_ns = cell->pilot_ns + (is_late ? r->late.mean_ns : 0);
    if (is_late) n_operations = nd_late_operations(&r->late, n_operations, cell->pilot_ns);
    const struct nd_loop loop = {
        .op = r->o->configs[step->config].op,
        .state = &r->states[step->config],
        .n_operations = n_operations,
        .chunk = chunk_of(cell, n_operations),
        .together = &r->together,
        .most_ns = r->o->count ? 0 : MOST_LENGTHS * step->planned_ns,
        .operation_ns = operation_ns,
        .look_every = nd_slices_operations(operation_ns),
        .tell = r->root.progress ? tell_progress : NULL,
        .tell_context = r->root.progress,
        .ticks = &r->ticks,
        .preempted = &r->preempted,
        .slices = nd_load_log_begin(r, step, is_recorded),
        .hist = r->hists ? r->scratch : NULL,
        .detour_threshold_ns = cell->detour_threshold_ns,
        .typical_ns = cell->typical_ns,
        .stop_asked = r->stop_asked,
        .parent_pid = r->parent_pid,
        .checks_every = r->o->check == ND_CHECK_EVERY,
        .program = r->program,
        .expected_ns = r->program ? nd_follow_typical_ns(&r->follow[step->config]) : 0,
        .starter = r->starter,
        .plan = r->starter ? &r->plans[step->config] : NULL,
        .step = is_recorded ? step : NULL,
        .on_stretch = count_stretch,
        .context = &stretches,
    };
    if (r->starter) nd_starter_keep_in_step(r->starter);
    int64_t switch_ns = nl_mono_ns();
    nd_agent_switch(r, step);
    settle(r, step, &loop);
    if (nd_options_has_agent(r->o)) r->aside_ns += nl_mono_ns() - switch_ns;
    int64_t steal_ns = r->leader.steal ? nd_steal_read(r->leader.steal) : -1,
            throttled_ns = nl_quota_throttled_ns(&r->leader.quota);
    memset(r->scratch, 0, sizeof *r->scratch);
    if (is_recorded && !r->program) nd_agent_begin(r, step);
    if (is_recorded) nd_counters_begin(r);
    int64_t drawn_ns = nl_mono_ns();
    switch_arm(r, step, s);
    wait_politely(r->team.world); /* all nodes have switched */
    double n_untimed = 0.01 * (double)r->o->half_ns /
                       cell->pilot_ns; /* a few, and never more than a hundredth of the half */
    nd_loop_warm(&loop, n_untimed < 1 ? 1 : n_untimed > 8 ? 8 : (int64_t)n_untimed);
    if (r->program) begin_beats(r, step, &loop, is_recorded);
    int64_t switches = nd_involuntary_switches();
    int region = step->config * r->n_arms + step->level + 1;
    if (is_recorded) nd_markers_start(r->markers, region);
    if (!r->starter) count_stretch(&stretches, 1);
    if (is_late) nd_late_begin(&r->late, loop.state);
    nd_loop_run(&loop, &s->loop);
    s->late_ns = is_late ? nd_late_end(&r->late, loop.state) : 0;
    if (!r->starter) count_stretch(&stretches, 0);
    if (is_recorded) nd_markers_stop(r->markers, region);
    s->delivered_ns = stretches.sum.cpu_ns;
    s->n_bursts = stretches.sum.n_bursts;
    s->n_involuntary = r->program ? s->loop.n_involuntary : nd_involuntary_switches() - switches;
    if (is_recorded) nd_counters_end(r, s);
    if (is_recorded) nd_agent_end(r, step, s);
    s->lead_ns = s->loop.start_ns - drawn_ns;
    if (s->loop.is_over) r->flags |= ND_FLAG_OVER;
    if (r->starter && r->starter->is_broken) r->flags |= ND_FLAG_CLOCK;
    if (r->starter && r->starter->has_failed) r->flags |= ND_FLAG_RECORD;
    ask_for_time(r, step, stretches.sum.requested_ns, s);
    /* a half that ended by the clock is owed the share of what it lasted */
    if (s->asked_ns > 0 && s->loop.n_operations < n_operations) s->asked_ns = s->requested_ns;
    if (s->asked_ns > 0)
        nd_ledger_half(&r->leader.ledgers[s->account], (double)s->asked_ns, (double)s->delivered_ns);
    end_arm(r);
    s->steal_ns = r->leader.steal && steal_ns >= 0 ? nd_steal_read(r->leader.steal) - steal_ns : -1;
    s->throttled_ns = throttled_ns >= 0 ? nl_quota_throttled_ns(&r->leader.quota) - throttled_ns : -1;
}

/* Writes the half's row on rank 0: `s` is its own part, `all` the sum over all ranks. */
static void record_half(struct nd_run *r, const struct nd_step *step, const struct nd_sample *s,
                        const struct nd_half_sum *all) {
    struct nd_half h = {
        .step = *step, .n_operations = s->loop.n_operations, .late_ns = s->late_ns, .all = *all};
    if (r->root.record->files.n_rows == 0) r->root.first_start_ns = all->start_ns;
    int is_agents = nd_is_agents(r->o, step->level);
    nd_half_sum_tell(&h.all, r->root.first_start_ns, r->hists != NULL, r->n_generators > 0 && !is_agents);
    if (is_agents) h.all.delivered_ns = all->delivered_ns;
    if (r->starter) h.starts = r->starter->half;
    if (s->last_burst_ns > 0) {
        r->root.n_on_halves++;
        r->root.n_short_halves += s->loop.start_ns + s->loop.wall_ns < s->last_burst_ns;
    }
    /* by the row's own time: nodes know theirs, which differ a little */
    if (has_dose(r->o, step) && is_periodic(r->o, &r->o->arms[step->level]))
        h.all.requested_ns =
            share_of(h.all.wall_ns, r->n_loaded[r->o->arms[step->level].place], &r->o->arms[step->level]);
    r->root.times_slowest[h.all.slowest_rank * r->n_arms + step->level + 1]++;
    int n_cpus = has_dose(r->o, step) ? r->n_loaded[r->o->arms[step->level].place]
                 : is_agents          ? r->agent.n_nodes
                                      : r->n_generators;
    if (nd_record_row(r->root.record, &h, n_cpus)) r->flags |= ND_FLAG_RECORD;
    if (r->root.progress) nd_progress_half(r->root.progress);
    if (r->root.sequential) nd_sequential_half(r->root.sequential, &h);
}

static void add_half(struct nd_sum *sum, struct nd_pairs *pairs, const struct nd_step *step,
                     const struct nd_half_sum *s) {
    nd_pairs_half(pairs, 0, step, s->wall_ns > 0 ? 100. * (double)s->preempted_ns / (double)s->wall_ns : NAN);
    sum->n_halves++;
    sum->wall_ns += s->wall_ns;
    sum->preempted_ns += s->preempted_ns;
    sum->n_detours += s->n_detours;
    sum->detour_ns += s->detour_ns;
    sum->n_involuntary += s->n_involuntary;
    sum->rank_steal_ns += s->rank_steal_ns;
    sum->knows_rank_steal = s->n_rank_steal > 0; /* every half alike */
}

static void add_to_level(struct nd_run *r, const struct nd_step *step, const struct nd_sample *s) {
    if (!r->leader.treatment || !has_dose(r->o, step)) return;
    struct nd_level_sum *level = &r->leader.node_end->levels[step->level];
    if (!r->program && s->loop.start_ns > s->first_burst_ns && s->bursts_asked > 0 &&
        r->o->arms[step->level].level_percent > 0)
        r->leader.node_end->n_early_bursts++;
    level->n_halves++;
    level->wall_ns += s->loop.wall_ns;
    level->n_cpus = r->n_place_cpus[r->o->arms[step->level].place];
    level->requested_ns += s->requested_ns;
    level->delivered_ns += s->delivered_ns;
    level->bursts_run += s->n_bursts;
    level->bursts_planned += s->bursts_asked;
}

/* This rank's sums and, joining its ranks' parts, its node's. `all` gets the sum over all ranks, on rank 0.
 * Collective. */
static void add_to_sums(struct nd_run *r, const struct nd_step *step, const struct nd_sample *s,
                        struct nd_half_sum *all) {
    *all = nd_half_sum_of(r->team.rank, s);
    add_half(&r->sums[step->level + 1].sum, r->pairs, step, all);
    add_to_level(r, step, s);
    nd_tree_reduce(r->team.node, all, sizeof *all, nd_half_sum_join);
    if (r->team.node_rank != 0) return;
    add_half(&r->leader.node_sums[step->level + 1], r->leader.node_pairs, step, all);
    nd_agent_row(r, all);
    nd_counters_row(r, step, all);
    nd_tree_reduce(r->team.leaders, all, sizeof *all, nd_half_sum_join);
}

void nd_run_keep_half(struct nd_run *r, const struct nd_step *step, const struct nd_sample *s) {
    struct nd_half_sum all;
    add_to_sums(r, step, s, &all);
    /* the loop must not count in the arm's own histogram: at another address it falls on other cache sets,
     * and makes the arm slower */
    if (r->hists) nl_hist_join(&r->hists[step->config * r->n_arms + step->level + 1], r->scratch);
    keep_starts(r, step);
    if (r->root.record) record_half(r, step, s, &all);
}

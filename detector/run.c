#include "detector/run.h"
#include "detector/run_state.h"
#include "detector/account.h"
#include "detector/agent_run.h"
#include "detector/follow_program.h"
#include "detector/half.h"
#include "detector/halves/pairs.h"
#include "detector/load_log.h"
#include "detector/nodes/tree.h"
#include "detector/plan/sequential.h"
#include "detector/record/progress.h"
#include "detector/set_up.h"
#include "detector/record/markers.h"

#define CHECKPOINT_NS INT64_C(30000000000) /* histograms and sums are written at least this often */
#define WARMUP_STREAM_ROUND                                                                                  \
    (INT64_C(1) << 38) /* rounds from here on are warm-up: other draws than those of the record */

/* Histograms of this rank, by operation and arm, summed over the ranks one by one, so that rank 0 never holds
 * more than one; or, of starts, into the last of rank 0's `measures`, which are all written. Collective. */
static int write_hists(struct nd_run *r, enum nd_table table, const struct nl_hist *mine,
                       struct nl_hist *measures) {
    struct nd_record *record = r->root.record;
    if (!mine) return 0;
    int failed = record && nd_record_begin(record, table), has_begun = record && !failed;
    for (int i = 0; i < r->o->n_configs * r->n_arms; i++) {
        struct nl_hist *of = measures ? &measures[(size_t)i * ND_N_MEASURES] : NULL,
                       *all = of ? &of[ND_MEASURE_OVERSHOOT] : r->scratch;
        MPI_Reduce(mine[i].bins, all->bins, NL_HIST_BINS, MPI_UINT64_T, MPI_SUM, 0, r->team.world);
        for (int m = of ? 0 : -1; record && !failed && m < (of ? ND_N_MEASURES : 0); m++)
            failed = nd_record_hist_add(record, &r->o->configs[i / r->n_arms], i % r->n_arms - 1, m,
                                        of ? &of[m] : all);
    }
    return (has_begun && nd_record_end(record)) || failed ? -1 : 0;
}

/* A table to which every rank or node adds: on rank 0, as their parts come in. */
struct table {
    struct nd_run *r;
    int failed;
};

static void take_rank(void *context, int rank, const void *sums) {
    struct table *t = context;
    struct nd_run *r = t->r;
    size_t first = (size_t)rank * (size_t)r->n_arms;
    if (!t->failed)
        t->failed =
            nd_record_ranks_add(r->root.record, &r->root.bindings[rank], sums, &r->root.times_slowest[first],
                                r->root.start_ranks ? &r->root.start_ranks[first] : NULL);
}

static void take_node(void *context, int node, const void *sums) {
    struct table *t = context;
    const struct nd_root *root = &t->r->root;
    if (!t->failed)
        t->failed = nd_record_nodes_add(root->record, node, &root->hosts[node], sums,
                                        &root->node_slowest[node * t->r->n_arms]);
}

/* Gathered from the ranks of `comm` entry by entry, so that rank 0 holds none of it. Collective over `comm`.
 */
static int write_table(struct nd_run *r, MPI_Comm comm, enum nd_table table,
                       void (*take)(void *, int, const void *), const void *mine, size_t size) {
    struct table t = {.r = r, .failed = !r->root.record || nd_record_begin(r->root.record, table) != 0};
    int has_begun = !t.failed;
    nd_tree_gather(comm, mine, (int)size, take, &t);
    if (!has_begun) return r->root.record ? -1 : 0;
    return nd_record_end(r->root.record) || t.failed ? -1 : 0;
}

static int write_ranks(struct nd_run *r) {
    for (int arm = 0; arm < r->n_arms; arm++)
        r->sums[arm].sum.shift = *nd_pairs_of(r->pairs, 0, arm);
    return write_table(r, r->team.world, ND_TABLE_RANKS, take_rank, r->sums,
                       (size_t)r->n_arms * sizeof *r->sums);
}

static int write_nodes(struct nd_run *r) {
    if (r->team.node_rank != 0) return 0;
    for (int arm = 0; arm < r->n_arms; arm++)
        r->leader.node_sums[arm].shift = *nd_pairs_of(r->leader.node_pairs, 0, arm);
    if (r->root.record) {
        memset(r->root.node_slowest, 0, (size_t)(r->team.n_nodes * r->n_arms) * sizeof *r->root.node_slowest);
        for (int i = 0; i < r->team.n_ranks * r->n_arms; i++)
            r->root.node_slowest[r->root.bindings[i / r->n_arms].node * r->n_arms + i % r->n_arms] +=
                r->root.times_slowest[i];
    }
    return write_table(r, r->team.leaders, ND_TABLE_NODES, take_node, r->leader.node_sums,
                       (size_t)r->n_arms * sizeof *r->leader.node_sums);
}

static void write_checkpoint(struct nd_run *r) {
    /* the small ones first: on a disk that is filling up they may still fit */
    int failed = write_ranks(r) != 0;
    failed |= write_nodes(r) != 0;
    failed |= write_hists(r, ND_TABLE_HIST, r->hists, NULL) != 0;
    failed |= write_hists(r, ND_TABLE_STARTS_HIST, r->overshoots, r->root.measures) != 0;
    if (failed) r->flags |= ND_FLAG_RECORD;
    r->root.last_checkpoint_ns = nl_mono_ns();
}

static void take_node_end(void *run, int node, const void *end) {
    struct nd_run *r = run;
    (void)node;
    if (r->root.launch) nd_launch_json_generator(r->root.launch, r->o, end);
}

/* Takes the certificate of every node's generator. Collective. */
static void collect_certificates(struct nd_run *r) {
    struct nd_node_end *end = r->leader.node_end;
    if (r->team.node_rank != 0) return;
    gethostname(end->host, sizeof end->host - 1);
    end->has_generator = r->leader.treatment != NULL;
    if (end->has_generator) {
        const struct nl_hist *times = nd_treatment_switch_times(r->leader.treatment);
        end->n_switches = (int64_t)nl_hist_total(times);
        end->switch_p50_ns = nl_hist_quantile(times, 0.5);
        end->switch_p99_ns = nl_hist_quantile(times, 0.99);
        end->switch_max_ns = nl_hist_max(times);
        nd_treatment_stop(r->leader.treatment, end->certificate, sizeof end->certificate);
    }
    nd_tree_gather(r->team.leaders, end, sizeof *end, take_node_end, r);
}

/* In the design quick all of the run, else from the first recorded half on, without what switching an agent
 * took. */
static int64_t elapsed(const struct nd_run *r) {
    return nl_mono_ns() - (r->o->design->has_stretches ? r->begin_ns : r->rounds_begin_ns + r->aside_ns);
}

/* Whether the run is far beyond its limit; rounds that are long in it do not end in time. */
static int is_beyond(const struct nd_run *r) {
    int64_t limit_ns = nd_options_limit_ns(r->o);
    if (limit_ns == 0 || r->rounds_begin_ns == 0) return 0;
    return elapsed(r) > limit_ns + (r->o->design->has_stretches ? 0 : r->o->measure_ns / 20);
}

/* Flags of all ranks after a half; `wall_ns` becomes that of the slowest rank. Collective. */
static int agree(struct nd_run *r, int64_t *wall_ns) {
    /* the launcher is our parent: when it is killed, nobody waits for the result, and the load must not
     * outlive it */
    if (*r->stop_asked || getppid() != r->parent_pid) r->flags |= ND_FLAG_STOP;
    if (r->root.record && nl_mono_ns() - r->root.last_checkpoint_ns > CHECKPOINT_NS)
        r->flags |= ND_FLAG_CHECKPOINT;
    if (r->root.record && is_beyond(r)) r->flags |= ND_FLAG_TIME;
    int flags = nd_team_agree_max(&r->team, r->flags, wall_ns);
    r->flags &= ~(ND_FLAG_CHECKPOINT | ND_FLAG_TIME);
    r->is_time_up = (flags & ND_FLAG_TIME) != 0;
    flags &= ~ND_FLAG_TIME;
    return flags;
}

/* Forgotten: code, buffers, connections and the generator are then as they will be. The number of halves
 * follows from the options alone. */
static int warm_up(struct nd_run *r, struct nd_step *steps) {
    int n_steps = nd_schedule_round_steps(&r->schedule);
    int64_t lead_ns = 0;
    int64_t n_halves = r->o->design->single_loop ? 0 : (r->o->warmup_ns + r->o->half_ns - 1) / r->o->half_ns;
    for (int64_t i = 0; i < n_halves; i++) {
        struct nd_sample s;
        if (i % n_steps == 0) {
            nd_run_set_operations(r);
            nd_schedule_fill(&r->schedule, WARMUP_STREAM_ROUND + i / n_steps, steps);
        }
        nd_run_half(r, &steps[i % n_steps], 0, &s);
        int64_t wall_ns = s.loop.wall_ns;
        int flags = agree(r, &wall_ns) & ~ND_FLAG_CHECKPOINT;
        if (flags) return flags;
        nd_run_follow(r, &steps[i % n_steps], wall_ns, s.loop.n_operations);
        if (s.lead_ns > lead_ns) lead_ns = s.lead_ns;
    }
    /* bursts are timed from when the dose is drawn, and the loop begins a little later; a rare long delay
     * must not push them all back */
    int64_t most_ns = r->o->period_ns / 20;
    MPI_Allreduce(&lead_ns, &r->lead_ns, 1, MPI_INT64_T, MPI_MAX, r->team.world);
    if (r->lead_ns > most_ns) r->lead_ns = most_ns;
    return 0;
}

/* Rounds are whole unless the rest would be a good part of the run. */
static int may_end_after(const struct nd_run *r, const struct nd_step *steps, int n_steps, int i) {
    int64_t left_ns = 0;
    if (i + 1 < n_steps && steps[i + 1].pair == steps[i].pair) return 0;
    for (int j = i + 1; j < n_steps; j++)
        left_ns += steps[j].planned_ns;
    return r->o->design->has_stretches || left_ns > r->o->measure_ns / 20;
}

static int run_round(struct nd_run *r, const struct nd_step *steps, int n_steps) {
    for (int i = 0; i < n_steps; i++) {
        const struct nd_step *step = &steps[i];
        struct nd_sample s;
        nd_run_half(r, step, 1, &s);
        int64_t wall_ns = s.loop.wall_ns;
        int flags = agree(r, &wall_ns);
        /* this half may be without its load, or cut short. But a single loop is all that there is of its arm,
         * and its starts stand for themselves */
        int is_kept = r->starter && r->o->design->single_loop && s.loop.n_operations > 0 &&
                      !(flags & (ND_FLAG_GENERATOR | ND_FLAG_AGENT));
        if (flags & ND_FLAG_OVER) return flags; /* on one rank it may have come to the end of the half */
        if ((flags & (ND_FLAG_GENERATOR | ND_FLAG_STOP | ND_FLAG_CLOCK | ND_FLAG_AGENT)) && !is_kept)
            return flags;
        if (s.loop.n_operations == 0) return flags | ND_FLAG_STOP;
        nd_run_follow(r, step, wall_ns, s.loop.n_operations);
        nd_load_log_keep(r);
        nd_run_keep_half(r, step, &s);
        if (flags & ND_FLAG_CHECKPOINT) write_checkpoint(r);
        if (flags & ~ND_FLAG_CHECKPOINT) return flags;
        if (r->is_time_up && may_end_after(r, steps, n_steps, i)) return 0;
        r->is_time_up = 0;
    }
    return 0;
}

/* Whether the run may end after so many rounds. The same on all ranks. Collective. */
static int look(struct nd_run *r, int64_t rounds) {
    const struct nd_sequential_options *plan = &r->o->sequential;
    int64_t is_decided = 0;
    int k = 0;
    while (k < plan->n_looks && plan->rounds[k] != rounds)
        k++;
    if (!plan->stops || k == plan->n_looks) return 0;
    if (r->root.sequential) {
        const struct nd_look *l = nd_sequential_look(r->root.sequential, k);
        is_decided = l->n_decided == l->n_cells;
        nd_launch_json_look(r->root.launch, r->o, l);
        /* at once: a launch that is killed later keeps its looks */
        if (nd_files_launch_json(&r->root.record->files, r->root.launch)) r->flags |= ND_FLAG_RECORD;
        if (r->root.progress) nd_progress_look(r->root.progress, l->look, l->n_decided, l->n_cells);
    }
    nd_team_share(&r->team, &is_decided, 1);
    return (int)is_decided;
}

/* Whether the time is up after the rounds done; rank 0's clock decides for all. Collective. */
static int is_time_up(struct nd_run *r) {
    int64_t limit_ns = nd_options_limit_ns(r->o), elapsed_ns = elapsed(r);
    int64_t is_up = limit_ns > 0 && (r->o->design->has_stretches
                                         ? r->n_rounds_done > 0 && elapsed_ns >= limit_ns
                                         : nd_schedule_is_over(limit_ns, elapsed_ns, r->n_rounds_done));
    nd_team_share(&r->team, &is_up, 1);
    return (int)is_up;
}

/* Rounds that were planned and not run, because the time was up. */
static void warn_of_rounds_left_out(struct nd_run *r, int flags, int is_decided) {
    if (r->root.launch) json_object_set_new(r->root.launch, "rounds_done", json_integer(r->n_rounds_done));
    if (!r->root.launch || (flags & ~ND_FLAG_OVER) || is_decided || r->n_rounds_done == r->schedule.n_rounds)
        return;
    /* setting up is in its time: a round or so less is no news */
    if (r->o->design->has_stretches && 4 * r->n_rounds_done >= 3 * r->schedule.n_rounds) return;
    nd_launch_json_say(
        r->root.launch, "%s%lld of %lld rounds%s, %.3g s of the %.3g s that --seconds asks for%s",
        flags ? "the program ended after " : "", (long long)r->n_rounds_done, (long long)r->schedule.n_rounds,
        flags ? "" : " were run", (double)elapsed(r) * 1e-9, (double)r->o->measure_ns * 1e-9,
        flags ? "" : " had passed by then (was the machine busy?); the others are left out");
}

static int run_schedule(struct nd_run *r) {
    int n_steps = nd_schedule_round_steps(&r->schedule);
    struct nd_step *steps = calloc((size_t)n_steps, sizeof *steps);
    if (nd_run_agree_failed(r, !steps)) {
        free(steps);
        return ND_FLAG_SETUP;
    }
    r->root.last_checkpoint_ns = nl_mono_ns();
    int flags = warm_up(r, steps), is_decided = 0;
    if (!flags && nd_run_account_begin(r)) flags = ND_FLAG_SETUP;
    r->rounds_begin_ns = nl_mono_ns();
    r->aside_ns = 0;
    if (r->root.progress) nd_progress_begin(r->root.progress);
    while (r->n_rounds_done < r->schedule.n_rounds && !flags && !is_decided && !r->is_time_up &&
           !is_time_up(r)) {
        nd_run_set_operations(r);
        nd_schedule_fill(&r->schedule, r->n_rounds_done, steps);
        flags = run_round(r, steps, n_steps);
        if (!flags && !r->is_time_up) is_decided = look(r, ++r->n_rounds_done);
    }
    nd_run_account_end(r);
    warn_of_rounds_left_out(r, flags, is_decided);
    free(steps);
    return flags;
}

/* A dose is drawn for the length that its half is expected to have. */
static void warn_of_short_halves(const struct nd_run *r) {
    if (r->root.n_short_halves * 50 <= r->root.n_on_halves) return;
    nd_launch_json_warn(r->root.launch,
                        "%.0f %% of the on halves were so much shorter than expected (the machine's speed "
                        "varies) that their last burst came too late",
                        100. * (double)r->root.n_short_halves / (double)r->root.n_on_halves);
}

/* Whether all data were right, where every operation was looked at. The same on all ranks. */
static int had_wrong_data(struct nd_run *r) {
    int64_t n_wrong = 0;
    if (!r->starter) return 0;
    MPI_Allreduce(&r->starter->n_wrong, &n_wrong, 1, MPI_INT64_T, MPI_SUM, r->team.world);
    if (r->root.record && n_wrong)
        nl_error("--check: %lld results of operations were wrong: this MPI installation or its network "
                 "damages data",
                 (long long)n_wrong);
    if (r->root.record && r->o->check == ND_CHECK_EVERY)
        json_object_set_new(r->root.launch, "data_errors", json_integer(n_wrong));
    return n_wrong > 0;
}

/* The overshoots of all ranks into the launch's description. Collective. */
static void describe_starts(struct nd_run *r) {
    if (!r->starter) return;
    MPI_Reduce(r->starter->all_overshoots->bins, r->scratch->bins, NL_HIST_BINS, MPI_UINT64_T, MPI_SUM, 0,
               r->team.world);
    if (r->root.launch) nd_launch_json_start_end(r->root.launch, r->starter, r->scratch);
}

static enum nd_end finish(struct nd_run *r, int flags) {
    static const struct {
        int flag;
        const char *text;
    } failures[] = {{ND_FLAG_CLOCK, "failed: a clock jumped or ran backwards"},
                    {ND_FLAG_GENERATOR, "failed: a generator is gone, refused or does not answer"},
                    {ND_FLAG_RECORD, "failed: results could not be written"},
                    {ND_FLAG_AGENT, "failed: the agent died, or could not be switched"},
                    {ND_FLAG_SETUP, "failed: no memory for the schedule"},
                    {0}},
      *failure = failures;
    const char *ended = "complete";
    enum nd_end end = ND_END_COMPLETE;
    write_checkpoint(r);
    flags |= nd_team_agree(&r->team, r->flags);
    while (failure->flag && !(flags & failure->flag))
        failure++;
    if (failure->flag) {
        ended = failure->text;
        end = ND_END_FAILED;
        if (flags & ND_FLAG_CLOCK) nd_run_report_clock_step(r);
        int is_said = failure->flag == ND_FLAG_RECORD; /* with the reason */
        if (r->team.rank == 0 && !is_said)
            nl_error("%s; rows taken so far are in '%s'", ended, r->root.record->files.folder);
    } else if (flags & ND_FLAG_OVER && r->n_rounds_done == 0) {
        ended = "failed: the program ended before the first round";
        end = ND_END_FAILED;
        if (r->team.rank == 0) nl_error("%s (a longer input? a shorter --half-period or --block?)", ended);
    } else if (flags & ND_FLAG_STOP) {
        ended = "interrupted";
        end = ND_END_INTERRUPTED;
    }
    nd_load_log_end(r);
    collect_certificates(r);
    nd_agent_collect(r);
    int64_t peak_kib = nd_peak_memory_kib();
    MPI_Allreduce(MPI_IN_PLACE, &peak_kib, 1, MPI_INT64_T, MPI_MAX, r->team.world);
    describe_starts(r);
    int was_wrong = had_wrong_data(r);
    if (end == ND_END_COMPLETE && was_wrong) end = ND_END_NO;
    int failed = 0;
    if (r->root.record) {
        warn_of_short_halves(r);
        json_object_set_new(r->root.launch, "operations_set", json_integer(r->n_settings));
        nd_launch_json_end(r->root.launch, ended, r->root.record->files.n_rows, peak_kib);
        failed = nd_files_launch_json(&r->root.record->files, r->root.launch) || (r->flags & ND_FLAG_RECORD);
        nd_progress_close(r->root.progress);
        r->root.progress = NULL;
        if (!failed) fprintf(stdout, "%s\n", r->root.record->files.folder);
        if (end == ND_END_INTERRUPTED)
            nl_warn("interrupted: %lld rows are in '%s'", (long long)r->root.record->files.n_rows,
                    r->root.record->files.folder);
    }
    return nd_run_agree_failed(r, failed) ? ND_END_FAILED : end;
}

/* --sync-only: the table of the clocks. */
static int nd_run_print_clocks(struct nd_run *r) {
    if (nd_run_open_clocks(r)) return -1;
    if (r->team.rank != 0) return 0;
    const struct nd_starter *s = r->starter;
    printf("clock %s (kernel: %s), %.0f ns a reading, resolution %.0f ns; %s, took %.3f s\n",
           s->clock.kind->name, s->clock.source, s->clock.read_ns, s->clock.resolution_ns,
           s->sync.options.method->name, (double)s->sync.run_ns * 1e-9);
    printf("%6s  %-24s %20s %12s %10s %12s %10s\n", "rank", "host", "offset ns", "drift ppm", "rtt ns",
           "residual ns", "exchanges");
    for (int i = 0; i < r->team.n_ranks; i++) {
        const struct nd_sync_report *p = &r->root.reports[i];
        if (p->is_measured || i == 0)
            printf("%6d  %-24s %20lld %12.4f %10lld %12.0f %10lld\n", i, r->root.bindings[i].host,
                   (long long)p->offset_ns, p->drift_ppm, (long long)p->rtt_ns, p->residual_ns,
                   (long long)p->n_exchanges);
        else
            printf("%6d  %-24s %20s\n", i, r->root.bindings[i].host, "shares its node's");
    }
    printf("residual %.0f ns: starts are late above %.3g us\n", s->sync.residual_ns,
           (double)s->late_bound_ns * 1e-3);
    return 0;
}

enum nd_end nd_run(const struct nd_options *options, struct nd_treatment *treatment,
                   struct nd_companion *companion, struct nd_markers *markers, int has_failed,
                   const volatile int *stop_asked) {
    static struct nd_options own; /* halves of a program may turn out to be longer */
    own = *options;
    struct nd_run r = {.o = &own,
                       .preempted = {.fd = -1},
                       .leader = {.treatment = treatment},
                       .together = {.comm = MPI_COMM_NULL},
                       .begin_ns = nl_mono_ns(),
                       .agent = {.companion = companion},
                       .markers = markers,
                       .stop_asked = stop_asked,
                       .n_arms = own.n_arms + 1,
                       .parent_pid = getppid()};
    nd_team_open(&r.team);
    enum nd_end end = ND_END_FAILED;
    int failed = nd_run_agree_failed(&r, has_failed);
    if (!failed && own.sync_only)
        end = nd_run_allocate(&r) || nd_run_set_up_nodes(&r) || nd_run_print_clocks(&r) ? ND_END_FAILED
                                                                                        : ND_END_COMPLETE;
    else if (!failed && nd_run_follow_program(&r, &own) == 0 && nd_run_set_up(&r) == 0)
        end = finish(&r, run_schedule(&r));
    nd_run_tear_down(&r);
    return end;
}

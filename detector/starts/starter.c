#include "detector/starts/starter.h"
#include "detector/measure/late.h"
#include "common/base/nl_units.h"
#include "detector/record/record.h"
#include "detector/ops/ops.h"
#include "detector/measure/start_sum.h"
#include "detector/ops/work.h"
#include "detector/record/raw.h"

#define GUARD_NS INT64_C(2000000000) /* a wait that is longer, by another clock, means that a clock jumped   \
                                      */
#define LEAST_BOUND_NS   1000        /* starts are never called late for less */
#define RESIDUALS        5           /* late: by more than so many residuals of the synchronisation */
#define CHECKS_PER_SYNC  10 /* residuals are looked at so many times between two planned synchronisations */
#define GROWN_FACTOR     2  /* synchronise anew when the residual has grown by this and GROWN_NS */
#define GROWN_NS         500
#define ROUND_LATE_SHARE 0.01 /* round: the deadline moves away until fewer starts are late */
#define SETTLE_NS                                                                                            \
    20e6 /* a stage that looks for a slot is about this long, where that holds enough starts                 \
          */
enum { BROADCASTS = 200, LEAST_BROADCASTS = 20 };
enum {
    SETTLE_STARTS = 256,
    SETTLE_TRIES = 60,
    SETTLE_WITHOUT_GAIN = 15 /* longer slots in a row that made nothing better */
};

const char *const nd_stop_rule_names[] = {"none", "count", "error", "median", NULL};
const char *const nd_start_measure_names[] = {"global", "on_time", "after_last", "spread", "overshoot"};

static int allocate(struct nd_starter *s) {
    int ok = NL_NEW(s->records, ND_BATCH) && NL_NEW(s->overshoots_ns, ND_BATCH) &&
             NL_NEW(s->sums, ND_SLICE) && NL_NEW(s->overshoots, 1) && NL_NEW(s->all_overshoots, 1);
    if (ok && s->team->node_rank == 0) ok = NL_NEW(s->node_sums, ND_SLICE) != NULL;
    if (ok && s->team->rank == 0)
        ok = NL_NEW(s->all_sums, ND_SLICE) && NL_NEW(s->measures, ND_N_MEASURES) && NL_NEW(s->worst, 1) &&
             NL_NEW(s->rank_sums, s->team->n_ranks);
    if (!ok) nl_error("not enough memory for the records of %d starts", ND_BATCH);
    return ok;
}

static int synchronise(struct nd_starter *s, const char *reason) {
    if (nd_sync_run(&s->sync)) {
        s->is_broken = 1;
        return -1;
    }
    s->last_sync_ns = s->last_check_ns = nl_mono_ns();
    if (s->on_sync) s->on_sync(s->context, s, reason);
    return 0;
}

static int open_clock(struct nd_starter *s) {
    char reason[256] = "";
    int failed = nd_clock_open(&s->clock, s->o->clock, reason, sizeof reason) != 0;
    if (failed) nl_error("--starts: clock: %s", reason);
    if (!failed) snprintf(s->clock_note, sizeof s->clock_note, "%s", reason);
    if (!failed && s->o->fake_clock && nd_clock_parse_fake(s->o->fake_clock, s->team->rank, &s->clock)) {
        nl_error("--starts: fake-clock: '%s' is not OFFSET[,DRIFTppm[,JUMP@AFTER]] (try 1s,50ppm)",
                 s->o->fake_clock);
        failed = 1;
    }
    if (nd_team_agree(s->team, failed ? ND_FLAG_SETUP : 0)) return -1;
    /* ranks that chose for themselves may have chosen differently */
    int has_counter = s->clock.read == ND_READ_COUNTER, all = 0;
    MPI_Allreduce(&has_counter, &all, 1, MPI_INT, MPI_MIN, s->team->world);
    if (has_counter && !all) {
        const char *fake = s->clock.is_fake ? s->o->fake_clock : NULL;
        failed =
            nd_clock_open(&s->clock, nl_find(nd_clock_kinds, "monotonic-raw"), reason, sizeof reason) != 0;
        if (failed) nl_error("--starts: clock: %s", reason);
        snprintf(s->clock_note, sizeof s->clock_note,
                 "monotonic-raw instead of tsc: another rank cannot trust its counter");
        if (fake) nd_clock_parse_fake(fake, s->team->rank, &s->clock);
    }
    nd_clock_share(&s->clock, s->team->node);
    MPI_Allreduce(MPI_IN_PLACE, &s->clock.is_slow_source, 1, MPI_INT, MPI_MAX, s->team->world);
    return nd_team_agree(s->team, failed ? ND_FLAG_SETUP : 0) ? -1 : 0;
}

int nd_starter_open(struct nd_starter *s, const struct nd_start_options *o, const struct nd_team *team,
                    int n_allowed, void (*on_sync)(void *, const struct nd_starter *, const char *),
                    void *context) {
    *s = (struct nd_starter){
        .run = nd_starter_run, .o = o, .team = team, .on_sync = on_sync, .context = context};
    s->sync.heads = s->sync.domain = MPI_COMM_NULL; /* nothing to free before it is opened */
    nd_start_sum_mpi(&s->sum_type, &s->sum_op);
    int yields = n_allowed > 0 && team->n_node_ranks > n_allowed;
    MPI_Allreduce(&yields, &s->yields, 1, MPI_INT, MPI_MAX, team->world);
    if (nd_team_agree(team, allocate(s) ? 0 : ND_FLAG_SETUP) || open_clock(s)) return -1;
    if (nd_sync_open(&s->sync, &o->sync, &s->clock, team)) return -1;
    int n_heads = 0;
    if (s->sync.heads != MPI_COMM_NULL) MPI_Comm_size(s->sync.heads, &n_heads);
    MPI_Bcast(&n_heads, 1, MPI_INT, 0, team->world);
    s->is_shared = n_heads <= 1;
    if (synchronise(s, "first")) return -1;
    /* once: a launch has one bound */
    s->late_bound_ns = o->late_bound_ns
                           ? o->late_bound_ns
                           : (int64_t)fmax(LEAST_BOUND_NS, ceil(RESIDUALS * s->sync.residual_ns));
    return 0;
}

void nd_starter_keep_in_step(struct nd_starter *s) {
    if (s->is_shared || s->o->sync_every_ns == 0) return;
    int what = 0; /* 1: look at the residual, 2: synchronise */
    if (s->team->rank == 0) {
        int64_t now_ns = nl_mono_ns();
        if (now_ns - s->last_check_ns > s->o->sync_every_ns / CHECKS_PER_SYNC) what = 1;
        if (now_ns - s->last_sync_ns > s->o->sync_every_ns) what = 2;
    }
    MPI_Bcast(&what, 1, MPI_INT, 0, s->team->world);
    if (what == 2) synchronise(s, "schedule");
    if (what != 1) return;
    double before_ns = s->sync.residual_ns;
    s->last_check_ns = nl_mono_ns();
    if (nd_sync_check(&s->sync)) { /* the same on all ranks */
        s->is_broken = 1;
        return;
    }
    if (s->sync.residual_ns > GROWN_FACTOR * before_ns + GROWN_NS)
        synchronise(s, "residual");
    else
        s->sync.residual_ns = before_ns; /* the bound stays as it was after the synchronisation */
}

/* Whether this rank's records run backwards somewhere. */
static int runs_backwards(const struct nd_starter *s, int n) {
    for (int i = 0; i < n; i++) {
        const struct nd_start_record *r = &s->records[i];
        if (r->end_ns < r->start_ns || r->start_ns < r->begun_ns || (i > 0 && r->begun_ns < r[-1].end_ns))
            return 1;
    }
    return 0;
}

/* This rank's part of the starts from .. from + n. */
static void sum_up_rank(struct nd_starter *s, const struct nd_loop *loop, int from, int n,
                        struct nd_loop_result *result) {
    const struct nd_sync_model *model = &s->sync.model;
    for (int i = 0; i < n; i++) {
        const struct nd_start_record *r = &s->records[from + i];
        int64_t delay_ns =
            s->plan->delays ? s->plan->delays[(s->n_done + from + i) & (ND_ARRIVAL_CYCLE - 1)] : 0;
        int64_t overshoot_ns = nd_sync_to_global(model, r->begun_ns) - r->scheduled_ns - delay_ns;
        int64_t start_ns = nd_sync_to_global(model, r->start_ns) - r->scheduled_ns,
                end_ns = nd_sync_to_global(model, r->end_ns) - r->scheduled_ns;
        s->overshoots_ns[from + i] = overshoot_ns;
        nl_hist_add(s->overshoots, overshoot_ns);
        s->overshoot_ns_sum += overshoot_ns;
        if (overshoot_ns > s->overshoot_ns_max) s->overshoot_ns_max = overshoot_ns;
        s->sums[i] = nd_start_sum_of(s->team->rank, start_ns, end_ns, overshoot_ns, s->late_bound_ns);
        nd_loop_count(loop, result, r->end_ns - r->begun_ns + overshoot_ns);
    }
}

static void reduce(struct nd_starter *s, int n) {
    MPI_Reduce(s->sums, s->node_sums, n, s->sum_type, s->sum_op, 0, s->team->node);
    if (s->team->node_rank != 0) return;
    for (int i = 0; i < n; i++)
        nd_start_sum_node(&s->node_sums[i], s->team->n_node_ranks);
    MPI_Reduce(s->node_sums, s->all_sums, n, s->sum_type, s->sum_op, 0, s->team->leaders);
}

static void count_on_time(struct nd_starter *s, int64_t global_ns) {
    double x = (double)global_ns, away = x - s->mean_ns;
    nl_hist_add(&s->measures[ND_MEASURE_ON_TIME], global_ns);
    s->n_on_time++;
    s->mean_ns += away / (double)s->n_on_time;
    s->square_ns += away * (x - s->mean_ns);
}

/* Counts a start in those of its ranks. */
static void count_ranks(struct nd_start_rank *ranks, const struct nd_start_sum *s) {
    ranks[s->first_start_rank].first_starts++;
    ranks[s->last_start_rank].last_starts++;
    ranks[s->last_start_rank].start_cost_ns += nd_start_cost_ns(s->last_start_ns, s->second_start_ns);
    ranks[s->last_end_rank].last_ends++;
    ranks[s->last_end_rank].end_cost_ns += nd_start_cost_ns(s->last_end_ns, s->second_end_ns);
}

/* One start on all ranks, into the half's figures (rank 0). */
static void account(struct nd_starter *s, const struct nd_start_sum *sum) {
    struct nd_start_half *h = &s->half;
    double within_ns2, between_ns2;
    int64_t after_last_ns = sum->last_end_ns - sum->last_start_ns,
            spread_ns = sum->last_start_ns - sum->first_start_ns;
    h->n_starts++;
    h->n_late += sum->n_late > 0;
    h->global_ns += sum->last_end_ns;
    h->after_last_ns += after_last_ns;
    h->spread_ns += spread_ns;
    if (sum->overshoot_ns > h->overshoot_max_ns) h->overshoot_max_ns = sum->overshoot_ns;
    nd_start_sum_variance(sum, s->team->n_ranks, &within_ns2, &between_ns2);
    h->within_ns2 += within_ns2;
    h->between_ns2 += between_ns2;
    nl_hist_add(&s->measures[ND_MEASURE_GLOBAL], sum->last_end_ns);
    nl_hist_add(&s->measures[ND_MEASURE_AFTER_LAST], after_last_ns);
    nl_hist_add(&s->measures[ND_MEASURE_SPREAD], spread_ns);
    nl_hist_add(s->worst, sum->overshoot_ns);
    if (sum->n_late == 0) count_on_time(s, sum->last_end_ns);
    count_ranks(s->rank_sums, sum);
}

static int run_starts(struct nd_starter *s, const struct nd_loop *loop, int n,
                      struct nd_loop_result *result) {
    s->batch_begin = nd_starter_read_clocks(s);
    if (s->has_batch_end) nd_starter_has_jumped(s, &s->batch_end, &s->batch_begin);
    if (loop->on_stretch) loop->on_stretch(loop->context, 1);
    struct nl_thread_times times;
    nd_loop_read_times(loop, &times);
    struct nd_clock_pair begin = nd_starter_read_clocks(s);
    s->o->mode->run(s, loop, n);
    s->batch_end = nd_starter_read_clocks(s);
    nd_loop_add_lost(loop, &times, result);
    if (loop->on_stretch) loop->on_stretch(loop->context, 0);
    result->wall_ns += s->batch_end.raw_ns - begin.raw_ns;
    s->has_batch_end = 1;
    nd_starter_has_jumped(s, &s->batch_begin, &s->batch_end);
    if (runs_backwards(s, n)) s->is_broken = 1;
    if (nd_team_agree(s->team, s->is_broken ? ND_FLAG_CLOCK : 0)) s->is_broken = 1;
    return !s->is_broken;
}

/* Starts of a batch in which a clock jumped are nothing that could be kept. */
static void run_batch(struct nd_starter *s, const struct nd_loop *loop, int n,
                      struct nd_loop_result *result) {
    int64_t switches = nd_involuntary_switches();
    if (!run_starts(s, loop, n, result)) return;
    switches = nd_involuntary_switches() - switches;
    if (s->step && s->zero_ns == 0) s->zero_ns = s->records[0].scheduled_ns;
    for (int from = 0; from < n; from += ND_SLICE) {
        int n_slice = n - from < ND_SLICE ? n - from : ND_SLICE;
        sum_up_rank(s, loop, from, n_slice, result);
        reduce(s, n_slice);
        for (int i = 0; s->team->rank == 0 && i < n_slice; i++)
            account(s, &s->all_sums[i]);
        /* ranks that have sent their part would go on sending while rank 0 still counts, and MPI would have
         * to keep it all */
        MPI_Barrier(s->team->world);
    }
    if (s->raw && s->step && nd_raw_write(s->raw, s, n, switches)) s->has_failed = 1;
    s->n_done += n;
    result->n_operations += n;
}

static void begin_half(struct nd_starter *s) {
    s->n_done = 0;
    s->overshoot_ns_sum = s->overshoot_ns_max = 0;
    memset(s->overshoots, 0, sizeof *s->overshoots);
    if (s->team->rank != 0) return;
    s->half = (struct nd_start_half){0};
    s->mean_ns = s->square_ns = 0;
    s->n_on_time = 0;
    memset(s->measures, 0, ND_N_MEASURES * sizeof *s->measures);
    memset(s->worst, 0, sizeof *s->worst);
    memset(s->rank_sums, 0, (size_t)s->team->n_ranks * sizeof *s->rank_sums);
}

static void end_half(struct nd_starter *s) {
    struct nd_start_half *h = &s->half;
    if (s->team->rank != 0) return;
    h->slot_ns = s->plan->slot_ns;
    h->overshoot_p50_ns = nl_hist_quantile(s->worst, 0.5);
    h->overshoot_p99_ns = nl_hist_quantile(s->worst, 0.99);
    if (h->n_starts == 0) return;
    h->within_ns2 /= (double)h->n_starts;
    h->between_ns2 /= (double)h->n_starts;
}

/* Value of the k-th smallest (from 0) as the histogram knows it: spread evenly over its bin. */
static double order_statistic(const struct nl_hist *h, double k) {
    double before = 0;
    for (int i = 0; i < NL_HIST_BINS; i++) {
        double n = (double)h->bins[i];
        if (n > 0 && before + n > k) {
            double lo = (double)nl_hist_lo(i), hi = (double)nl_hist_hi(i);
            return hi - lo <= 1 ? lo : lo + (hi - lo) * (k - before + 0.5) / n;
        }
        before += n;
    }
    return (double)nl_hist_max(h);
}

double nd_median_precision_percent(const struct nl_hist *h) {
    double n = (double)nl_hist_total(h), reach = 2.5758 * sqrt(n) / 2; /* 99 %, two-sided */
    double low = floor(n / 2 - reach), high = ceil(n / 2 + reach);
    if (low < 0 || high > n - 1) return 100;
    double median = order_statistic(h, (n - 1) / 2), below = median - order_statistic(h, low),
           above = order_statistic(h, high) - median;
    if (median <= 0) return 100;
    return 100 * (below > above ? below : above) / median;
}

static int is_decided(const struct nd_starter *s) {
    double n = (double)s->n_on_time;
    switch (s->o->stop_rule) {
    case ND_STOP_COUNT: return s->half.n_starts > 100 || s->n_on_time > 30;
    case ND_STOP_ERROR:
        return s->n_on_time >= 10 && s->mean_ns > 0 && sqrt(s->square_ns / (n - 1) / n) <= 0.05 * s->mean_ns;
    case ND_STOP_MEDIAN:
        return nd_median_precision_percent(&s->measures[ND_MEASURE_ON_TIME]) <= s->o->precision_percent;
    default: return 0;
    }
}

/* Rank 0 decides for all. */
static int agree_decided(const struct nd_starter *s) {
    int decided = s->team->rank == 0 && is_decided(s);
    MPI_Bcast(&decided, 1, MPI_INT, 0, s->team->world);
    return decided;
}

/* In stages as published: gamma times the mean distance that the starts really had. */
static int64_t longer_slot(const struct nd_starter *s, int64_t slot_ns, int64_t stage_ns, int n) {
    double had_ns = s->o->mode->has_stages ? (double)stage_ns / n : 0;
    return (int64_t)(s->o->gamma * (had_ns > (double)slot_ns ? had_ns : (double)slot_ns)) + 1;
}

/* Share of late starts that a slot may have. */
static double allowed_share(const struct nd_starter *s) {
    return s->o->mode->has_stages || s->o->eps < ROUND_LATE_SHARE ? s->o->eps : ROUND_LATE_SHARE;
}

/* The arms of a comparison keep their slots. */
static void correct_slot(struct nd_starter *s, int64_t n_late_before, int64_t stage_ns, int n) {
    if (!s->corrects || s->o->slot_ns) return;
    int64_t slot_ns = s->plan->slot_ns;
    if (s->team->rank == 0 && (double)(s->half.n_late - n_late_before) > allowed_share(s) * n)
        slot_ns = longer_slot(s, slot_ns, stage_ns, n);
    MPI_Bcast(&slot_ns, 1, MPI_INT64_T, 0, s->team->world);
    s->plan->slot_ns = slot_ns;
}

/* Starts until the stop rule is looked at again: a stage as published, later a twentieth more, so that
 * looking stays cheap. */
static int looks_at(const struct nd_starter *s, int64_t n_done) {
    int64_t n = n_done / 20;
    return (int)(n < s->o->n_stage_starts ? s->o->n_stage_starts : n > ND_BATCH ? ND_BATCH : n);
}

void nd_starter_run(struct nd_starter *s, const struct nd_loop *loop, struct nd_loop_result *result) {
    struct nd_loop_result r = {.start_ns = nl_mono_ns()};
    int has_rule = s->o->stop_rule != ND_STOP_NONE && loop->step,
        is_long = loop->chunk < loop->n_operations || has_rule;
    s->plan = loop->plan;
    s->step = loop->step;
    begin_half(s);
    for (;;) {
        int64_t left = loop->n_operations - r.n_operations, n_late = s->half.n_late, wall_ns = r.wall_ns;
        int n = has_rule ? looks_at(s, r.n_operations) : ND_BATCH;
        if (is_long && !has_rule && loop->chunk < n)
            n = (int)loop->chunk; /* slow operations: stops and clocks are looked at in time */
        if (left < n) n = (int)left;
        run_batch(s, loop, n, &r);
        if (s->is_broken) break;
        if (r.n_operations == loop->n_operations) break;
        if (has_rule && agree_decided(s)) break;
        if (!is_long) continue;
        correct_slot(s, n_late, r.wall_ns - wall_ns, n);
        nd_starter_keep_in_step(s);
        int is_late = loop->most_ns > 0 && nl_mono_ns() - r.start_ns >= loop->most_ns;
        if (nd_loop_agree_to_stop(loop, s->is_broken || is_late)) break;
    }
    end_half(s);
    *result = r;
}

void nd_starter_accept(struct nd_starter *s) {
    nl_hist_join(s->all_overshoots, s->overshoots);
    s->n_starts += s->half.n_starts;
    s->n_late += s->half.n_late;
}

NL_ORDER(compare, int64_t)

/* To the last rank's having what rank 0 broadcast: the largest 95 % quantile of a rank. From until_ns on
 * fewer broadcasts must do. */
static int64_t broadcast_time(struct nd_starter *s, int64_t until_ns) {
    int64_t took_ns[BROADCASTS];
    int n = 0;
    while (n < BROADCASTS) {
        int64_t sent_ns = 0;
        MPI_Barrier(s->team->world);
        if (s->team->rank == 0) sent_ns = nd_sync_to_global(&s->sync.model, nd_clock_now(&s->clock));
        if (s->team->rank == 0 && n >= LEAST_BROADCASTS && nl_mono_ns() > until_ns)
            sent_ns = INT64_MIN; /* enough */
        MPI_Bcast(&sent_ns, 1, MPI_INT64_T, 0, s->team->world);
        if (sent_ns == INT64_MIN) break;
        took_ns[n++] = nd_sync_to_global(&s->sync.model, nd_clock_now(&s->clock)) - sent_ns;
    }
    qsort(took_ns, (size_t)n, sizeof *took_ns, compare);
    int64_t p95_ns = nd_team_max(s->team, took_ns[n * 95 / 100]);
    return p95_ns > 100 ? p95_ns : 100;
}

/* Stage 0: the mean of a few operations back to back gives the first slot; of some stages the least, as ranks
 * may be preempted. */
static int64_t operation_time(struct nd_starter *s, const struct nd_loop *loop) {
    int64_t least_ns = INT64_MAX;
    for (int stage = 0; stage < 5; stage++) {
        MPI_Barrier(s->team->world);
        int64_t start_ns = nl_mono_ns();
        nd_loop_warm(loop, s->o->n_first_starts);
        int64_t mean_ns = nd_team_max(s->team, (nl_mono_ns() - start_ns) / s->o->n_first_starts);
        if (mean_ns < least_ns) least_ns = mean_ns;
    }
    return least_ns > 0 ? least_ns : 1;
}

/* How late this rank is meant to be, start by start. Returns the longest delay of all ranks, -1 after a
 * message. */
static int64_t plan_arrivals(struct nd_starter *s, struct nd_start_plan *plan, int64_t operation_ns,
                             uint64_t seed) {
    if (s->o->arrival == nd_arrivals[0]) return 0;
    plan->delays = calloc(ND_ARRIVAL_CYCLE, sizeof *plan->delays);
    double amount_ns =
        s->o->arrival_ns ? (double)s->o->arrival_ns : s->o->arrival_factor * (double)operation_ns;
    return nd_late_delays(s->o, s->team, amount_ns, seed, plan->delays);
}

/* Share of late starts in a stage that nobody records, and how long it took; the same on all ranks. */
static double late_share(struct nd_starter *s, const struct nd_loop *loop, int n, int64_t *stage_ns) {
    struct nd_loop stage = *loop;
    struct nd_loop_result r;
    stage.n_operations = stage.chunk = n;
    stage.hist = NULL;
    stage.step = NULL;
    nd_starter_run(s, &stage, &r);
    double share = (double)s->half.n_late / n;
    MPI_Bcast(&share, 1, MPI_DOUBLE, 0, s->team->world);
    *stage_ns = nd_team_max(s->team, r.wall_ns);
    return share;
}

static int refuse_slot(const struct nd_starter *s, const char *name, int64_t operation_ns, double share) {
    char slot[32], least[32];
    if (s->team->rank == 0)
        nl_error("--starts: slot: %s can never be met by %s, which takes %s on %d ranks: %.0f %% of the "
                 "starts were late (leave slot "
                 "out, and it is found)",
                 nl_format_duration(s->o->slot_ns, slot, sizeof slot), name,
                 nl_format_duration(operation_ns, least, sizeof least), s->team->n_ranks, 100 * share);
    return -1;
}

/* Starts of a stage that looks for a slot. A slow operation needs fewer to show that it is slow. */
static int settle_starts(const struct nd_starter *s, double start_ns) {
    int n = s->o->mode->has_stages ? s->o->n_stage_starts : SETTLE_STARTS;
    while (n > s->o->n_stage_starts && n * start_ns > SETTLE_NS)
        n /= 2;
    return n < s->o->n_stage_starts ? s->o->n_stage_starts : n;
}

/* Lets the slot grow until few starts are late, or the time is over. Where growing does not help, the best
 * one is taken. */
static int settle(struct nd_starter *s, const struct nd_loop *loop, struct nd_start_plan *plan,
                  const char *name, int64_t operation_ns, int64_t longest_ns, int64_t until_ns) {
    double best_share = 2;
    int64_t best_slot_ns = plan->slot_ns, stage_ns;
    int n = settle_starts(s, (double)(operation_ns + plan->slot_ns + longest_ns + s->o->work_ns)),
        n_without_gain = 0;
    for (int try = 0; try < (s->o->slot_ns ? 8 : SETTLE_TRIES) && n_without_gain < SETTLE_WITHOUT_GAIN;
         try++) {
        double share = late_share(s, loop, n, &stage_ns);
        int flags = (*loop->stop_asked ? ND_FLAG_STOP : 0) |
                    (s->o->plan_ns > 0 && nl_mono_ns() > until_ns ? ND_FLAG_TIME : 0);
        if (s->is_broken) return -1; /* the same on all ranks */
        flags = nd_team_agree(s->team, flags);
        if (flags & ND_FLAG_STOP) return -1;
        n_without_gain = share < 0.9 * best_share ? 0 : n_without_gain + 1;
        if (share < best_share) {
            best_share = share;
            best_slot_ns = plan->slot_ns;
        }
        if ((share <= allowed_share(s) && try >= 2) || flags) break;
        if (share <= allowed_share(s) || s->o->slot_ns) continue;
        plan->slot_ns = longer_slot(s, plan->slot_ns, stage_ns, n);
    }
    plan->slot_ns = best_slot_ns;
    plan->late_share = best_share;
    /* operations back to back take their least: a distance that is shorter only piles them up */
    if (s->o->slot_ns && s->o->slot_ns < operation_ns && s->o->mode->has_stages)
        return refuse_slot(s, name, operation_ns, best_share);
    /* one start in a stage can be on time in any slot: the first */
    if (s->o->slot_ns && best_share >= 1 - 1. / s->o->n_stage_starts)
        return refuse_slot(s, name, operation_ns, best_share);
    return 0;
}

int nd_starter_plan(struct nd_starter *s, const struct nd_loop *loop, struct nd_start_plan *plan,
                    const char *name, uint64_t seed) {
    struct nd_loop own = *loop;
    own.starter = s;
    own.plan = plan;
    int64_t begin_ns = nl_mono_ns(), most_ns = s->o->plan_ns > 0 ? s->o->plan_ns : INT64_MAX - begin_ns;
    s->plan = plan;
    plan->meets_first = !loop->op->is_synchronising;
    nd_loop_warm(loop, s->o->n_first_starts); /* connections */
    int64_t operation_ns = operation_time(s, loop);
    if (s->o->work_ns) {
        double rate = nd_work_rate();
        MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, s->team->world);
        plan->work_steps = (int64_t)(rate * (double)s->o->work_ns) + 1;
    }
    int64_t longest_ns = plan_arrivals(s, plan, operation_ns, seed);
    if (longest_ns < 0) return -1;
    plan->broadcast_ns = broadcast_time(s, begin_ns + most_ns / 2);
    plan->guard_ns = GUARD_NS + 16 * (operation_ns + longest_ns + s->o->work_ns);
    plan->slot_ns = s->o->mode->has_stages
                        ? (int64_t)(s->o->gamma * (double)(operation_ns + longest_ns + s->o->work_ns))
                        : plan->broadcast_ns;
    if (s->o->slot_ns) plan->slot_ns = s->o->slot_ns;
    return settle(s, &own, plan, name, operation_ns, longest_ns, begin_ns + most_ns);
}

void nd_starter_close(struct nd_starter *s) {
    if (!s->team) return;
    nd_raw_close(s->raw);
    nd_sync_close(&s->sync);
    MPI_Type_free(&s->sum_type);
    MPI_Op_free(&s->sum_op);
    NL_FREE(s->records, s->overshoots_ns, s->sums, s->node_sums, s->all_sums, s->overshoots,
            s->all_overshoots, s->measures, s->worst, s->rank_sums);
    *s = (struct nd_starter){0};
}

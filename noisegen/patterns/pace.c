#include "noisegen/patterns/pace.h"
#include "common/base/nl_rng.h"

static double min_double(double a, double b) { return a < b ? a : b; }
static double max_double(double a, double b) { return a > b ? a : b; }
static int64_t min_int64(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- arithmetic ---- */

int64_t ng_n_periods(const struct ng_plan *p) {
    if (p->level <= 0 || p->length_ns <= 0) return 0;
    return (p->length_ns - 1) / p->period_ns + 1;
}

static int64_t period_length_ns(const struct ng_plan *p, int64_t k) {
    return min_int64(p->period_ns, p->length_ns - k * p->period_ns);
}

/* Time of burst k (from 0) of a plan without a source. Jittered plans: a function of seed and k alone. */
static int64_t burst_ns(const struct ng_plan *p, int64_t k) {
    int64_t begin_ns = p->start_ns + k * p->period_ns;
    if (p->jitter <= 0) return begin_ns;
    struct nl_rng rng;
    nl_rng_init(&rng, p->random_seed, (uint64_t)k);
    /* the burst has to end within its period, too; how long a counted one takes is not known */
    double busy = p->is_counted ? 0.5 : p->level;
    double room_ns = (double)period_length_ns(p, k) * (1 - busy) * p->jitter;
    return begin_ns + (int64_t)(nl_rng_uniform(&rng) * room_ns);
}

/* Number of the period at `now_ns`, within the plan. */
static int64_t period_at(const struct ng_plan *p, int64_t now_ns) {
    int64_t n = ng_n_periods(p);
    if (n == 0 || now_ns < p->start_ns) return 0;
    return min_int64((now_ns - p->start_ns) / p->period_ns, n - 1);
}

/* How many bursts' times have come; a plan without a source. */
static int64_t n_due_by(const struct ng_plan *p, int64_t now_ns) {
    if (ng_n_periods(p) == 0 || now_ns < p->start_ns) return 0;
    int64_t k = period_at(p, now_ns);
    return burst_ns(p, k) <= now_ns ? k + 1 : k;
}

double ng_share(const struct ng_plan *p, int64_t from, int64_t to) {
    if (to <= from) return 0;
    int64_t end_ns = min_int64(to * p->period_ns, p->length_ns);
    return p->level * (double)(end_ns - from * p->period_ns);
}

/* What one burst brings, on average. */
static double mean_share(const struct ng_plan *p) { return p->level * (double)p->period_ns; }

/* What has to be kept back for going to sleep: a plan that fills the CPU never sleeps, under a detector the
 * last sleep is not ours, and a counted plan does not pay for sleeping. */
static double kept_back(const struct ng_plan *p, int64_t wake_ns) {
    return p->is_bounded && !p->is_counted && p->level < 1 ? (double)wake_ns : 0;
}

/* What must be owed for a burst to be worth its wake-up: its cost, or one whole unit. Under a detector half
 * of its cost: what is delivered then swings about what is due, where it would always be behind by up to a
 * wake-up, which is much of a small dose. */
static double price_of_start(const struct ng_plan *p, int64_t wake_ns) {
    if (p->is_counted) return 1 - 1e-9;
    return p->is_bounded ? (double)wake_ns + kept_back(p, wake_ns) : (double)wake_ns / 2;
}

/* First burst from `k` on whose wake-up the account can pay by then; ng_n_periods when there is none. A plan
 * without a source. */
static int64_t next_burst(const struct ng_plan *p, const struct ng_account *a, int64_t wake_ns, int64_t k) {
    int64_t n = ng_n_periods(p);
    if (k >= n) return n;
    double missing = price_of_start(p, wake_ns) - a->owed;
    double share = mean_share(p);
    if (missing <= share) return k;
    double n_shares = missing / share; /* the last of them is to be due when we wake up */
    if (n_shares >= (double)(n - k)) return n;
    int64_t whole = (int64_t)n_shares;
    return min_int64(k + ((double)whole < n_shares ? whole : whole - 1), n);
}

/* How much CPU time to work now: what is owed, less the sleep that follows, and no more than the duty cap
 * leaves of this period, of which used_ns are used. Counted plans: what the cap leaves while a unit is owed.
 */
static int64_t work_ns(const struct ng_plan *p, const struct ng_account *a, int64_t wake_ns,
                       int64_t used_ns) {
    /* the period's border itself is the cap of 100 %: the clocks' small differences must not put a long burst
     * to sleep just before it */
    double room_ns =
        p->duty_cap < 1 ? p->duty_cap * (double)p->period_ns - (double)used_ns : (double)p->period_ns;
    double owed = a->owed - kept_back(p, wake_ns);
    if (p->is_counted) return owed >= 1 - 1e-9 ? (int64_t)max_double(0, room_ns) : 0;
    return (int64_t)max_double(0, min_double(owed, room_ns));
}

/* What may be outstanding beside what is now being worked off. What was saved up on purpose for a wake-up
 * does not count against the cap. */
static double carry_cap(const struct ng_plan *p, int64_t wake_ns) {
    return p->carry_bursts * mean_share(p) + (p->is_counted ? 1 : (double)wake_ns);
}

/* A period ended with its burst unfinished: what is owed beyond `current` (what would be owed now if nothing
 * had been missed) is carried, up to the cap, and the rest dropped. */
static void carry_over(const struct ng_plan *p, struct ng_account *a, int64_t wake_ns, double current) {
    double missed = a->owed - current - kept_back(p, wake_ns), cap = carry_cap(p, wake_ns);
    if (missed <= 0) return;
    if (missed > cap) {
        a->dropped += missed - cap;
        a->owed -= missed - cap;
        missed = cap;
    }
    a->carried += max_double(0, missed - a->old);
    a->old = missed;
}

static void pay(struct ng_account *a, double amount) {
    a->owed -= amount;
    a->old = max_double(0, a->old - amount); /* the oldest is paid first */
}

static void wake_cost_add(struct ng_wake_cost *w, int64_t cost_ns) {
    w->samples_ns[w->n_samples++ % NG_WAKE_SAMPLES] = cost_ns;
}

static int64_t median_ns(const struct ng_wake_cost *w) {
    int n = w->n_samples < NG_WAKE_SAMPLES ? w->n_samples : NG_WAKE_SAMPLES;
    int64_t sorted[NG_WAKE_SAMPLES];
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && sorted[j - 1] > w->samples_ns[i]; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = w->samples_ns[i];
    }
    return sorted[n / 2];
}

int64_t ng_wake_cost_ns(const struct ng_wake_cost *w) { return w->n_samples > 0 ? median_ns(w) : 20000; }

/* How much earlier than its burst a sleep has to end: the median delay of wake-ups, at most a twentieth of
 * the period or 200 us. */
static int64_t lead_of(const struct ng_wake_cost *delay, int64_t period_ns) {
    if (!delay || delay->n_samples == 0) return 0;
    int64_t lead_ns = min_int64(median_ns(delay), min_int64(period_ns / 20, 200000));
    return lead_ns > 0 ? lead_ns : 0;
}

/* A burst is late when it starts later than this after its time. */
static int64_t late_bound_ns(int64_t period_ns) { return min_int64(period_ns / 10, 1000000); }

void ng_account_add(struct ng_account *total, const struct ng_account *a) {
    total->requested += a->requested;
    total->owed += a->owed;
    total->old += a->old;
    total->carried += a->carried;
    total->dropped += a->dropped;
    total->delivered_ns += a->delivered_ns;
    total->delivered_units += a->delivered_units;
    total->n_planned += a->n_planned;
    total->n_run += a->n_run;
    total->n_merged += a->n_merged;
    total->n_late += a->n_late;
}

double ng_delivered(const struct ng_account *a, int is_counted) {
    return is_counted ? (double)a->delivered_units : (double)a->delivered_ns;
}

int ng_within_tolerance(double requested, double delivered, double tolerance_percent) {
    if (requested <= 0) return -1;
    double off = delivered / requested - 1;
    return (off < 0 ? -off : off) * 100 <= tolerance_percent;
}

/* ---- sources ---- */

/* Burst k of a source, reading ahead as far as needed; NULL when there is none, or when it lies beyond the
 * window. */
static const struct ng_burst *source_burst(struct ng_source *s, int64_t k) {
    while (s->n_read <= k) {
        if (s->is_ended || s->n_read - s->n_due >= NG_WINDOW) return NULL;
        int got = s->next(s->context, &s->ring[s->n_read % NG_WINDOW]);
        s->is_ended = got <= 0;
        s->has_failed = got < 0;
        if (s->is_ended) return NULL;
        s->n_read++;
    }
    return &s->ring[k % NG_WINDOW];
}

/* Passes over what the slots of earlier plans left. */
static void source_catch_up(struct ng_source *s) {
    const struct ng_burst *burst;
    while ((burst = source_burst(s, s->n_due)) && burst->due_ns < s->position_ns)
        s->n_due++;
}

/* The clock's time at which the source's time is 0. */
static int64_t source_origin_ns(const struct ng_plan *p) { return p->start_ns - p->source->position_ns; }

/* What would still be owed at a source time on a CPU of our own that begins as late as a burst may without
 * being late: at most duty_cap of it goes into the load. */
static double source_ideal(const struct ng_plan *p, int64_t at_ns) {
    const struct ng_source *s = p->source;
    int64_t worked_ns = at_ns - (s->ideal_at_ns > s->ideal_from_ns ? s->ideal_at_ns : s->ideal_from_ns);
    return worked_ns > 0 ? max_double(0, s->ideal - p->duty_cap * (double)worked_ns) : s->ideal;
}

/* A burst more to do on that CPU. */
static void add_to_ideal(const struct ng_plan *p, const struct ng_burst *burst) {
    struct ng_source *s = p->source;
    double rest = source_ideal(p, burst->due_ns);
    /* the bursts of a source have no period of their own to be late in; and the cap may have left nothing of
     * the window they come in */
    if (rest <= 0)
        s->ideal_from_ns = burst->due_ns + late_bound_ns(p->period_ns) + (p->duty_cap < 1 ? p->period_ns : 0);
    s->ideal = rest + burst->share;
    s->ideal_at_ns = burst->due_ns;
}

/* When the burst starts whose wake-up is paid for by then; INT64_MAX: not within the plan or the window.
 * @param k  set to its index, or to the last one of the window, from where one has to look again. */
static int64_t source_next(const struct ng_plan *p, const struct ng_account *a, int64_t wake_ns, int64_t *k) {
    struct ng_source *s = p->source;
    double missing = price_of_start(p, wake_ns) - a->owed;
    int64_t origin_ns = source_origin_ns(p), end_ns = p->start_ns + p->length_ns;
    if (p->level <= 0) return INT64_MAX;
    for (int64_t i = s->n_due;; i++) {
        const struct ng_burst *burst = source_burst(s, i);
        if (!burst && i - s->n_due < NG_WINDOW) return INT64_MAX;
        /* so many tiny bursts that the window is full: wake up to make room */
        if (!burst) burst = &s->ring[(i - 1) % NG_WINDOW];
        missing -= burst->share;
        *k = i;
        if (origin_ns + burst->due_ns >= end_ns) return INT64_MAX;
        if (missing <= 0 || i - s->n_due >= NG_WINDOW) return origin_ns + burst->due_ns;
    }
}

int64_t ng_first_start_ns(const struct ng_plan *p, const struct ng_account *a, int64_t wake_ns) {
    int64_t k = 0;
    if (p->source) {
        source_catch_up(p->source);
        return source_next(p, a, wake_ns, &k);
    }
    k = next_burst(p, a, wake_ns, 0);
    return k < ng_n_periods(p) ? burst_ns(p, k) : INT64_MAX;
}

/* ---- the deadline loop ---- */

struct loop {
    const struct ng_plan *plan;
    const struct ng_machine *machine;
    const struct ng_run *run;
    int64_t cpu_ns;        /* CPU clock when it was last charged */
    int64_t n_due;         /* bursts whose shares were added to the account; without a source */
    int64_t last_due_ns;   /* when the last of them became due */
    double last_share;     /* what it brought; with a source */
    int64_t period;        /* the period that now runs */
    int64_t period_cpu_ns; /* CPU clock when it began */
    int64_t saved_ns;      /* what a wake-up was thought to cost when the last burst was waited for */
    int kind;              /* index of the kind now at work */
    int is_unfinished;     /* the last burst ended with more owed than its period allowed */
    int has_failed;
};

static int64_t wake_cost_ns(const struct loop *l) { return ng_wake_cost_ns(l->run->wake); }
static int64_t now_ns(const struct loop *l) { return l->machine->now_ns(l->machine->context); }
static int is_interrupted(const struct loop *l) { return l->machine->interrupted(l->machine->context); }

/* Charges the CPU time used since the last time; returns it. */
static int64_t charge(struct loop *l) {
    int64_t cpu_ns = l->machine->cpu_ns(l->machine->context);
    int64_t used_ns = cpu_ns - l->cpu_ns;
    l->cpu_ns = cpu_ns;
    l->run->account->delivered_ns += used_ns;
    if (l->run->tallies) l->run->tallies[l->kind].delivered_ns += used_ns;
    if (!l->plan->is_counted) pay(l->run->account, (double)used_ns);
    return used_ns;
}

static void count_units(struct loop *l, int64_t n_units) {
    l->run->account->delivered_units += n_units;
    if (l->run->tallies) l->run->tallies[l->kind].delivered_units += n_units;
    if (l->plan->is_counted) pay(l->run->account, (double)n_units);
}

static void add_share(struct loop *l, double share, int64_t n_bursts) {
    struct ng_account *a = l->run->account;
    a->requested += share;
    a->owed += share;
    a->n_planned += n_bursts;
    if (l->run->tallies) l->run->tallies[l->kind].requested += share;
}

static void add_source_burst(struct loop *l, const struct ng_burst *burst) {
    struct ng_source *s = l->plan->source;
    add_to_ideal(l->plan, burst);
    l->last_share = burst->share;
    l->last_due_ns = source_origin_ns(l->plan) + burst->due_ns;
    l->kind = burst->kind >= 0 ? burst->kind : l->plan->kind;
    add_share(l, burst->share, 1);
    s->n_due++;
}

/* Adds the shares of all bursts whose times have come; returns their number. */
static int64_t add_due(struct loop *l, int64_t now) {
    const struct ng_plan *p = l->plan;
    int64_t fresh = 0;
    if (p->level <= 0) return 0;
    if (p->source) {
        int64_t until_ns = min_int64(now, p->start_ns + p->length_ns - 1) - source_origin_ns(p);
        const struct ng_burst *burst;
        for (; (burst = source_burst(p->source, p->source->n_due)) && burst->due_ns <= until_ns; fresh++) {
            /* after a long stop there may be millions to catch up with */
            if (fresh % 4096 == 4095 && is_interrupted(l)) break;
            add_source_burst(l, burst);
        }
    } else {
        int64_t n_due = n_due_by(p, now);
        fresh = n_due - l->n_due;
        if (fresh > 0) {
            add_share(l, ng_share(p, l->n_due, n_due), fresh);
            l->n_due = n_due;
            l->last_due_ns = burst_ns(p, n_due - 1);
        }
    }
    if (fresh > 0 && l->run->requested_shared)
        atomic_store(l->run->requested_shared, (int64_t)l->run->account->requested);
    return fresh > 0 ? fresh : 0;
}

/* What would be owed now if nothing had been missed: the share of the period that now runs, as far as it is
 * due; of a source what an undisturbed CPU would still have to do, or, how long a unit takes being unknown,
 * what its last burst brought within a period. */
static double current(const struct loop *l, int64_t now) {
    const struct ng_plan *p = l->plan;
    if (p->source && p->is_counted) return now - l->last_due_ns < p->period_ns ? l->last_share : 0;
    if (p->source) return source_ideal(p, now - source_origin_ns(p));
    return l->n_due > l->period ? ng_share(l->plan, l->period, l->period + 1) : 0;
}

static void carry(struct loop *l, double current_share) {
    int64_t wake_ns = wake_cost_ns(l); /* may just have turned out cheaper than what was saved up for it */
    carry_over(l->plan, l->run->account, wake_ns > l->saved_ns ? wake_ns : l->saved_ns, current_share);
}

static void count_burst(struct loop *l, int64_t late_ns) {
    struct ng_account *a = l->run->account;
    if (late_ns < 0) late_ns = -late_ns; /* woken a little early */
    struct ng_lateness *lateness = l->run->lateness;
    a->n_run++;
    if (l->run->tallies) l->run->tallies[l->kind].n_run++;
    if (late_ns > late_bound_ns(l->plan->period_ns)) a->n_late++;
    nl_hist_add(&lateness->hist, late_ns);
    if (late_ns > lateness->max_ns) lateness->max_ns = late_ns;
    if (l->run->n_run_shared) atomic_fetch_add(l->run->n_run_shared, 1);
}

/* A burst that outlasts its period goes on in the next one, whose own burst has then begun on time. */
static void cross_period(struct loop *l, int64_t now) {
    int64_t fresh = add_due(l, now);
    l->period = period_at(l->plan, now);
    l->period_cpu_ns = l->cpu_ns;
    carry(l, current(l, now));
    if (fresh > 0) count_burst(l, now - l->last_due_ns);
}

static void fail(struct loop *l) {
    l->has_failed = 1;
    if (l->run->failed_kind) *l->run->failed_kind = l->kind;
}

/* Quanta until `until_ns`, or until `n_units` are done. The wall clock costs a twentieth of what the CPU
 * clock does, and CPU time cannot pass faster than wall time, so work until the owed time could have passed,
 * then look at the CPU clock. Returns 1 when interrupted. */
static int work_until(struct loop *l, int64_t until_ns, double n_units) {
    const struct ng_load *load = &l->machine->loads[l->kind];
    int64_t done = 0;
    int stopped = 0;
    do {
        int64_t n = load->work(load->state);
        if (n < 0) fail(l);
        if (n > 0) done += n;
        stopped = is_interrupted(l);
    } while (!stopped && !l->has_failed && (double)done < n_units && now_ns(l) < until_ns);
    count_units(l, done);
    return stopped;
}

/* How long to work without a look at the CPU clock: it may be one that remembers only so many context
 * switches (stretch.h). */
enum { LONGEST_WORK_NS = 10000000 };

/* Works until nothing is owed, the period's cap is reached, or the plan ends. Returns 1 when interrupted or
 * failed. */
static int work_off(struct loop *l) {
    const struct ng_plan *p = l->plan;
    l->is_unfinished = 0;
    for (;;) {
        int64_t now = now_ns(l);
        int64_t border_ns = p->start_ns + min_int64((l->period + 1) * p->period_ns, p->length_ns);
        if (now >= p->start_ns + p->length_ns) return 0;
        if (now >= border_ns) {
            cross_period(l, now);
            continue;
        }
        if (p->source && add_due(l, now) > 0) count_burst(l, now - l->last_due_ns);
        double owed = l->run->account->owed;
        int64_t wake_ns = wake_cost_ns(l);
        int64_t want_ns = work_ns(p, l->run->account, wake_ns, l->cpu_ns - l->period_cpu_ns);
        if (want_ns <= 0) {
            l->is_unfinished = owed > (p->is_counted ? 1 - 1e-9 : kept_back(p, wake_ns) + 1);
            return 0;
        }
        int64_t until_ns = min_int64(min_int64(now + want_ns, now + LONGEST_WORK_NS), border_ns);
        int stopped = work_until(l, until_ns, p->is_counted ? owed - 1e-9 : 9e18);
        charge(l);
        if (stopped || l->has_failed) return 1;
    }
}

/* Burst k, due at `at_ns`, just after waking up for it (or finding that its time has passed already). Returns
 * 1 when interrupted or failed. */
static int burst(struct loop *l, int64_t k, int64_t at_ns, int slept) {
    const struct ng_plan *p = l->plan;
    int64_t started_ns = now_ns(l);
    int64_t now =
        started_ns > at_ns ? started_ns : at_ns; /* what wakes up a little early is meant all the same */
    int64_t cpu_before_ns = l->cpu_ns;
    int64_t fresh = add_due(l, now); /* first, so that the kind that we woke up for pays for it */
    int64_t cost_ns = charge(l);
    if (slept) {
        wake_cost_add(l->run->wake, cost_ns);
        count_units(l, l->machine->loads[l->kind].units_per_wake_up);
    }
    int64_t period = period_at(p, now);
    int is_new_period = period > l->period;
    if (is_new_period) {
        l->period = period;
        l->period_cpu_ns = cpu_before_ns;
    }
    if (p->source || period > k || l->is_unfinished) carry(l, current(l, now));
    /* after a cap that held the last one back nothing new begins */
    if (!p->source || fresh > 0) count_burst(l, started_ns - at_ns);
    if (l->run->log) nl_bursts_begin(l->run->log, started_ns);
    int stopped = work_off(l);
    if (l->run->log) nl_bursts_end(l->run->log, now_ns(l));
    return stopped;
}

/* Works off credit that was too small to pay for a wake-up of its own, now that we are awake anyway; what the
 * CPU did not have time for is dropped. Not interruptible: it takes less than two wake-ups. */
static void settle(struct loop *l) {
    struct ng_account *a = l->run->account;
    double limit = 2. * (double)wake_cost_ns(l);
    while (!l->plan->is_counted && !l->has_failed && a->owed >= 1 && a->owed <= limit) {
        work_until(l, now_ns(l) + (int64_t)a->owed, 9e18);
        charge(l);
    }
    if (a->owed <= (l->plan->is_counted ? 1e-6 : 0)) return; /* sums of fractions of a unit are not exact */
    a->dropped += a->owed;
    a->owed = a->old = 0;
}

/* A generator alone that was stopped within a burst, or whose plan ended within one of a source, does not owe
 * the rest of it. */
static void cancel_rest(struct loop *l) {
    struct ng_account *a = l->run->account;
    double rest =
        min_double(max_double(0, a->owed), l->plan->is_counted ? mean_share(l->plan) : current(l, now_ns(l)));
    a->requested -= rest;
    a->owed -= rest;
    if (l->run->tallies) l->run->tallies[l->kind].requested -= rest;
}

/* What the plan leaves behind when it ends or is interrupted. `missed_a_burst`: a burst became due in a sleep
 * that a command ended. */
static void finish(struct loop *l, int within_burst, int missed_a_burst) {
    struct ng_account *a = l->run->account;
    struct ng_source *s = l->plan->source;
    int64_t now = now_ns(l);
    add_due(l, now);
    if (l->plan->is_bounded) {
        charge(l);
        if (within_burst || (s && !l->plan->is_counted)) cancel_rest(l);
        settle(l);
    } else if (within_burst || l->is_unfinished || missed_a_burst) {
        /* the rest of a source's burst is not missed: its time goes on with the next plan */
        carry(l, s ? current(l, now) : 0);
    }
    if (s && l->plan->is_slotted)
        s->position_ns += l->plan->length_ns;
    else if (s && now > l->plan->start_ns)
        s->position_ns += min_int64(now - l->plan->start_ns, l->plan->length_ns);
    a->n_merged = a->n_planned - a->n_run;
}

/* Where to sleep to: the next burst's time, `*k` its index; the end of the plan when there is none. */
static int64_t next_start_ns(struct loop *l, int64_t *k) {
    const struct ng_plan *p = l->plan;
    int64_t at_ns = INT64_MAX;
    if (p->source && l->is_unfinished) {
        *k = p->source->n_due;
        at_ns = p->start_ns + (l->period + 1) * p->period_ns; /* the cap holds us back until then */
        if (at_ns >= p->start_ns + p->length_ns) at_ns = INT64_MAX;
    } else if (p->source) {
        at_ns = source_next(p, l->run->account, wake_cost_ns(l), k);
    } else {
        *k = next_burst(p, l->run->account, wake_cost_ns(l), l->n_due);
        if (*k < ng_n_periods(p)) at_ns = burst_ns(p, *k);
    }
    return at_ns;
}

/* Where the sleep for a burst at `at_ns` has to end: earlier by as much as wake-ups come late. Where that is
 * past already, a sleep of no length or none at all, whichever brings us nearer. */
static int64_t wake_time_ns(const struct loop *l, int64_t at_ns) {
    enum { SHORTEST_SLEEP_NS = 2000 };
    int64_t now = now_ns(l), lead_ns = lead_of(l->run->delay, l->plan->period_ns);
    if (at_ns - lead_ns > now || 2 * (at_ns - now) <= lead_ns + SHORTEST_SLEEP_NS) return at_ns - lead_ns;
    return now + SHORTEST_SLEEP_NS;
}

enum ng_run_end ng_run_deadline(const struct ng_plan *plan, const struct ng_machine *machine,
                                const struct ng_run *run) {
    struct loop l = {.plan = plan,
                     .machine = machine,
                     .run = run,
                     .cpu_ns = machine->cpu_ns(machine->context),
                     .kind = plan->kind};
    l.period_cpu_ns = l.cpu_ns;
    if (plan->source) source_catch_up(plan->source);
    int64_t end_ns = plan->is_bounded ? plan->start_ns + plan->length_ns : NG_FOREVER;
    int64_t k = 0;
    int interrupted = 0, within_burst = 0, missed = 0, is_first = 1;
    while (!interrupted) {
        int64_t at_ns = next_start_ns(&l, &k);
        l.saved_ns = wake_cost_ns(&l);
        if (plan->source && plan->source->has_failed) break;
        int64_t until_ns = at_ns < INT64_MAX ? wake_time_ns(&l, at_ns) : end_ns;
        int slept = until_ns == NG_FOREVER || until_ns > now_ns(&l);
        if (slept && is_first && !plan->is_bounded)
            l.cpu_ns = l.period_cpu_ns = machine->cpu_ns(machine->context);
        is_first = 0;
        interrupted = slept ? machine->sleep_until(machine->context, until_ns) : is_interrupted(&l);
        if (interrupted) missed = at_ns < INT64_MAX && now_ns(&l) >= at_ns;
        if (interrupted || at_ns == INT64_MAX) break;
        if (slept && run->delay) wake_cost_add(run->delay, now_ns(&l) - until_ns);
        interrupted = within_burst = burst(&l, k, at_ns, slept);
    }
    finish(&l, within_burst, missed);
    if (l.has_failed || (plan->source && plan->source->has_failed)) return NG_RUN_FAILED;
    return interrupted ? NG_RUN_INTERRUPTED : NG_RUN_COMPLETE;
}

/* ---- the published loop ---- */

enum ng_run_end ng_run_published(const struct ng_plan *plan, const struct ng_machine *machine,
                                 const struct ng_run *run) {
    struct loop l = {.plan = plan,
                     .machine = machine,
                     .run = run,
                     .cpu_ns = machine->cpu_ns(machine->context),
                     .kind = plan->kind};
    int64_t n = ng_n_periods(plan), end_ns = plan->start_ns + plan->length_ns;
    int64_t work_ns = (int64_t)(plan->level * (double)plan->period_ns);
    int interrupted = machine->sleep_until(machine->context, n > 0 ? plan->start_ns : end_ns);
    for (int64_t k = 0; n > 0 && !interrupted && !l.has_failed; k++) {
        int64_t begin_ns = now_ns(&l);
        if (begin_ns >= end_ns) break;
        count_burst(&l, begin_ns - (plan->start_ns + k * plan->period_ns));
        interrupted = work_until(&l, begin_ns + work_ns, 9e18);
        /* relative to now, as it was published */
        int64_t rest_ns = min_int64(plan->period_ns - work_ns, end_ns - begin_ns);
        if (!interrupted)
            interrupted = machine->sleep_until(machine->context, now_ns(&l) + (rest_ns > 0 ? rest_ns : 0));
    }
    charge(&l);
    add_due(&l, now_ns(&l));
    struct ng_account *a = run->account;
    a->requested =
        max_double(0, plan->level * (double)min_int64(now_ns(&l) - plan->start_ns, plan->length_ns));
    if (run->tallies) run->tallies[plan->kind].requested = a->requested;
    a->owed = a->requested - (double)a->delivered_ns;
    a->n_merged = 0;
    if (l.has_failed) return NG_RUN_FAILED;
    return interrupted ? NG_RUN_INTERRUPTED : NG_RUN_COMPLETE;
}

#include "pace.h"

#include "nl_rng.h"

static double min_double(double a, double b) {
    return a < b ? a : b;
}
static double max_double(double a, double b) {
    return a > b ? a : b;
}
static int64_t min_int64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- arithmetic ---- */

int64_t ng_n_periods(const struct ng_plan *p) {
    if (p->level <= 0 || p->length_ns <= 0) return 0;
    return (p->length_ns - 1) / p->period_ns + 1;
}

static int64_t period_length_ns(const struct ng_plan *p, int64_t k) {
    return min_int64(p->period_ns, p->length_ns - k * p->period_ns);
}

int64_t ng_burst_ns(const struct ng_plan *p, int64_t k) {
    int64_t begin_ns = p->start_ns + k * p->period_ns;
    if (!p->is_random) return begin_ns;
    struct nl_rng rng;
    nl_rng_init(&rng, p->random_seed, (uint64_t)k);
    /* the burst has to end within its period, too */
    double room_ns = (double)period_length_ns(p, k) * (1 - p->level);
    return begin_ns + (int64_t)(nl_rng_uniform(&rng) * room_ns);
}

/* Number of the period at `now_ns`, within the plan. */
static int64_t period_at(const struct ng_plan *p, int64_t now_ns) {
    int64_t n = ng_n_periods(p);
    if (n == 0 || now_ns < p->start_ns) return 0;
    return min_int64((now_ns - p->start_ns) / p->period_ns, n - 1);
}

int64_t ng_n_due(const struct ng_plan *p, int64_t now_ns) {
    if (ng_n_periods(p) == 0 || now_ns < p->start_ns) return 0;
    int64_t k = period_at(p, now_ns);
    return ng_burst_ns(p, k) <= now_ns ? k + 1 : k;
}

double ng_share_ns(const struct ng_plan *p, int64_t from, int64_t to) {
    if (to <= from) return 0;
    int64_t end_ns = min_int64(to * p->period_ns, p->length_ns);
    return p->level * (double)(end_ns - from * p->period_ns);
}

/* What has to be kept back for going to sleep: a plan that fills the CPU never sleeps, and under a detector the last sleep is not ours. */
static double kept_back_ns(const struct ng_plan *p, int64_t wake_ns) {
    return p->is_bounded && p->level < 1 ? (double)wake_ns : 0;
}

int64_t ng_next_burst(const struct ng_plan *p, const struct ng_account *a, int64_t wake_ns, int64_t k) {
    int64_t n = ng_n_periods(p);
    if (k >= n) return n;
    double missing_ns = (double)wake_ns + kept_back_ns(p, wake_ns) - a->owed_ns;
    double share_ns = ng_share_ns(p, 0, 1);
    if (missing_ns <= share_ns) return k;
    double n_shares = missing_ns / share_ns; /* the last of them is to be due when we wake up */
    if (n_shares >= (double)(n - k)) return n;
    int64_t whole = (int64_t)n_shares;
    return min_int64(k + ((double)whole < n_shares ? whole : whole - 1), n);
}

int64_t ng_work_ns(const struct ng_plan *p, const struct ng_account *a, int64_t wake_ns, int64_t used_ns) {
    double owed_ns = a->owed_ns - kept_back_ns(p, wake_ns);
    double room_ns = p->duty_cap * (double)p->period_ns - (double)used_ns;
    return (int64_t)max_double(0, min_double(owed_ns, room_ns));
}

void ng_carry(const struct ng_plan *p, struct ng_account *a, int64_t wake_ns, double current_ns) {
    double missed_ns = a->owed_ns - current_ns - kept_back_ns(p, wake_ns);
    if (missed_ns <= 0) return;
    /* what was saved up on purpose for a wake-up does not count against the cap */
    double cap_ns = p->carry_bursts * ng_share_ns(p, 0, 1) + (double)wake_ns;
    if (missed_ns > cap_ns) {
        a->dropped_ns += missed_ns - cap_ns;
        a->owed_ns -= missed_ns - cap_ns;
        missed_ns = cap_ns;
    }
    a->carried_ns += max_double(0, missed_ns - a->old_ns);
    a->old_ns = missed_ns;
}

void ng_charge(struct ng_account *a, int64_t cpu_ns) {
    a->delivered_ns += cpu_ns;
    a->owed_ns -= (double)cpu_ns;
    a->old_ns = max_double(0, a->old_ns - (double)cpu_ns); /* the oldest is paid first */
}

void ng_wake_cost_add(struct ng_wake_cost *w, int64_t cost_ns) {
    w->samples_ns[w->n_samples++ % NG_WAKE_SAMPLES] = cost_ns;
}

int64_t ng_wake_cost_ns(const struct ng_wake_cost *w) {
    if (w->n_samples == 0) return 20000;
    int n = w->n_samples < NG_WAKE_SAMPLES ? w->n_samples : NG_WAKE_SAMPLES;
    int64_t sorted[NG_WAKE_SAMPLES];
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && sorted[j - 1] > w->samples_ns[i]; j--) sorted[j] = sorted[j - 1];
        sorted[j] = w->samples_ns[i];
    }
    return sorted[n / 2];
}

int64_t ng_late_bound_ns(int64_t period_ns) {
    return min_int64(period_ns / 10, 1000000);
}

int ng_within_tolerance(double requested_ns, double delivered_ns, double tolerance_percent) {
    if (requested_ns <= 0) return -1;
    double off = delivered_ns / requested_ns - 1;
    return (off < 0 ? -off : off) * 100 <= tolerance_percent;
}

/* ---- the deadline loop ---- */

struct loop {
    const struct ng_plan *plan;
    const struct ng_machine *machine;
    const struct ng_run *run;
    int64_t cpu_ns;        /* CPU clock when it was last charged */
    int64_t n_due;         /* bursts whose shares were added to the account */
    int64_t period;        /* the period that now runs */
    int64_t period_cpu_ns; /* CPU clock when it began */
    int is_unfinished;     /* the last burst ended with more owed than its period allowed */
};

static int64_t wake_cost_ns(const struct loop *l) {
    return ng_wake_cost_ns(l->run->wake);
}
static int64_t now_ns(const struct loop *l) {
    return l->machine->now_ns(l->machine->context);
}
static int is_interrupted(const struct loop *l) {
    return l->machine->interrupted(l->machine->context);
}

static int64_t charge(struct loop *l) {
    int64_t cpu_ns = l->machine->cpu_ns(l->machine->context);
    int64_t used_ns = cpu_ns - l->cpu_ns;
    l->cpu_ns = cpu_ns;
    ng_charge(l->run->account, used_ns);
    return used_ns;
}

/* Adds the shares of all bursts whose times have come; returns their number. */
static int64_t add_due(struct loop *l, int64_t now) {
    struct ng_account *a = l->run->account;
    int64_t n_due = ng_n_due(l->plan, now), fresh = n_due - l->n_due;
    if (fresh <= 0) return 0;
    double share_ns = ng_share_ns(l->plan, l->n_due, n_due);
    a->requested_ns += share_ns;
    a->owed_ns += share_ns;
    a->n_planned += fresh;
    l->n_due = n_due;
    return fresh;
}

/* The share of the period that now runs, as far as it is due. */
static double current_share_ns(const struct loop *l) {
    return l->n_due > l->period ? ng_share_ns(l->plan, l->period, l->period + 1) : 0;
}

static void count_burst(struct loop *l, int64_t late_ns) {
    struct ng_account *a = l->run->account;
    struct ng_lateness *lateness = l->run->lateness;
    a->n_run++;
    if (late_ns > ng_late_bound_ns(l->plan->period_ns)) a->n_late++;
    nl_hist_add(&lateness->hist, late_ns);
    if (late_ns > lateness->max_ns) lateness->max_ns = late_ns;
    if (l->run->n_run_shared) atomic_fetch_add(l->run->n_run_shared, 1);
}

/* A burst that outlasts its period goes on in the next one, whose own burst has then begun on time. */
static void cross_period(struct loop *l, int64_t now) {
    int64_t fresh = add_due(l, now);
    l->period = period_at(l->plan, now);
    l->period_cpu_ns = l->cpu_ns;
    ng_carry(l->plan, l->run->account, wake_cost_ns(l), current_share_ns(l));
    if (fresh > 0) count_burst(l, now - ng_burst_ns(l->plan, l->n_due - 1));
}

/* Quanta until `until_ns`. The wall clock costs a twentieth of what the CPU clock does, and CPU time cannot pass faster than wall time, so
 * work until the owed time could have passed, then look at the CPU clock. */
static int work_until(struct loop *l, int64_t until_ns) {
    do {
        l->machine->work(l->machine->work_state);
        if (is_interrupted(l)) return 1;
    } while (now_ns(l) < until_ns);
    return 0;
}

/* Works until nothing is owed, the period's cap is reached, or the plan ends. Returns 1 when interrupted. */
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
        int64_t wake_ns = wake_cost_ns(l);
        int64_t want_ns = ng_work_ns(p, l->run->account, wake_ns, l->cpu_ns - l->period_cpu_ns);
        if (want_ns <= 0) {
            l->is_unfinished = l->run->account->owed_ns > kept_back_ns(p, wake_ns) + 1;
            return 0;
        }
        int stopped = work_until(l, min_int64(now + want_ns, border_ns));
        charge(l);
        if (stopped) return 1;
    }
}

/* Burst k, just after waking up for it (or finding that its time has passed already). Returns 1 when interrupted. */
static int burst(struct loop *l, int64_t k, int slept) {
    int64_t now = now_ns(l);
    int64_t cpu_before_ns = l->cpu_ns;
    int64_t cost_ns = charge(l);
    if (slept) {
        ng_wake_cost_add(l->run->wake, cost_ns);
        l->run->account->overhead_ns += cost_ns;
    }
    add_due(l, now);
    int64_t period = period_at(l->plan, now);
    if (period > l->period) {
        l->period = period;
        l->period_cpu_ns = cpu_before_ns;
    }
    if (period > k || l->is_unfinished) ng_carry(l->plan, l->run->account, wake_cost_ns(l), current_share_ns(l));
    count_burst(l, now - ng_burst_ns(l->plan, k));
    return work_off(l);
}

/* Works off credit that was too small to pay for a wake-up of its own, now that we are awake anyway; what the CPU did not have time for is
 * dropped. Not interruptible: it takes less than two wake-ups. */
static void settle(struct loop *l) {
    struct ng_account *a = l->run->account;
    double limit_ns = 2. * (double)wake_cost_ns(l);
    while (a->owed_ns >= 1 && a->owed_ns <= limit_ns) {
        int64_t until_ns = now_ns(l) + (int64_t)a->owed_ns;
        do l->machine->work(l->machine->work_state);
        while (now_ns(l) < until_ns);
        charge(l);
    }
    if (a->owed_ns > 0) {
        a->dropped_ns += a->owed_ns;
        a->owed_ns = 0;
        a->old_ns = 0;
    }
}

/* A generator alone that was stopped within a burst does not owe the rest of it. */
static void cancel_rest(struct loop *l) {
    struct ng_account *a = l->run->account;
    double rest_ns = min_double(max_double(0, a->owed_ns), current_share_ns(l));
    a->requested_ns -= rest_ns;
    a->owed_ns -= rest_ns;
}

/* What the plan leaves behind when it ends or is interrupted, burst `next` being the one it slept for. */
static void finish(struct loop *l, int within_burst, int64_t next) {
    struct ng_account *a = l->run->account;
    add_due(l, now_ns(l));
    if (l->plan->is_bounded) {
        int64_t cost_ns = charge(l);
        if (!within_burst) a->overhead_ns += cost_ns;
        if (within_burst) cancel_rest(l);
        settle(l);
    } else if (within_burst || l->is_unfinished || l->n_due > next) {
        ng_carry(l->plan, a, wake_cost_ns(l), 0);
    }
    a->n_merged = a->n_planned - a->n_run;
}

int ng_run_deadline(const struct ng_plan *plan, const struct ng_machine *machine, const struct ng_run *run) {
    struct loop l = {.plan = plan, .machine = machine, .run = run, .cpu_ns = machine->cpu_ns(machine->context)};
    l.period_cpu_ns = l.cpu_ns;
    int64_t n = ng_n_periods(plan), end_ns = plan->is_bounded ? plan->start_ns + plan->length_ns : NG_FOREVER;
    int64_t k = n;
    int interrupted = 0, within_burst = 0;
    while (!interrupted) {
        k = ng_next_burst(plan, run->account, wake_cost_ns(&l), l.n_due);
        int64_t until_ns = k < n ? ng_burst_ns(plan, k) : end_ns;
        int slept = until_ns == NG_FOREVER || until_ns > now_ns(&l);
        interrupted = slept ? machine->sleep_until(machine->context, until_ns) : is_interrupted(&l);
        if (interrupted || k == n) break;
        interrupted = within_burst = burst(&l, k, slept);
    }
    finish(&l, within_burst, k);
    return interrupted;
}

/* ---- the published loop ---- */

int ng_run_published(const struct ng_plan *plan, const struct ng_machine *machine, const struct ng_run *run) {
    struct loop l = {.plan = plan, .machine = machine, .run = run, .cpu_ns = machine->cpu_ns(machine->context)};
    int64_t n = ng_n_periods(plan), end_ns = plan->start_ns + plan->length_ns;
    int64_t work_ns = (int64_t)(plan->level * (double)plan->period_ns);
    int interrupted = machine->sleep_until(machine->context, n > 0 ? plan->start_ns : end_ns);
    for (int64_t k = 0; n > 0 && !interrupted; k++) {
        int64_t begin_ns = now_ns(&l);
        if (begin_ns >= end_ns) break;
        count_burst(&l, begin_ns - (plan->start_ns + k * plan->period_ns));
        interrupted = work_until(&l, begin_ns + work_ns);
        if (!interrupted) interrupted = machine->sleep_for(machine->context, min_int64(plan->period_ns - work_ns, end_ns - begin_ns));
    }
    charge(&l);
    add_due(&l, now_ns(&l));
    struct ng_account *a = run->account;
    a->requested_ns = plan->level * (double)min_int64(now_ns(&l) - plan->start_ns, plan->length_ns);
    a->owed_ns = a->requested_ns - (double)a->delivered_ns;
    a->n_merged = 0;
    return interrupted;
}

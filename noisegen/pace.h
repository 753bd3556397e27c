/* Pacing: when to burst and for how long.
 *
 * Deadline pacing is integral control on the thread's CPU time. Every period brings a share (level x period) that becomes due at the
 * period's burst time. Everything the thread runs is paid from it: work, wake-ups (10 to 50 us each on a virtual machine, more than a
 * whole burst of 2 us) and reads of the clock. What a burst overran is owed by the next ones, so the long-run level is right whatever a
 * wake-up costs; where a share does not even pay for its own wake-up, several bursts are merged into one. Time that was missed because the
 * CPU was taken is carried over up to a cap; the rest is dropped and reported. At every moment
 *     requested = delivered + dropped + owed.
 *
 * No stdio, no allocation, no exit: clock, sleep and work come in through struct ng_machine, so the tests run it on a simulated machine. */
#ifndef NG_PACE_H
#define NG_PACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "nl_hist.h"

#define NG_FOREVER (-1) /* as a deadline: until interrupted */

/* What the pacer needs of the world; `context` is handed to every hook. */
struct ng_machine {
    void *context;
    int64_t (*now_ns)(void *context); /* the clock of the deadlines: cheap */
    int64_t (*cpu_ns)(void *context); /* CPU time of this thread: may be a system call */
    /* Sleeps until `deadline_ns` (NG_FOREVER: without end). Returns 0, or 1 when interrupted. */
    int (*sleep_until)(void *context, int64_t deadline_ns);
    /* Sleeps for a time, as nanosleep does. Returns 0, or 1 when interrupted. Published pacing only. */
    int (*sleep_for)(void *context, int64_t duration_ns);
    int (*interrupted)(void *context); /* 1: stop now. Asked at every quantum of work: cheap */
    void (*work)(void *work_state);    /* one quantum */
    void *work_state;
};

/* One plan of bursts; constant while it runs. */
struct ng_plan {
    int64_t start_ns;     /* begin of the first period */
    int64_t period_ns;    /* > 0 */
    int64_t length_ns;    /* of all periods together; the last one may be cut short */
    double level;         /* share of one CPU, 0..1 */
    double duty_cap;      /* most that one period may get when carried time is repaid, 0..1 */
    double carry_bursts;  /* how many bursts' worth of missed time may be outstanding */
    int is_random;        /* 1: each burst at a random place within its period, 0: at its begin */
    uint64_t random_seed; /* for is_random */
    int is_bounded;       /* 1: ends at start + length, and the last sleep is paid from the shares (a generator alone);
                             0: sleeps on until interrupted, and what the interruption costs belongs to the interrupter (under a detector) */
};

/* What was asked, done and is still owed. Zero it before the first plan; plans of one level share one account. */
struct ng_account {
    double requested_ns; /* shares that became due */
    double owed_ns;      /* requested - delivered - dropped; negative: overdrawn */
    double old_ns;       /* the part of owed_ns that was carried over from earlier periods */
    double carried_ns;   /* missed in its own period and carried over, each missed ns counted once */
    double dropped_ns;   /* missed and given up */
    int64_t delivered_ns;
    int64_t overhead_ns; /* the part of delivered_ns spent on waking up and going to sleep */
    int64_t n_planned;   /* bursts whose time came */
    int64_t n_run;
    int64_t n_merged; /* bursts that were left to a later one: n_planned - n_run */
    int64_t n_late;   /* bursts run that started later than ng_late_bound_ns */
};

/* The expected cost of a wake-up: the median of the last few, so that one disturbed wake-up changes nothing. */
enum { NG_WAKE_SAMPLES = 7 };
struct ng_wake_cost {
    int64_t samples_ns[NG_WAKE_SAMPLES];
    int n_samples; /* ever taken */
};

/* How late bursts started. */
struct ng_lateness {
    struct nl_hist hist;
    int64_t max_ns;
};

/* Everything a run changes. */
struct ng_run {
    struct ng_account *account;
    struct ng_wake_cost *wake;
    struct ng_lateness *lateness;
    _Atomic int64_t *n_run_shared; /* count for an onlooker, NULL: none */
};

/* ---- arithmetic ---- */

/* Number of periods in a plan; 0 at level 0, where there is nothing to do. */
int64_t ng_n_periods(const struct ng_plan *plan);

/* Time of burst k (from 0). Random plans: a function of seed and k alone. */
int64_t ng_burst_ns(const struct ng_plan *plan, int64_t k);

/* How many bursts' times have come by `now_ns`. */
int64_t ng_n_due(const struct ng_plan *plan, int64_t now_ns);

/* CPU time due for the bursts from..to-1. */
double ng_share_ns(const struct ng_plan *plan, int64_t from, int64_t to);

/* First burst from `k` on whose wake-up the account can pay by then; ng_n_periods when there is none. */
int64_t ng_next_burst(const struct ng_plan *plan, const struct ng_account *account, int64_t wake_ns, int64_t k);

/* How long to work now: what is owed, less the sleep that follows, and no more than the duty cap leaves of this period.
 * @param used_ns  CPU time used in this period. */
int64_t ng_work_ns(const struct ng_plan *plan, const struct ng_account *account, int64_t wake_ns, int64_t used_ns);

/* A period ended with its burst unfinished: what is owed beyond `current_ns` (the share of the period that now runs) is carried, up to
 * carry_bursts shares, and the rest dropped. */
void ng_carry(const struct ng_plan *plan, struct ng_account *account, int64_t wake_ns, double current_ns);

/* Adds CPU time used. */
void ng_charge(struct ng_account *account, int64_t cpu_ns);

void ng_wake_cost_add(struct ng_wake_cost *wake, int64_t cost_ns);

/* 20 us before the first sample. */
int64_t ng_wake_cost_ns(const struct ng_wake_cost *wake);

/* A burst is late when it starts later than this after its time: a tenth of the period or 1 ms, whichever is less. */
int64_t ng_late_bound_ns(int64_t period_ns);

/* Whether the delivered load is as requested: 1 yes, 0 no, -1 nothing was requested. */
int ng_within_tolerance(double requested_ns, double delivered_ns, double tolerance_percent);

/* ---- the loops ---- */

/* Runs a plan.
 * @return 1 when it was interrupted, 0 when it came to its end. */
int ng_run_deadline(const struct ng_plan *plan, const struct ng_machine *machine, const struct ng_run *run);

/* The published loop: works until level x period of wall time has passed, then sleeps for the rest, relatively; see kind_seed.c. Its
 * account is for comparison: nothing is carried or repaid. */
int ng_run_published(const struct ng_plan *plan, const struct ng_machine *machine, const struct ng_run *run);

#endif

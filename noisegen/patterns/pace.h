/* Pacing: when to burst and for how long. Deadline pacing is integral control (docs/methods.md): every burst
 * brings a share that becomes due at its time, in CPU time (level x period; work, wake-ups and reads of the
 * clock are paid from it) or units of dose (rate x period). What a burst overran is owed by the next ones;
 * where a share does not pay for its own wake-up, several bursts are merged into one; what was missed because
 * the CPU was taken is carried over up to a cap, and the rest dropped and reported. At every moment requested
 * = delivered + dropped + owed. Bursts come at even or jittered distances, by formula, or from a source that
 * yields one after the other (pattern.h, trace.h).
 *
 * No stdio, no allocation, no exit: clock, sleep and work come in through struct ng_machine, so the tests run
 * it on a simulated machine. */
#pragma once

#include "common/page/nl_bursts.h"
#include "common/base/nl_hist.h"

#define NG_FOREVER (-1) /* as a deadline: until interrupted */

/* What the pacer needs of the world; `context` is handed to every hook. */
struct ng_machine {
    void *context;
    int64_t (*now_ns)(void *context); /* the clock of the deadlines: cheap */
    int64_t (*cpu_ns)(void *context); /* CPU time of this thread: may be a system call */
    /* Sleeps until `deadline_ns` (NG_FOREVER: without end). Returns 0, or 1 when interrupted. */
    int (*sleep_until)(void *context, int64_t deadline_ns);
    int (*interrupted)(void *context); /* 1: stop now. Asked at every quantum of work: cheap */
    const struct ng_load *loads;       /* by kind index; at least one */
};

/* A kind of load, ready to work. */
struct ng_load {
    int64_t (*work)(
        void *state); /* one quantum; returns the units of dose it finished, -1 when it cannot go on */
    void *state;
    int units_per_wake_up; /* units that a wake-up already is */
};

/* One burst of a source. */
struct ng_burst {
    int64_t due_ns; /* from the source's begin; never before that of the burst before it */
    double share;   /* in the currency of the plan */
    int kind;       /* index into the loads; -1: the plan's */
};

/* How many bursts a source may look ahead, and so how many can be merged into one. */
enum { NG_WINDOW = 4096 };

/* Bursts that come one after the other. Zero it, then set `context` and `next`; it keeps its place from plan
 * to plan, and its time stands still in between. */
struct ng_source {
    void *context;
    int (*next)(
        void *context,
        struct ng_burst *burst); /* 1: here is one, 0: there are no more, -1: cannot be read any more */
    int64_t position_ns;         /* source time up to which plans have run it */
    int64_t n_read;              /* bursts read from it */
    int64_t n_due;               /* bursts whose time has come */
    int is_ended, has_failed;
    double ideal;          /* what would still be owed at `ideal_at_ns` had the CPU been ours alone */
    int64_t ideal_at_ns;   /* source time */
    int64_t ideal_from_ns; /* source time before which that CPU would have done nothing: a little lateness is
                              not yet something missed */
    struct ng_burst ring[NG_WINDOW];
};

/* One plan of bursts; constant while it runs, except for its source. */
struct ng_plan {
    int64_t start_ns;  /* begin of the first period */
    int64_t period_ns; /* > 0; with a source: the window in which the duty cap holds, and the mean distance of
                          bursts */
    int64_t length_ns; /* of all periods together; the last one may be cut short */
    double
        level; /* currency per ns: share of one CPU, 0..1, or units of dose per ns; with a source: its mean */
    double duty_cap;     /* most of the CPU that one period may get, 0..1 */
    double carry_bursts; /* how many bursts' worth of what was missed may be outstanding */
    double jitter; /* each burst at a random place within this share of the room in its period, 0..1; 0: at
                      its begin */
    uint64_t random_seed;     /* for jitter */
    struct ng_source *source; /* NULL: bursts by the formula */
    int kind;                 /* index into the loads */
    int is_slotted; /* 1: the source's time goes on by length_ns even when the plan is cut short, and what was
                       left of it is passed over: so that several generators stay at the same place */
    int is_counted; /* 1: the currency is units of dose, 0: ns of CPU time */
    int is_bounded; /* 1: ends at start + length, and the last sleep is paid from the shares (a generator
                       alone); 0: sleeps on until interrupted; what that costs belongs to the interrupter
                       (under a detector) */
};

/* What was asked, done and is still owed. Zero it before the first plan; plans of one level share one
 * account. requested, owed, old, carried and dropped are in the currency of the plan. */
struct ng_account {
    double requested;        /* shares that became due */
    double owed;             /* requested - delivered - dropped; negative: overdrawn */
    double old;              /* the part of owed that was carried over from earlier periods */
    double carried;          /* missed in its own period and carried over, counted once */
    double dropped;          /* missed and given up */
    int64_t delivered_ns;    /* CPU time */
    int64_t delivered_units; /* of dose */
    int64_t n_planned;       /* bursts whose time came */
    int64_t n_run;
    int64_t n_merged; /* bursts that were left to a later one: n_planned - n_run */
    int64_t n_late;   /* bursts run that started later than ng_late_bound_ns */
};

/* What one kind of load had of an account. */
struct ng_tally {
    double requested;
    int64_t delivered_ns, delivered_units;
    int64_t n_run;
};

/* The expected cost of a wake-up: the median of the last few, so that one disturbed wake-up changes nothing.
 */
enum { NG_WAKE_SAMPLES = 7 };
struct ng_wake_cost {
    int64_t samples_ns[NG_WAKE_SAMPLES];
    int n_samples; /* ever taken */
};

/* How far from their times bursts started: late or, having been woken ahead of an expected delay, early. */
struct ng_lateness {
    struct nl_hist hist;
    int64_t max_ns;
};

/* Everything a run changes. */
struct ng_run {
    struct ng_account *account;
    struct ng_tally *tallies; /* by kind index; NULL: not wanted */
    struct ng_wake_cost *wake;
    struct ng_wake_cost
        *delay; /* how late wake-ups come, ns: sleeps end that much earlier. NULL: as late as they are */
    struct ng_lateness *lateness;
    _Atomic int64_t *n_run_shared;     /* count for an onlooker, NULL: none */
    struct nl_bursts *log;             /* when bursts ran, for an onlooker; NULL: none */
    int *failed_kind;                  /* set to the kind that could not go on; NULL: not wanted */
    _Atomic int64_t *requested_shared; /* what became due, rounded down, for an onlooker; NULL: none */
};

/* ---- arithmetic ---- */

/* Number of periods in a plan; 0 at level 0, where there is nothing to do. */
int64_t ng_n_periods(const struct ng_plan *plan);

/* What is due for the bursts from..to-1 of a plan without a source. */
double ng_share(const struct ng_plan *plan, int64_t from, int64_t to);

/* When the plan's first burst will be started, whose wake-up the account can pay by then; INT64_MAX: never
 * within this plan. Reads ahead in a source. */
int64_t ng_first_start_ns(const struct ng_plan *plan, const struct ng_account *account, int64_t wake_ns);

/* The median; 20 us before the first sample. */
int64_t ng_wake_cost_ns(const struct ng_wake_cost *wake);

/* Adds an account of the same currency to another one. */
void ng_account_add(struct ng_account *total, const struct ng_account *account);

/* What was delivered in the currency of the plan. */
double ng_delivered(const struct ng_account *account, int is_counted);

/* Whether the delivered load is as requested: 1 yes, 0 no, -1 nothing was requested. */
int ng_within_tolerance(double requested, double delivered, double tolerance_percent);

/* ---- the loops ---- */

enum ng_run_end {
    NG_RUN_FAILED = -1, /* the kind or the source could not go on */
    NG_RUN_COMPLETE = 0,
    NG_RUN_INTERRUPTED = 1
};

/* Runs a plan. */
enum ng_run_end ng_run_deadline(const struct ng_plan *plan, const struct ng_machine *machine,
                                const struct ng_run *run);

/* The published loop: works until level x period of wall time has passed, then sleeps for the rest,
 * relatively; see kind_seed.c. Its account is for comparison: nothing is carried or repaid. */
enum ng_run_end ng_run_published(const struct ng_plan *plan, const struct ng_machine *machine,
                                 const struct ng_run *run);

/* How the halves follow a machine whose speed wanders. What the off halves of an operation and size lately
 * took says how long the next one will take: the dose of an on half is drawn for that, and where halves left
 * their planned length too far, following rounds get another number of operations. Nothing here ever sees an
 * on half, so no arm's outcome decides about its dose. */
#pragma once

#include "common/base/nl_usual.h"

enum { ND_FOLLOW_HALVES = 5 };

/* One operation and size. The same on all ranks, up to the rounding of their processors. */
struct nd_follow {
    int64_t planned_ns;                 /* length that halves are to have */
    double recent_ns[ND_FOLLOW_HALVES]; /* the last off halves, for the present number of operations */
    int64_t n_seen;                     /* off halves ever seen */
    int64_t n_fresh;                    /* of them, since the number of operations was set */
    double expected_ns;                 /* before the first off half */
    double took_ns,
        foretold_ns; /* sums over off halves, fading: what they took, and what had been expected of them */
};

void nd_follow_init(struct nd_follow *f, int64_t half_ns, double expected_ns);

void nd_follow_off(struct nd_follow *f, int64_t wall_ns);

/* Length of an undisturbed half now, ns: the median of the last few. Bursts are placed by it. */
double nd_follow_typical_ns(const struct nd_follow *f);

/* Mean length of a half now, ns: the median, stretched by as much as off halves took longer than it foretold.
 * Doses are drawn for it. */
double nd_follow_mean_ns(const struct nd_follow *f);

/* The number of operations for the following halves; another one where they are off their planned length by
 * more than a quarter. */
int64_t nd_follow_operations(const struct nd_follow *f, int64_t n_operations);

void nd_follow_rescale(struct nd_follow *f, int64_t from, int64_t to);

/* By how much bursts lengthen a half of which they take that share from any rank: 1 / (1 - share), at most 4.
 */
double nd_follow_stretch(double share);

/* The bursts of a fixed dose. */
struct nd_bursts {
    int64_t n;
    int64_t first_ns;  /* from the draw of the dose on */
    int64_t period_ns; /* their distance */
    int64_t burst_ns;  /* length of each */
};

/* Draws n bursts over the half as long as it is now expected to last, bursts and all. They keep clear of both
 * ends, because it may turn out shorter. `lead_ns`: how long after the draw it begins. `u`: the place of the
 * first burst within what it may have, 0..1. */
void nd_follow_draw(const struct nd_follow *f, int64_t n, double level_percent, double stretch,
                    int64_t lead_ns, double u, struct nd_bursts *bursts);

/* What the halves of one account were to get and got, CPU time over all CPUs, ns. A burst that came too late
 * or was dropped is made up for; what the generator itself owes, it will bring anyway. */
struct nd_ledger {
    double asked_ns, delivered_ns; /* within halves */
    double owed_ns;                /* by the generator, when the last half of the account had ended */
};

/* What the next half is to bring beyond its own dose, ns: at most as much again; below 0 where there was too
 * much. */
double nd_ledger_extra_ns(const struct nd_ledger *l, double dose_ns);

/* What is lacking beyond four doses is given up: a machine on which a load could not run for long must not
 * get it all later. */
void nd_ledger_half(struct nd_ledger *l, double dose_ns, double delivered_ns);

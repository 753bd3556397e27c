/* Designs: in which order halves of which arm are run. Pure functions of the seed. */
#pragma once

#include "common/base/nl_usual.h"

#define ND_OFF           (-1)  /* nd_step.level of an off half */
#define ND_MAX_SET_STEPS 16384 /* halves in one round of the schedule */

/* One half, block or loop. */
struct nd_step {
    int config;         /* operation x bytes, 0..n_configs-1 */
    int level;          /* index into the levels, or ND_OFF */
    int order;          /* position within the pair or set */
    int64_t pair;       /* number of the pair or set, unique within the launch */
    int64_t planned_ns; /* how long it is to last */
};

struct nd_schedule;

struct nd_design {
    const char *name;
    const char *help;
    int is_paired;   /* 1: pairs of off and one level (halves.csv); 0: sets of all arms (blocks.csv) */
    int fixed_dose;  /* 1: an on half holds a fixed number of bursts; 0: the load goes on until the loop ends
                      */
    int single_loop; /* 1: one loop per arm, no rounds */
    int has_stretches; /* 1: undisturbed stretches of the agent between pairs of two lengths (quick) */
    int (*round_steps)(const struct nd_schedule *s);
    /* planned_ns 0: as long as a half is. */
    void (*fill_round)(const struct nd_schedule *s, int64_t round, struct nd_step *steps);
};

extern const struct nd_design *const nd_designs[]; /* ends with NULL */

struct nd_schedule {
    const struct nd_design *design;
    int n_configs, n_levels; /* n_levels 0: no generator, off loops only */
    uint64_t seed;
    int64_t n_rounds;
    int lacks_off;               /* single: the launch has on arms only */
    int64_t half_ns;             /* planned length of a half, block or loop */
    int64_t long_ns, stretch_ns; /* quick: of the longer halves, and of an undisturbed stretch */
};

void nd_schedule_fill(const struct nd_schedule *s, int64_t round, struct nd_step *steps);
int nd_schedule_round_steps(const struct nd_schedule *s);

/* Pairs (sets) in one round. */
int nd_schedule_round_pairs(const struct nd_schedule *s);

/* Without what comes between its halves. */
int64_t nd_schedule_round_ns(const struct nd_schedule *s);

/* How long a schedule may take by the wall clock: `measure_ns`, a second and a tenth more, and half a
 * millisecond for each half. */
int64_t nd_schedule_limit_ns(int64_t measure_ns, int64_t n_halves);

/* Whether it ends after n_rounds whole rounds: another one would, by their mean, end nearer beyond the limit.
 * The first is always run. */
int nd_schedule_is_over(int64_t limit_ns, int64_t elapsed_ns, int64_t n_rounds);

/* Boundaries of tests that look at a run several times, and the quantiles they need. Pure. */

enum { ND_MAX_LOOKS = 20 };

/* How the error is shared out over the run (Lan, DeMets 1983). */
struct nd_spending {
    const char *name;
    const char *help;
    /* One-sided error that may have been made by the share t (0..1) of the run. */
    double (*spent)(double alpha, double t);
};

extern const struct nd_spending *const nd_spendings[]; /* ends with NULL */

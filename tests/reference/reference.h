/* A reference for what noise costs many nodes: machines whose noise is known, simulated from its definition.
   It is a program of its own, which shares no line with the analysis that it judges, nor with the programs
   that measure.

   A node has CPUs, each with one rank. Bursts arrive on a CPU and queue there; they come before the rank,
   which has the CPU only while no burst does (work-conserving: a burst delays work, and takes none of it
   away). All ranks do the same work in each step, then wait for the last one at a barrier that takes no time
   itself. A rank that waits does not stop its bursts: they pass. What counts is wall time: bursts that arrive
   while a rank is held up, or while it waits, queue as all others do.

   What bursts of a CPU do does not depend on its rank. So a CPU is a train of busy periods, which can be made
   once and for all from the machine and a seed, and a step that begins at t0 ends for a rank when its CPU has
   been free for the work since t0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- random numbers: one stream for each purpose, so that CPUs may share one and not another */

struct rs_random {
    uint64_t state;
};

uint64_t rs_bits(struct rs_random *random);      /* uniform over 64 bits */
double rs_uniform(struct rs_random *random);     /* above 0, below 1 */
double rs_exponential(struct rs_random *random); /* of mean 1 */
double rs_normal(struct rs_random *random);      /* of mean 0 and standard deviation 1 */
struct rs_random rs_stream(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* ---- machines */

enum rs_arrivals {
    RS_POISSON,
    RS_ONE_BY_ONE, /* as of Poisson, but that a beat waits until the one before it is over */
    RS_PERIODIC
};
enum rs_costs { RS_FIXED, RS_EXPONENTIAL, RS_TWO, RS_PARETO };
enum rs_phase {
    RS_OWN,    /* each node is hit by itself */
    /* beats come at the same moments on all nodes; costs, and which are left out, are each node's own */
    RS_SHARED,
    RS_SAME    /* all nodes are hit alike */
};

struct rs_machine {
    enum rs_arrivals arrivals;
    double gap_s;    /* mean time from one beat to the next on a node */
    /* periods of nodes differ: each is gap_s times a factor, uniform in 1 -+ spread; 0: all equal */
    double spread;
    double late_s;   /* each beat is late by a uniform time up to this */
    double left_out; /* probability that a beat does not come */
    unsigned clump;  /* bursts of a beat, and ... */
    double apart_s;  /* ... the time from the begin of one to that of the next */
    enum rs_costs costs;
    double cost_s;       /* fixed: of each burst; else the mean; of two values the more frequent one */
    double second_s;     /* of two values the rarer one */
    double second_share; /* of bursts, those of the rarer value */
    double shape;        /* Pareto index */
    double cap_s;        /* Pareto: no burst is longer */
    double least_s;      /* Pareto: no burst is shorter; follows from mean, index and cap */
    unsigned cpus;       /* of a node that are hit */
    double lag_s;        /* CPU i is hit i times so much after the first one */
    bool own_cpus;       /* CPUs are hit each by itself, as if each were a node */
    bool own_costs;      /* CPUs are hit together, and what a burst costs is each CPU's own */
    /* nodes are hit more or less often: lognormal rates, of mean 1 / gap_s and this sd of the logarithm */
    double rate_sd;
    double cost_sd;      /* bursts of nodes cost more or less: likewise */
    enum rs_phase phase;
};

#define RS_PLAIN \
    (struct rs_machine) { .clump = 1, .cpus = 1 }

/* Sets what a word KEY=VALUE says (main.c lists them). Returns NULL, or what is wrong with it. */
const char *rs_set(struct rs_machine *machine, const char *word);
/* After all words: fills in what follows from them. Returns NULL, or what is wrong. */
const char *rs_complete(struct rs_machine *machine);
/* Share of the time that bursts take of a CPU, on average. */
double rs_load(const struct rs_machine *machine);
/* Is one long run of a machine like another one? Not where phases, rates or costs of nodes stay as they were
   drawn. */
bool rs_is_ergodic(const struct rs_machine *machine);
double rs_draw_cost(const struct rs_machine *machine, struct rs_random *random);

/* ---- the bursts of a CPU, one after another, from some time before 0 on */

struct rs_clump {
    double next_s;
    unsigned left;
};

struct rs_train {
    struct rs_random beats, own; /* when beats come; which are left out, and what bursts cost */
    double beat_s, gap_s;        /* the next beat without its lateness and lag; mean gap of this node */
    double cost_factor, lag_s;
    double arrival_s; /* the next burst's */
    double begin_s, end_s; /* of the present busy period */
    /* begun, some of whose bursts are still to come; NULL without clumps and lateness */
    struct rs_clump *clumps;
    unsigned n_clumps, room;
};

/* The bursts of CPU `cpu` of node `node`; -1: no memory. */
int rs_train_open(struct rs_train *train, const struct rs_machine *machine, uint64_t seed, uint64_t node,
    unsigned cpu);
void rs_train_close(struct rs_train *train);
/* Takes the next burst: its arrival and its cost. -1: no memory. */
int rs_next_burst(struct rs_train *train, const struct rs_machine *machine, double *arrival_s,
    double *cost_s);
/* Goes on to the next busy period (begin_s, end_s): bursts that queue behind each other. -1: no memory. */
int rs_next_busy(struct rs_train *train, const struct rs_machine *machine);

/* ---- many nodes, step by step */

struct rs_result {
    double slowdown; /* of the steps together, a share */
    double error;    /* its standard error within the run, by batches */
};

/* How long a run is: so many steps, and at least so many gaps. */
struct rs_length {
    unsigned steps;
    double gaps;
};

/* One run of `nodes` nodes of this machine (as `seed` draws it). -1: no memory. */
int rs_run(const struct rs_machine *machine, uint64_t nodes, double step_s, struct rs_length length,
    uint64_t seed, struct rs_result *result);

struct rs_truth {
    double slowdown, error; /* mean over draws, a share, and its standard error */
    double spread;          /* standard deviation between draws, beyond what their lengths explain */
    unsigned draws;
};

/* The mean over draws: at least 8 (60 where runs are not alike), at most `most`, until the standard error is
   below `precision` times the mean. `each`: NULL, or draws are printed there. -1: no memory. */
int rs_find_truth(const struct rs_machine *machine, uint64_t nodes, double step_s, struct rs_length length,
    unsigned most, double precision,
                  uint64_t seed, FILE *each, struct rs_truth *truth);

/* ---- what a recorder sees */

/* Writes a trace (docs/reference/formats.md) of node `node` of this machine, `seconds` long, from a moment on
   at which it has been running for long. -1: no memory, or the file cannot be written. */
int rs_record(const struct rs_machine *machine, uint64_t seed, uint64_t node, double seconds, FILE *file);

/* Steps of equal work, each closed by an ideal barrier, over ranks that a periodic train of bursts holds up: exactly, for phases drawn at
 * random. */
#include "counter.h"
#include "project.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { FOR_PHASE, FOR_START, FOR_COST };

struct train {
    const double *start;  /* of the n bursts of one period, from 0 up, s */
    int *before;          /* how many of them lie before each of n equal parts of `range` */
    int n;
    double period, range; /* s */
    double parts_hz;      /* n / range */
    const double *cost;   /* what bursts cost, each as likely, s */
    int n_cost;
    double longest;       /* of cost, s */
    uint64_t seed, draw;
};

static int64_t cycle_of(const struct train *train, double t) { return (int64_t)(t / train->period); } /* t is never below 0 */

static int part_of(const struct train *train, double u)
{
    double part = u * train->parts_hz;
    return part < train->n ? (int)part : train->n - 1;
}

/* Number of starts at or before u, a time within the period: few, or none, lie in its part. */
static int starts_until(const struct train *train, double u)
{
    int at = train->before[part_of(train, u)];
    while (at < train->n && train->start[at] <= u) at++;
    return at;
}

/* Start of the k-th burst after (k = 1, ..., n), or before (0, ..., 1 - n), time t; `cost` is its cost. */
static double burst_from(const struct train *train, int64_t cycle, int until, int k, double *cost)
{
    int rank = until - 1 + k, turn = rank < 0 ? -1 : rank >= train->n;
    rank -= turn * train->n;
    cycle += turn;
    *cost = train->n_cost == 1 ? train->cost[0] :
        train->cost[(int)(train->n_cost * counter_uniform(train->seed, train->draw * 4 + FOR_COST, (uint64_t)rank, (uint64_t)cycle))];
    return (double)cycle * train->period + train->start[rank];
}

/* How long a step that begins at t waits for its last rank; `next`: the first start after t. Work left over after `whole` bursts that every
 * rank meets is `rest`. */
static double wait_at(const struct train *train, double t, double rest, double *next)
{
    int64_t cycle = cycle_of(train, t);
    int until = starts_until(train, t - (double)cycle * train->period);
    double wait = 0, cost;
    for (int k = 1; k <= train->n; k++) {
        double start = burst_from(train, cycle, until, k, &cost);
        if (k == 1) *next = start;
        if (start - t >= rest || wait >= train->longest) break;
        if (cost > wait) wait = cost;
    }
    for (int k = 0; k > -train->n; k--) {
        double start = burst_from(train, cycle, until, k, &cost);
        if (t - start >= train->longest - wait) break;
        if (start + cost - t > wait) wait = start + cost - t;
    }
    return wait;
}

static double walk_draw(struct train *train, double work, double circuits, double steps_least, double *starts)
{
    double sum = 0;
    for (int i = 0; i <= train->n; i++) {
        sum -= log(counter_uniform(train->seed, train->draw * 4 + FOR_PHASE, (uint64_t)i, 0));
        if (i < train->n) starts[i] = sum;
    }
    for (int i = 0; i < train->n; i++) starts[i] *= train->range / sum;
    train->start = starts;
    for (int part = 0, i = 0; part < train->n; part++) {
        while (i < train->n && part_of(train, starts[i]) < part) i++;
        train->before[part] = i;
    }

    double mean = 0;
    for (int i = 0; i < train->n_cost; i++) mean += train->cost[i] / train->n_cost;
    double whole = ceil(work / (train->period - mean) - 1e-9) - 1;
    if (whole < 0) whole = 0;
    double rest = work - whole * (train->period - mean), step = work + whole * mean;
    double t = train->period * (1 + counter_uniform(train->seed, train->draw * 4 + FOR_START, 0, 0));
    double least = circuits * train->period > steps_least * work ? circuits * train->period : steps_least * work;
    double warm = t + least / 4, end = warm + least, from = 0, steps = 0;
    int measuring = 0;
    while (t < end) {
        if (!measuring && t >= warm) {
            measuring = 1;
            from = t;
            steps = 0;
        }
        double next, wait = wait_at(train, t, rest, &next);
        /* where nothing comes for a while, steps go by at once */
        double many = wait > 0 || whole > 0 ? 1 : floor((next - t) / work);
        double stop = measuring ? end : warm;
        if (many > 1 && t + many * work > stop) many = floor((stop - t) / work);
        if (many < 1) many = 1;
        t += many * step + wait;
        steps += many;
    }
    return (t - from) / (steps * work) - 1;
}

/* Slowdowns, a share, one for each draw of the phases. n: ranks; range_s: phases lie within it; costs_s: as likely each; work_s: of a
 * step. */
SEXP walk(SEXP n, SEXP period_s, SEXP range_s, SEXP costs_s, SEXP work_s, SEXP draws, SEXP circuits, SEXP steps, SEXP seed)
{
    int count = asInteger(draws), ranks = asInteger(n), n_cost = (int)XLENGTH(costs_s), failed = 0;
    const double *cost = REAL(costs_s);
    double period = asReal(period_s), range = asReal(range_s), work = asReal(work_s), turns = asReal(circuits), least = asReal(steps);
    double longest = 0;
    for (int i = 0; i < n_cost; i++)
        if (cost[i] > longest) longest = cost[i];
    uint64_t key = (uint64_t)asReal(seed);
    SEXP result = PROTECT(allocVector(REALSXP, count));
    double *value = REAL(result);
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) reduction(|| : failed)
#endif
    for (int i = 0; i < count; i++) {
        double *starts = malloc((size_t)ranks * sizeof *starts);
        int *before = malloc((size_t)ranks * sizeof *before);
        struct train train = {.before = before, .n = ranks, .period = period, .range = range, .parts_hz = ranks / range,
                              .cost = cost, .n_cost = n_cost, .longest = longest, .seed = key,
                              .draw = (uint64_t)i};
        if (starts && before) value[i] = walk_draw(&train, work, turns, least, starts);
        else failed = 1;
        free(starts);
        free(before);
    }
    UNPROTECT(1);
    if (failed) error("no memory for %d ranks", ranks);
    return result;
}

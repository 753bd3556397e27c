/* Steps of equal work, each closed by an ideal barrier, over nodes that walk trains of bursts: recorded ones
 * at random offsets, or bursts that come at any time. Event by event: a node that no burst meets in a step
 * costs nothing. */
#include "counter.h"
#include "project.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bursts in a step, from which on the time between them is walked by: a step of a node is then as dear as so
 * many. */
static const double dense = 10;

enum { FOR_RECORD, FOR_OFFSET, FOR_JITTER, FOR_COSTS, FOR_GAP, FOR_COST, USES };

/* What is recorded: records of nodes, one after the other, each with its bursts in the order of their starts.
 */
struct train {
    const int *first;     /* of each record its first burst, and behind the last one */
    const double *length; /* of each record, s */
    const double *share;  /* with which a node walks it or one before it */
    int records;
    const double *start, *cost; /* s from the record's begin; s on the CPU */
    const int *cpu;             /* from 0 up to cpus - 1 */
    int cpus;
    /* of one CPU that a step finds taken again and again (NULL: others), s from the record's begin: when each
     * burst is over, how long the CPU has been free when it begins, and what those before it cost */
    double *end, *free, *lost;
    /* where nothing but lengths is known, records is 0: bursts at any time, `rate` per s and node; `cost`,
     * ascending, up to which the share `share` of them lie, `costs` in all */
    double rate;
    int costs;
};

struct job {
    int64_t nodes;
    double work, range; /* s; range of the starts of nodes that are hit together, below 0: each on its own */
    int own_costs;      /* nodes that are hit together have costs of their own */
    double warm, steps; /* steps before the measured ones, and in each of their two halves */
    double span; /* above 0: s of a half, in place of steps: what a step has beyond its end belongs to the
                    next one */
    double most; /* events of a draw */
    uint64_t seed;
};

/* A burst that comes next. Recorded: number `at` of the record that began at `base`; else it arrives at
 * `base`. */
struct node {
    double base, start, end;
    uint32_t at, record, shift;
};

struct event {
    double start;
    uint32_t node;
};

/* Of one thread. */
struct walker {
    const struct train *train;
    const struct job *job;
    uint64_t draw;
    struct node *node;
    struct event *heap;
    double *done;     /* when a CPU of the node in hand is done, s */
    uint64_t *marked; /* in which turn that was said */
    uint64_t turn;
    double events;
    double stop, over; /* where the half ended by time, and what is left of the step across it */
};

static double uniform(const struct walker *w, uint64_t what, uint64_t a, uint64_t b) {
    return counter_uniform(w->job->seed, w->draw * USES + what, a, b);
}

/* The first of n ascending values that is not below x. */
static int lower(const double *value, int n, double x) {
    int low = 0;
    while (n > 0) {
        int half = n / 2;
        if (value[low + half] < x) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

/* From `at` on the first of n ascending values that is not below x, where that is likely near. */
static int ahead_to(const double *value, int n, int at, double x) {
    for (int step = 1; at < n && value[at] < x; step *= 2) {
        int next = step < n - at ? at + step : n;
        if (next == n || value[next] >= x) return at + 1 + lower(value + at + 1, next - at - 1, x);
        at = next;
    }
    return at;
}

/* Start and end of the recorded burst that `node` is at. */
static void place(const struct walker *w, struct node *node) {
    const struct train *train = w->train;
    int first = train->first[node->record], n = train->first[node->record + 1] - first;
    node->start = node->base + train->start[first + (int)node->at];
    node->end = node->start + train->cost[first + (int)((node->at + node->shift) % (uint32_t)n)];
}

static void next_burst(const struct walker *w, struct node *node, uint64_t number) {
    const struct train *train = w->train;
    if (train->records == 0) {
        node->base -= log(uniform(w, FOR_GAP, number, node->at)) / train->rate;
        /* what arrives during a burst waits for its end */
        node->start = node->base > node->end ? node->base : node->end;
        int which = lower(train->share, train->costs, uniform(w, FOR_COST, number, node->at));
        node->end = node->start + train->cost[which < train->costs ? which : train->costs - 1];
        node->at++;
        return;
    }
    if (++node->at == (uint32_t)(train->first[node->record + 1] - train->first[node->record])) {
        node->at = 0;
        node->base += train->length[node->record];
    }
    place(w, node);
}

static void begin_node(const struct walker *w, struct node *node, uint64_t number) {
    const struct train *train = w->train;
    memset(node, 0, sizeof *node);
    if (train->records == 0) {
        node->end = -INFINITY;
        next_burst(w, node, number);
        return;
    }
    int together = w->job->range >= 0;
    uint64_t whose = together ? 0 : number;
    int record = lower(train->share, train->records, uniform(w, FOR_RECORD, whose, 0));
    node->record = (uint32_t)(record < train->records ? record : train->records - 1);
    int first = train->first[node->record], n = train->first[node->record + 1] - first;
    if (n == 0) {
        node->start = node->end = INFINITY;
        return;
    }
    double length = train->length[node->record], offset = length * uniform(w, FOR_OFFSET, whose, 0);
    if (together) offset += w->job->range * uniform(w, FOR_JITTER, number, 0);
    if (together && w->job->own_costs) node->shift = (uint32_t)(n * uniform(w, FOR_COSTS, number, 0));
    offset -= floor(offset / length) * length;
    node->base = -offset;
    node->at = (uint32_t)lower(train->start + first, n, offset);
    if (node->at == (uint32_t)n) {
        node->at = 0;
        node->base += length;
    }
    place(w, node);
}

static void sift_down(struct event *heap, int64_t n, int64_t at) {
    struct event moved = heap[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1].start < heap[child].start) child++;
        if (heap[child].start >= moved.start) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static int cpu_of(const struct train *train, const struct node *node) {
    return train->records == 0 || train->cpus == 1 ? 0
                                                   : train->cpu[train->first[node->record] + (int)node->at];
}

/* When the node is done that begins its work at t: when the last of its CPUs is. Those that are done let
 * bursts pass. `node` is at the first burst that is not over then. */
static double work_of_node(struct walker *w, struct node *node, uint64_t number, double t) {
    double least = t + w->job->work, last = least;
    w->turn++;
    struct node ahead = *node, stop = *node;
    int stopped = 0;
    while (ahead.start < last && w->events <= w->job->most) {
        w->events++;
        if (ahead.end > t) {
            int cpu = cpu_of(w->train, &ahead);
            double done = w->marked[cpu] == w->turn ? w->done[cpu] : least;
            if (ahead.start < done) {
                done += ahead.end - (ahead.start > t ? ahead.start : t);
                w->done[cpu] = done;
                w->marked[cpu] = w->turn;
                if (done > last) last = done;
            } else if (!stopped) { /* it may be under way when the next step begins */
                stop = ahead;
                stopped = 1;
            }
        }
        next_burst(w, &ahead, number);
    }
    *node = stopped ? stop : ahead;
    return last;
}

/* To the first burst that is not over at t. */
static void pass_bursts(const struct walker *w, struct node *node, double t) {
    const struct train *train = w->train;
    int first = train->first[node->record], n = train->first[node->record + 1] - first;
    int at = (int)node->at;
    while ((at = ahead_to(train->end + first, n, at, t - node->base)) == n) {
        node->base += train->length[node->record];
        at = 0;
    }
    node->at = (uint32_t)at;
    place(w, node);
}

/* `work_of_node()` by the time that its only CPU is free, whatever the number of bursts in it. */
static double free_work_of_node(struct walker *w, struct node *node, double t) {
    const struct train *train = w->train;
    int first = train->first[node->record], n = train->first[node->record + 1] - first;
    const double *begun = train->free + first, *lost = train->lost + first;
    double length = train->length[node->record];
    double all = length - lost[n - 1] - train->cost[first + n - 1];
    int at = (int)node->at;
    double passed = t - node->base - lost[at];
    double until = (passed < begun[at] ? passed : begun[at]) + w->job->work;
    w->events += dense;
    while ((at = ahead_to(begun, n, at, until)) == n) {
        double rounds = floor(until / all);
        if (rounds < 1) rounds = 1;
        until -= rounds * all;
        node->base += rounds * length;
        at = 0;
    }
    node->at = (uint32_t)at;
    place(w, node);
    return node->base + until + lost[at];
}

/* When the step ends that begins at t, for the last node. */
static double step_from(struct walker *w, double t) {
    struct event *heap = w->heap;
    double undisturbed = t + w->job->work, end = undisturbed;
    while (heap[0].start < undisturbed && w->events <= w->job->most) {
        struct node *node = &w->node[heap[0].node];
        if (w->train->free)
            pass_bursts(w, node, t);
        else
            while (node->end <= t) {
                next_burst(w, node, heap[0].node);
                w->events++;
            }
        double done = undisturbed;
        if (node->start < undisturbed)
            done = w->train->free ? free_work_of_node(w, node, t) : work_of_node(w, node, heap[0].node, t);
        if (done > end) end = done;
        heap[0].start = node->start > done ? node->start : done;
        sift_down(heap, w->job->nodes, 0);
    }
    return end;
}

/* Slowdown in two halves of the walk, a share; NAN: too many events. */
static void walk_draw(struct walker *w, double *halves) {
    const struct job *job = w->job;
    struct event *heap = w->heap;
    int64_t n = job->nodes;
    for (int64_t i = 0; i < n; i++) {
        begin_node(w, &w->node[i], (uint64_t)i);
        heap[i] = (struct event){w->node[i].start, (uint32_t)i};
    }
    for (int64_t i = n / 2; i-- > 0;)
        sift_down(heap, n, i);
    double t = 0;
    w->events = 0;
    for (int part = -1; part < 2; part++) {
        int by_time = part >= 0 && job->span > 0;
        double from = t, steps = 0;
        double left = part < 0 ? job->warm : job->steps,
               stop = by_time ? (part == 0 ? t : w->stop) + job->span : INFINITY;
        if (by_time) steps = part == 0 ? 0 : w->over;
        while (by_time ? t < stop : left > 0) {
            double begin = t, many = 1;
            if (heap[0].start >= t + job->work) { /* nothing comes for a while: steps go by at once */
                many = floor((heap[0].start - t) / job->work);
                double most = by_time ? ceil((stop - t) / job->work) : left;
                if (many > most) many = most;
                if (many < 1) many = 1;
                t += many * job->work;
            } else
                t = step_from(w, t);
            left -= many;
            steps += many;
            if (by_time && t > stop) { /* of the last of these steps only a part lies within */
                double last = many > 1 ? t - job->work : begin, within = (stop - last) / (t - last);
                steps -= 1 - within;
                w->over = 1 - within;
            } else
                w->over = 0;
            if (w->events > job->most) {
                halves[0] = halves[1] = NAN;
                return;
            }
        }
        w->stop = stop;
        if (part >= 0) halves[part] = (by_time ? job->span : t - from) / (steps * job->work) - 1;
    }
}

static int is_dense(const struct train *train, double work) {
    double seconds = 0;
    for (int i = 0; i < train->records; i++)
        seconds += train->length[i];
    return train->first[train->records] * work > dense * seconds;
}

/* Bursts of one CPU one behind the other, across the end of their record, too, and the time between them.
 * `start`: of as many; the other three are in one piece of memory, `end` first. Returns -1: no memory. */
static int free_times(struct train *train, double *start) {
    size_t n = (size_t)train->first[train->records];
    double *memory = malloc(3 * n * sizeof(double));
    if (!memory) return -1;
    train->end = memory;
    train->free = memory + n;
    train->lost = memory + 2 * n;
    for (int record = 0; record < train->records; record++) {
        int begin = train->first[record], end = train->first[record + 1];
        double busy = 0;
        for (int round = 0; round < 2; round++, busy -= train->length[record])
            for (int i = begin; i < end; i++) {
                if (start[i] < busy) start[i] = busy;
                busy = start[i] + train->cost[i];
            }
        double lost = 0;
        for (int i = begin; i < end; i++) {
            train->end[i] = start[i] + train->cost[i];
            train->lost[i] = lost;
            train->free[i] = start[i] - lost;
            lost += train->cost[i];
        }
    }
    train->start = start;
    return 0;
}

/* A matrix: slowdowns, a share, in both halves of a walk, a column for each draw. first, length_s, share,
 * start_s, cost_s, cpu: as in struct train; rate_hz: 0 where there are records; job: nodes, work and range in
 * s, own costs, steps to warm up, steps of a half, most events of a draw, s of a half (0: by steps); draws:
 * the number of the first, from 0, and how many. */
SEXP walk(SEXP first, SEXP length_s, SEXP share, SEXP start_s, SEXP cost_s, SEXP cpu, SEXP rate_hz,
          SEXP job_form, SEXP draws, SEXP seed) {
    const double *form = REAL(job_form);
    double rate = asReal(rate_hz);
    struct train train = {.first = INTEGER(first),
                          .length = REAL(length_s),
                          .share = REAL(share),
                          .records = rate > 0 ? 0 : (int)XLENGTH(length_s),
                          .start = REAL(start_s),
                          .cost = REAL(cost_s),
                          .cpu = INTEGER(cpu),
                          .cpus = 1,
                          .rate = rate,
                          .costs = (int)XLENGTH(cost_s)};
    for (R_xlen_t i = 0; i < XLENGTH(cpu); i++)
        if (train.cpu[i] >= train.cpus) train.cpus = train.cpu[i] + 1;
    struct job job = {.nodes = (int64_t)form[0],
                      .work = form[1],
                      .range = form[2],
                      .own_costs = form[3] > 0,
                      .warm = form[4],
                      .steps = form[5],
                      .most = form[6],
                      .span = form[7],
                      .seed = (uint64_t)asReal(seed)};
    int begin = INTEGER(draws)[0], count = INTEGER(draws)[1], failed = 0, kept = 1;
    if (train.records > 0 && train.cpus == 1 && !job.own_costs && is_dense(&train, job.work)) {
        SEXP own = PROTECT(duplicate(start_s));
        kept++;
        failed = free_times(&train, REAL(own));
    }
    SEXP result = PROTECT(allocMatrix(REALSXP, 2, count));
    double *value = REAL(result);
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) reduction(|| : failed)
#endif
    for (int i = 0; i < count; i++) {
        size_t nodes = (size_t)job.nodes, cpus = (size_t)train.cpus;
        struct walker walker = {.train = &train,
                                .job = &job,
                                .draw = (uint64_t)(begin + i),
                                .node = malloc(nodes * sizeof(struct node)),
                                .heap = malloc(nodes * sizeof(struct event)),
                                .done = malloc(cpus * sizeof(double)),
                                .marked = calloc(cpus, sizeof(uint64_t))};
        if (walker.node && walker.heap && walker.done && walker.marked)
            walk_draw(&walker, value + 2 * (size_t)i);
        else
            failed = 1;
        free(walker.node);
        free(walker.heap);
        free(walker.done);
        free(walker.marked);
    }
    free(train.end);
    UNPROTECT(kept);
    if (failed) error("no memory for %.0f nodes", form[0]);
    return result;
}

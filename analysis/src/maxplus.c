/* Steps of work, each followed by a pattern of messages, over ranks with noise: when each rank is done, from
 * round to round (max and plus), with LogGP's times (Alexandrov et al. 1995): a message costs o on both CPUs,
 * and arrives L + (bytes - 1) G after it was sent. */
#include "counter.h"
#include "patterns.h"
#include "project.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { FOR_PHASE, FOR_GAP, FOR_COST, FOR_RECORD };
enum { MANY_RANKS = 16384 }; /* from here on threads share the ranks of a draw, not the draws */

/* Recorded bursts, as in walk.c; a rank is a node. */
struct recorded {
    const int *first;
    const double *length, *share, *start, *cost;
    int records;
};

struct noise {
    double period, range, rate; /* period 0: bursts at any time, so often on average; rate 0: none */
    const double *cost;
    int n_cost;
    uint64_t seed, draw;
    const struct recorded *recorded; /* NULL: none; then range below 0: each rank at an offset of its own */
};

struct ranks {
    int64_t n;
    double *time, *sent; /* when each is done; when its message of this round left it */
    double *next;        /* start of its next burst */
    double *arrival;     /* when that came: it waits for the end of the one before it */
    uint32_t *burst;     /* the number of that */
};

static double uniform(const struct noise *noise, uint64_t what, int64_t rank, uint64_t number) {
    return counter_uniform(noise->seed, noise->draw * 4 + what, (uint64_t)rank, number);
}

/* Start (from the draw's begin) and cost of a recorded burst of the rank, by its number. */
static double recorded_burst(const struct noise *noise, int64_t rank, uint32_t number, double *cost) {
    const struct recorded *recorded = noise->recorded;
    int64_t whose = noise->range < 0 ? rank : 0;
    double u = uniform(noise, FOR_RECORD, whose, 0);
    int record = 0;
    while (record < recorded->records - 1 && recorded->share[record] < u)
        record++;
    int first = recorded->first[record], n = recorded->first[record + 1] - first;
    *cost = 0;
    if (n == 0) return INFINITY;
    double length = recorded->length[record], offset = length * uniform(noise, FOR_PHASE, whose, 0);
    uint64_t shift = 0;
    if (noise->range >= 0) { /* hit together, by what is each one's own */
        offset += noise->range * uniform(noise, FOR_GAP, rank, 0);
        offset -= floor(offset / length) * length;
        shift = (uint64_t)(n * uniform(noise, FOR_COST, rank, 0));
    }
    int low = 0;
    for (int left = n; left > 0;) {
        int half = left / 2;
        if (recorded->start[first + low + half] < offset) {
            low += half + 1;
            left -= half + 1;
        } else
            left = half;
    }
    uint64_t at = (uint64_t)low + number;
    *cost = recorded->cost[first + (int)((at + shift) % (uint64_t)n)];
    return recorded->start[first + (int)(at % (uint64_t)n)] + (double)(at / (uint64_t)n) * length - offset;
}

static double cost_of(const struct noise *noise, int64_t rank, uint32_t number) {
    if (noise->recorded) {
        double cost;
        recorded_burst(noise, rank, number, &cost);
        return cost;
    }
    return noise->n_cost == 1 ? noise->cost[0]
                              : noise->cost[(int)(noise->n_cost * uniform(noise, FOR_COST, rank, number))];
}

static double first_burst(const struct noise *noise, int64_t rank) {
    double cost;
    if (noise->rate <= 0) return INFINITY;
    if (noise->recorded) return recorded_burst(noise, rank, 0, &cost);
    double u = uniform(noise, FOR_PHASE, rank, 0);
    return noise->period > 0 ? noise->range * u : -log(u) / noise->rate;
}

/* The burst is over (it ended at `end`); the next one. */
static void next_burst(const struct noise *noise, struct ranks *ranks, int64_t rank, double end) {
    double cost;
    ranks->burst[rank]++;
    if (noise->recorded)
        ranks->next[rank] = recorded_burst(noise, rank, ranks->burst[rank], &cost);
    else if (noise->period > 0)
        ranks->next[rank] += noise->period;
    else {
        ranks->arrival[rank] -= log(uniform(noise, FOR_GAP, rank, ranks->burst[rank])) / noise->rate;
        ranks->next[rank] = ranks->arrival[rank] > end ? ranks->arrival[rank] : end;
    }
}

/* When the rank has done so much work, from t on, past its bursts. */
static double slow_work(const struct noise *noise, struct ranks *ranks, int64_t rank, double t, double work) {
    while (ranks->next[rank] < t + work) {
        if (noise->period > 0 &&
            t - ranks->next[rank] > 2 * noise->period) { /* it waited through whole periods */
            double turns = floor((t - ranks->next[rank]) / noise->period) - 1;
            ranks->next[rank] += turns * noise->period;
            ranks->burst[rank] += (uint32_t)turns;
        }
        double start = ranks->next[rank], end = start + cost_of(noise, rank, ranks->burst[rank]);
        if (start > t) work -= start - t;
        if (end > t) t = end;
        next_burst(noise, ranks, rank, end);
    }
    return t + work;
}

static inline double worked(const struct noise *noise, struct ranks *ranks, int64_t rank, double t,
                            double work) {
    /* what costs no CPU time waits for none: a rank that only waits is not hurt by its own burst */
    return t + work <= ranks->next[rank] || work <= 0 ? t + work : slow_work(noise, ranks, rank, t, work);
}

struct machine {
    double latency, overhead, per_byte; /* s */
};

/* What each rank did, in order: rank, what, with whom, tag, and s: how long the work took, how much longer
 * than its overhead a message. */
enum { DID_WORK, DID_SEND, DID_RECEIVE, RECORD_COLUMNS = 5 };

struct record {
    double *value; /* a column after the other */
    int64_t rows, at;
};

/* Of one thread; `record` NULL: not kept. */
static void note(struct record *record, int64_t rank, int did, int64_t peer, int64_t tag, double seconds) {
    if (!record) return;
    double row[RECORD_COLUMNS] = {(double)rank, did, (double)peer, (double)tag, seconds};
    for (int i = 0; i < RECORD_COLUMNS; i++)
        record->value[i * record->rows + record->at] = row[i];
    record->at++;
}

static void work_step(const struct noise *noise, struct ranks *ranks, double work, struct record *record) {
#ifdef _OPENMP
#pragma omp parallel for if (ranks->n >= MANY_RANKS && !record)
#endif
    for (int64_t rank = 0; rank < ranks->n; rank++) {
        double begin = ranks->time[rank];
        ranks->time[rank] = worked(noise, ranks, rank, begin, work);
        note(record, rank, DID_WORK, -1, -1, ranks->time[rank] - begin);
    }
}

static void pattern_step(const struct noise *noise, struct ranks *ranks, const struct pattern *pattern,
                         const struct machine *machine, double bytes, struct record *record) {
    double transfer = machine->latency + (pattern->bytes(ranks->n, bytes) - 1) * machine->per_byte;
    int64_t rounds = pattern->rounds(ranks->n);
    for (int64_t round = 0; round < rounds; round++) {
#ifdef _OPENMP
#pragma omp parallel for if (ranks->n >= MANY_RANKS && !record)
#endif
        for (int64_t rank = 0; rank < ranks->n; rank++) {
            int64_t to = pattern->to(ranks->n, rank, round);
            ranks->sent[rank] = ranks->time[rank];
            if (to < 0) continue;
            ranks->sent[rank] = worked(noise, ranks, rank, ranks->time[rank], machine->overhead);
            note(record, rank, DID_SEND, to, round,
                 ranks->sent[rank] - ranks->time[rank] - machine->overhead);
        }
#ifdef _OPENMP
#pragma omp parallel for if (ranks->n >= MANY_RANKS && !record)
#endif
        for (int64_t rank = 0; rank < ranks->n; rank++) {
            int64_t from = pattern->from(ranks->n, rank, round);
            double at = ranks->sent[rank];
            if (from >= 0) {
                double arrived = ranks->sent[from] + transfer, begin = arrived > at ? arrived : at;
                at = worked(noise, ranks, rank, begin, machine->overhead);
                note(record, rank, DID_RECEIVE, from, round, at - begin - machine->overhead);
            }
            ranks->time[rank] = at;
        }
    }
}

/* Recursive doubling over a power of two: as many rounds as fit are walked within a block that stays in the
 * cache, over `lanes` neighbours at once, and then as many between blocks. */
enum { BLOCK = 4096, LANES = 8 };

static void doubling_block(const struct noise *noise, struct ranks *ranks, const struct machine *machine,
                           double transfer, int64_t first, int64_t stride, int64_t n, int64_t lanes,
                           double *time, double *next) {
    double o = machine->overhead;
    for (int64_t i = 0; i < n; i++)
        for (int64_t lane = 0; lane < lanes; lane++) {
            time[i * lanes + lane] = ranks->time[first + i * stride + lane];
            next[i * lanes + lane] = ranks->next[first + i * stride + lane];
        }
    for (int64_t far = 1; far < n; far *= 2)
        for (int64_t base = 0; base < n; base += 2 * far) {
            double *a = time + base * lanes, *b = a + far * lanes, *a_next = next + base * lanes,
                   *b_next = a_next + far * lanes;
            int64_t width = far * lanes;
            for (int64_t at = 0; at < width; at += LANES) {
                int64_t some = width - at < LANES ? width - at : LANES;
                double x[LANES], y[LANES];
                int hit = 0;
#ifdef _OPENMP
#pragma omp simd reduction(| : hit)
#endif
                for (int64_t k = 0; k < some; k++) {
                    double u = a[at + k] + o, v = b[at + k] + o;
                    double from_v = v + transfer, from_u = u + transfer;
                    x[k] = (u > from_v ? u : from_v) + o;
                    y[k] = (v > from_u ? v : from_u) + o;
                    hit |= (x[k] > a_next[at + k]) | (y[k] > b_next[at + k]);
                }
                if (hit)
                    for (int64_t k = 0; k < some; k++) {
                        int64_t i = base + (at + k) / lanes, lane = (at + k) % lanes;
                        int64_t here = first + i * stride + lane, there = here + far * stride;
                        double u = worked(noise, ranks, here, a[at + k], o),
                               v = worked(noise, ranks, there, b[at + k], o);
                        x[k] = worked(noise, ranks, here, u > v + transfer ? u : v + transfer, o);
                        y[k] = worked(noise, ranks, there, v > u + transfer ? v : u + transfer, o);
                        a_next[at + k] = ranks->next[here];
                        b_next[at + k] = ranks->next[there];
                    }
                for (int64_t k = 0; k < some; k++) {
                    a[at + k] = x[k];
                    b[at + k] = y[k];
                }
            }
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t lane = 0; lane < lanes; lane++)
            ranks->time[first + i * stride + lane] = time[i * lanes + lane];
}

static void doubling_step(const struct noise *noise, struct ranks *ranks, const struct machine *machine,
                          double bytes) {
    double transfer = machine->latency + (bytes - 1) * machine->per_byte;
    for (int64_t stride = 1, n; stride < ranks->n; stride *= n) {
        n = stride == 1 ? BLOCK : BLOCK / LANES;
        if (n > ranks->n / stride) n = ranks->n / stride;
        int64_t lanes = stride < LANES ? stride : LANES, per_row = stride / lanes,
                columns = ranks->n / n / lanes;
#ifdef _OPENMP
#pragma omp parallel for if (ranks->n >= MANY_RANKS)
#endif
        for (int64_t column = 0; column < columns; column++) {
            double time[BLOCK], next[BLOCK];
            int64_t first = column / per_row * stride * n + column % per_row * lanes;
            doubling_block(noise, ranks, machine, transfer, first, stride, n, lanes, time, next);
        }
    }
}

/* Of a list as R has it (first, length_s, share, start_s, cost_s); NULL where it is none. `room` is filled
 * in. */
static const struct recorded *recorded_of(SEXP train, struct recorded *room) {
    if (isNull(train)) return NULL;
    *room = (struct recorded){.first = INTEGER(VECTOR_ELT(train, 0)),
                              .length = REAL(VECTOR_ELT(train, 1)),
                              .share = REAL(VECTOR_ELT(train, 2)),
                              .start = REAL(VECTOR_ELT(train, 3)),
                              .cost = REAL(VECTOR_ELT(train, 4)),
                              .records = (int)XLENGTH(VECTOR_ELT(train, 1))};
    return room;
}

static double latest(const struct ranks *ranks) {
    double most = ranks->time[0];
    for (int64_t i = 1; i < ranks->n; i++)
        if (ranks->time[i] > most) most = ranks->time[i];
    return most;
}

static void begin_ranks(const struct noise *noise, struct ranks *ranks) {
    for (int64_t rank = 0; rank < ranks->n; rank++) {
        ranks->time[rank] = noise->period > 0 ? noise->period : 0;
        ranks->burst[rank] = 0;
        ranks->next[rank] = ranks->arrival[rank] = first_burst(noise, rank);
    }
}

/* Work, and what follows it, step after step, and then from the first step again. */
struct sequence {
    int n;
    const struct pattern **pattern;
    const double *bytes, *work; /* of a message or operation; s */
};

static struct sequence sequence_of(SEXP names, SEXP bytes, SEXP work_s) {
    struct sequence sequence = {(int)XLENGTH(names), NULL, REAL(bytes), REAL(work_s)};
    if (sequence.n < 1 || XLENGTH(bytes) != XLENGTH(names) || XLENGTH(work_s) != XLENGTH(names))
        error("a sequence has as many names as sizes and works");
    sequence.pattern = (const struct pattern **)R_alloc((size_t)sequence.n, sizeof *sequence.pattern);
    for (int i = 0; i < sequence.n; i++) {
        sequence.pattern[i] = find_pattern(CHAR(STRING_ELT(names, i)));
        if (!sequence.pattern[i]) error("no pattern '%s'", CHAR(STRING_ELT(names, i)));
    }
    return sequence;
}

/* Ends of the steps asked for, s: when the last rank is done. `ends`: their numbers, ascending. */
static void simulate_draw(const struct noise *noise, struct ranks *ranks, const struct sequence *sequence,
                          const struct machine *machine, const int *ends, int n_ends, double *result) {
    begin_ranks(noise, ranks);
    int power = (ranks->n & (ranks->n - 1)) == 0;
    double begin = ranks->time[0];
    for (int step = 1, at = 0; at < n_ends; step++) {
        int i = (step - 1) % sequence->n;
        const struct pattern *pattern = sequence->pattern[i];
        if (sequence->work[i] > 0) work_step(noise, ranks, sequence->work[i], NULL);
        if (pattern->doubles && power)
            doubling_step(noise, ranks, machine, sequence->bytes[i]);
        else
            pattern_step(noise, ranks, pattern, machine, sequence->bytes[i], NULL);
        if (step == ends[at]) result[at++] = latest(ranks) - begin;
    }
}

/* The noise of the first draw; `room` holds the recorded bursts. Arguments as for maxplus(). */
static struct noise noise_of(SEXP noise_s, SEXP costs_s, SEXP seed, SEXP train, struct recorded *room) {
    const double *form = REAL(noise_s);
    return (struct noise){.period = form[0],
                          .range = form[1],
                          .rate = form[2],
                          .cost = REAL(costs_s),
                          .n_cost = (int)XLENGTH(costs_s),
                          .seed = (uint64_t)asReal(seed),
                          .recorded = recorded_of(train, room)};
}

/* A matrix: the ends of some steps, for each draw. pattern_names, bytes, work_s: of the steps, in turn;
 * machine_s: L, o, G; noise_s: period (0: none), range of phases, rate per s (0: quiet); draws: number of the
 * first, from 0, and how many; train: recorded bursts, NULL: none. */
SEXP maxplus(SEXP pattern_names, SEXP n, SEXP bytes, SEXP machine_s, SEXP noise_s, SEXP costs_s, SEXP work_s,
             SEXP ends, SEXP draws, SEXP seed, SEXP train) {
    struct sequence sequence = sequence_of(pattern_names, bytes, work_s);
    struct machine machine = {REAL(machine_s)[0], REAL(machine_s)[1], REAL(machine_s)[2]};
    int first = INTEGER(draws)[0], count = INTEGER(draws)[1], n_ends = (int)XLENGTH(ends), failed = 0;
    int64_t ranks_n = (int64_t)asReal(n);
    const int *end = INTEGER(ends);
    struct recorded bursts_room;
    const struct noise first_noise = noise_of(noise_s, costs_s, seed, train, &bursts_room);
    SEXP result = PROTECT(allocMatrix(REALSXP, n_ends, count));
    double *value = REAL(result);
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) reduction(|| : failed) if (ranks_n < MANY_RANKS)
#endif
    for (int i = 0; i < count; i++) {
        struct noise noise = first_noise;
        noise.draw = (uint64_t)(first + i);
        size_t room = (size_t)ranks_n;
        struct ranks ranks = {.n = ranks_n,
                              .time = malloc(room * sizeof(double)),
                              .sent = malloc(room * sizeof(double)),
                              .next = malloc(room * sizeof(double)),
                              .arrival = malloc(room * sizeof(double)),
                              .burst = malloc(room * sizeof(uint32_t))};
        if (ranks.time && ranks.sent && ranks.next && ranks.arrival && ranks.burst) {
            simulate_draw(&noise, &ranks, &sequence, &machine, end, n_ends,
                          value + (size_t)i * (size_t)n_ends);
        } else
            failed = 1;
        free(ranks.time);
        free(ranks.sent);
        free(ranks.next);
        free(ranks.arrival);
        free(ranks.burst);
    }
    UNPROTECT(1);
    if (failed) error("no memory for %.0f ranks", asReal(n));
    return result;
}

/* What each rank does in the first draw, up to the end of step `steps`: a matrix, a row for each work and
 * message, in the order of each rank; rank -1: none. Arguments as for maxplus(). */
SEXP deeds(SEXP pattern_names, SEXP n, SEXP bytes, SEXP machine_s, SEXP noise_s, SEXP costs_s, SEXP work_s,
           SEXP steps, SEXP seed, SEXP train) {
    struct sequence sequence = sequence_of(pattern_names, bytes, work_s);
    struct machine machine = {REAL(machine_s)[0], REAL(machine_s)[1], REAL(machine_s)[2]};
    struct recorded room;
    struct noise noise = noise_of(noise_s, costs_s, seed, train, &room);
    int64_t p = (int64_t)asReal(n), count = asInteger(steps);
    struct record record = {NULL, 0, 0};
    for (int64_t step = 0; step < count; step++)
        record.rows += p * (1 + 2 * sequence.pattern[step % sequence.n]->rounds(p));
    SEXP result = PROTECT(allocMatrix(REALSXP, (int)record.rows, RECORD_COLUMNS));
    record.value = REAL(result);
    for (int64_t i = 0; i < record.rows; i++)
        record.value[i] = -1;
    struct ranks ranks = {p,
                          (double *)R_alloc((size_t)p, sizeof(double)),
                          (double *)R_alloc((size_t)p, sizeof(double)),
                          (double *)R_alloc((size_t)p, sizeof(double)),
                          (double *)R_alloc((size_t)p, sizeof(double)),
                          (uint32_t *)R_alloc((size_t)p, sizeof(uint32_t))};
    begin_ranks(&noise, &ranks);
    for (int64_t step = 0; step < count; step++) {
        int64_t i = step % sequence.n;
        work_step(&noise, &ranks, sequence.work[i], &record);
        pattern_step(&noise, &ranks, sequence.pattern[i], &machine, sequence.bytes[i], &record);
    }
    UNPROTECT(1);
    return result;
}

/* The bursts of the first draw as a matrix: rank (from 0), start and cost, s, of those that begin less than
 * `span_s` after the first step; noise_s and costs_s as above. */
SEXP bursts(SEXP n, SEXP noise_s, SEXP costs_s, SEXP span_s, SEXP seed, SEXP train) {
    struct recorded room;
    struct noise noise = noise_of(noise_s, costs_s, seed, train, &room);
    double begin = noise.period, end = begin + asReal(span_s);
    int64_t ranks_n = (int64_t)asReal(n);
    struct ranks ranks = {ranks_n,
                          NULL,
                          NULL,
                          (double *)R_alloc((size_t)ranks_n, sizeof(double)),
                          (double *)R_alloc((size_t)ranks_n, sizeof(double)),
                          (uint32_t *)R_alloc((size_t)ranks_n, sizeof(uint32_t))};
    SEXP result = R_NilValue;
    double *to = NULL;
    for (int pass = 0, count = 0; pass < 2; pass++) { /* first they are counted */
        if (pass == 1) {
            result = PROTECT(allocMatrix(REALSXP, count, 3));
            to = REAL(result);
        }
        int at = 0;
        for (int64_t rank = 0; rank < ranks_n; rank++) {
            ranks.next[rank] = ranks.arrival[rank] = first_burst(&noise, rank);
            ranks.burst[rank] = 0;
            while (ranks.next[rank] < end) {
                double start = ranks.next[rank], cost = cost_of(&noise, rank, ranks.burst[rank]);
                if (to) {
                    to[at] = (double)rank;
                    to[count + at] = start - begin;
                    to[2 * count + at] = cost;
                }
                at++;
                next_burst(&noise, &ranks, rank, start + cost);
            }
        }
        count = at;
    }
    UNPROTECT(1);
    return result;
}

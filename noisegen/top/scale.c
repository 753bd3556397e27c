/* What the interruptions of the last minute cost many nodes: the record of them, and its walk in portions. */
#include "noisegen/top/scale.h"
#include "noisegen/top/watch.h"

enum {
    PORTION = 100 /* visits, some 20 us */,
    FEWEST_STEPS = 5,
    MOST_VISITS = 20000,
    MANY_VISITS = 6000 /* of a walk: the next one is made a minute later */,
    DRAWS = 200,
    PORTION_DRAWS = 50 /* some 50 us */
};

#define OLDER_WEIGHT 0.7 /* of the walks before, at the next one */

#define WALK_EACH_NS  INT64_C(20000000000)
#define FIRST_WALK_NS INT64_C(900000000)

int nt_train_open(struct nt_watch *w) {
    for (int i = 0; i <= NT_SLOTS; i++)
        if (!NL_NEW(w->train.lost_ns[i], w->n_cpus))
            return nl_error("no memory for the record of interruptions");
    return 0;
}

void nt_train_reset(struct nt_watch *w) {
    struct nt_train *t = &w->train;
    t->n = t->slot = 0;
    t->least_ns = t->since_ns = 0;
    for (int i = 0; i <= NT_SLOTS; i++) {
        t->slot_start_ns[i] = 0;
        if (t->lost_ns[i]) memset(t->lost_ns[i], 0, (size_t)w->n_cpus * sizeof *t->lost_ns[i]);
    }
    w->walked = (struct nt_walked){0};
    w->walk_ns = 0;
}

void nt_train_close(struct nt_watch *w) {
    for (int i = 0; i <= NT_SLOTS; i++) free(w->train.lost_ns[i]);
}

NL_ORDER(by_length, int64_t)

/* Room where there is none: the shorter half goes, and is a share of its CPU from now on. */
static void keep_the_longer(struct nt_train *t) {
    _Static_assert(NT_TRAIN % 16 == 0, "a sample of the lengths");
    int64_t lengths[NT_TRAIN / 16];
    int n = 0;
    for (int i = 0; i < NT_TRAIN / 16; i++)
        lengths[i] = t->events[16 * i].end_ns - t->events[16 * i].start_ns;
    qsort(lengths, NT_TRAIN / 16, sizeof *lengths, by_length);
    t->least_ns = lengths[NT_TRAIN / 32] + 1;
    for (int i = 0; i < t->n; i++)
        if (t->events[i].end_ns - t->events[i].start_ns >= t->least_ns) t->events[n++] = t->events[i];
    /* many of one length: the older half */
    if (n > NT_TRAIN / 4 * 3) {
        t->since_ns = t->events[n / 2].end_ns;
        memmove(t->events, t->events + n / 2, (size_t)(n - n / 2) * sizeof *t->events);
        n -= n / 2;
    }
    t->n = n;
}

void nt_train_add(struct nt_watch *w, int cpu, int64_t start_ns, int64_t end_ns) {
    struct nt_train *t = &w->train;
    if (start_ns < t->since_ns) start_ns = t->since_ns;
    if (end_ns - start_ns < t->least_ns || end_ns <= start_ns) return;
    if (t->n == NT_TRAIN) keep_the_longer(t);
    if (t->n < NT_TRAIN) t->events[t->n++] = (struct nt_event){start_ns, end_ns, cpu};
}

void nt_train_turn(struct nt_watch *w) {
    struct nt_train *t = &w->train;
    int n = 0;
    if (t->since_ns == 0) t->since_ns = t->slot_start_ns[0] = w->begin_ns;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) t->lost_ns[t->slot][cpu] += w->lost_ns[cpu];
    if (w->end_ns - t->slot_start_ns[t->slot] >= NT_SLOT_NS) {
        t->slot = (t->slot + 1) % (NT_SLOTS + 1);
        t->slot_start_ns[t->slot] = w->end_ns;
        memset(t->lost_ns[t->slot], 0, (size_t)w->n_cpus * sizeof *t->lost_ns[0]);
    }
    if (w->end_ns - t->since_ns <= NT_MINUTE_NS) return;
    t->since_ns = w->end_ns - NT_MINUTE_NS;
    while (n < t->n && t->events[n].end_ns <= t->since_ns) n++;
    memmove(t->events, t->events + n, (size_t)(t->n - n) * sizeof *t->events);
    t->n -= n;
    if (t->n < NT_TRAIN / 4) t->least_ns /= 2;
}

/* Shares that the CPUs lose in pieces that are not in the record: what they lost in all less what is. place:
 * of each CPU among those that are watched, -1: it is not. */
static void find_base(const struct nt_watch *w, const int *place, double *base) {
    const struct nt_train *t = &w->train;
    int64_t since_ns = w->end_ns;
    for (int i = 0; i <= NT_SLOTS; i++) {
        if (t->slot_start_ns[i] == 0) continue;
        if (t->slot_start_ns[i] < since_ns) since_ns = t->slot_start_ns[i];
        for (int cpu = 0; cpu < w->n_cpus; cpu++)
            if (place[cpu] >= 0) base[place[cpu]] += (double)t->lost_ns[i][cpu];
    }
    for (int cpu = 0; cpu < w->n_cpus; cpu++)
        if (place[cpu] >= 0) base[place[cpu]] /= (double)(w->end_ns - since_ns + 1);
    for (int i = 0; i < t->n; i++)
        if (place[t->events[i].cpu] >= 0)
            base[place[t->events[i].cpu]] -=
                (double)(t->events[i].end_ns - t->events[i].start_ns) / (double)(w->end_ns - t->since_ns + 1);
    /* where nothing was left out, the two differ by their bounds alone */
    for (int i = 0; i < w->n_watched; i++)
        if (base[i] < 0 || t->least_ns == 0) base[i] = 0;
}

static void join(struct nt_walked *to, const struct nt_walked *more) {
    *to = (struct nt_walked){
        OLDER_WEIGHT * to->stall_ns + more->stall_ns, OLDER_WEIGHT * to->work_ns + more->work_ns,
        OLDER_WEIGHT * to->n_steps + more->n_steps, OLDER_WEIGHT * to->squares + more->squares};
}

/* Standard error of the slowdown by the walks so far, of 1: steps are nearly independent, because each waits
 * for a node of its own. */
static double error_of(const struct nt_watch *w) {
    double n = w->walked.n_steps, mean = w->walked.stall_ns / n,
           variance = w->walked.squares / n - mean * mean;
    return sqrt((variance > 0 ? variance : 0) / n) / (double)w->config.every_ns;
}

/* How far another record would be from this one. */
static void find_ends(struct nt_watch *w, const struct nt_walk *walk, const struct nt_event *events,
                      size_t n) {
    struct nt_spread *spread;
    double base_ns = (double)nt_walk_base_ns(walk);
    double slowdown = w->walked.stall_ns / w->walked.work_ns;
    w->ends = (struct nt_spread_ends){0, -1};
    /* where a CPU has no time left nothing else was walked */
    if (base_ns >= 0.999 * slowdown * (double)w->config.every_ns) n = 0;
    if (nt_spread_open(&spread, events, nt_walk_windows(walk), n, w->end_ns - w->train.since_ns, base_ns,
                       w->config.n_nodes, w->config.every_ns, w->walk_seed))
        return;
    for (int done = 0; done < DRAWS; done += PORTION_DRAWS) {
        nt_breathe(w);
        nt_spread_go(spread, w->walked.stall_ns / w->walked.n_steps, PORTION_DRAWS);
    }
    w->ends = nt_spread_result(spread, slowdown > 0 ? error_of(w) / slowdown : 0);
    nt_spread_close(spread);
    nt_breathe(w);
}

/* A walk of the record as it is now. */
static void walk(struct nt_watch *w, int64_t n_visits) {
    const struct nt_train *t = &w->train;
    struct nt_event *events;
    struct nt_walk *walk = NULL;
    int *place = NULL, n_places = 0, n = 0;
    double *base = NULL;
    if (NL_NEW(events, t->n + 1) && NL_NEW(place, w->n_cpus) && NL_NEW(base, w->n_watched + 1)) {
        for (int cpu = 0; cpu < w->n_cpus; cpu++) place[cpu] = w->is_watched[cpu] ? n_places++ : -1;
        for (int i = 0; i < t->n; i++) {
            struct nt_event event = {t->events[i].start_ns - t->since_ns, t->events[i].end_ns - t->since_ns,
                                     place[t->events[i].cpu]};
            if (event.start_ns < 0) event.start_ns = 0;
            if (event.cpu >= 0 && event.end_ns > event.start_ns) events[n++] = event;
        }
        find_base(w, place, base);
        nt_breathe(w);
        if (nt_walk_open(&walk, events, (size_t)n, w->end_ns - t->since_ns, n_places, base, w->config.n_nodes,
                         w->config.every_ns, ++w->walk_seed) == 0) {
            nt_breathe(w);
            /* where every node is disturbed in every step, a few steps take long and say much */
            for (int64_t n = 0, n_steps = 0;
                 n < n_visits || n_steps < 1 || (n < MOST_VISITS && n_steps < FEWEST_STEPS); n += PORTION) {
                w->walk_visits = n;
                nt_walk_go(walk, PORTION);
                n_steps = (int64_t)nt_walk_result(walk).n_steps;
                nt_breathe(w);
            }
            struct nt_walked walked = nt_walk_result(walk);
            join(&w->walked, &walked);
            find_ends(w, walk, events, (size_t)n);
            nt_walk_close(walk);
        }
    }
    NL_FREE(events, place, base);
}

void nt_scale(struct nt_watch *w, const struct nt_wish *wish, struct nt_scale *scale) {
    int64_t each_ns = wish->is_brief || w->walk_visits > MANY_VISITS ? NT_MINUTE_NS : WALK_EACH_NS;
    *scale = (struct nt_scale){.slowdown_percent = -1,
                               .low_percent = -1,
                               .high_percent = -1,
                               .error_percent = -1,
                               .n_nodes = w->config.n_nodes,
                               .every_ns = w->config.every_ns};
    if (!w->source->sees_bursts || w->n_watched == 0) return;
    scale->span_ns = w->end_ns - w->train.since_ns;
    int is_time = w->walk_ns == 0 || w->end_ns - w->walk_ns >= each_ns;
    if (is_time && scale->span_ns >= FIRST_WALK_NS) {
        walk(w, wish->n_visits);
        w->walk_ns = w->end_ns;
    }
    if (w->walked.work_ns <= 0 || w->walked.n_steps < 1) return;
    scale->slowdown_percent = 100 * w->walked.stall_ns / w->walked.work_ns;
    scale->error_percent = 100 * error_of(w);
    scale->low_percent = scale->slowdown_percent * w->ends.low;
    scale->high_percent = w->ends.high < 0 ? -1 : scale->slowdown_percent * w->ends.high;
}

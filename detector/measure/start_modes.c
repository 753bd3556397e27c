/* The loops of starts. Nothing here allocates, prints or looks at the arm. */
#include "detector/measure/start_modes.h"
#include "detector/measure/starts.h"
#include "detector/ops/ops.h"
#include "detector/ops/work.h"

#define STEP_NS                                                                                              \
    INT64_C(100000)       /* two clocks that part by more than this and STEP_SHARE of the time: one was set */
#define STEP_SHARE 500e-6 /* no oscillator is worse */

struct nd_clock_pair nd_starter_read_clocks(const struct nd_starter *s) {
    int64_t before_ns = nl_now_ns(CLOCK_MONOTONIC_RAW), clock_ns = nd_clock_now(&s->clock),
            after_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    return (struct nd_clock_pair){clock_ns, before_ns, after_ns - before_ns};
}

int nd_starter_has_jumped(struct nd_starter *s, const struct nd_clock_pair *from,
                          const struct nd_clock_pair *to) {
    int64_t by_raw_ns = to->raw_ns - from->raw_ns, parted_ns = to->clock_ns - from->clock_ns - by_raw_ns;
    int64_t most_ns = STEP_NS + from->doubt_ns + to->doubt_ns + (int64_t)(STEP_SHARE * (double)by_raw_ns);
    if (parted_ns >= -most_ns && parted_ns <= most_ns) return 0;
    s->is_broken = 1;
    s->jump_ns = parted_ns;
    return 1;
}

/* A clock that was set back by an hour would keep a rank waiting for an hour: every so often the wait looks
 * at another clock. Kept out of the loop's way. */
static int __attribute__((noinline)) waits_too_long(struct nd_starter *s, int64_t *since_ns) {
    struct nd_clock_pair now = nd_starter_read_clocks(s);
    if (nd_starter_has_jumped(s, &s->batch_begin, &now)) return 1;
    if (*since_ns == 0) *since_ns = now.raw_ns;
    if (now.raw_ns - *since_ns < s->plan->guard_ns + 4 * s->plan->slot_ns) return 0;
    s->is_broken = s->waited_long = 1;
    return 1;
}

/* Spins until the local time; returns the first reading at or after it. */
static inline int64_t wait_until(struct nd_starter *s, int64_t due_ns) {
    int64_t now_ns = nd_clock_now(&s->clock), since_ns = 0;
    unsigned n = 0;
    while (now_ns < due_ns && !s->is_broken) {
        if (s->yields) sched_yield();
        if ((++n & 0x3fff) == 0 && waits_too_long(s, &since_ns)) break;
        now_ns = nd_clock_now(&s->clock);
    }
    return now_ns;
}

static inline int64_t delay_of(const struct nd_starter *s, int i) {
    return s->plan->delays ? s->plan->delays[(s->n_done + i) & (ND_ARRIVAL_CYCLE - 1)] : 0;
}

/* From the wait to the end of operation i. */
static inline void run_one(struct nd_starter *s, const struct nd_loop *loop, int i, int64_t due_ns) {
    struct nd_start_record *r = &s->records[i];
    r->begun_ns = r->start_ns = wait_until(s, due_ns);
    if (s->plan->work_steps) {
        nd_work(s->plan->work_steps);
        r->start_ns = nd_clock_now(&s->clock);
    }
    loop->state->call(loop->state);
    r->end_ns = nd_clock_now(&s->clock);
    if (loop->checks_every) s->n_wrong += nd_op_check(loop->state) != 0;
}

/* Ranks that parted in what is done between two starts, or in an operation that does not hold them together,
 * meet again: the root would otherwise set deadlines while others are still in operations before, and a rank
 * that was disturbed once would stay late for long. */
static void run_round(struct nd_starter *s, const struct nd_loop *loop, int n) {
    const int meets_first = loop->state->needs_advance || s->plan->meets_first;
    for (int i = 0; i < n; i++) {
        int64_t scheduled_ns = 0;
        if (loop->state->needs_advance) nd_op_advance(loop->state);
        if (meets_first) MPI_Barrier(s->team->world);
        if (s->team->rank == 0)
            scheduled_ns = nd_sync_to_global(&s->sync.model, nd_clock_now(&s->clock)) + s->plan->slot_ns;
        MPI_Bcast(&scheduled_ns, 1, MPI_INT64_T, 0, s->team->world);
        s->records[i].scheduled_ns = scheduled_ns;
        run_one(s, loop, i, nd_sync_to_local(&s->sync.model, scheduled_ns) + delay_of(s, i));
    }
}

/* A stage begins when all ranks have ended the one before: an end beyond its slot moves the starts of the
 * next stage, and those that are left in its own begin late. */
static void run_window(struct nd_starter *s, const struct nd_loop *loop, int n) {
    const int64_t slot_ns = s->plan->slot_ns;
    for (int i = 0; i < n;) {
        int64_t first_ns = 0;
        MPI_Barrier(s->team->world);
        if (s->team->rank == 0)
            first_ns = nd_sync_to_global(&s->sync.model, nd_clock_now(&s->clock)) + s->plan->broadcast_ns;
        MPI_Bcast(&first_ns, 1, MPI_INT64_T, 0, s->team->world);
        for (int l = 0; l < s->o->n_stage_starts && i < n; l++, i++) {
            int64_t scheduled_ns = first_ns + l * slot_ns;
            if (loop->state->needs_advance) nd_op_advance(loop->state);
            s->records[i].scheduled_ns = scheduled_ns;
            run_one(s, loop, i, nd_sync_to_local(&s->sync.model, scheduled_ns) + delay_of(s, i));
        }
    }
}

static const struct nd_start_mode loop_mode = {
    .name = "loop",
    .help = "back to back, no synchronised starts: operations follow each other like a pipeline"};
static const struct nd_start_mode window = {
    .name = "window",
    .help = "stages of starts at equal distances on the common clock (MPIPerf)",
    .is_synchronised = 1,
    .has_stages = 1,
    .run = run_window};
static const struct nd_start_mode round_mode = {
    .name = "round",
    .help = "a deadline on the common clock, broadcast for every start",
    .is_synchronised = 1,
    .run = run_round};

const struct nd_start_mode *const nd_start_modes[] = {&loop_mode, &window, &round_mode, NULL};

#include "detector/measure/measure.h"
#include "detector/measure/slices.h"
#include "detector/measure/starts.h"
#include "detector/measure/together.h"
#include "detector/ops/algorithms.h"
#include "detector/program/program.h"
#include "detector/ops/per_call.h"

#define SLOW_LOOKS                                                                                           \
    8 /* planned lengths of a slice: a look that comes later is one of a machine that is busy */

/* What a loop does besides: it looks at the clock and at the stop flag every so often. */
struct watch {
    const struct nd_loop *loop;
    struct nd_slices *slices; /* NULL: nobody keeps them */
    struct nd_ending ending;
    int64_t every, left;     /* operations from look to look; until the next one */
    uint64_t deadline_ticks; /* of operations that are timed one by one */
    int64_t deadline_ns, tell_ns,
        last_ns; /* CLOCK_MONOTONIC: the end, when to tell how far the loop is, the last look */
};

/* How many of n operations may run before a slice ends or a look is due. */
static inline int64_t until_next(const struct watch *w, int64_t n) {
    if (w->slices && w->slices->n_left < n) n = w->slices->n_left;
    return w->left < n ? w->left : n;
}

static int wants_to_stop(const struct nd_loop *loop) { return loop->stop_asked && *loop->stop_asked; }

static int has_lost_parent(const struct nd_loop *loop) {
    return loop->parent_pid && getppid() != loop->parent_pid;
}

/* A look. Operations that turn out to be slow have it after each of them: they are not to last until so many
 * are done. At first nobody knows. */
static void look(struct watch *w) {
    int64_t now_ns = nl_mono_ns();
    int64_t more = 2 * w->every;
    w->left = w->every = now_ns - w->last_ns > SLOW_LOOKS * ND_SLICE_NS ? 1
                         : more < w->loop->look_every                   ? more
                                                                        : w->loop->look_every;
    w->last_ns = now_ns;
    if (wants_to_stop(w->loop))
        nd_ending_ask(&w->ending, INT64_MAX);
    else if (now_ns >= w->deadline_ns)
        nd_ending_ask(&w->ending, now_ns);
    if (w->loop->tell && now_ns >= w->tell_ns) w->tell_ns = w->loop->tell(w->loop->tell_context, now_ns);
}

/* `n` operations more, at most until_next, have ended. */
static inline void pass(struct watch *w, int64_t n) {
    if (w->slices) nd_slices_pass(w->slices, n);
    w->left -= n;
    if (w->left <= 0) look(w);
}

static inline void count_operation(const struct nd_loop *loop, struct nd_loop_result *r, int64_t ns) {
    nl_hist_add(loop->hist, ns);
    if (__builtin_expect(ns > loop->detour_threshold_ns, 0)) {
        r->n_detours++;
        r->detour_ns += ns - loop->typical_ns;
    } else {
        r->base_ns_sum += ns;
    }
}

/* An operation's time runs from the end of the one before to its own end: one clock read per operation, and
 * no gap. */
static void run_timed(struct watch *w, int64_t n, struct nd_loop_result *r) {
    const struct nd_loop *loop = w->loop;
    int (*const call)(struct nd_op_state *) = loop->state->call;
    struct nd_op_state *const state = loop->state;
    const struct nl_ticks ticks = *loop->ticks;
    uint64_t before = nl_ticks_now(&ticks);
    while (n > 0 && !nd_ending_is_here(&w->ending)) {
        int64_t m = until_next(w, n), i = 0;
        while (i < m) {
            call(state);
            uint64_t now = nl_ticks_now(&ticks);
            /* a counter that differs between CPUs could run backwards when a rank is moved */
            count_operation(loop, r, now > before ? (int64_t)nl_ticks_to_ns(&ticks, now - before) : 0);
            before = now;
            i++;
            w->ending.n++;
            if (__builtin_expect(now >= w->deadline_ticks, 0)) {
                w->deadline_ticks = UINT64_MAX;
                w->left = i; /* a look is due */
                break;
            }
            if (__builtin_expect(nd_ending_is_here(&w->ending), 0)) break;
        }
        n -= i;
        pass(w, i);
    }
}

static void run_plain(struct watch *w, int64_t n) {
    int (*const call)(struct nd_op_state *) = w->loop->state->call;
    struct nd_op_state *const state = w->loop->state;
    while (n > 0 && !nd_ending_is_here(&w->ending)) {
        int64_t m = until_next(w, n), i = 0;
        while (i < m) {
            call(state);
            i++;
            w->ending.n++;
            if (__builtin_expect(nd_ending_is_here(&w->ending), 0)) break;
        }
        n -= i;
        pass(w, i);
    }
}

/* Operations that need something done between two of them: root and buffers change inside the loop, and its
 * time holds that, too. */
static void run_advancing(struct watch *w, int64_t n, struct nd_loop_result *r) {
    for (int64_t i = 0; i < n && !nd_ending_is_here(&w->ending); i++) {
        nd_op_advance(w->loop->state);
        if (w->loop->hist)
            run_timed(w, 1, r);
        else
            run_plain(w, 1);
    }
}

void nd_loop_count(const struct nd_loop *loop, struct nd_loop_result *r, int64_t ns) {
    if (loop->hist) count_operation(loop, r, ns);
}

/* Starts look at the stop flag between chunks of about a tenth of a second: one Allreduce each, the same in
 * every arm. */
int nd_loop_agree_to_stop(const struct nd_loop *loop, int is_broken) {
    int mine = is_broken || wants_to_stop(loop) || has_lost_parent(loop), any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, loop->state->comm);
    return any;
}

void nd_loop_read_times(const struct nd_loop *loop, struct nl_thread_times *t) {
    if (loop->preempted)
        nl_thread_times_read(loop->preempted, t);
    else
        t->wall_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
}

void nd_loop_add_lost(const struct nd_loop *loop, const struct nl_thread_times *from,
                      struct nd_loop_result *r) {
    struct nl_thread_times now;
    if (!loop->preempted) return;
    nl_thread_times_read(loop->preempted, &now);
    r->preempted_ns += nl_thread_times_preempted_ns(loop->preempted, from, &now);
    r->knows_steal = nl_preempted_source(loop->preempted) == NL_PREEMPTED_SCHEDULER;
    if (r->knows_steal) r->steal_ns += nl_thread_times_steal_ns(from, &now);
}

void nd_loop_warm(const struct nd_loop *loop, int64_t n) {
    nd_per_call_begin(loop->state->per_call);
    for (int64_t i = 0; i < n; i++) {
        if (loop->state->needs_advance) nd_op_advance(loop->state);
        loop->state->call(loop->state);
    }
    nd_per_call_end(loop->state->per_call);
}

/* At most `n_most` operations, at most `most_ns` long. */
static void run(const struct nd_loop *loop, struct nd_slices *slices, int64_t n_most, int64_t most_ns,
                int is_settling, struct nd_loop_result *r) {
    struct watch w = {.loop = loop,
                      .slices = slices,
                      .last_ns = nl_mono_ns(),
                      .deadline_ns = INT64_MAX,
                      .deadline_ticks = UINT64_MAX};
    int is_bounded = most_ns < INT64_MAX && loop->together;
    w.left = w.every = loop->look_every > 0 ? 1 : INT64_MAX;
    nd_ending_begin(&w.ending, loop->together, loop->op->is_synchronising, n_most, most_ns,
                    loop->operation_ns, is_settling);
    if (is_bounded) w.deadline_ns = w.last_ns + most_ns;
    if (is_bounded && loop->hist)
        w.deadline_ticks = nl_ticks_now(loop->ticks) + (uint64_t)((double)most_ns / loop->ticks->tick_ns);
    if (loop->tell) w.tell_ns = loop->tell(loop->tell_context, w.last_ns);
    for (;;) {
        int64_t done = (int64_t)w.ending.n, left = n_most - done, n = left < loop->chunk ? left : loop->chunk;
        if (w.ending.next_at - done < n) n = w.ending.next_at - done;
        if (slices) nd_slices_before_chunk(slices, n);
        if (loop->state->needs_advance)
            run_advancing(&w, n, r);
        else if (loop->hist)
            run_timed(&w, n, r);
        else
            run_plain(&w, n);
        if ((int64_t)w.ending.n == n_most || nd_ending_is_here(&w.ending)) break;
        if (has_lost_parent(loop)) nd_ending_ask(&w.ending, INT64_MAX);
        if ((int64_t)w.ending.n == w.ending.next_at) nd_ending_tell(&w.ending, nl_mono_ns());
        if (w.ending.is_over) break;
    }
    r->n_operations = (int64_t)w.ending.n;
    nd_ending_finish(&w.ending);
}

void nd_loop_settle(const struct nd_loop *loop, int64_t ns) {
    struct nd_loop settling = *loop;
    struct nd_loop_result ignored = {0};
    settling.hist = NULL;
    nd_per_call_begin(loop->state->per_call);
    if (loop->program)
        nd_program_rest(loop->program, ns);
    else
        run(&settling, NULL, INT64_MAX / 2, ns, 1, &ignored);
    nd_per_call_end(loop->state->per_call);
}

/* Beats of a program that have begun: it is not held up, and we sleep meanwhile. What its thread slept is not
 * told from steal: known only where it did not. */
static void follow_program(const struct nd_loop *loop, struct nd_loop_result *r) {
    struct nd_stretch s;
    enum nd_follow_end end =
        nd_program_finish(loop->program, (int64_t)loop->expected_ns, loop->stop_asked, &s);
    *r = (struct nd_loop_result){.start_ns = nl_mono_ns(), .is_over = end == ND_FOLLOW_OVER};
    if (end != ND_FOLLOW_DONE) return;
    *r = (struct nd_loop_result){.start_ns = s.start_ns,
                                 .wall_ns = s.wall_ns,
                                 .n_operations = s.n_beats,
                                 .n_involuntary = s.n_involuntary};
    if (!loop->preempted) return;
    r->preempted_ns = s.sees_waits ? s.waited_ns : s.wall_ns - s.cpu_ns;
    r->knows_steal = s.sees_waits && s.n_voluntary == 0;
    if (r->knows_steal) r->steal_ns = s.wall_ns - s.cpu_ns - s.waited_ns;
}

void nd_loop_run(const struct nd_loop *loop, struct nd_loop_result *result) {
    if (loop->program) {
        follow_program(loop, result);
        return;
    }
    if (loop->starter) {
        loop->starter->run(loop->starter, loop, result);
        return;
    }
    struct nd_loop_result r = {0};
    nd_per_call_begin(loop->state->per_call);
    r.start_ns = nl_mono_ns();
    struct nl_thread_times begin;
    nd_loop_read_times(loop, &begin);
    if (loop->slices) nd_slices_begin(loop->slices, nl_mono_ns());
    run(loop, loop->slices, loop->n_operations, loop->most_ns > 0 ? loop->most_ns : INT64_MAX, 0, &r);
    r.wall_ns = nl_now_ns(CLOCK_MONOTONIC_RAW) - begin.wall_ns;
    nd_per_call_end(loop->state->per_call);
    nd_loop_add_lost(loop, &begin, &r);
    *result = r;
}

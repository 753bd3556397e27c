#include "detector/measure/measure.h"

#include <unistd.h>

#include "detector/measure/slices.h"
#include "detector/measure/starts.h"
#include "detector/program/program.h"

/* How many of n operations may run before a slice ends. */
static inline int64_t until_slice(const struct nd_slices *s, int64_t n) { return s && s->n_left < n ? s->n_left : n; }

static inline void count_operation(const struct nd_loop *loop, struct nd_loop_result *r, int64_t ns) {
    nl_hist_add(loop->hist, ns);
    if (__builtin_expect(ns > loop->detour_threshold_ns, 0)) {
        r->n_detours++;
        r->detour_ns += ns - loop->typical_ns;
    } else {
        r->base_ns_sum += ns;
    }
}

/* An operation's time runs from the end of the one before to its own end: one clock read per operation, and no gap. */
static void run_timed(const struct nd_loop *loop, struct nd_slices *slices, int64_t n, struct nd_loop_result *r) {
    int (*const call)(struct nd_op_state *) = loop->state->call;
    struct nd_op_state *const state = loop->state;
    const struct nl_ticks ticks = *loop->ticks;
    uint64_t before = nl_ticks_now(&ticks);
    while (n > 0) {
        int64_t m = until_slice(slices, n);
        for (int64_t i = 0; i < m; i++) {
            call(state);
            uint64_t now = nl_ticks_now(&ticks);
            /* a counter that differs between CPUs could run backwards when a rank is moved */
            count_operation(loop, r, now > before ? (int64_t)nl_ticks_to_ns(&ticks, now - before) : 0);
            before = now;
        }
        n -= m;
        if (slices) nd_slices_pass(slices, m);
    }
}

static void run_plain(const struct nd_loop *loop, struct nd_slices *slices, int64_t n) {
    int (*const call)(struct nd_op_state *) = loop->state->call;
    struct nd_op_state *const state = loop->state;
    while (n > 0) {
        int64_t m = until_slice(slices, n);
        for (int64_t i = 0; i < m; i++) call(state);
        n -= m;
        if (slices) nd_slices_pass(slices, m);
    }
}

/* Operations that need something done between two of them: root and buffers change inside the loop, and its time holds that, too. */
static void run_advancing(const struct nd_loop *loop, int64_t n, struct nd_loop_result *r) {
    for (int64_t i = 0; i < n; i++) {
        nd_op_advance(loop->state);
        if (loop->hist)
            run_timed(loop, loop->slices, 1, r);
        else
            run_plain(loop, loop->slices, 1);
    }
}

void nd_loop_count(const struct nd_loop *loop, struct nd_loop_result *r, int64_t ns) {
    if (loop->hist) count_operation(loop, r, ns);
}

/* Long loops look at the stop flag between chunks of about a tenth of a second: one Allreduce each, the same in every arm. */
int nd_loop_agree_to_stop(const struct nd_loop *loop, int is_broken) {
    int mine = is_broken || (loop->stop_asked && *loop->stop_asked) || (loop->parent_pid && getppid() != loop->parent_pid), any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, loop->state->comm);
    return any;
}

void nd_loop_read_times(const struct nd_loop *loop, struct nl_thread_times *t) {
    if (loop->preempted)
        nl_thread_times_read(loop->preempted, t);
    else
        t->wall_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
}

void nd_loop_add_lost(const struct nd_loop *loop, const struct nl_thread_times *from, struct nd_loop_result *r) {
    struct nl_thread_times now;
    if (!loop->preempted) return;
    nl_thread_times_read(loop->preempted, &now);
    r->preempted_ns += nl_thread_times_preempted_ns(loop->preempted, from, &now);
    r->knows_steal = nl_preempted_source(loop->preempted) == NL_PREEMPTED_SCHEDULER;
    if (r->knows_steal) r->steal_ns += nl_thread_times_steal_ns(from, &now);
}

void nd_loop_warm(const struct nd_loop *loop, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (loop->state->needs_advance) nd_op_advance(loop->state);
        run_plain(loop, NULL, 1);
    }
}

void nd_loop_settle(const struct nd_loop *loop, int64_t n, int64_t ns) {
    int64_t end_ns = nl_mono_ns() + ns;
    if (loop->program) {
        nd_program_rest(loop->program, ns);
        return;
    }
    do {
        nd_loop_warm(loop, n);
    } while (!nd_loop_agree_to_stop(loop, nl_mono_ns() >= end_ns));
}

/* Beats of a program that have begun: it is not held up, and we sleep meanwhile. What its thread slept is not told from steal: known only
 * where it did not. */
static void follow_program(const struct nd_loop *loop, struct nd_loop_result *r) {
    struct nd_stretch s;
    enum nd_follow_end end = nd_program_finish(loop->program, (int64_t)loop->expected_ns, loop->stop_asked, &s);
    *r = (struct nd_loop_result){.start_ns = nl_mono_ns(), .is_over = end == ND_FOLLOW_OVER};
    if (end != ND_FOLLOW_DONE) return;
    *r = (struct nd_loop_result){.start_ns = s.start_ns, .wall_ns = s.wall_ns, .n_operations = s.n_beats, .n_involuntary = s.n_involuntary};
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
        nd_starter_run(loop->starter, loop, result);
        return;
    }
    struct nd_loop_result r = {0};
    r.start_ns = nl_mono_ns();
    struct nl_thread_times begin;
    nd_loop_read_times(loop, &begin);
    if (loop->slices) nd_slices_begin(loop->slices, nl_mono_ns());
    for (;;) {
        int64_t left = loop->n_operations - r.n_operations;
        int64_t n = left < loop->chunk ? left : loop->chunk;
        if (loop->slices) nd_slices_before_chunk(loop->slices, n);
        if (loop->state->needs_advance)
            run_advancing(loop, n, &r);
        else if (loop->hist)
            run_timed(loop, loop->slices, n, &r);
        else
            run_plain(loop, loop->slices, n);
        r.n_operations += n;
        if (r.n_operations == loop->n_operations || nd_loop_agree_to_stop(loop, 0)) break;
    }
    r.wall_ns = nl_now_ns(CLOCK_MONOTONIC_RAW) - begin.wall_ns;
    nd_loop_add_lost(loop, &begin, &r);
    *result = r;
}

/* The timed loop. Nothing here allocates, prints or looks at the arm. */
#pragma once

#include "common/base/nl_hist.h"
#include "common/sys/nl_preempted.h"
#include "detector/ops/ops.h"

struct nd_starter;
struct nd_start_plan;
struct nd_step;
struct nd_slices;
struct nd_together;
struct nd_program;

struct nd_loop {
    const struct nd_op *op;
    struct nd_op_state *state;
    int64_t n_operations;
    int64_t chunk; /* operations after which slices are written and the parent is looked for; >= n_operations:
                      never */
    struct nd_together
        *together; /* how ranks end the loop before its n_operations; NULL: they do not. Not with a starter */
    int64_t most_ns;     /* it may last; 0: as long as it takes. With a starter: looked at between chunks */
    double operation_ns; /* what one is expected to take, the same on all ranks; with `together` */
    int64_t look_every; /* operations between two looks at clock and stop flag, 0: none. Slow ones have a look
                           each */
    /* Told now and then how late it is, CLOCK_MONOTONIC: first when it said. NULL: nobody. */
    int64_t (*tell)(void *context, int64_t now_ns);
    void *tell_context;
    const struct nl_ticks *ticks;
    const struct nl_preempted *preempted; /* how this rank's preempted time is found; NULL: it is not */
    struct nd_slices
        *slices; /* how long every few hundred operations took; NULL: nobody keeps it. Not with a starter */
    struct nl_hist *hist;           /* NULL: operations are not timed one by one */
    int64_t detour_threshold_ns;    /* operations longer than this are detours */
    int64_t typical_ns;             /* pilot's median: what a detour's excess is counted from */
    const volatile int *stop_asked; /* all ranks stop together when it is set on one. NULL: never */
    pid_t parent_pid;               /* the launcher: a loop stops when it is gone; 0: do not look */
    int checks_every;           /* 1: every operation's data are checked after it, untimed (starts only) */
    struct nd_program *program; /* its beats are what is timed, not calls of ours; NULL: none */
    double expected_ns;         /* with a program: how long the loop should take */
    struct nd_starter *starter; /* synchronises every start; NULL: back to back */
    struct nd_start_plan *plan; /* with a starter: the operation's */
    /* With a starter: told before (1) and after (0) each stretch of starts; between two stretches they are
     * summed up. NULL: nobody. */
    void (*on_stretch)(void *context, int begins);
    void *context;
    const struct nd_step *step; /* with a starter: the half; NULL: it is not recorded */
};

struct nd_loop_result {
    int64_t start_ns;     /* CLOCK_MONOTONIC */
    int64_t wall_ns;      /* CLOCK_MONOTONIC_RAW: same rate as the scheduler's clock, which counts CPU time */
    int64_t preempted_ns; /* CPU time that other tasks took from this rank; 0 without loop.preempted */
    int64_t steal_ns; /* wall time in which it neither ran nor waited for its CPU: a hypervisor's steal, above
                         all; may be below 0 */
    int knows_steal;  /* 0: steal_ns is not known (by clocks, or without loop.preempted) */
    int64_t detour_ns; /* excess over typical_ns */
    int64_t n_detours;
    int64_t base_ns_sum;  /* time of the operations that are not detours */
    int64_t n_operations; /* done; fewer than asked only when its time was up, when stopped, or decided by the
                             stop rule */
    int is_over;          /* 1: the program has ended */
    int64_t
        n_involuntary; /* with a program: how often its thread was switched off its CPU against its will */
};

/* Runs n operations untimed, for caches. Collective. */
void nd_loop_warm(const struct nd_loop *loop, int64_t n);

/* The same for `ns`; ends early when a rank is to stop. Needs `together`, or a program. Collective. */
void nd_loop_settle(const struct nd_loop *loop, int64_t ns);

/* How often the calling thread was switched off its CPU against its will; 0 where the system does not say. */
static inline int64_t nd_involuntary_switches(void) {
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nivcsw;
}

/* Where this rank's time has gone so far: read right before and right after what is timed. Without
 * loop.preempted the wall time alone. */
void nd_loop_read_times(const struct nd_loop *loop, struct nl_thread_times *t);

void nd_loop_add_lost(const struct nd_loop *loop, const struct nl_thread_times *from,
                      struct nd_loop_result *r);

int nd_loop_agree_to_stop(const struct nd_loop *loop, int is_broken);

void nd_loop_count(const struct nd_loop *loop, struct nd_loop_result *r, int64_t ns);

/* Collective over the state's communicator, with equal n_operations and chunk on all ranks. */
void nd_loop_run(const struct nd_loop *loop, struct nd_loop_result *result);

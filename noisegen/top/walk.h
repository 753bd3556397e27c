/* What recorded interruptions of one node cost a program on many nodes like it, which synchronises again and
 * again: the record itself is walked, with one copy per node at an offset of its own. No estimate of rates,
 * periods or shapes stands between. */
#pragma once

#include "common/base/nl_usual.h"

/* An interruption: the program had not this CPU from start to end. Those of one CPU do not overlap. */
struct nt_event {
    int64_t start_ns, end_ns;
    int32_t cpu; /* from 0 on */
};

struct nt_walk;

/* The program: each of n_nodes nodes has a rank on each of n_cpus CPUs; a step is every_ns of CPU time of
 * each rank and ends for all when the last rank is done. A rank works whenever its CPU is not interrupted,
 * interruptions pass in wall time whatever the rank does, and so those that come while it waits for others
 * cost nothing. events: the record, best by end (another order takes longer), from 0 to span_ns, which goes
 * on from its beginning; copied. Of those so many as matter are walked: the most disturbed stretches of the
 * record, as many as ten nodes meet in a step. base_share: what each CPU loses besides, which the caller did
 * not record one by one, as a share of 1 (NULL: nothing); it makes all steps longer by as much.
 * @return 0, -1 without memory. */
int nt_walk_open(struct nt_walk **walk, const struct nt_event *events, size_t n, int64_t span_ns, int n_cpus,
                 const double *base_share, int n_nodes, int64_t every_ns, uint64_t seed);

/* Goes on for about n_visits visits to a node, some 100 ns each: a node is visited when it has an
 * interruption in a step, and once when a pass begins, in which all nodes have new offsets. */
void nt_walk_go(struct nt_walk *walk, int64_t n_visits);

/* Time that the steps took so far beyond their work, and the work, ns. */
struct nt_walked {
    double stall_ns, work_ns, n_steps, squares; /* of the stalls of single steps, ns^2 */
};
struct nt_walked nt_walk_result(const struct nt_walk *walk);

/* What every step takes beyond its work, whatever is met. */
int64_t nt_walk_base_ns(const struct nt_walk *walk);

/* The step that begins just before an event. */
struct nt_window {
    int64_t loss_ns;  /* time that it loses: of this event and those on its CPU that come before its work is
                         done */
    int64_t width_ns; /* for so long, before this event, a step can begin and lose as much */
    uint32_t end;     /* among the events of its CPU, its first event that does not belong to it */
};

/* That of each event that was handed in, in their order; they are the walk's. */
const struct nt_window *nt_walk_windows(const struct nt_walk *walk);

void nt_walk_close(struct nt_walk *walk);

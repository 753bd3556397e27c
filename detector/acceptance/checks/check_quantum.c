#include "detector/acceptance/scanning.h"
#include "detector/ops/ops.h"
#include "detector/ops/work.h"

#define QUANTUM_NS 100000. /* about so long is the work of a quantum on an undisturbed CPU of rank 0's node  \
                            */

static void add_figures(struct nx_run *r, const struct nx_scan *s, const struct nx_row *base) {
    struct nx_row row = *base;
    row.sd = s->sd_ns;
    row.min = s->least_ns;
    row.max = (double)s->longest_ns;
    nx_put(r, &row, "quantum", "ns", s->mean_ns, s->n_turns);
    /* against the fastest quantum of this scan: what the CPU could have done */
    nx_put(r, base, "lost", "percent", 100. * (1 - s->least_ns / s->mean_ns), s->n_turns);
}

static const struct nx_scanning quanta = {.scan = nx_scan_quanta, .metric = "quantum", .add = add_figures};

static int open_quantum(struct nx_run *r, struct nx_task *t) {
    struct nx_scanning kind = quanta;
    double rate = nd_work_rate();
    MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, r->team.world); /* the same work everywhere */
    kind.n_steps = (int64_t)(rate * QUANTUM_NS) + 1;
    return nx_scanning_open(r, t, &kind);
}

const struct nx_check nx_check_quantum = {
    .name = "quantum",
    .help = "fixed-work slowdown of every CPU, all CPUs at once and one at a time: time of a fixed amount of "
            "work, and the share lost",
    .unit = "ns",
    .least_ranks = 1,
    .quick_share = 6,
    .full_share = 14,
    .open = open_quantum,
    .measure = nx_scanning_measure,
    .state_bytes = sizeof(struct nx_scanning),
    .close = nx_scanning_close,
};

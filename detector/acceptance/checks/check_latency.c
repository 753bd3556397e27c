#include "detector/acceptance/node_pairs.h"

enum { LARGEST_BYTES = 1024 };

static double half_ns(int64_t bytes, double exchange_ns) {
    (void)bytes;
    return exchange_ns / 2;
}

static int open_latency(struct nx_run *r, struct nx_task *t) {
    struct nx_pair_figure figures[NX_MAX_SIZES];
    int n = 0;
    for (int i = 0; i < r->o->n_sizes; i++)
        if (r->o->sizes[i] <= LARGEST_BYTES)
            figures[n++] =
                (struct nx_pair_figure){"half_round_trip", "ns", r->o->sizes[i], nx_one_way, half_ns};
    return nx_pairs_open(r, t, figures, n);
}

const struct nx_check nx_check_latency = {
    .name = "latency",
    .help = "half the round trip of small messages, within nodes and between them",
    .unit = "ns",
    .least_ranks = 2,
    .quick_share = 3,
    .full_share = 6,
    .open = open_latency,
    .measure = nx_pairs_measure,
    .state_bytes = sizeof(struct nx_pairs),
    .close = nx_pairs_close,
};

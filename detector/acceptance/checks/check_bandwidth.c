#include "detector/acceptance/node_pairs.h"

enum { SMALLEST_BYTES = 1024 };

/* Each way once per exchange: 2 L / T. */
static double both_ways(int64_t bytes, double exchange_ns) { return 2e9 * (double)bytes / exchange_ns; }

static int open_bandwidth(struct nx_run *r, struct nx_task *t) {
    struct nx_pair_figure figures[2 * NX_MAX_SIZES];
    int n = 0;
    for (int i = 0; i < r->o->n_sizes; i++) {
        int64_t bytes = r->o->sizes[i];
        if (bytes < SMALLEST_BYTES) continue;
        figures[n++] = (struct nx_pair_figure){"one_way", "bytes_per_s", bytes, nx_one_way, both_ways};
        figures[n++] = (struct nx_pair_figure){"two_way", "bytes_per_s", bytes, nx_two_way, both_ways};
    }
    return nx_pairs_open(r, t, figures, n);
}

const struct nx_check nx_check_bandwidth = {
    .name = "bandwidth",
    .help =
        "one way (blocking ping-pong) and two way (nonblocking, both at once), within nodes and between them",
    .unit = "bytes_per_s",
    .least_ranks = 2,
    .quick_share = 5,
    .full_share = 10,
    .open = open_bandwidth,
    .measure = nx_pairs_measure,
    .state_bytes = sizeof(struct nx_pairs),
    .close = nx_pairs_close,
};

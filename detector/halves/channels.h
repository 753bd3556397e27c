/* The figures that each half yields, and the question each answers. Columns are described in docs/reference/formats.md. */
#ifndef ND_CHANNELS_H
#define ND_CHANNELS_H

#include "detector/design/schedule.h"
#include "detector/measure/starts.h"

/* One half, block or loop, over all ranks: one row of halves.csv or blocks.csv. */
struct nd_half {
    struct nd_step step;
    int64_t start_ns, wall_ns, n_operations;
    int64_t preempted_ns_max, preempted_ns_sum;
    int preempted_rank, slowest_rank;
    int64_t detour_ns, n_detours; /* -1: operations were not timed one by one */
    double base_ns;               /* negative: not known */
    int64_t steal_ns;             /* of the ranks' CPUs, by /proc/stat; -1: not known */
    int64_t throttled_ns;         /* by a quota of CPU time, summed over CPUs; -1: there is none, or it is not known */
    int64_t rank_steal_ns_max, rank_steal_ns_sum; /* by the ranks' own clocks; may be below 0 */
    int knows_rank_steal;         /* 0: they are not known */
    int64_t n_involuntary;
    int64_t delivered_ns, n_bursts, n_due, requested_ns; /* -1: no generator */
    int64_t late_ns;              /* of late ranks: by how much the last one came late, summed over operations; 0 in other arms */
    struct nd_start_half starts;  /* n_starts 0: operations were run back to back */
};

struct nd_channel {
    const char *name;
    const char *help;
    const char *columns;
    /* The channel's figure of one half; differences between on and off are the effect. NaN where it is not known. Required. */
    double (*value)(const struct nd_half *h);
};

extern const struct nd_channel nd_channels[]; /* ends with a row without name */

#endif

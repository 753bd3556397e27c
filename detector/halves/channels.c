#include "detector/halves/channels.h"

static double time_value(const struct nd_half *h) {
    int64_t took_ns = h->starts.n_starts ? h->starts.global_ns : h->wall_ns;
    return log((double)took_ns / (double)h->n_operations);
}

static double preempted_value(const struct nd_half *h) { return 100. * (double)h->preempted_ns_sum / (double)h->wall_ns; }

static double detour_value(const struct nd_half *h) { return h->detour_ns < 0 ? NAN : 100. * (double)h->detour_ns / (double)h->wall_ns; }

static double base_value(const struct nd_half *h) { return h->base_ns > 0 ? log(h->base_ns) : NAN; }

static double steal_value(const struct nd_half *h) { return h->steal_ns < 0 ? NAN : 100. * (double)h->steal_ns / (double)h->wall_ns; }

static double arrival_value(const struct nd_half *h) {
    return h->starts.n_starts && h->starts.spread_ns > 0 ? log((double)h->starts.spread_ns / (double)h->starts.n_starts) : NAN;
}

const struct nd_channel nd_channels[] = {
    {"time", "loop time of the slowest rank: what the synchronised code pays", "wall_ns (global_ns), operations", time_value},
    {"preempted", "CPU time that other tasks of this system took from the ranks, by the scheduler (see --preempted-by)",
     "preempted_ns_max, preempted_ns_sum", preempted_value},
    {"detour", "excess of the operations above the detour threshold", "detour_ns, detours", detour_value},
    {"base", "mean of the undisturbed operations: cache, memory, frequency", "base_ns", base_value},
    {"arrival", "spread of the ranks' starts (synchronised starts only)", "spread_ns, operations", arrival_value},
    {"steal", "time the hypervisor took from the ranks' CPUs", "steal_ns", steal_value},
    {0},
};

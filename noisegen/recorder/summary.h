/* What a recording shows: from bursts to a trace and its figures. */
#pragma once

#include "noisegen/recorder/activity.h"
#include "common/base/nl_hist.h"
#include "noisegen/recorder/takers.h"

enum { NR_BLOCKS = 16 /* of a recording: how the time on CPUs scatters */ };

struct nr_summary {
    int64_t span_ns;         /* recorded */
    int64_t wall_ns, cpu_ns; /* on CPUs by the records; steal taken off (-1: not known) */
    int64_t account_ns;      /* the kernel's account of processes that lived all the time; -1: not known */
    double least_share;      /* of wall_ns that was CPU time, by that account; 0: not known */
    int64_t steal_ns;        /* of the watched CPUs */
    struct nr_rhythm rhythm;
    struct nl_hist bursts, activities; /* lengths; time on CPUs per activity */
    int64_t n_bursts, n_activities, longest_burst_ns, longest_activity_ns, n_wakeups;
    int n_threads;
    int n_cpus;     /* on which it ran */
    char cpus[256]; /* their list */
    struct nr_totals totals;
    struct nr_activity *trace; /* activities by CPU: what the trace holds, durations in CPU time */
    size_t n_trace;
    int has_cpus; /* 0: the CPU of some burst is not known */
    int64_t blocks_ns[NR_BLOCKS]; /* of wall_ns, by when a burst began */
    struct nr_taker takers[NR_MOST_TAKERS]; /* the busiest tasks */
    int n_takers;
    int ended_status; /* of a recorded command that ended by itself, as waitpid() has it; -1: none did */
};

/* Computes everything from the recorder's bursts. group_gap_ns 0: found. @return 0, -1 without memory. */
int nr_summarise(const struct nr_recorder *recorder, int64_t group_gap_ns, int64_t account_ns, struct nr_summary *summary);
void nr_summary_free(struct nr_summary *summary);

/* @return 0, -1 with errno. */
int nr_write_trace(const struct nr_recorder *recorder, const struct nr_summary *summary, FILE *file, const char *what, const char *host);

/* For people, and as JSON. */
void nr_print_summary(const struct nr_recorder *recorder, const struct nr_summary *summary, const char *what);
void nr_print_json(const struct nr_recorder *recorder, const struct nr_summary *summary, const char *what, const char *host);

/* What a recording shows: from bursts to a trace and its figures. */
#pragma once

#include "common/sys/nl_account.h"
#include "noisegen/recorder/recorder.h"

/* Who had the CPUs: the tasks with the most time, and in what rhythm each came. */

enum {
    NR_MOST_TAKERS = 24,
    NR_APART = 4 /* processes of one name that are kept apart */,
    NR_TAKER_CPUS = 8,
    NR_LENGTHS = 16
};

/* A process; or all of one name: of the kernel's threads what stands before the slash (kworker/1:2 is
 * kworker), and those of a name of which none has a large part of its time. */
struct nr_taker {
    char task[16];
    pid_t pid;          /* 0: several processes, or not known */
    int n_processes;    /* 0: not known */
    char pids[48];      /* the busiest of them */
    char cgroup[128];   /* of the process, as /proc/PID/cgroup has it, its end where it is longer; "": not
                           known, it ended, or several */
    int is_kernel;      /* threads of the kernel */
    int64_t busy_ns;    /* on CPUs */
    int64_t n_bursts;   /* bursts as the task's own activities; -1: this source sees none, nor what follows */
    int64_t typical_ns; /* the median of their time on CPUs */
    int64_t longest_ns;
    int64_t n_main;    /* of the bursts those that make up its time: a fifth as long as the usual one (by CPU
                          time), or longer ... */
    int64_t main_ns;   /* ... and their time on CPUs */
    int64_t n_pieces;  /* parts of these bursts between which others had the CPU for a while ... */
    int64_t parted_ns; /* ... and how long these others had it */
    int n_lengths;     /* of the pieces, ... */
    int64_t lengths_ns[NR_LENGTHS]; /* ... the mean of each of so many equal parts of them, ascending */
    double period_ns;               /* 0: none found */
    char cpus[48];                  /* those with a twentieth of its time or more, the busiest first */
    int n_cpus;                     /* of these ... */
    struct {
        int cpu;
        int64_t busy_ns;
    } on[NR_TAKER_CPUS]; /* ... its time on each */
};

/* From single bursts to activities. An agent's threads switch among themselves and sleep for moments, so one
 * activity (a sample taken, a scrape answered) leaves many bursts; what repeats with a period, and what a
 * replay needs, are the activities. */

/* One activity on one CPU, or on all of them. */
struct nr_activity {
    int64_t start_ns, end_ns;
    int64_t busy_ns;    /* time on CPUs within it */
    int64_t longest_ns; /* of one burst */
    int64_t n_bursts;
    int32_t cpu;   /* -1: not known, or of all CPUs */
    uint32_t name; /* of its longest burst */
};

/* What repeats. */
struct nr_rhythm {
    int64_t gap_ns;         /* bursts closer than this belong to one activity */
    double period_ns;       /* 0: there is none */
    double regularity;      /* 0 to 1 */
    double period_error_ns; /* half of the period's 99 % interval */
};

enum {
    NR_BLOCKS = 16 /* of a recording: how the time on CPUs scatters */,
    NR_STALL_GAP_NS = 5000 /* who waits for a CPU gets nothing done between bursts that are closer */
};

struct nr_summary {
    int64_t span_ns;         /* recorded */
    int64_t wall_ns, cpu_ns; /* on CPUs by the records; steal taken off (-1: not known) */
    int64_t account_ns;      /* the kernel's account of processes that lived all the time; -1: not known */
    double least_share;      /* of wall_ns that was CPU time, by that account; 0: not known */
    struct nr_rhythm rhythm;
    int64_t n_bursts, n_activities;
    struct nr_totals totals;
    struct nr_activity
        *trace; /* activities by CPU: what the trace holds, durations in CPU time; to be freed */
    size_t n_trace;
    struct nr_activity *stalls; /* what each CPU was away for in one piece, in CPU time; to be freed */
    size_t n_stalls;
    int has_cpus;                           /* 0: the CPU of some burst is not known */
    int64_t blocks_ns[NR_BLOCKS];           /* of wall_ns, by when a burst began */
    struct nr_taker takers[NR_MOST_TAKERS]; /* the busiest tasks */
    int n_takers;
    int is_of_all;   /* whoever ran was asked for */
    int has_account; /* where the time of the watched CPUs went */
    struct nl_account_sum account;
    const struct nl_account_cpu *cpus; /* by number */
    int ended_status; /* of a recorded command that ended by itself, as waitpid() has it; -1: none did */
};

/* Computes everything from the recorder's bursts. group_gap_ns 0: found. @return 0, -1 without memory. */
int nr_summarise(const struct nr_recorder *recorder, int64_t group_gap_ns, int64_t account_ns,
                 struct nr_summary *summary);

/* Adds where the time of the watched CPUs went (borrowed). By source proc what tasks had that ended meanwhile
 * is in it alone, and becomes a taker of its own. */
void nr_summary_account(const struct nr_recorder *recorder, struct nr_summary *summary,
                        const struct nl_account_sum *account, const struct nl_account_cpu *cpus);

/* @return 0, -1 with errno. */
int nr_write_trace(const struct nr_recorder *recorder, const struct nr_summary *summary, FILE *file,
                   const char *what, const char *host);

/* Time on CPUs as a share of the recording, in percent of one CPU. */
double nr_duty_percent(const struct nr_summary *summary);

/* Whether some of what was asked for may have run unseen: more CPU time is unaccounted for than the account
 * resolves, and either whoever ran was asked for, or tasks of strangers cannot be seen. */
int nr_hides_some(const struct nr_summary *summary);

/* For people, and as JSON. */
void nr_print_summary(const struct nr_recorder *recorder, const struct nr_summary *summary, const char *what);
void nr_print_json(const struct nr_recorder *recorder, const struct nr_summary *summary);

/* A launch under way. For the files of this folder, none of which uses another's functions but by way of this
 * header. */
#pragma once

#include "detector/treatment/companion.h"
#include "detector/design/follow.h"
#include "detector/halves/half_sum.h"
#include "detector/ops/algorithms.h"
#include "detector/program/program.h"
#include "detector/record/launch_json.h"
#include "detector/measure/late.h"
#include "common/base/nl_rng.h"
#include "detector/record/record.h"
#include "detector/measure/slices.h"
#include "detector/measure/together.h"
#include "detector/treatment/treatment.h"
#include "detector/record/counter_rows.h"
#include "detector/record/markers.h"

/* Where the launch's files are, on all ranks. */
struct nd_folder {
    char path[PATH_MAX] /* whole */, launch[192];
};

/* When a load ran and what it did to the loop, where a node has a generator or an agent. NULL elsewhere, and
 * with synchronised starts. */
struct nd_load_log {
    struct nd_slices *slices;    /* owned, and its file */
    struct nd_burst_log *bursts; /* NULL where there is no generator */
};

struct nd_agent_state {
    int n_nodes; /* that have one; the same on all ranks */
    /* leaders of nodes whose agent is switched; NULL and zeros elsewhere */
    struct nd_companion *companion;
    struct nd_node_rows *rows;
    struct nd_agent_half half; /* under way */
    int64_t n_begun;
    char host[ND_HOST_BYTES];
};

/* What the kernel and the ranks count around each half, where there is a load; zeros elsewhere. */
struct nd_counters {
    struct nd_probe *probe; /* this rank's; NULL: it does not look */
    int64_t reading_ns;     /* of the kernel's counters, on the slowest node */
    int64_t wake_ns;        /* CPU time of a wake-up, on the slowest node */
    /* leaders */
    struct nl_kernel *kernel;
    unsigned char *cpus; /* flags; what the kernel's counters borrow */
    int n_cpus;          /* of them */
    /* leaders of nodes with a load */
    struct nd_node_rows *rows; /* NULL: nothing is read */
    struct nd_counter_half half;  /* under way */
    int64_t before[NL_N_KERNEL], begin_ns;
    char host[ND_HOST_BYTES];
};

/* What the first rank of a node has; zeros elsewhere. */
struct nd_leader {
    struct nd_sum *node_sums;    /* n_arms, its node */
    struct nd_pairs *node_pairs; /* the same */
    struct nd_node_end *node_end;
    struct nd_steal *steal;  /* may be NULL */
    struct nl_quota quota;   /* without accounts where there is none */
    unsigned char *cpu_used; /* n_cpu_used flags: CPUs of this node's ranks */
    int n_cpu_used;
    struct nl_account *account;  /* where the time of these CPUs went; NULL before the first half */
    unsigned char *account_cpus; /* what it borrows: flags of CPUs, and the node's ranks */
    pid_t *account_own;
    struct nd_load_log load_log;
    /* with a generator */
    struct nd_treatment *treatment;                           /* NULL: none */
    int treated_index;                                        /* which of them this one is, from 0 */
    uint8_t is_active[ND_MAX_FACTOR][NL_CONTROL_MAX_WORKERS]; /* which of its CPUs belong to which place */
    struct nd_ledger ledgers[NL_CONTROL_MAX_LEVELS];          /* of each account */
    int last_account;                                         /* of the half before */
};

/* What rank 0 has; zeros elsewhere. */
struct nd_root {
    int64_t *times_slowest, *node_slowest; /* n_ranks x n_arms, n_nodes x n_arms */
    struct nd_binding *bindings;           /* n_ranks */
    struct nd_host *hosts;                 /* n_nodes */
    struct nd_record *record;
    struct nd_progress *progress;
    struct nd_sequential *sequential; /* NULL: the run may not end early */
    json_t *launch;
    int64_t first_start_ns, last_checkpoint_ns;
    int64_t n_on_halves, n_short_halves; /* fixed doses; short: it ended before its last burst could have */
    struct nd_quiet_node
        *before;                /* n_nodes: what went on before anything was measured; NULL: nobody looked */
    int64_t look_ns, waited_ns; /* how long the last look took, and all of them and the pauses between */
    int n_looks;
    /* synchronised starts */
    struct nl_hist *measures;          /* n_configs x n_arms x ND_N_MEASURES */
    struct nd_start_rank *start_ranks; /* n_ranks x n_arms */
    struct nd_sync_report *reports;    /* n_ranks, of the last synchronisation */
    int64_t first_sync_ns;
};

/* What every rank has. */
struct nd_run {
    const struct nd_options *o;
    const volatile int *stop_asked;
    struct nd_leader leader;
    struct nd_root root;
    struct nd_agent_state agent;
    struct nd_counters counters;
    struct nd_folder folder;    /* where there is a load; empty otherwise */
    struct nd_markers *markers; /* NULL: nothing to mark */
    struct nd_program
        *program;        /* this rank's of the program that is followed; NULL: we run operations of our own */
    struct nd_beat beat; /* of the program; the same on all ranks */
    struct nd_team team;
    struct nd_together together; /* how loops end */
    struct nl_ticks ticks;
    struct nl_preempted preempted; /* of the same source on all ranks */
    struct nd_schedule schedule;
    struct nl_rng phase_rng, common_phase_rng;
    double skip;                /* where a continued pattern begins on this node when its phase is random */
    struct nd_op_state *states; /* n_configs, as the next three */
    struct nd_algorithm *algorithms;
    struct nd_cell *cells;
    struct nd_follow *follow; /* how long their halves are by now */
    struct nl_hist *hists;    /* n_configs x n_arms, NULL: operations are not timed one by one */
    struct nl_hist *scratch;  /* where every loop counts: the same addresses in every arm */
    struct nd_rank_sum *sums; /* n_arms, this rank */
    struct nd_pairs *pairs;   /* preempted share of this rank, percent of one CPU; over all operations */
    int n_arms, n_generators;
    int is_treated;                  /* this rank's node has a generator */
    int n_place_cpus[ND_MAX_FACTOR]; /* CPUs of a place on this node; leaders with a generator */
    int n_loaded[ND_MAX_FACTOR];     /* on all nodes */
    int n_hit[ND_MAX_FACTOR]; /* nodes on which a place means a rank's CPU: their bursts make ranks wait */
    int n_loose_ranks;        /* ranks that are not bound to one CPU, where there is a load to place */
    int64_t
        lead_ns; /* longest way from drawing a dose to its loop, seen in the warm-up; the same on all ranks */
    pid_t parent_pid;      /* the launcher */
    int flags;             /* what this rank tells the others next time */
    int n_allowed;         /* CPUs of this node that its ranks may use; 0 unknown */
    struct nd_clock clock; /* what wait patterns look at when operations run back to back */
    struct nd_late late;   /* of the arm of late ranks; zeros without */
    /* synchronised starts; NULL without */
    struct nd_starter *starter;
    struct nd_start_plan *plans; /* n_configs */
    struct nl_hist *overshoots;  /* n_configs x n_arms, this rank */
    int64_t begin_ns;            /* of the launch, CLOCK_MONOTONIC */
    int is_time_up;              /* no other pair is to begin; the same on all ranks */
    int64_t rounds_begin_ns;     /* when the first recorded round began, CLOCK_MONOTONIC */
    int64_t
        aside_ns; /* of the time since then: what switching an agent took, which --seconds does not hold */
    int64_t n_rounds_done, n_settings; /* how often a number of operations was set anew */
};

/* Whether any rank failed. Collective. */
static inline int nd_run_agree_failed(struct nd_run *r, int failed) {
    return nd_team_agree(&r->team, failed ? ND_FLAG_SETUP : 0) != 0;
}

/* Rows of this rank could not be written, which has been said: one line is enough of a folder that is full or
 * gone, so the record of rank 0 says nothing more of it. */
static inline void nd_run_missed_rows(struct nd_run *r) {
    if (r->root.record) r->root.record->files.is_hushed = 1;
    r->flags |= ND_FLAG_RECORD;
}

/* Who it is whose time is measured on this rank's CPU: this process, or the program's. */
static inline pid_t nd_run_pid(const struct nd_run *r) {
    return r->program ? nd_program_pid(r->program) : getpid();
}

/* So many beats, as a whole number of periods. */
static inline int64_t nd_whole_periods_of_beats(int64_t n, int64_t period) {
    return n < period ? period : (n + period / 2) / period * period;
}

/* Whether an arm is the agent's. */
static inline int nd_is_agents(const struct nd_options *o, int level) {
    return level != ND_OFF && o->arms[level].name && nd_options_has_agent(o);
}

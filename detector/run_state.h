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

/* set_up.c: each step is collective, says what is wrong where it is wrong, and is agreed on by all ranks; 0
 * or -1. */
int nd_run_allocate(struct nd_run *r);
int nd_run_set_up_nodes(struct nd_run *r);
int nd_run_open_clocks(struct nd_run *r);
int nd_run_set_up(struct nd_run *r); /* all of them, and the rest */
void nd_run_tear_down(struct nd_run *r);
void nd_run_report_clock_step(
    const struct nd_run *r); /* one line about what this rank knows of a clock that jumped, if anything */

/* look_around.c: what the ranks' CPUs do before anything is measured; waits for quiet ones where that was
 * asked. -1: asked to stop. */
int nd_run_look_around(struct nd_run *r);

/* The CPUs to look at, flags that are to be freed: the ranks' own, or where they are not bound all that this
 * process may use. NULL: no memory. Of a node's first rank. */
unsigned char *nd_run_choose_cpus(const struct nd_run *r, int *n_cpus);

/* account.c: where the time of the ranks' CPUs goes between these two, into the launch's "cpu_account".
 * Collective; begin: 0 or -1. */
int nd_run_account_begin(struct nd_run *r);
void nd_run_account_end(struct nd_run *r);
void nd_run_account_close(struct nd_run *r);

/* follow_program.c: finds the program's ranks and beat; sleeps on their CPUs. Lengthens halves that hold too
 * few beats. 0 or -1. */
int nd_run_follow_program(struct nd_run *r, struct nd_options *o);

/* load_log.c, nothing without a load: tells all ranks where the launch's folder is, and makes the files.
 * Collective; 0 or -1. */
int nd_load_log_open(struct nd_run *r);
struct nd_slices *nd_load_log_begin(struct nd_run *r, const struct nd_step *step,
                                    int is_recorded); /* for the loop of a half, or NULL */
void nd_load_log_keep(struct nd_run *r);              /* writes what was kept of a half that is recorded */
void nd_load_log_end(struct nd_run *r); /* writes the end of the trace; before the certificate is taken */
void nd_load_log_close(struct nd_run *r);

/* agent_run.c, nothing without an agent. place and collect are collective; 0, or -1 after a message. */
int nd_agent_place(struct nd_run *r); /* tells every companion about its node's ranks and the launch's folder,
                                         and opens the rows */
void nd_agent_switch(struct nd_run *r,
                     const struct nd_step *step); /* to what the step wants; does not wait for it to settle */
void nd_agent_begin(struct nd_run *r, const struct nd_step *step);
void nd_agent_end(struct nd_run *r, const struct nd_step *step,
                  struct nd_sample *s); /* `s` gets what it used: the dose of its arm */
void nd_agent_row(
    struct nd_run *r,
    const struct nd_half_sum *node); /* of the half that ended last. `node`: sum over this node's ranks */
void nd_agent_collect(
    struct nd_run *r); /* ends the companions, who put their agents back, and takes their certificates */

/* counters_run.c, nothing without a load. open is collective, after the folder is known; 0 or -1. begin and
 * end stand around a loop, end while the arm is still on. */
int nd_counters_open(struct nd_run *r);
void nd_counters_close(struct nd_run *r);
void nd_counters_begin(struct nd_run *r);
void nd_counters_end(struct nd_run *r, struct nd_sample *s); /* `s` gets what this rank found */
void nd_counters_row(struct nd_run *r, const struct nd_step *step,
                     const struct nd_half_sum *node); /* `node`: sum over its ranks */

/* half.c, collective: runs one half on all ranks and leaves this rank's figures in `s`. `is_recorded` 0:
 * warm-up. */
void nd_run_half(struct nd_run *r, const struct nd_step *step, int is_recorded, struct nd_sample *s);

/* Takes the time of a half, the slowest rank's for its n_operations, into what is expected of the next ones;
 * the same on all ranks. */
void nd_run_follow(struct nd_run *r, const struct nd_step *step, int64_t wall_ns, int64_t n_operations);

/* Sets the numbers of operations anew where halves have left their planned length. Between rounds: those of a
 * pair have the same. */
void nd_run_set_operations(struct nd_run *r);

/* Adds the half to sums, histograms and starts of its arm, and writes its row. */
void nd_run_keep_half(struct nd_run *r, const struct nd_step *step, const struct nd_sample *s);

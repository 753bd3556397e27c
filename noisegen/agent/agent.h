/* The agent: what is switched, how, and what is known about it. Ways to switch are rows of a table (ways.c),
 * one small file each. */
#pragma once

#include "common/page/nl_agent.h"
#include "noisegen/agent/companion_options.h"
#include "noisegen/agent/spawn.h"
#include "noisegen/agent/undo.h"

/* ---- cpu.c: the agent's CPU time between two moments: a table of sources, best first. Reading must not make
 * the agent dearer: counters on its threads cost some 1.3 us per context switch, which is a quarter of what
 * collectd uses at 0.1 s, so they are taken only for agents that start processes, whose CPU time nothing else
 * gives exactly ---- */

enum na_cpu_count { NA_CPU_NS, NA_CPU_SWITCHES, NA_CPU_MIGRATIONS, NA_CPU_COUNTS };

struct na_cpu {
    const struct na_cpu_source *row; /* NULL: not open */
    int is_final;                    /* there is nothing better, tried */
    char file[4096];                 /* cgroup */
    int *fds, n_fds, room_fds;       /* perf: a descriptor per thread and event */
    int has_switches;                /* perf: the kernel counts context switches and migrations for us, too */
    struct na_cpu_clock { struct na_process process; int64_t cpu_ns; } *clocks; /* at the begin */
    int n_clocks;
    int64_t begin_reaped_ns;
    int64_t begin[NA_CPU_COUNTS];    /* totals at the begin; -1: not known */
};

struct na_cpu_source {
    const char *name, *help;
    int counts_children; /* also those that begin and end between two readings, to the ns (or as fine as it
                            counts) */
    int adds_cost;       /* to the agent itself */
    /* Whether it works for these processes, by trying; counts from now on. 0, -1. */
    int (*open)(struct na_cpu *c, const struct na_set *set);
    /* Totals since some moment, at the begin or the end of a stretch; what is not known is left
     * alone. 0, -1. */
    int (*read)(struct na_cpu *c, const struct na_set *set, int is_begin, int64_t totals[NA_CPU_COUNTS]);
};

extern const struct na_cpu_source *const na_cpu_sources[]; /* best first; ends with NULL */

/* ---- freeze.c: freezing the processes of an agent and thawing them again: a table of freezers, of which the
 * first that the machine allows is used. What is frozen stands in the undo record before it is frozen ---- */

struct na_freeze {
    const struct na_freezer *row; /* NULL: not prepared */
    struct na_undo *undo;
    struct na_set *set;       /* the agent's processes; grows */
    char given[PATH_MAX];     /* an existing cgroup that is the agent, full path; "": the agent is a tree of
                                 processes */
    char directory[PATH_MAX]; /* the frozen cgroup; "" for signals */
    char reason[512];         /* why not a better freezer; "" when the first one is used */
    int64_t timeout_ns;
};

/* A row of the table. */
struct na_freezer {
    const char *name, *help;
    /* Whether this one can be used here: tried, not guessed, and without freezing; own 0: on the cgroup
     * given. With is_trial nothing is left changed. 0, -1 with a line in `reason`; -2: found frozen, which is
     * not a matter of the freezer. */
    int (*prepare)(struct na_freeze *f, const struct na_freezer *row, int own, int is_trial, char *reason,
                   int reason_size);
    /* Returns when every thread stands still. 0, -1 with a line in `reason`: then nothing is frozen. */
    int (*freeze)(struct na_freeze *f, char *reason, int reason_size);
    /* Of cgroups: which hierarchy, and the file that says and takes the state. Not required. */
    const char *controller, *state_file, *frozen_text, *thawed_text, *look_file, *look_frozen, *look_thawed;
};

extern const struct na_freezer *const na_freezers[]; /* best first; ends with NULL */

/* ---- figures.c: what /proc counts for the agent besides CPU time, as differences between two
 * moments ---- */

struct na_thread { pid_t tid; int64_t voluntary, involuntary, runs, migrations; };

struct na_bytes {
    pid_t pid;
    uint64_t dead_children_faults;
    int64_t read_bytes, written_bytes; /* -1: not permitted */
};

struct na_moment {
    struct na_thread *threads; /* by tid */
    int n_threads, room_threads;
    struct na_bytes *processes; /* by pid */
    int n_processes, room_processes;
    int64_t rss_kib;
};

struct na_figures {
    struct na_moment begin, end;
    int starts_processes; /* processes of it began or ended in some half so far */
};

/* ---- the agent ---- */

enum { NA_REASON_BYTES = 1024, NA_MAX_WARNINGS = 16 };

struct na_way;

struct na_agent {
    const struct na_options *options;
    const struct na_way *way;
    struct na_undo *undo;
    char name[NL_AGENT_NAME_BYTES];
    /* what is switched: of the following, what the way needs */
    struct na_process root;          /* pid, command */
    struct na_freeze freeze;         /* pid, cgroup, unit */
    struct na_command on, off;       /* command (on), switch */
    const struct na_setting_arm *arm; /* setting: the one to be switched to; NULL: the reference */
    struct na_set set;               /* its processes */
    cpu_set_t cpus;                  /* where a started command may run */
    int out_fd;                      /* its output; -1: thrown away */
    struct na_watch *watch;          /* takes the output in; NULL: nobody does */
    const struct na_set
        *beside; /* processes of another agent, which are not this one's; NULL: there is none */
    /* children of ours that are not the agent: guardian, scrape under way. 0: none */
    pid_t not_agent[2];
    pthread_mutex_t *children;       /* held while one of them is started */
    const _Atomic uint32_t *stop;    /* not 0: whatever takes long is to end; NULL: never */
    int is_on;                       /* -1: not known */
    int is_held;                     /* placed: what `place` did has to be undone */
    int is_daemon; /* the started command has ended with status 0, and its children live on */
    char died[NA_REASON_BYTES];      /* how it ended by itself; "": it did not */
    /* accounts */
    struct na_cpu cpu;
    struct na_figures figures;
    char state_found[64];
    char warnings[NA_MAX_WARNINGS][NA_REASON_BYTES];
    int n_warnings;
};

/* A row of the table. */
struct na_way {
    const char *name;
    const char *option; /* without dashes: the one that chooses this way */
    const char *help;
    int has_arms; /* what is switched on is one of several: `on` is called for each, also from one to the
                     other */
    /* Finds the agent and checks that it can be switched here; leaves nothing changed. Required. All: 0, -1
     * with a line in `reason`. */
    int (*check)(struct na_agent *a, char *reason, int size);
    /* Takes hold of it; leaves its state as it is. Not required. */
    int (*place)(struct na_agent *a, char *reason, int size);
    /* Switch, and return when the new state is reached. Required. */
    int (*on)(struct na_agent *a, char *reason, int size);
    int (*off)(struct na_agent *a, char *reason, int size);
    /* Brings a->set up to date. Not required: no processes are known. */
    void (*members)(struct na_agent *a);
    /* Whether an agent that is on still is what it was; 0 it has ended, with a line in `reason`. Not
     * required. */
    int (*lives)(struct na_agent *a, char *reason, int size);
};

/* Ends with NULL. */
extern const struct na_way *const na_ways[];
extern const struct na_way na_way_command, na_way_pid, na_way_cgroup, na_way_unit, na_way_setting;

/* ---- for the session. 0, -1 with a line in `reason` ---- */

/* Finds the agent by the options: way, name, state; undo record and children as set by the caller. */
int na_agent_check(struct na_agent *a, char *reason, int size);

/* Takes hold of it. */
int na_agent_place(struct na_agent *a, char *reason, int size);

/* Switches on (1) or off (0), unless it is so already. Returns enum nl_agent_status. */
int na_agent_switch(struct na_agent *a, int on, char *reason, int size);

/* Whether an agent that should be on has ended: NL_AGENT_DIED with a line in `reason`, else NL_AGENT_DONE.
 * Sticky. */
int na_agent_look(struct na_agent *a, const char *when, char *reason, int size);

void na_agent_begin(struct na_agent *a);
void na_agent_end(struct na_agent *a, struct nl_agent_account *account);

/* Leaves it as it was found; `left` says how. Safe to repeat. */
void na_agent_restore(struct na_agent *a, char *left, int size);

void na_agent_free(struct na_agent *a);

/* ---- for the ways ---- */

/* Adds a line to the certificate's warnings, each text once. */
void na_warn(struct na_agent *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the ways that freeze share with a command that is frozen. */
int na_frozen_place(struct na_agent *a, char *reason, int size);
int na_frozen_on(struct na_agent *a, char *reason, int size);
int na_frozen_off(struct na_agent *a, char *reason, int size);

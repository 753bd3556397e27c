/* The agent: what is switched, how, and what is known about it. Ways to switch are rows of a table (ways.c), one small file each. */
#pragma once

#include <pthread.h>

#include "noisegen/agent/cpu.h"
#include "noisegen/agent/figures.h"
#include "noisegen/agent/freeze.h"
#include "common/base/nl_hist.h"
#include "noisegen/agent/companion_options.h"
#include "noisegen/agent/spawn.h"
#include "noisegen/agent/watch.h"

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
    struct na_set set;               /* its processes */
    cpu_set_t cpus;                  /* where a started command may run */
    int out_fd;                      /* its output; -1: thrown away */
    struct na_watch *watch;          /* takes the output in; NULL: nobody does */
    pid_t not_agent[2];              /* children of ours that are not the agent: guardian, scrape under way. 0: none */
    pthread_mutex_t *children;       /* held while one of them is started */
    const _Atomic uint32_t *stop;    /* not 0: whatever takes long is to end; NULL: never */
    int is_on;                       /* -1: not known */
    int is_held;                     /* placed: what `place` did has to be undone */
    int is_daemon;                   /* the started command has ended with status 0, and its children live on */
    char died[NA_REASON_BYTES];      /* how it ended by itself; "": it did not */
    /* accounts */
    struct na_cpu cpu;
    struct na_figures figures;
    struct nl_hist on_times, off_times; /* ns */
    char state_found[64];
    char warnings[NA_MAX_WARNINGS][NA_REASON_BYTES];
    int n_warnings;
};

/* A row of the table. */
struct na_way {
    const char *name;
    const char *option; /* without dashes: the one that chooses this way */
    const char *help;
    /* Finds the agent and checks that it can be switched here; leaves nothing changed. Required. All: 0, -1 with a line in `reason`. */
    int (*check)(struct na_agent *a, char *reason, int size);
    /* Takes hold of it; leaves its state as it is. Not required. */
    int (*place)(struct na_agent *a, char *reason, int size);
    /* Switch, and return when the new state is reached. Required. */
    int (*on)(struct na_agent *a, char *reason, int size);
    int (*off)(struct na_agent *a, char *reason, int size);
    /* Brings a->set up to date. Not required: no processes are known. */
    void (*members)(struct na_agent *a);
    /* Whether an agent that is on still is what it was; 0 it has ended, with a line in `reason`. Not required. */
    int (*lives)(struct na_agent *a, char *reason, int size);
};

/* Ends with NULL. */
extern const struct na_way *const na_ways[];
extern const struct na_way na_way_command, na_way_pid, na_way_cgroup, na_way_unit, na_way_switch, na_way_scrape;

/* ---- for the session ---- */

/* Finds the agent by the options: way, name, state; undo record and children as set by the caller. 0, -1 with a line in `reason`. */
int na_agent_check(struct na_agent *a, char *reason, int size);

/* Takes hold of it. */
int na_agent_place(struct na_agent *a, char *reason, int size);

/* Switches on (1) or off (0), unless it is so already. switch_ns: how long it took.
 * @return enum nl_agent_status; a line in `reason` unless DONE. */
int na_agent_switch(struct na_agent *a, int on, int64_t *switch_ns, char *reason, int size);

/* Whether an agent that should be on has ended: NL_AGENT_DIED with a line in `reason`, else NL_AGENT_DONE. Sticky. */
int na_agent_look(struct na_agent *a, const char *when, char *reason, int size);

/* A half begins and ends: accounts. */
void na_agent_begin(struct na_agent *a);
void na_agent_end(struct na_agent *a, struct nl_agent_account *account);

/* Leaves it as it was found; `left` says how. Safe to repeat. */
void na_agent_restore(struct na_agent *a, char *left, int size);

void na_agent_free(struct na_agent *a);

/* ---- for the ways ---- */

/* Adds a line to the certificate's warnings, each text once. */
void na_warn(struct na_agent *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Shared by the ways that freeze: a->freeze.given or a->set says whom. */
int na_frozen_check(struct na_agent *a, char *reason, int size);
int na_frozen_place(struct na_agent *a, char *reason, int size);
int na_frozen_on(struct na_agent *a, char *reason, int size);
int na_frozen_off(struct na_agent *a, char *reason, int size);
void na_frozen_members(struct na_agent *a);
#define NA_FROZEN_HOOKS .place = na_frozen_place, .on = na_frozen_on, .off = na_frozen_off, .members = na_frozen_members

/* Shared by the ways that freeze a cgroup: takes its members in, and refuses empty ones. `what`: for messages. */
int na_cgroup_check(struct na_agent *a, const char *directory, const char *what, char *reason, int size);
int na_cgroup_lives(struct na_agent *a, char *reason, int size);

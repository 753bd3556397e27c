/* The agent: what is switched, how, and what is known about it. Ways to switch are rows of a table (ways.c), one small file each. */
#pragma once

#include "common/page/nl_agent.h"
#include "noisegen/agent/companion_options.h"
#include "noisegen/agent/cpu.h"
#include "noisegen/agent/freeze.h"
#include "noisegen/agent/proc.h"
#include "noisegen/agent/spawn.h"

/* ---- watch.c: one thread, asleep in poll(): does the owner live, what does the agent write, is the record of switches half full ---- */

enum { NA_LOG_BYTES = 1 << 20, NA_WATCH_FDS = 1024, NA_LINE_BYTES = 200 };

struct na_watch {
    struct nl_agent *page; /* closed when the owner dies */
    int owner_fd;          /* pidfd; -1: the kernel has none, and the owner's death is seen with the next command only */
    int pipe[2];           /* the agent's output: [1] is handed to what is started */
    int wake_fd;           /* eventfd: looks at everything anew */
    int null_fd;
    /* under `output`: the log, and the last line that says something, of what was started last */
    pthread_mutex_t output;
    int log_fd; /* -1: output is thrown away */
    int64_t kept_bytes;
    char line[NA_LINE_BYTES], growing[NA_LINE_BYTES]; /* whole; without its end so far */
    int n_growing;
    int64_t read_bytes; /* looked at since the start */
    /* descriptors of the record, and what is called when one is ready; under `lock` */
    pthread_mutex_t *lock;
    struct pollfd extra[NA_WATCH_FDS];
    int n_extra;
    void (*extra_ready)(void *context);
    void *context;
    pthread_t thread;
    int is_up;
    _Atomic uint32_t is_ending;
};

/* Opens the pipe and starts the thread; what is called is the caller's. 0, -1 with errno. */
int na_watch_open(struct na_watch *w, struct nl_agent *page);

/* Keeps the output in this file from now on. 0, -1 with errno. */
int na_watch_log(struct na_watch *w, const char *path);

/* Takes in what was written until now; what comes next counts as said by another program. */
void na_watch_listen(struct na_watch *w);

/* The last line written since then, printable; "" when there was none, or more output than is looked at for it. */
void na_watch_last_line(struct na_watch *w, char *text, int size);

/* Makes the thread look at `extra` anew. */
void na_watch_again(struct na_watch *w);

/* Ends the thread, having taken in what was written. */
void na_watch_close(struct na_watch *w);

/* ---- figures.c: what /proc counts for the agent besides CPU time, as differences between two moments ---- */

struct na_thread { pid_t tid; int64_t voluntary, involuntary, runs, migrations; };

struct na_bytes { pid_t pid; uint64_t dead_children_faults; int64_t read_bytes, written_bytes; /* -1: not permitted */ };

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

/* Reads about four small files per thread, some 20 us each. Threads and processes that began and ended in between are not seen; what is
 * unknown is -1 in the account. */
void na_figures_begin(struct na_figures *f, const struct na_set *set);
void na_figures_end(struct na_figures *f, const struct na_set *set, struct nl_agent_account *account);
void na_figures_free(struct na_figures *f);

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
extern const struct na_way na_way_command, na_way_pid, na_way_cgroup, na_way_unit;

/* ---- for the session. 0, -1 with a line in `reason` ---- */

/* Finds the agent by the options: way, name, state; undo record and children as set by the caller. */
int na_agent_check(struct na_agent *a, char *reason, int size);

/* Takes hold of it. */
int na_agent_place(struct na_agent *a, char *reason, int size);

/* Switches on (1) or off (0), unless it is so already. Returns enum nl_agent_status. */
int na_agent_switch(struct na_agent *a, int on, char *reason, int size);

/* Whether an agent that should be on has ended: NL_AGENT_DIED with a line in `reason`, else NL_AGENT_DONE. Sticky. */
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

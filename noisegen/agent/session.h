/* The companion under a detector: obeys the commands of the page until QUIT, or until its owner is gone. */
#pragma once

#include "common/page/nl_agent.h"
#include "common/sys/nl_guard.h"
#include "noisegen/agent/agent.h"
#include "noisegen/agent/output.h"
#include "noisegen/agent/spawn.h"
#include "noisegen/agent/undo.h"
#include "noisegen/recorder/recorder.h"

/* ---- who.c: who took the CPUs of the ranks: the recorder, half by half, and its files ---- */

struct na_who {
    pthread_mutex_t lock;         /* held by who uses the recorder */
    struct nr_recorder *recorder; /* NULL: nothing is recorded */
    const struct nl_agent *page;
    int cpus[NL_AGENT_MAX_RANKS], n_cpus; /* of ranks, each once; 0: ranks are not bound */
    pid_t tids[NL_AGENT_MAX_RANKS];
    int has_bursts;
    int64_t written_ns; /* when the table of tasks was written last */
};

/* ---- scraper.c: runs a command once per period while it is on, on CPUs of its own, from a thread of its own
 * ---- */

struct na_scraper {
    struct na_command command;
    int64_t period_ns;
    cpu_set_t cpus;
    pthread_mutex_t *children; /* held while a scrape is started */
    pid_t *running;            /* the scrape under way, 0: none; changed under `children` */
    void (*started)(void *context, pid_t pid); /* told of each scrape, under `children`; NULL: nobody */
    void *context;
    /* its own */
    pthread_t thread;
    int is_up; /* the thread runs */
    int64_t left_ns; /* from its next start until a scrape is due */
    _Atomic uint32_t order; /* futex: raised with each start and stop; odd: scraping */
    _Atomic int64_t n_scrapes, n_failed, n_skipped; /* skipped: the one before had not ended */
};

/* ---- guardian.c: undoes what stands in the undo record when the companion is killed, say. As root it is
 * outside of the job's cgroups, too, so that what ends those does not end it. Where not all could be undone
 * it is left to it (nl_guard_leave): it tries again for some minutes ---- */

struct na_session {
    const struct na_options *options;
    struct nl_agent *page;
    struct na_agent agent;
    struct na_agent against;        /* with another version of it: that one; `way` NULL: there is none */
    struct na_options against_options;
    struct na_agent *active;        /* the one that was on last */
    struct na_scraper scraper;
    struct na_watch watch;
    struct na_who who;
    struct nl_guard guardian;
    pthread_mutex_t children; /* held while a child is started that is not the agent */
    uint32_t seen;            /* number of the command being obeyed */
    int is_placed, is_restored, has_quit;
    int64_t heard_ns;         /* when the last command was answered */
    int is_overdue;           /* the lease has ended: the agent was let go */
    int was_scraped;          /* the first scrape has succeeded */
    int cpu;                  /* where we are bound; -1: nowhere, as every CPU has a rank */
    int64_t begin_ns, begin_cpu_ns, begin_scraper_ns;
    int64_t n_halves_on;
    char state_left[NA_REASON_BYTES], against_left[NA_REASON_BYTES];
    const struct na_cpu_source *account; /* of the CPU time; NULL: not opened yet */
};

/* Runs. Returns the exit status. */
int na_session(const struct na_options *options);

/* The parts of it that a dry run takes, too; 0, -1 after a message. Start: guardian, agent and scraper are
 * found and checked; a trial leaves what others have left frozen alone. Files: nothing of ours goes on to
 * what is started. Watch: needs the page. Close: undoes nothing. */
int na_session_start(struct na_session *session, int is_trial);
void na_session_keep_files(void);
int na_session_watch(struct na_session *session);
void na_session_close(struct na_session *session);

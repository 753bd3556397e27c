/* The companion under a detector: obeys the commands of the page until QUIT, or until its owner is gone. */
#pragma once

#include "noisegen/agent/guardian.h"
#include "noisegen/agent/scraper.h"
#include "noisegen/agent/who.h"

struct na_session {
    const struct na_options *options;
    struct nl_agent *page;
    struct na_agent agent;
    struct na_scraper scraper;
    struct na_watch watch;
    struct na_who who;
    struct na_guardian guardian;
    pthread_mutex_t children; /* held while a child is started that is not the agent */
    pthread_mutex_t record;   /* held by who uses the recorder */
    uint32_t seen;            /* number of the command being obeyed */
    int is_placed, is_restored, has_quit;
    int64_t heard_ns;         /* when the last command was answered */
    int is_overdue;           /* the lease has ended: the agent was let go */
    int was_scraped;          /* the first scrape has succeeded */
    int cpu;                  /* where we are bound; -1: nowhere, as every CPU has a rank */
    int64_t begin_ns, begin_cpu_ns, begin_scraper_ns;
    struct nl_agent_account total_on, total_off; /* sums over halves; n_processes and rss_kib: the most */
    int64_t n_halves_on, n_halves_off;
    char state_left[NA_REASON_BYTES];
    char account_source[32], account_reason[512]; /* of the CPU time; "": not opened yet */
};

/* Runs. Returns the exit status. */
int na_session(const struct na_options *options);

/* The parts of it that a dry run takes, too (dry_run.c). Begin: guardian, agent and scraper are found and checked; a trial leaves what
 * others have left frozen alone. Files: nothing of ours goes on to what is started. Watch: needs the page. Close: undoes nothing. 0, -1
 * after a message. */
int na_session_start(struct na_session *session, int is_trial);
void na_session_keep_files(void);
int na_session_watch(struct na_session *session);
void na_session_close(struct na_session *session);

/* The certificate: what was switched, how well, and what it used. Keys: docs/reference/formats.md. */

/* As JSON in one line, to be freed by the caller; NULL without memory. */
char *na_certificate(const struct na_session *session);

/* Adds a half's figures to a sum: unknown ones make the sum unknown. */
void na_account_add(struct nl_agent_account *sum, const struct nl_agent_account *half);

/* The scraper: runs a command once per period while it is on, on CPUs of its own, from a thread of its own. */
#pragma once

#include <pthread.h>

#include "noisegen/agent/spawn.h"

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
    _Atomic uint32_t order; /* futex: raised with each start and stop; odd: scraping */
    _Atomic uint32_t done;  /* futex: raised with each scrape's end */
    _Atomic int64_t n_scrapes, n_failed, n_skipped; /* skipped: the one before had not ended */
};

/* Starts the thread, asleep. 0, -1. */
int na_scraper_open(struct na_scraper *s);

/* From now on: at once, and then once per period. Returns when a scrape has succeeded (only tried with until_success).
 * @return 0, -1 with a line in `reason` when none succeeded within timeout_ns. */
int na_scraper_start(struct na_scraper *s, int until_success, int64_t timeout_ns, const _Atomic uint32_t *stop, char *reason, int size);

/* Ends it, and the scrape under way. */
void na_scraper_stop(struct na_scraper *s);
void na_scraper_close(struct na_scraper *s);

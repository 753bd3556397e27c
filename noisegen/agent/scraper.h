/* Scrapes an agent, as a monitoring server does. */
#pragma once

#include "noisegen/agent/session.h"

/* Starts the thread, asleep. 0, -1. */
int na_scraper_open(struct na_scraper *s);

/* From now on: once per period of the time from starts to stops, so that halves shorter than the period have
 * no more scrapes in a second than long ones; the first in the middle of a period. With until_success one
 * more before that: 0 when it has succeeded, -1 with a line in `reason`. */
int na_scraper_start(struct na_scraper *s, int until_success, int64_t timeout_ns,
                     const _Atomic uint32_t *stop, char *reason, int size);

/* Ends it, and the scrape under way. */
void na_scraper_stop(struct na_scraper *s);
void na_scraper_close(struct na_scraper *s);

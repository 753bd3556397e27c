/* Nothing but scraping: the treatment is the scraping of whatever runs. The session starts and stops the scraper. */
#include "noisegen/agent/agent.h"

static int check(struct na_agent *a, char *reason, int size) {
    (void)reason;
    (void)size;
    snprintf(a->state_found, sizeof a->state_found, "running, not scraped");
    a->is_on = 0;
    return 0;
}

static int nothing(struct na_agent *a, char *reason, int size) {
    (void)a;
    (void)reason;
    (void)size;
    return 0;
}

const struct na_way na_way_scrape = {.name = "scrape", .option = "scrape", .help = "only scraping is toggled; the agent keeps running",
                                     .check = check, .on = nothing, .off = nothing};

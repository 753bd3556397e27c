/* What an agent used between two readings. */
#pragma once

#include "noisegen/agent/agent.h"

/* Reads about four small files per thread, some 20 us each. Threads and processes that began and ended in
 * between are not seen; what is unknown is -1 in the account. */
void na_figures_begin(struct na_figures *f, const struct na_set *set);
void na_figures_end(struct na_figures *f, const struct na_set *set, struct nl_agent_account *account);
void na_figures_free(struct na_figures *f);

/* Which tasks used the CPUs. */
#pragma once

#include "noisegen/recorder/summary.h"

/* Fills at most `most` takers, those with the most time first, by bursts sorted by start, or by the account
 * of CPU time where there are none. Their number, -1 without memory. */
int nr_takers(const struct nr_recorder *recorder, const struct nr_burst *bursts, size_t n,
              struct nr_taker *takers, int most);

/* generator.HOST.trace: when the node's generator ran, taken from its page by the node's first rank and written between halves
 * (docs/reference/formats.md, generator.HOST.trace). */
#pragma once

#include "detector/treatment/treatment.h"

struct nd_burst_log;

/* Makes the file, which must not exist yet. The treatment is borrowed and placed. NULL with errno. */
struct nd_burst_log *nd_burst_log_open(const char *path, const char *host, struct nd_treatment *treatment);

/* The file's time begins, with the first half that is recorded: bursts that began before are left out. */
void nd_burst_log_begin(struct nd_burst_log *log, int64_t now_ns);

/* Takes in what has run so far: at least ten times a second, or bursts are lost. NULL is fine. */
void nd_burst_log_take(struct nd_burst_log *log);

/* Writes what was taken in, but for what may come after a burst that still runs. 0, or -1 with errno. NULL is fine: 0. */
int nd_burst_log_write(struct nd_burst_log *log);

/* Bursts that were not written: too many between two looks, or more than there is room for. */
int64_t nd_burst_log_n_lost(const struct nd_burst_log *log);

/* Writes the rest and the end of the file's time, and frees everything. 0, or -1 with errno. NULL is fine: 0. */
int nd_burst_log_close(struct nd_burst_log *log);

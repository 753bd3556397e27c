/* When bursts ran, kept by the leader of a node. */
#pragma once

#include "detector/treatment/treatment.h"

struct nd_burst_log;
struct nd_burst_log *nd_burst_log_open(const char *path, const char *host, struct nd_treatment *treatment);
void nd_burst_log_begin(struct nd_burst_log *log,
                        int64_t now_ns); /* with the first recorded half: bursts before are left out */
void nd_burst_log_take(
    struct nd_burst_log *log); /* what has run so far: at least ten times a second, or bursts are lost */
int nd_burst_log_write(
    struct nd_burst_log *log); /* but for what may come after a burst that still runs. 0, or -1 with errno */
int64_t nd_burst_log_n_lost(const struct nd_burst_log *log);
int nd_burst_log_close(struct nd_burst_log *log);

/* CPU time of an agent, by the account that is the best here. */
#pragma once

#include "noisegen/agent/agent.h"

/* Opens the best source for these processes, which should stand still or have just been started, so that no
 * thread is missed. starts_processes: whether the agent is known to start short-lived ones; 0: a source that
 * adds cost is not taken. */
void na_cpu_open(struct na_cpu *c, const struct na_set *set, int starts_processes);
void na_cpu_close(struct na_cpu *c);

/* Before the calling thread starts the process, so that nothing of it is missed. 0, -1: na_cpu_open
 * afterwards. */
int na_cpu_open_child(struct na_cpu *c);

void na_cpu_begin(struct na_cpu *c, const struct na_set *set);

/* What was counted since the begin; -1 unknown. */
void na_cpu_end(struct na_cpu *c, const struct na_set *set, int64_t counts[NA_CPU_COUNTS]);

/* Who ran on the ranks' CPUs, recorded beside an agent. */
#pragma once

#include "noisegen/agent/session.h"

/* Opens it for the ranks on the page; the caller holds the lock. 0, -1: refused, the message was said. */
int na_who_open(struct na_who *w, const struct na_options *options, const struct nl_agent *page);
void na_who_close(struct na_who *w);

void na_who_mark(struct na_who *w, pid_t pid, enum nr_group group);
void na_who_begin(struct na_who *w, int arm);
void na_who_end(struct na_who *w, struct nl_agent_account *account);

/* Writes tasks.HOST.csv (by rename), and with `all` bursts.HOST.trace. 0, -1 with a line in `reason`. */
int na_who_write(struct na_who *w, int all, char *reason, int size);

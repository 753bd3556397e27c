/* Who took the CPUs of the ranks: the recorder, driven half by half, and its files. */
#pragma once

#include "noisegen/agent/agent.h"
#include "common/page/nl_agent.h"
#include "noisegen/recorder/recorder.h"

struct na_who {
    struct nr_recorder *recorder; /* NULL: nothing is recorded */
    const struct nl_agent *page;
    int cpus[NL_AGENT_MAX_RANKS], n_cpus; /* of ranks, each once; 0: ranks are not bound */
    pid_t tids[NL_AGENT_MAX_RANKS];
    int has_bursts;
    int64_t written_ns; /* when the table of tasks was written last */
};

/* Opens it for the ranks on the page. With `none` nothing is recorded. 0, -1: refused, the message was said. */
int na_who_open(struct na_who *w, const struct na_options *options, const struct nl_agent *page);

/* "cpu", "thread", "schedstat", "none"; and why nothing better. */
const char *na_who_source(const struct na_who *w);
const char *na_who_reason(const struct na_who *w);

/* Tells it whose the agent's processes are, those of a set or one. */
void na_who_mark_agent(struct na_who *w, const struct na_set *set);
void na_who_mark(struct na_who *w, pid_t pid, enum nr_group group, int with_tree);

void na_who_begin(struct na_who *w, int arm);
void na_who_end(struct na_who *w, struct nl_agent_account *account);

/* Writes tasks.HOST.csv (by rename), and with `all` bursts.HOST.trace. 0, -1 with a line in `reason`. */
int na_who_write(struct na_who *w, int all, char *reason, int size);

void na_who_close(struct na_who *w);

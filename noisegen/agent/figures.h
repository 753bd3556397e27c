/* What /proc counts for the agent's threads and processes besides CPU time, as differences between two moments. */
#pragma once

#include "common/page/nl_agent.h"
#include "noisegen/agent/proc.h"

/* One thread (or, for the bytes, process) at one moment. */
struct na_thread { pid_t tid; int64_t voluntary, involuntary, runs, migrations; };

struct na_bytes {
    pid_t pid;
    uint64_t dead_children_faults;
    int64_t read_bytes, written_bytes; /* -1: not permitted */
};

struct na_moment {
    struct na_thread *threads; /* by tid */
    int n_threads, room_threads;
    struct na_bytes *processes; /* by pid */
    int n_processes, room_processes;
    int64_t rss_kib;
};

struct na_figures {
    struct na_moment begin, end;
    int starts_processes; /* processes of it began or ended in some half so far */
};

/* Takes the moment in. Reads about four small files per thread, some 20 us each. */
void na_figures_begin(struct na_figures *f, const struct na_set *set);

/* Fills wakeups, voluntary, involuntary, migrations, n_processes, n_started, rss_kib, read_bytes, written_bytes; -1 where unknown. Threads
 * and processes that began and ended in between are not seen. */
void na_figures_end(struct na_figures *f, const struct na_set *set, struct nl_agent_account *account);

void na_figures_free(struct na_figures *f);

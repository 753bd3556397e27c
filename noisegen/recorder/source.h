/* A source of what is recorded, one row per source in sources.c, best first; and the recorder's state, which
 * sources share. */
#pragma once

#include "noisegen/recorder/tally.h"
#include "noisegen/recorder/tasks.h"

struct nr_source {
    const char *name;
    const char *what; /* one line for --list sources */
    int has_bursts;   /* sees single bursts: a trace can be written */
    int sees_all;     /* sees tasks that nobody marked */
    int is_cpu_time;  /* its times are the scheduler's account, steal is not in them */
    /* Required. Opens it; -1: why says why it is not possible here. */
    int (*open)(struct nr_recorder *r, char *why, size_t size);
    /* Around a measured stretch, after begin_ns and end_ns are set; `begin` is not required. No allocation in
     * `end`. */
    void (*begin)(struct nr_recorder *r);
    void (*end)(struct nr_recorder *r);
    /* Not required: reads what happened before until_ns. */
    void (*drain)(struct nr_recorder *r, int64_t until_ns);
    /* Required. */
    void (*close)(struct nr_recorder *r);
};

extern const struct nr_source nr_source_cpu, nr_source_thread, nr_source_schedstat, nr_source_proc;
extern const struct nr_source *const nr_sources[]; /* ends with NULL */

struct nr_recorder {
    struct nr_config config; /* its arrays only while it is opened */
    const struct nr_source *source;
    char reason[512];
    int n_cpus;          /* configured: CPU numbers are below it */
    uint8_t *is_watched; /* by CPU */
    uint8_t *is_online;
    uint8_t
        *n_waiting; /* by CPU: ranks that were preempted there and have not run since; kept by source cpu */
    struct nr_rings rings;
    struct nr_tasks tasks;
    struct nr_tally tally;
    void *state; /* the source's own */
    struct nr_burst *bursts;
    int64_t n_bursts, n_beside; /* of them, those of config.beside */

    /* the measured stretch: bursts are clipped to it */
    int arm;
    int64_t begin_ns, end_ns; /* end: INT64_MAX while it lasts; before the first one both are 0 */
    int64_t origin_ns;        /* begin of the first one */
    int64_t enabled_ns;       /* since when switches are recorded */

    struct nr_totals totals, before; /* before: at the begin of this stretch */
    char *stat_text; /* NR_STAT_BYTES(n_cpus) */
    struct nr_cpu_times *times, *times_before; /* by CPU */
    int knows_steal;
    pthread_mutex_t lock; /* sources with a thread of their own hold it while they write */
};

/* A burst seen by a source: clipped to the measured stretch, counted, and kept where asked for. */
void nr_take_burst(struct nr_recorder *r, struct nr_burst burst);

/* A burst of a task by its number, with its name and group as they are now. */
void nr_take_task_burst(struct nr_recorder *r, int64_t start_ns, int64_t end_ns, int cpu, uint32_t tid);

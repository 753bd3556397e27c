/* Who disturbs the ranks now. A watch follows the tasks of this machine by one of two sources; of every
 * interval it makes one sample, in which each figure is computed once; screens, lines, JSON and metrics are
 * printers of samples.
 *
 * It answers for its own noise: it sleeps between intervals, works in portions that last less than half a
 * millisecond (nt_breathe), and says in every sample what it took itself. All functions belong to one thread.
 */
#pragma once

#include "common/base/nl_usual.h"
#include "noisegen/top/walk.h"

enum {
    NT_MOST_ROWS = 512,
    NT_LAST_BURSTS = 64,
    NT_NAME_BYTES = 16,
    NT_UNIT_BYTES = 64,
    NT_USER_BYTES = 24,
    NT_CPUS_BYTES = 32
};

/* ---- the model ---- */

/* One CPU. Shares are of its time, in percent; -1: this source does not see it. */
struct nt_cpu {
    int cpu;
    double lost_percent;   /* to tasks that are not of the program */
    int64_t longest_ns;    /* interruption of the interval */
    int64_t latest_ns;     /* length of the last one */
    int64_t latest_ago_ns; /* its end, before the end of the interval */
    double interruptions_per_second;
    double steal_percent,
        interrupts_percent; /* by /proc/stat: of the last ten seconds or the interval, whichever is longer */
    double unaccounted_percent; /* busy by the same, and by no task that is seen; it is within lost_percent */
    int64_t program_pid;        /* of the program here; 0: none */
    char program[NT_NAME_BYTES];
};

/* One process, with its threads and those of its children that have ended; or what nobody that can be seen
 * had: pid 0. */
struct nt_task {
    int64_t pid;
    char user[NT_USER_BYTES], command[NT_NAME_BYTES], unit[NT_UNIT_BYTES];
    double bursts_per_second; /* a burst: from waking up to going to sleep */
    int64_t length_ns;        /* their mean CPU time; of what does not sleep: the time so far */
    int64_t longest_ns;
    int64_t period_ns;        /* 0: none found; -1: not seen */
    double share_percent;     /* of one CPU */
    double ended_percent;     /* of that by children that have ended */
    char cpus[NT_CPUS_BYTES]; /* those with a twentieth of its time or more, the busiest first */
    int64_t is_program;
    int32_t process; /* nt_last_bursts; -1: none */
};

/* This program itself, since the last sample. */
struct nt_own {
    double cpu_percent; /* of one CPU */
    int64_t longest_ns; /* CPU time between two sleeps */
    double wakeups_per_second;
    int64_t cpu_ns; /* since it began */
};

/* Nodes like this one. */
struct nt_scale {
    double slowdown_percent; /* -1: not known (yet) */
    double low_percent,
        high_percent;     /* interval of 95 %, of the record and the walk; high -1: it has no end */
    double error_percent; /* standard error of the walk */
    int64_t span_ns;         /* of the record it is from */
    int n_nodes;
    int64_t every_ns;
};

struct nt_sample {
    struct timespec at; /* CLOCK_REALTIME, its end */
    int64_t interval_ns;
    int n_cpus;
    struct nt_cpu *cpus; /* those that are watched */
    int n_tasks;         /* of rows, those that disturb most first; then those of the program */
    struct nt_task tasks[NT_MOST_ROWS];
    int n_others; /* tasks that ran, and have no row */
    double others_percent, others_bursts_per_second;
    double lost_percent;        /* mean over CPUs */
    double unaccounted_percent; /* sum over CPUs, of one CPU */
    int64_t n_lost;             /* records of switches that the kernel could not write */
    struct nt_own own;
    struct nt_scale scale;
    const char *source;
    char program[256]; /* what is taken for the program, in words */
    char hidden[448];  /* what this source does not see, and what would show it; "": nothing */
};

/* ---- fields: each is defined once, with its unit ---- */

enum nt_unit { NT_PERCENT, NT_NS, NT_PER_SECOND, NT_NUMBER, NT_INT, NT_TEXT };

struct nt_field {
    const char *key;   /* in JSON, its unit at the end */
    const char *title; /* of its column; NULL: it has none */
    const char *help;
    enum nt_unit unit;
    size_t at;
    int width;          /* of the column; negative: to the left */
    int from_columns;   /* the narrowest screen that has it */
    const char *metric; /* for OpenMetrics; NULL: none. Seconds and ratios */
};

extern const struct nt_field nt_cpu_fields[], nt_task_fields[], nt_own_fields[],
    nt_scale_fields[]; /* end with a row without a key */

/* ---- the watch ---- */

enum nt_sort { NT_BY_SHARE, NT_BY_BURSTS, NT_BY_LENGTH, NT_BY_LONGEST, NT_BY_PID, NT_N_SORTS };
extern const char *const nt_sort_names[]; /* by enum nt_sort; ends with NULL */

struct nt_config {
    const char *source; /* "auto", or a name of a source */
    const int *cpus;    /* watched; */
    int n_cpus;         /* 0: all */
    const int *pids;    /* of the program, with their children */
    int n_pids;
    const char *command; /* its tasks' names begin so; NULL: none */
    int n_nodes;
    int64_t every_ns;
    int forgets_bursts; /* nobody asks for periods and nt_last_bursts */
};

struct nt_watch;

/* @return 0, -1 after a message. */
int nt_watch_open(struct nt_watch **watch, const struct nt_config *config);
void nt_watch_close(struct nt_watch *watch);

/* What to poll besides one's own descriptors, at most `max`; nt_watch_drain when one of them can be read. */
int nt_watch_fds(const struct nt_watch *watch, struct pollfd *fds, int max);
void nt_watch_drain(struct nt_watch *watch);

/* Begins the first interval. */
void nt_watch_begin(struct nt_watch *watch);

/* What a sample is made for. */
struct nt_wish {
    enum nt_sort sort;
    int n_rows;       /* of tasks, at most NT_MOST_ROWS */
    int64_t n_visits; /* of the walk at scale, when there is one to be made (each twenty seconds at most, each
                         minute if brief, or if it takes long); the more, the smaller its error */
    int is_brief;     /* rows without user, unit of user tasks, period and CPUs, which metrics have not */
};

/* Ends the interval, tells it, and begins the next one. The sample lives until the next one. */
const struct nt_sample *nt_watch_sample(struct nt_watch *watch, const struct nt_wish *wish);

/* Other CPUs from the next interval on; n 0: all. 0, -1 where one is not there: nothing changes. */
int nt_watch_cpus(struct nt_watch *watch, const int *cpus, int n);

struct nt_burst {
    int64_t start_ns, length_ns;
};

/* The names of the sources, and what they are. */
struct nt_source_words {
    const char *name, *what;
};
extern const struct nt_source_words nt_source_words[]; /* ends with a row without a name */

/* Sleeps for a moment when this thread has run for 0.3 ms since it last slept: what it does is cut into short
 * bursts. After each sleep the caches are cold, so that shorter ones would cost more in all. */
void nt_breathe(struct nt_watch *watch);

/* The same, so that what comes next, which takes about work_ns, and what was done make no long burst. */
void nt_breathe_before(struct nt_watch *watch, int64_t work_ns);

/* Before and after every other sleep of this thread, so that the longest burst is known. */
void nt_sleep_begins(struct nt_watch *watch);
void nt_sleep_ends(struct nt_watch *watch);

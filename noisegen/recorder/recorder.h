/* Who ran on which CPU, from when to when: the best source of the four that the machine allows (sources.c),
 * measured stretches, and a table of tasks. All functions are local and belong to one thread; errors are one
 * line by nl_error.
 *
 * Use: nr_open; nr_mark for every process whose group is known; for each measured half nr_begin, sleep (wake
 * up for nr_fds only), nr_end; then the writers and nr_close. Between nr_begin and nr_end nothing is
 * allocated. Times are CLOCK_MONOTONIC, ns. */
#pragma once

#include "common/base/nl_usual.h"

/* Whose time it is. The rows after NR_OTHER are not tasks. */
enum nr_group {
    NR_OTHER, /* nobody said */
    NR_AGENT, NR_SCRAPER, NR_GENERATOR, NR_NOISELAB, NR_RANK,
    NR_KERNEL,    /* kernel threads, found by the recorder itself */
    NR_IDLE,      /* found by the recorder itself */
    NR_UNKNOWN,   /* no record names the task */
    NR_PREEMPTED, /* a watched thread was off its CPU although it could run ... */
    NR_YIELDED,   /* ... or since it waited */
    NR_IRQ,
    NR_SOFTIRQ,
    NR_STEAL,
    NR_N_GROUPS
};

extern const char *const nr_group_names[NR_N_GROUPS]; /* "agent", "rank", ... as files have it */

/* What is watched. */
enum nr_view {
    NR_VIEW_CPUS,  /* whoever runs on the CPUs (source cpu); by the other sources: the marked tasks, as far as
                      they can be seen */
    NR_VIEW_TASKS, /* the marked tasks only (a trace of an agent); source thread watches them */
    NR_VIEW_THREADS, /* with source thread: when the threads `tids` were off their CPUs; source cpu: as
                        NR_VIEW_CPUS */
    NR_VIEW_ALL      /* whoever runs on the CPUs, by sources that need nobody to be marked */
};

struct nr_config {
    const char *source; /* "auto", or a name of a source */
    enum nr_view view;
    const int *cpus;   /* CPUs watched */
    int n_cpus;        /* 0: all that are online */
    const pid_t *tids; /* NR_VIEW_THREADS: the ranks' own threads */
    int n_tids;
    const pid_t *pids; /* processes that are NR_AGENT from the start, with their children; more by nr_mark */
    int n_pids;
    const char *name;   /* tasks whose name begins so are NR_AGENT, now and later; NULL: none */
    int64_t max_bursts; /* single bursts that are kept for nr_write_bursts; further ones are counted only. 0:
                           none */
    uint32_t keep;      /* bit g: bursts of group g are kept */
    uint32_t beside;    /* the same, for a file of their own: in half of the room at most, so that those of
                           `keep` find theirs */
    int64_t ring_bytes; /* a power of two; 0: 8 MiB, about 100,000 switches. Smaller where the machine allows
                           no more */
};

/* One stretch that a task spent on a CPU (or, with NR_VIEW_THREADS by source thread, off it). */
struct nr_burst {
    int64_t start_ns, end_ns;
    int32_t cpu;   /* -1: not known */
    int32_t tid;   /* 0: not known */
    uint32_t name; /* nr_task_name */
    uint8_t group; /* enum nr_group */
    uint8_t arm;
    uint8_t n_waiting;    /* ranks that waited for this CPU meanwhile; 255: as many or more */
};

/* Sums. A loss is never hidden: ins == outs + bursts that still last, unless records were lost. */
struct nr_totals {
    int64_t wall_ns;               /* measured */
    int64_t ins, outs;             /* switch records seen, in and out of measured stretches */
    int64_t lost;                  /* records that the kernel could not write */
    int64_t cut;                   /* bursts whose begin or end is missing: counted, not invented */
    int64_t not_kept, beside_not_kept; /* bursts that found no room */
    int64_t group_ns[NR_N_GROUPS]; /* time on the watched CPUs, wall; irq, softirq, steal by /proc/stat */
    /* of group_ns: while a rank that was preempted on this CPU waited for it, once for each such rank; source
     * cpu only, which does not see that a sleeping rank has become ready */
    int64_t group_waited_ns[NR_N_GROUPS];
};

struct nr_recorder;

/* Opens the best source possible (or the one named) and begins to record. Of the config only `name` is needed
 * later. 0, -1 after a message. */
int nr_open(struct nr_recorder **recorder, const struct nr_config *config);
void nr_close(struct nr_recorder *recorder);

/* Name of the source in use, and why no better one is ("" where it is the best). Owned by the recorder. */
const char *nr_source(const struct nr_recorder *recorder);
const char *nr_reason(const struct nr_recorder *recorder);

/* A process (its threads, and with_tree its children) belongs to a group from now on, and what it starts
 * later too.
 * @return number of tasks found, 0 when there is no such process. */
int nr_mark(struct nr_recorder *recorder, pid_t pid, enum nr_group group, int with_tree);

/* A measured stretch in an arm (from 0 on) begins or ends now. nr_end may fill `half` with the sums of this
 * stretch (NULL: not wanted).
 */
int nr_begin(struct nr_recorder *recorder, int arm);
int nr_end(struct nr_recorder *recorder, struct nr_totals *half);

/* What to poll for POLLIN besides one's own descriptors: a ring is half full, call nr_drain then.
 * @return number of entries written, at most `max`; 0 for sources without rings. */
int nr_fds(const struct nr_recorder *recorder, struct pollfd *fds, int max);
void nr_drain(struct nr_recorder *recorder);

/* 1 when a process of this group is alive as far as the recorder knows its tree, 0 when none is. Reads /proc:
 * some ms. */
int nr_is_alive(struct nr_recorder *recorder, enum nr_group group);

const char *nr_task_name(const struct nr_recorder *recorder, uint32_t name);

/* An arm's words in the files. */
struct nr_arm_words {
    const char *arm, *kind, *level; /* columns arm, kind, level_requested_percent; "" where empty */
};

/* Writes tasks.HOST.csv (docs/reference/formats.md), header included; bursts.HOST.trace, in the generator's
 * format. @return 0, -1 with errno. */
int nr_write_tasks(const struct nr_recorder *recorder, FILE *file, const char *launch, const char *host,
                   const struct nr_arm_words *arms);
int nr_write_bursts(const struct nr_recorder *recorder, FILE *file, const char *host);

/* The same of those that config.beside asked for. */
int nr_write_beside(const struct nr_recorder *recorder, FILE *file, const char *host);

/* What the sources of a watch share: processes, who ran when, and the record of interruptions. */
#pragma once

#include "noisegen/recorder/source.h"
#include "noisegen/top/spread.h"
#include "noisegen/top/top.h"

/* A process. Its threads are one: people stop processes. */
struct nt_process {
    /* what each switch changes, of this interval: together */
    int64_t run_ns, burst_ns, longest_ns, n_bursts;
    int64_t here_ns; /* of run_ns, on CPU `here`, what the pairs have not yet */
    int32_t here;
    uint8_t is_active; /* ran in this interval */
    uint8_t is_program, is_kernel;
    uint8_t is_named, is_placed; /* name, and user and unit, have been looked for */
    uint8_t has_ended;
    struct nt_burst *last; /* NT_LAST_BURSTS, in a ring; NULL before the first */
    uint32_t n_last;
    uint32_t period_at;     /* n_last when its period was computed, */
    int64_t period_told_ns; /* and when that was */
    int64_t period_ns;
    int64_t ended_ns; /* of this interval */
    pid_t pid;        /* 0: this place is free */
    pid_t parent;
    uid_t uid;
    int32_t row;  /* of the sample under way, + 1; 0: none */
    int32_t heir; /* who is told of it, + 1, now that it has ended; 0: nobody else */
    char name[NT_NAME_BYTES];
    char unit[NT_UNIT_BYTES];
    /* source proc */
    int n_threads;                 /* that are known */
    int64_t dead_ns;               /* what its ended children had used at the last look; */
    int64_t dead_seen_ns;          /* of which so much was told before they ended */
    int64_t clock_ns;              /* its CPU time by its clock, at that look; */
    uint32_t clock_look, moved_at; /* and the last one at which it was more than before */
    int64_t unseen_ns;             /* what it had in between, less what its threads had that are known */
};

/* A thread under way from waking up to going to sleep. */
struct nt_thread {
    int32_t process;
    uint8_t is_in_burst;
    int64_t start_ns, busy_ns;
};

/* Somebody ran on a CPU. */
struct nt_stretch {
    int64_t start_ns, end_ns;
    int32_t process, cpu;
};

/* Who has a CPU, by the records so far. */
struct nt_runner {
    enum {
        NT_NOBODY /* not known */,
        NT_SOMEBODY /* since the beginning; the next record tells */,
        NT_KNOWN,
        NT_IDLE
    } knowledge;
    uint32_t tid;
    int32_t process;
    struct nt_thread *thread; /* NULL: not known, or of a number out of range */
    int64_t since_ns;
    /* the interruption under way, once it is known who is of the program; end 0: none */
    int64_t cut_start_ns, cut_end_ns;
    int64_t cut_told_ns; /* up to here it is in the record */
};

enum { NT_MOST_PROCESSES = 1 << 17, NT_STRETCHES = 1 << 16, NT_TRAIN = 4096, NT_SLOTS = 12 };

#define NT_MINUTE_NS INT64_C(60000000000)
#define NT_SLOT_NS   (NT_MINUTE_NS / NT_SLOTS)

/* The interruptions of the last minute, the longest ones where there are too many. */
struct nt_train {
    struct nt_event events[NT_TRAIN]; /* by end */
    int n;
    int64_t least_ns; /* shorter ones are not kept */
    int64_t since_ns; /* recorded from here on */
    /* what the CPUs lost in all, in slots of five seconds: what is not kept one by one is a share of the CPU
     */
    int64_t slot_start_ns[NT_SLOTS + 1];
    int64_t *lost_ns[NT_SLOTS + 1]; /* by CPU */
    int slot;
};

/* What is sorted. */
struct nt_order {
    double key;
    int32_t process;
};

struct nt_source {
    const char *name;
    int sees_bursts; /* single switches: bursts, interruptions, periods */
    /* -1: why says why it is not possible here. */
    int (*open)(struct nt_watch *w, char *why, size_t size);
    /* Takes in what happened until then. */
    void (*look)(struct nt_watch *w, int64_t until_ns);
    void (*close)(struct nt_watch *w);
};

extern const struct nt_source nt_source_cpu, nt_source_proc;

struct nt_watch {
    struct nt_config config;
    const struct nt_source *source;
    char reason[256]; /* why there is no better source */
    int n_cpus;       /* configured: CPU numbers are below it */
    uint8_t *is_online, *is_watched;
    int n_watched;

    struct nt_process *processes; /* NT_MOST_PROCESSES */
    int n_processes;
    int32_t *free_places; /* of processes */
    int n_free, free_room;
    int32_t *ended; /* processes that have ended, and are yet to be told */
    int n_ended, ended_room;
    int32_t *process_of; /* by process number: index + 1; 0: not known. Pages of numbers that are not in use
                            take no memory */
    struct nt_thread **thread_of; /* by thread number, in pages of NT_THREAD_PAGE */
    uint32_t n_numbers;
    struct nt_burst *spare_lasts; /* of processes that have ended, which the next ones take: the first word of
                                     each is the address of another one */
    int32_t *active;              /* processes that ran in this interval */
    int n_active, active_room;

    struct nt_stretch *stretches; /* NT_STRETCHES, of this interval */
    int n_stretches;
    struct nr_map pairs; /* ns by process and CPU, of this interval */
    struct nr_rings rings;
    struct nt_runner *runners; /* by CPU */
    int64_t enabled_ns, n_lost;
    int n_turns, n_in_turn; /* source proc: so many quiet tasks are looked at once in n_turns intervals */
    void *state;            /* the source's own */

    /* of the interval, by CPU */
    int64_t *lost_ns, *n_cuts, *longest_ns, *latest_ns, *latest_end_ns;
    int64_t begin_ns, end_ns;
    int32_t *program_of; /* by CPU: its process of the program; -1: none */

    /* /proc/stat, at most each ten seconds */
    char *stat_text;
    struct nt_stat {
        int64_t busy_ns, steal_ns, irq_ns;
    } * stat, *stat_before;
    int64_t stat_ns;                                           /* when it was read last; 0: never */
    int64_t *accounted_ns;                                     /* by CPU, since then */
    int has_stat;                                              /* what follows is known */
    double *steal_percent, *irq_percent, *unaccounted_percent; /* by CPU; -1: not known yet */
    int knows_steal;

    struct nt_train train;
    struct nt_walked walked; /* by the walks so far, the older ones less */
    struct nt_spread_ends ends; /* of the interval, by the last one */
    int64_t walk_ns;         /* when the last one was made */
    int64_t walk_visits;     /* that it took */
    uint64_t walk_seed;

    struct nt_sample *sample;
    int has_named_program;
    struct {
        uid_t uid;
        char name[NT_USER_BYTES];
    } * users;
    int n_users, users_room;

    int64_t slept_cpu_ns; /* this thread's CPU time at its last sleep */
    int64_t awake_ns;     /* on CLOCK_MONOTONIC, it has run since then at most */
    int64_t own_longest_ns, own_cpu_ns, own_wakeups;
};

/* ---- processes.c ---- */

/* ---- tell.c ---- */

/* ---- scale.c ---- */

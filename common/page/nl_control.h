/* The control page: shared memory between a detector (the owner, one per node) and its generator.
 *
 * The owner creates it (memfd: no name in any file system, gone with the last process), starts `noiselab-gen
 * --control-fd N`, and sends commands. Each command is acknowledged by every worker (one thread per CPU) on
 * its own; the owner measures the generator's CPU time from outside with the generator's CPU clock. A running
 * command is bounded by its length, so even a generator whose owner stands still goes quiet by itself. */
#pragma once

#include "common/page/nl_bursts.h"
#include "common/page/nl_page.h"

#define NL_CONTROL_MAGIC       0x6e6c3365u /* "nl3e" */
#define NL_CONTROL_MAX_LEVELS  64
#define NL_CONTROL_MAX_WORKERS 256
#define NL_CONTROL_MAX_RANKS   1024
#define NL_CONTROL_TEXT_BYTES  65536

enum nl_command {
    NL_COMMAND_NONE = 0,
    NL_COMMAND_PLACE, /* start one worker on each of `cpus` (ends those there were) */
    NL_COMMAND_RUN,   /* run a load from `first_burst_ns` on, then sleep */
    NL_COMMAND_IDLE,  /* stop at once and sleep until the next command */
    NL_COMMAND_QUIT   /* write the certificate into `text` and end */
};

/* What a RUN asks for. */
struct nl_dose {
    int account;          /* that carries what bursts of this treatment owe */
    int kind, pattern;    /* indices into the generator's lists */
    double level_percent; /* of each CPU */
    int64_t period_ns;
    int64_t first_burst_ns; /* CLOCK_MONOTONIC, begin of the first period */
    int64_t n_periods;      /* how long it goes on without another command; 0: sleep */
    int64_t half_ns;        /* how long the half is planned to last: what is looked at for is_burst_due */
    int64_t slot_ns; /* time that a pattern which goes on from half to half is given for this half; 0: as long
                        as the half lasts */
    int64_t extra_ns; /* CPU time on top for each active worker, of what earlier halves lacked; negative: of
                         what they had too much */
    uint64_t seed;    /* of the pattern; the same for a treatment's whole life */
    double
        skip; /* where a pattern that goes on from half to half begins, as a share of its repetition, 0..1 */
    uint8_t is_active[NL_CONTROL_MAX_WORKERS]; /* which workers carry the load; the others answer and sleep */
};

/* What one worker says. Only it writes here. */
struct nl_control_worker {
    _Atomic uint32_t answered_number; /* the last command acknowledged */
    _Atomic int32_t tid;              /* its thread */
    _Atomic int32_t is_burst_due; /* answered with each RUN: whether a burst will be run in this half, as far
                                     as what is owed decides */
    _Atomic int64_t
        requested_ns;        /* what has become due in the account of the last RUN, since its first one */
    _Atomic int64_t owed_ns; /* set before the answer to any command that ends a RUN: what that RUN's account
                                owes by then */
    _Atomic int64_t extra_cpu_ns; /* CPU time of children, which the process's clock does not see */
};

struct nl_control {
    struct nl_page page;
    _Atomic uint32_t command_number; /* raised by the owner with each command; a futex */
    _Atomic int32_t answer_status;   /* reset to 0 by the owner before each command; -1 when a worker refused
                                        it: see `text` */
    _Atomic int32_t is_closed;       /* set for good by nl_control_close: no command starts a load any more */
    int32_t owner_pid;
    _Atomic int32_t generator_pid; /* 0 until the generator is ready */
    _Atomic int32_t n_workers;     /* who has to answer; 1 before PLACE */

    /* the command, valid from the raise of command_number on */
    uint32_t command;                     /* enum nl_command */
    int32_t n_cpus;                       /* PLACE */
    int32_t cpus[NL_CONTROL_MAX_WORKERS]; /* PLACE: operating system's numbers, worker by worker */
    int32_t n_ranks; /* PLACE: whose end ends the load, on this node; 0: only the owner's does */
    int32_t rank_pids[NL_CONTROL_MAX_RANKS]; /* PLACE */
    struct nl_dose dose;                     /* RUN */

    /* the generator's count, since its start */
    _Atomic int64_t bursts_run;

    struct nl_control_worker workers[NL_CONTROL_MAX_WORKERS];
    struct nl_bursts bursts[NL_CONTROL_MAX_WORKERS]; /* of each worker, all levels */

    char text[NL_CONTROL_TEXT_BYTES]; /* the certificate after QUIT, or the reason of a refusal */
};

/* Owner: creates and maps a page, NULL without memory; fd: the memfd, to be inherited by the generator. */
struct nl_control *nl_control_create(int *fd);

/* Generator: maps the page behind an inherited file descriptor; NULL when it is not one of ours. */
struct nl_control *nl_control_attach(int fd);

/* Owner: publishes the command whose fields were filled in, and wakes the generator. Does not wait. */
void nl_control_send(struct nl_control *c, enum nl_command command);

/* Owner: ends any load for good, without waiting. Safe in a signal handler. */
void nl_control_close(struct nl_control *c);

/* Owner: waits until every worker answered the last command, yielding the CPU (the generator may share it).
 * @return 0 answered, -1 refused, -2 not answered within timeout_ns. */
int nl_control_await(struct nl_control *c, int64_t timeout_ns);

/* Owner: sums over the workers. */
int nl_control_n_due(const struct nl_control *c);
int64_t nl_control_requested_ns(const struct nl_control *c);
int64_t nl_control_owed_ns(const struct nl_control *c);
int64_t nl_control_extra_cpu_ns(const struct nl_control *c);

/* Generator: sleeps until the command number differs from `seen`, or until `deadline_ns` (CLOCK_MONOTONIC;
 * negative: for ever).
 * @return 1 a command came, 0 the deadline passed. */
int nl_control_wait(struct nl_control *c, uint32_t seen, int64_t deadline_ns);

/* Generator: worker `worker` answers the command numbered `number`. */
void nl_control_answer(struct nl_control *c, int worker, uint32_t number);

/* Generator: refuses the command now being obeyed; the first one to do so says why. Answer afterwards. */
void nl_control_refuse(struct nl_control *c, const char *reason);

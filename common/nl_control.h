/* The control page: shared memory between a detector (the owner, one per node) and its generator.
 *
 * The owner creates it (memfd: no name in any file system, gone with the last process), starts `noiselab-gen --control-fd N`, and sends
 * commands. Each command is acknowledged; the owner measures the generator's CPU time from outside with the generator's CPU clock. A
 * running command is bounded by its number of bursts, so even a generator whose owner stands still goes quiet by itself. */
#ifndef NL_CONTROL_H
#define NL_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define NL_CONTROL_MAGIC 0x6e6c3163u /* "nl1c" */
#define NL_CONTROL_MAX_LEVELS 64
#define NL_CONTROL_TEXT_BYTES 16384

enum nl_command {
    NL_COMMAND_NONE = 0,
    NL_COMMAND_PLACE, /* pin to `cpu`, which must be in `allowed_cpus` */
    NL_COMMAND_RUN,   /* run `n_bursts` bursts of the level `level_index` from `first_burst_ns` on, then sleep */
    NL_COMMAND_IDLE,  /* stop at once and sleep until the next command */
    NL_COMMAND_QUIT   /* write the certificate into `text` and end */
};

struct nl_control {
    uint32_t magic;
    uint32_t size_bytes;              /* of this structure: both sides must agree */
    _Atomic uint32_t command_number;  /* raised by the owner with each command; a futex */
    _Atomic uint32_t answered_number; /* the last command acknowledged */
    _Atomic int32_t answer_status;    /* 0, or -1 when the command was refused: see `text` */
    _Atomic int32_t is_closed;        /* set for good by nl_control_close: no command starts a load any more */
    int32_t owner_pid;
    _Atomic int32_t generator_pid;    /* 0 until the generator is ready */

    /* the command, valid from the raise of command_number on */
    uint32_t command;         /* enum nl_command */
    int32_t cpu;              /* PLACE: operating system's CPU number */
    int32_t level_index;      /* RUN: the account that carries what bursts of this level owe */
    double level_percent;     /* RUN: of one CPU */
    int64_t period_ns;        /* RUN */
    int64_t first_burst_ns;   /* RUN: CLOCK_MONOTONIC */
    int64_t n_bursts;         /* RUN: bursts planned */
    char allowed_cpus[256];   /* PLACE: list, empty: no limit beyond the machine's */

    /* the generator's counts, since its start */
    _Atomic int64_t bursts_run;
    _Atomic int32_t is_burst_due; /* answered with each RUN: whether a burst will be run, as far as what is owed decides */

    char text[NL_CONTROL_TEXT_BYTES]; /* the certificate after QUIT, or the reason of a refusal */
};

/* Owner: creates and maps a page.
 * @param fd  set to the memfd, to be inherited by the generator.
 * @return the page, NULL when the system has no memory for it. */
struct nl_control *nl_control_create(int *fd);

/* Generator: maps the page behind an inherited file descriptor; NULL when it is not one of ours. */
struct nl_control *nl_control_attach(int fd);

void nl_control_unmap(struct nl_control *c);

/* Owner: publishes the command whose fields were filled in, and wakes the generator. Does not wait. */
void nl_control_send(struct nl_control *c, enum nl_command command);

/* Owner: ends any load for good, without waiting. Safe in a signal handler. */
void nl_control_close(struct nl_control *c);

/* Owner: waits until the last command was answered, yielding the CPU (the generator may share it).
 * @return 0 answered, -1 refused, -2 not answered within timeout_ns. */
int nl_control_await(struct nl_control *c, int64_t timeout_ns);

/* Generator: sleeps until the command number differs from `seen`, or until `deadline_ns` (CLOCK_MONOTONIC; negative: for ever).
 * @return 1 a command came, 0 the deadline passed. */
int nl_control_wait(struct nl_control *c, uint32_t seen, int64_t deadline_ns);

/* Generator: answers the command numbered `number`. */
void nl_control_answer(struct nl_control *c, uint32_t number, int status);

#endif

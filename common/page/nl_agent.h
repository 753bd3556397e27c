/* The agent's page: shared memory between a detector's leader rank (the owner, one per treated node) and the
 * companion of a real agent.
 *
 * The owner creates it, starts `noiselab-agent --control-fd N WORDS...`, and waits until companion_pid is set
 * (or the companion has ended: it has then said why on stderr, with status 2). Commands go one at a time:
 * fill in their fields, nl_agent_send, nl_agent_await. PLACE comes once, before the first switch (MPI is up
 * then); ON and OFF switch outside of measured halves; BEGIN and END enclose a half after the settling time,
 * between which the companion sleeps; QUIT restores the agent's state as found and ends the companion. When
 * the owner dies, or calls nl_agent_close, the state is restored without being told; by its guardian when the
 * companion is killed. */
#pragma once

#include "common/page/nl_page.h"

#define NL_AGENT_MAGIC      0x6e6c6732u /* "nlg2" */
#define NL_AGENT_MAX_RANKS  1024
#define NL_AGENT_MAX_ARMS   64
#define NL_AGENT_NAME_BYTES 64
#define NL_AGENT_TEXT_BYTES 65536

enum nl_agent_command {
    NL_AGENT_NONE = 0,
    NL_AGENT_PLACE, /* takes ranks, host, launch, directory, arms */
    NL_AGENT_ON,  /* takes arm; nothing to do in an agent that is on (and has one arm); answered all the same
                   */
    NL_AGENT_OFF, /* the same for one that is off */
    NL_AGENT_BEGIN, /* takes arm, half */
    NL_AGENT_END,   /* fills `account` */
    NL_AGENT_QUIT   /* fills `text` with the certificate */
};

/* How a command was answered. After anything but DONE `text` holds one line that says why. */
enum nl_agent_status {
    NL_AGENT_DONE = 0,
    NL_AGENT_REFUSED = -1, /* it cannot be done: a launch with this agent makes no sense (not permitted, not
                              found, does not start) */
    NL_AGENT_UNANSWERED = -2, /* nl_agent_await only: not answered in time */
    NL_AGENT_DIED = -3 /* the agent has ended by itself: to BEGIN, END: this half does not count; to ON: there
                        * will be no more on halves. It stays like this for the rest of the launch; OFF, BEGIN
                        * and END of off halves, and QUIT go on working. */
};

/* A rank on this node. */
struct nl_agent_rank {
    int32_t pid, tid; /* of the thread that measures */
    int32_t cpu;      /* operating system's number; -1: not bound to one */
};

/* An arm, as it stands in the files. */
struct nl_agent_arm {
    char name[16];                  /* "off", "on", ... as in the column arm */
    char kind[NL_AGENT_NAME_BYTES]; /* "" in off rows */
    char level[24];                 /* level_requested_percent; "" where there is none */
};

/* The figures of one half, between BEGIN and END, for all processes of the agent on this node; -1 where
 * unknown. */
struct nl_agent_account {
    int64_t wall_ns; /* from the answer to BEGIN to the receipt of END */
    int64_t cpu_ns;  /* CPU time of the agent's processes, those that began and ended meanwhile included */
    int64_t cpu_on_ranks_ns; /* of it, on CPUs of ranks */
    /* of the time in which a rank that was preempted on its CPU waited for it (by source cpu): who ran there
     * meanwhile, once for each such rank. noiselab: ranks on the same CPU, generators, companion and scraper;
     * unknown: tasks without a name, and gaps of the record */
    int64_t waited_for_agent_ns, waited_for_others_ns, waited_for_kernel_ns, waited_for_noiselab_ns,
        waited_unknown_ns;
    int64_t others_on_ranks_ns; /* time on the CPUs of ranks that is neither theirs nor the agent's, and not
                                   idle */
    int64_t scraper_cpu_ns;     /* CPU time of the scrapes that ended meanwhile */
    int64_t wakeups;            /* times that a thread was put on a CPU after having slept */
    int64_t voluntary, involuntary; /* context switches */
    int64_t migrations;
    int64_t n_processes; /* at END */
    int64_t n_started;   /* processes that are there at END and were not at BEGIN; those that ended in between
                            are not seen */
    int64_t rss_kib;     /* resident memory at END, summed */
    int64_t read_bytes, written_bytes; /* by read() and write() and the like, whatever is behind them */
    int64_t observer_cpu_ns;           /* CPU time of the companion itself */
    int64_t observer_on_ranks_ns;      /* of it, on CPUs of ranks */
    int64_t lost_switches, ins, outs;  /* of the record of switches on the ranks' CPUs */
};

struct nl_agent {
    struct nl_page page;
    _Atomic uint32_t command_number;  /* raised by the owner with each command; a futex */
    _Atomic uint32_t answered_number; /* the last command answered; a futex */
    _Atomic int32_t answer_status;    /* enum nl_agent_status */
    _Atomic uint32_t is_closed; /* set for good by nl_agent_close: the agent is to be left as it was found */
    int32_t owner_pid;
    _Atomic int32_t companion_pid; /* 0 until the companion is ready */

    /* the command, valid from the raise of command_number on */
    uint32_t command; /* enum nl_agent_command */
    int32_t n_ranks;  /* PLACE: on this node; all others of PLACE, too */
    struct nl_agent_rank ranks[NL_AGENT_MAX_RANKS];
    char host[256];
    char launch[256];         /* the launch's name, as in the column launch */
    char directory[PATH_MAX]; /* of the launch, absolute; "": no files are written */
    int64_t lease_ns; /* a frozen agent is let run again when no command comes for so long; commands are
                         refused then. 0: never */
    int32_t n_arms;
    struct nl_agent_arm arms[NL_AGENT_MAX_ARMS];
    int32_t arm;  /* ON, BEGIN: index into arms */
    int64_t half; /* BEGIN: number of the half, for messages */

    /* the answer */
    int64_t switch_ns; /* ON, OFF: from the receipt of the command until the state was reached */
    struct nl_agent_account account; /* END */
    char text[NL_AGENT_TEXT_BYTES];  /* QUIT: the certificate; otherwise the reason of an answer that is not
                                        DONE */
};

/* Owner: creates and maps a page. NULL when the system has no memory for it. */
struct nl_agent *nl_agent_create(int *fd);

/* Owner: publishes the command whose fields were filled in, and wakes the companion. Does not wait. */
void nl_agent_send(struct nl_agent *a, enum nl_agent_command command);

/* Owner: waits until the last command is answered (enum nl_agent_status), yielding the CPU for 200 us and
 * then asleep; in slices of timeout_ns, between which to look whether the companion still lives. */
int nl_agent_await(struct nl_agent *a, int64_t timeout_ns);

/* Owner: the agent is to be left as it was found, at once; later commands are answered without switching.
 * Does not wait. Safe in a signal handler. */
void nl_agent_close(struct nl_agent *a);

/* Companion: answers the command numbered `number`. `reason`: NULL, or the line for `text`. */
void nl_agent_answer(struct nl_agent *a, uint32_t number, enum nl_agent_status status, const char *reason);

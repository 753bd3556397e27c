/* The time a thread has spent on a CPU, from the switch to it until the switch away from it, as others on
 * that CPU lose it.
 *
 * The kernel's account of a thread's CPU time (CLOCK_THREAD_CPUTIME_ID) begins with the wake-up and so holds
 * what it takes to leave the idle loop, tens of microseconds on an idle virtual CPU; a recorded trace does
 * not. Read from the context-switch records of the thread's own perf event (perf_event_open(2)); needs no
 * privilege where perf_event_paranoid is 2 or less. */
#pragma once

#include "common/base/nl_usual.h"

struct ng_stretch {
    int fd;            /* -1: not open */
    void *ring;        /* one page of control, then the records */
    size_t ring_bytes; /* all of it */
    int64_t total_ns;  /* of the stretches that are over */
    int64_t since_ns;  /* when the one now running began, CLOCK_MONOTONIC */
    int is_on;
};

/* Starts counting for the calling thread. 0, -1 where the system does not allow it; `stretch` is then closed.
 */
int ng_stretch_open(struct ng_stretch *stretch);

/* Time on CPU since it was opened, ns; only on the thread that opened it. No system call. */
int64_t ng_stretch_ns(struct ng_stretch *stretch);

/* A stretch that is not open is fine. */
void ng_stretch_close(struct ng_stretch *stretch);

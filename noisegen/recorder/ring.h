/* The kernel's records of context switches, births, names and ends of tasks: perf_event_open(2), a dummy
 * software event whose only product is such records. One ring per CPU or thread; all are read as one stream
 * in order of time. */
#pragma once

#include <linux/perf_event.h>

#include "common/base/nl_usual.h"

enum nr_record_type {
    NR_RECORD_IN,
    NR_RECORD_OUT,
    NR_RECORD_BIRTH,
    NR_RECORD_NAME,
    NR_RECORD_EXIT,
    NR_RECORD_LOST
};

struct nr_record {
    enum nr_record_type type;
    int64_t time_ns;
    int cpu;
    uint32_t pid, tid;               /* whom it is about; UINT32_MAX: a task that is gone */
    uint32_t parent_pid, parent_tid; /* birth */
    int is_preempted;                /* out: it could run on */
    int64_t in_ns; /* out, of rings that join: when the next task came; 0: another record says it */
    uint32_t in_pid, in_tid; /* who that is */
    char name[16];                   /* name */
};

/* A switch as the kernel writes it into rings that join: who leaves, and who comes. */
struct nr_switch {
    struct perf_event_header out;
    uint32_t next_pid, next_tid;
    uint32_t out_pid, out_tid; /* UINT32_MAX: a task that is gone */
    int64_t out_ns;
    struct perf_event_header in;
    uint32_t last_pid, last_tid;
    uint32_t in_pid, in_tid;
    int64_t in_ns;
};

static inline int nr_is_preempted(const struct perf_event_header *out) {
    return (out->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
}

struct nr_ring {
    int fd;
    struct perf_event_mmap_page *page;
    const char *data; /* the ring, which follows it */
    int cpu;          /* -1: of a thread */
    uint64_t bytes /* a power of two */, tail, head;
    int may_have_lost; /* it was full, or nearly, since its losses were read */
    uint64_t read_lost; /* losses by the event's own count, when it was read last */
    int64_t next_ns; /* of the record at tail */
    uint64_t n_lost; /* by lost records */
};

struct nr_rings {
    struct nr_ring *rings;
    int n, capacity;
    int *heap; /* indices of rings that hold records, the oldest record on top */
    int n_heap, heap_capacity;
    int64_t others_ns; /* the oldest record of the rings that are not on top */
    int joins;         /* set before rings are added, all of CPUs: a task that leaves and the one that comes
                          then are one record, and none says its CPU */
    int *redirected;   /* descriptors of events that write into another one's ring */
    int n_redirected, redirected_capacity;
};

/* What all rings ask for; with_switches 0: only births, names and ends. */
struct perf_event_attr nr_ring_attributes(int with_switches);

/* Opens an event, disabled, with a ring of its own of `bytes`. @return 0, -1 with errno. */
int nr_rings_add(struct nr_rings *rings, struct perf_event_attr *attributes, pid_t tid, int cpu,
                 int64_t bytes);

/* Opens many rings by `open_all`, which adds them: of `bytes`, or of half of it, and so on down to 64 KiB,
 * where the limits of locked memory, which are for all rings of a user together, say so. @return 0, -1 with
 * errno. */
int nr_rings_share(struct nr_rings *rings, int (*open_all)(void *context, int64_t bytes), void *context,
                   int64_t bytes);

/* Opens an event on the same CPU that writes into ring `to`. @return 0, -1 with errno. */
int nr_rings_redirect(struct nr_rings *rings, struct perf_event_attr *attributes, pid_t tid, int cpu, int to);

/* Records from now on. @return 0, -1 with errno. */
int nr_rings_enable(struct nr_rings *rings);

/* Begins a pass over what the rings hold now; nr_rings_next hands out the records older than until_ns, oldest
 * first (1), or ends (0); nr_rings_done gives the room back to the kernel. No allocation. */
void nr_rings_look(struct nr_rings *rings);
int nr_rings_next(struct nr_rings *rings, int64_t until_ns, struct nr_record *record);
void nr_rings_done(struct nr_rings *rings);

/* Of rings that join, before nr_rings_next: the switches that come next, where they lie side by side, at most
 * `most`, all of one CPU. They are good until nr_rings_done. Their number; 0: nr_rings_next says what comes
 * next. */
int nr_rings_switches(struct nr_rings *rings, int64_t until_ns, int most, const struct nr_switch **switches,
                      int *cpu);

/* Records that the kernel could not write until now, those included of which no record tells yet. */
uint64_t nr_rings_lost(struct nr_rings *rings);

/* `joins` stays. */
void nr_rings_close(struct nr_rings *rings);

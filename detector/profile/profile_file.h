/* The file of one rank of a profiled program. It is mapped memory, of constant size, so whatever ends the
 * program leaves it as it was after the last call. In the byte order of the machine that wrote it; noiselab
 * profile makes tables of it (docs/reference/formats.md, "noiselab profile"). */
#pragma once

#include "common/base/nl_usual.h"
#include "common/sys/nl_kernel.h"

#define NF_MAGIC "NLPROF4"
enum { NF_MAX_BEATS = 8192 };
enum {
    NF_MAX_ROWS = 384,
    NF_MAX_SAMPLES = 16384,
    NF_MAX_COMMUNICATORS = 256,
    NF_MAX_NAMES = 160,
    NF_NAME_BYTES = 32
};
/* the environment variable that names the folder of the files; without it the library does nothing */
#define NF_ENVIRONMENT "NOISELAB_PROFILE"

/* How far the program has come. */
enum nf_state { NF_RUNNING, NF_FINALIZED, NF_ABORTED };

/* Root of a row, where it is not the one rank. */
enum { NF_NO_ROOT = -1, NF_CHANGING_ROOT = -2 };

/* NF_LATER: nonblocking and persistent collectives, which end in a wait. */
enum nf_class { NF_SYNCHRONISING = 's', NF_COLLECTIVE = 'c', NF_LATER = 'l', NF_POINT_TO_POINT = 'p' };

enum nf_communicator_kind { NF_NO_COMMUNICATOR, NF_WORLD, NF_PART };

/* Calls of one operation, of one size and kind of communicator. */
struct nf_row {
    uint16_t operation;   /* index of nf_file.names */
    uint8_t size_class;   /* 0: no bytes; else 1 + log2 of the bytes, rounded down */
    uint8_t communicator; /* enum nf_communicator_kind: as large as MPI_COMM_WORLD, or a part */
    int32_t n_ranks;      /* of the communicator; 0: none */
    int32_t root;
    uint64_t n_calls;
    int64_t bytes;
    int64_t inside_ns, longest_ns, shortest_ns;
    int64_t outside_ns; /* since the thread's last call of any row ended */
};

/* A call of a synchronising operation that was looked at. Times by the rank's own clock. */
struct nf_sample {
    uint64_t call;         /* number of the synchronising call on this communicator, from 1 */
    uint32_t communicator; /* id */
    uint16_t operation;
    uint16_t has_slept; /* 1: it gave up its CPU of itself since `since_ns` */
    int64_t since_ns;   /* end of the call before this one on this communicator */
    int64_t arrived_ns, left_ns;
    /* of the time from since_ns to arrived_ns: */
    int64_t preempted_ns;                     /* waited for its CPU */
    int64_t off_cpu_ns;                       /* neither ran nor waited: a hypervisor's steal, or sleep */
    int64_t mpi_ns;                           /* in other calls, and what watching them took */
    int64_t mpi_preempted_ns, mpi_off_cpu_ns; /* of that; -1: not known, there were too many calls */
};

struct nf_communicator {
    uint32_t
        id; /* the same on all its ranks: of its members, and how many of these members there were before */
    int32_t n_ranks;
    int32_t kind;
    uint32_t members; /* a hash of their ranks in MPI_COMM_WORLD */
};

/* This rank's clock against rank 0's: local - global = offset_ns + drift * (local - at_ns). */
struct nf_clock_model {
    int64_t at_ns, offset_ns;
    double drift;
    double bound_ns; /* offset_ns is off by no more; 0: one clock */
};

/* Where the first thread stood right after a beat. All clocks are the thread's own. */
struct nf_mark {
    uint64_t beat;
    int64_t mono_ns;                /* CLOCK_MONOTONIC */
    int64_t wall_ns;                /* CLOCK_MONOTONIC_RAW */
    int64_t cpu_ns, waited_ns;      /* as of nl_thread_times */
    int64_t involuntary, voluntary; /* switches off its CPU */
};

/* Beats: calls of one row by the first thread. Another process, which follows the program, writes what stands
 * in the first part; the rank answers in the second. Nobody waits for anybody. */
struct nf_beats {
    uint32_t row;                /* 1 + index of the row whose calls are beats; 0: none */
    uint32_t asked;              /* a stretch is asked for where this differs from `done` */
    uint64_t n_wanted;           /* the stretch begins at the next beat, and has so many */
    uint64_t n;                  /* so far */
    uint32_t begun, done;        /* the last stretch that did, as numbered by `asked` */
    struct nf_mark first, last;  /* of that stretch */
    int64_t at_ns[NF_MAX_BEATS]; /* when beat n ended, at n modulo this; by the program's clock */
};

/* What the kernel counts for a rank itself: of the process, but for its moves to another CPU, which are those
 * of the thread that called MPI_Init. */
enum nf_rank_count {
    NF_FAULTS, /* minor and major */
    NF_MAJOR_FAULTS,
    NF_VOLUNTARY,
    NF_INVOLUNTARY,
    NF_MOVES,
    NF_N_RANK_COUNTS
};

/* Counts from the end of MPI_Init to the begin of MPI_Finalize, or MPI_Abort; -1: not known. */
struct nf_counters {
    int64_t span_ns; /* between the two readings; 0: there was no second one, and there are no counts */
    int64_t rank[NF_N_RANK_COUNTS];
    int64_t kernel[NL_N_KERNEL]; /* of the CPUs that the thread might use at the end of MPI_Init */
    int32_t n_cpus;              /* so many */
};

struct nf_file {
    char magic[8];
    uint32_t file_bytes, row_bytes; /* a reader of another version sees that it is one */
    int32_t rank, n_ranks, node, n_nodes, pid;
    int32_t thread_level; /* as MPI_Init_thread provided */
    int32_t state;        /* enum nf_state */
    int32_t tid;          /* of the thread that called MPI_Init */
    int32_t
        can_see_waits; /* 1: preempted_ns is the scheduler's account; 0: it has all the time off the CPU */
    char host[256], clock[32], library[128], program[256];
    int64_t started_ns, last_ns;            /* local clock; last_ns: end of the last call */
    struct nf_clock_model at_start, at_end; /* at_end: after NF_FINALIZED */
    int64_t sample_cost_ns;
    int64_t n_calls, mpi_ns;
    struct nf_counters counters;
    uint32_t n_rows, n_samples, n_communicators;
    uint32_t every_log2;   /* of the calls that were looked at at least every 2^this-th is still there */
    uint64_t n_sampled;    /* also those that made room later */
    uint64_t n_lost_calls; /* in no row: more than NF_MAX_ROWS kinds of call */
    char names[NF_MAX_NAMES][NF_NAME_BYTES];
    char classes[NF_MAX_NAMES]; /* enum nf_class */
    struct nf_beats beats;
    struct nf_communicator communicators[NF_MAX_COMMUNICATORS];
    struct nf_row rows[NF_MAX_ROWS];
    struct nf_sample samples[NF_MAX_SAMPLES];
};

_Static_assert(sizeof(struct nf_file) <= 2 << 20, "a rank's profile is to take 2 MiB at most");
_Static_assert(offsetof(struct nf_file, n_ranks) == 20, "noiselab run --app reads it there");

/* What an entry point of the profile does: note the time, let MPI work, note the time, count. Generated code
 * (wrappers.awk) calls it. */
#pragma once

#include <mpi.h>

#include "common/sys/nl_preempted.h"
#include "detector/profile/profile_file.h"
#include "detector/sync/clocks.h"

#define NF_EXPORT __attribute__((visibility("default")))

/* Persistent collectives are part of MPI 4. Open MPI had them before: as an extension with names of its own
 * in 4, by their right names in 5. */
#define NF_EXTENSION 1
#define NF_STANDARD  2
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define NF_PERSISTENT NF_EXTENSION
#endif
#elif MPI_VERSION >= 4 || defined(OPEN_MPI)
#define NF_PERSISTENT NF_STANDARD
#endif

/* One call under way. */
struct nf_call {
    int64_t entered_ns, left_ns;
    struct nf_sampled *sampled; /* NULL: its arrival is not looked at */
    int64_t preempted_ns, off_cpu_ns, mpi_ns, since_ns;
    int64_t mpi_preempted_ns, mpi_off_cpu_ns; /* inside the other calls since then; -1: these were too many */
    int has_slept;
    /* within a stretch that will be looked at, what the thread loses inside this call is known, too */
    int is_watched;
    int64_t watched_from_ns; /* before its thread's times were read */
    struct nl_thread_times times;
};

/* What every call needs of the process. */
struct nf_process {
    struct nf_file *file; /* NULL: nothing is counted */
    struct nd_clock clock;
    int needs_lock; /* 1: MPI_THREAD_MULTIPLE */
    int n_to_watch; /* the next so many calls of the first thread are watched: they lie in a stretch that will
                       be looked at */
};
extern struct nf_process nf_process;

struct nf_thread {
    int is_inside;   /* 1: MPI's own calls of itself, and those of the profile, are not the program's */
    int is_first;    /* 1: the thread that called MPI_Init; its waits are known */
    int64_t left_ns; /* end of its last call; 0: none */
};
/* a library that is loaded at the start may have its variables beside the program's own: no call to reach
 * them */
extern __thread struct nf_thread nf_thread __attribute__((tls_model("initial-exec")));

/* Reads the thread's times before a call within a stretch that will be looked at. */
void nf_watch(struct nf_call *c);

/* 0: let MPI work, and nothing else. */
static inline int nf_enter(struct nf_call *c) {
    if (!nf_process.file || nf_thread.is_inside) return 0;
    nf_thread.is_inside = 1;
    c->sampled = NULL;
    c->is_watched = 0;
    if (nf_process.n_to_watch && nf_thread.is_first) nf_watch(c);
    c->entered_ns = nd_clock_now(&nf_process.clock);
    return 1;
}

static inline void nf_left(struct nf_call *c) { c->left_ns = nd_clock_now(&nf_process.clock); }
static inline void nf_leave(void) { nf_thread.is_inside = 0; }

/* A synchronising call on `comm` begins: decides whether its arrival is looked at. */
void nf_arrive(struct nf_call *c, MPI_Comm comm);

/* A call has ended well. `comm` may be MPI_COMM_NULL. */
void nf_count(const struct nf_call *c, int operation, MPI_Comm comm, int root, int64_t bytes);
void nf_comm_free(MPI_Comm comm);

/* Makes the process's rows ready for a file that is all zero but for who it is. */
void nf_count_open(void);

/* Bytes of so many; 0 for none, and for no type. */
int64_t nf_size(int count, MPI_Datatype type);
int64_t nf_sum(const int *counts, int n, MPI_Datatype type);
int nf_ranks_of(MPI_Comm comm);
#define SIZE(count, type)   nf_size(count, type)
#define N                   nf_ranks_of(comm)
#define SUM(counts, type)   nf_sum(counts, N, type)
#define PLACE(buffer, a, b) ((buffer) == MPI_IN_PLACE ? (b) : (a))

/* The function of this name that the program would have called without the profile; ends the process where
 * there is none. */
void *nf_next(const char *name);

/* Generated: the operations' names, in the order of their numbers. */
extern const char *const nf_names[];
extern const char nf_classes[]; /* enum nf_class of each */
extern const int nf_n_calls;

/* Data types and reductions, with the values that buffers are filled with: chosen so that every reduction is
 * exact in any order. */
#pragma once

#include <mpi.h>

#include "common/base/nl_usual.h"

struct nd_datatype {
    const char *name, *help;
    int size_bytes;                 /* at most ND_DATA_MOST_BYTES */
    int is_floating, is_arithmetic; /* byte is neither */
    MPI_Datatype (*mpi)(void);
    void (*put)(void *buffer, int64_t i, int64_t value); /* buffers need not be aligned */
    int64_t (*get)(const void *buffer, int64_t i);       /* INT64_MIN: no whole number below 2^53 */
};
extern const struct nd_datatype *const nd_datatypes[]; /* ends with NULL */
extern const struct nd_datatype nd_type_byte, nd_type_int, nd_type_long, nd_type_float, nd_type_double;

#define ND_DATA_MOST_BYTES 8

struct nd_reduction {
    const char *name, *help;             /* help: the data types that know it, "of int long" */
    int needs_arithmetic, needs_integer; /* which data types know it */
    MPI_Op (*mpi)(void);
    int64_t (*value)(int rank, int64_t i); /* what rank puts into element i */
    int64_t (*combine)(int64_t a, int64_t b);
};
extern const struct nd_reduction *const nd_reductions[]; /* ends with NULL; the first is sum */

/* MPI 3.1, section 5.9.2. */
int nd_reduction_knows(const struct nd_reduction *r, const struct nd_datatype *t);

/* Values repeat after so many elements and ranks, both prime: a block that lies where another should is seen.
 */
#define ND_DATA_CYCLE      163
#define ND_DATA_RANK_CYCLE 41

/* What receive buffers are poisoned with; neither a moved value nor a result of any reduction consists of
 * this byte. */
#define ND_DATA_POISON 0xA5

/* Element i of the reduction over ranks first..last: what a check compares with. The cost does not grow with
 * the ranks. 0: last < first. */
int64_t nd_reduction_expected(const struct nd_reduction *r, int first, int last, int64_t i);

/* Element i of what rank `from` moves to rank `to`: 0..162. */
int64_t nd_moved_value(int from, int to, int64_t i);

/* Fills elements at..at+n-1 of a buffer with what rank `from` moves to rank `to`; or compares them with it:
 * 0, -1 when one differs. */
void nd_moved_fill(const struct nd_datatype *t, void *buffer, int64_t at, int64_t n, int from, int to);
int nd_moved_check(const struct nd_datatype *t, const void *buffer, int64_t at, int64_t n, int from, int to);

/* The same of reductions: what a rank brings to it, and elements first_i.. of the result over ranks
 * first..last. */
void nd_reduced_fill(const struct nd_datatype *t, const struct nd_reduction *r, void *buffer, int64_t n,
                     int rank);

int nd_reduced_check(const struct nd_datatype *t, const struct nd_reduction *r, const void *buffer, int64_t n,
                     int first, int last, int64_t first_i);

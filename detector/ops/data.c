#include "detector/ops/data.h"

/* Elements are copied: a buffer may begin anywhere. What is no whole number (a NaN, a fraction) must not
 * equal one. */
#define TYPE(id, type, mpi_type, is_floating, is_arithmetic, n_bytes)                                        \
    static MPI_Datatype mpi_##id(void) { return mpi_type; }                                                  \
    static void put_##id(void *buffer, int64_t i, int64_t value) {                                           \
        type v = (type)value;                                                                                \
        memcpy((char *)buffer + i * (int64_t)sizeof v, &v, sizeof v);                                        \
    }                                                                                                        \
    static int64_t get_##id(const void *buffer, int64_t i) {                                                 \
        type v;                                                                                              \
        memcpy(&v, (const char *)buffer + i * (int64_t)sizeof v, sizeof v);                                  \
        double d = (double)v;                                                                                \
        return !is_floating || (d > -0x1p53 && d < 0x1p53 && d == (double)(int64_t)v) ? (int64_t)v           \
                                                                                      : INT64_MIN;           \
    }                                                                                                        \
    const struct nd_datatype nd_type_##id = {#id,           n_bytes " bytes", sizeof(type), is_floating,     \
                                             is_arithmetic, mpi_##id,         put_##id,     get_##id};

TYPE(byte, unsigned char, MPI_BYTE, 0, 0, "1")
TYPE(int, int, MPI_INT, 0, 1, "4")
TYPE(long, long, MPI_LONG, 0, 1, "8")
TYPE(float, float, MPI_FLOAT, 1, 1, "4")
TYPE(double, double, MPI_DOUBLE, 1, 1, "8")

const struct nd_datatype *const nd_datatypes[] = {&nd_type_byte,  &nd_type_int,    &nd_type_long,
                                                  &nd_type_float, &nd_type_double, NULL};

static int64_t within(int64_t i) { return i % ND_DATA_CYCLE; }
static int64_t nth(int rank) { return rank % ND_DATA_RANK_CYCLE; }

/* 1..41, never 0: a floating zero has two signs. 100,000 ranks sum to some 2 million, which a float still
 * holds exactly (2^24). */
static int64_t small_value(int rank, int64_t i) { return (nth(rank) * 7 + within(i) * 5) % 41 + 1; }

/* 1 and -1: products stay as small as their factors. */
static int64_t sign_value(int rank, int64_t i) { return (nth(rank) + within(i)) % 3 == 0 ? -1 : 1; }

/* 1 in about one of 50: so rare that neither a few ranks nor many make "and" and "or" the same everywhere. */
static int64_t rare(int rank, int64_t i, int bit) { return (nth(rank) + within(i) + 7 * bit) % 50 == 0; }
static int64_t lor_value(int rank, int64_t i) { return rare(rank, i, 0); }
static int64_t land_value(int rank, int64_t i) { return !rare(rank, i, 0); }
static int64_t lxor_value(int rank, int64_t i) { return (nth(rank) + within(i)) % 3 == 0; }

/* Seven bits: the eighth would reach the byte that buffers are poisoned with. */
static int64_t bor_value(int rank, int64_t i) {
    int64_t bits = 0;
    for (int bit = 0; bit < 7; bit++)
        bits |= rare(rank, i, bit) << bit;
    return bits;
}
static int64_t band_value(int rank, int64_t i) { return 0x7F & ~bor_value(rank, i); }
static int64_t bxor_value(int rank, int64_t i) { return (nth(rank) * 37 + within(i) * 11) & 0x7F; }

/* Which types know it, for people. */
#define HELP(needs_arithmetic, needs_integer)                                                                \
    (needs_arithmetic ? needs_integer ? "of int long" : "of int long float double" : "of byte int long")
#define REDUCTION(id, mpi_op, needs_arithmetic, needs_integer, value, combined)                              \
    static MPI_Op mpi_##id(void) { return mpi_op; }                                                          \
    static int64_t combine_##id(int64_t a, int64_t b) { return combined; }                                   \
    static const struct nd_reduction id = {#id,                                                              \
                                           HELP(needs_arithmetic, needs_integer),                            \
                                           needs_arithmetic,                                                 \
                                           needs_integer,                                                    \
                                           mpi_##id,                                                         \
                                           value,                                                            \
                                           combine_##id};

REDUCTION(sum, MPI_SUM, 1, 0, small_value, a + b)
REDUCTION(prod, MPI_PROD, 1, 0, sign_value, a *b)
REDUCTION(min, MPI_MIN, 1, 0, small_value, a < b ? a : b)
REDUCTION(max, MPI_MAX, 1, 0, small_value, a > b ? a : b)
REDUCTION(land, MPI_LAND, 1, 1, land_value, a &&b)
REDUCTION(lor, MPI_LOR, 1, 1, lor_value, a || b)
REDUCTION(lxor, MPI_LXOR, 1, 1, lxor_value, !a != !b)
REDUCTION(band, MPI_BAND, 0, 1, band_value, a &b)
REDUCTION(bor, MPI_BOR, 0, 1, bor_value, a | b)
REDUCTION(bxor, MPI_BXOR, 0, 1, bxor_value, a ^ b)

const struct nd_reduction *const nd_reductions[] = {&sum,  &prod, &min, &max,  &land, &lor,
                                                    &lxor, &band, &bor, &bxor, NULL};

int nd_reduction_knows(const struct nd_reduction *r, const struct nd_datatype *t) {
    return (t->is_arithmetic || !r->needs_arithmetic) && (!t->is_floating || !r->needs_integer);
}

int64_t nd_reduction_expected(const struct nd_reduction *r, int first, int last, int64_t i) {
    if (last < first) return 0;
    int64_t n = (int64_t)last - first + 1, n_cycles = n / ND_DATA_RANK_CYCLE;
    int n_rest = (int)(n % ND_DATA_RANK_CYCLE), n_values = n_cycles ? ND_DATA_RANK_CYCLE : n_rest;
    int64_t rest = 0, values = r->value(first, i); /* over the first n_rest, n_values ranks */
    for (int k = 1; k <= n_values; k++) {
        if (k == n_rest) rest = values;
        if (k < n_values) values = r->combine(values, r->value(first + k, i));
    }
    /* whole cycles by doubling: values holds 1, 2, 4, ... of them */
    int has_any = n_rest > 0;
    for (; n_cycles; n_cycles >>= 1) {
        if (n_cycles & 1) {
            rest = has_any ? r->combine(rest, values) : values;
            has_any = 1;
        }
        if (n_cycles > 1) values = r->combine(values, values);
    }
    return rest;
}

int64_t nd_moved_value(int from, int to, int64_t i) {
    return ((int64_t)from * 31 + (int64_t)to * 17 + i) % ND_DATA_CYCLE;
}

/* What a stretch of elements holds: one cycle, written as the data type's bytes. */
struct cycle {
    int64_t n, size_bytes; /* elements: at most a cycle */
    char bytes[ND_DATA_CYCLE * ND_DATA_MOST_BYTES];
};

static void moved_cycle(struct cycle *c, const struct nd_datatype *t, int64_t n, int from, int to) {
    c->n = n < ND_DATA_CYCLE ? n : ND_DATA_CYCLE;
    c->size_bytes = t->size_bytes;
    for (int64_t i = 0; i < c->n; i++)
        t->put(c->bytes, i, nd_moved_value(from, to, i));
}

static void reduced_cycle(struct cycle *c, const struct nd_datatype *t, const struct nd_reduction *r,
                          int64_t n, int first, int last, int64_t first_i) {
    c->n = n < ND_DATA_CYCLE ? n : ND_DATA_CYCLE;
    c->size_bytes = t->size_bytes;
    for (int64_t i = 0; i < c->n; i++)
        t->put(c->bytes, i, nd_reduction_expected(r, first, last, first_i + i));
}

static void cycle_fill(const struct cycle *c, char *to, int64_t n) {
    for (; n > 0; n -= c->n, to += c->n * c->size_bytes)
        memcpy(to, c->bytes, (size_t)((n < c->n ? n : c->n) * c->size_bytes));
}

static int cycle_check(const struct cycle *c, const char *at, int64_t n) {
    for (; n > 0; n -= c->n, at += c->n * c->size_bytes)
        if (memcmp(at, c->bytes, (size_t)((n < c->n ? n : c->n) * c->size_bytes)) != 0) return -1;
    return 0;
}

void nd_moved_fill(const struct nd_datatype *t, void *buffer, int64_t at, int64_t n, int from, int to) {
    struct cycle c;
    moved_cycle(&c, t, n, from, to);
    cycle_fill(&c, (char *)buffer + at * t->size_bytes, n);
}

int nd_moved_check(const struct nd_datatype *t, const void *buffer, int64_t at, int64_t n, int from, int to) {
    struct cycle c;
    moved_cycle(&c, t, n, from, to);
    return cycle_check(&c, (const char *)buffer + at * t->size_bytes, n);
}

void nd_reduced_fill(const struct nd_datatype *t, const struct nd_reduction *r, void *buffer, int64_t n,
                     int rank) {
    struct cycle c;
    reduced_cycle(&c, t, r, n, rank, rank, 0);
    cycle_fill(&c, buffer, n);
}

int nd_reduced_check(const struct nd_datatype *t, const struct nd_reduction *r, const void *buffer, int64_t n,
                     int first, int last, int64_t first_i) {
    struct cycle c;
    reduced_cycle(&c, t, r, n, first, last, first_i);
    return cycle_check(&c, buffer, n);
}

#include "detector/ops/data.h"

#include <string.h>

/* ---- data types ---------------------------------------------------------------------------------------------------------------------- */

/* Elements are copied, not dereferenced: an alignment of one byte is a choice that users have. */
#define INTEGER(name, type, mpi_type)                                                                                                      \
    static MPI_Datatype mpi_##name(void) { return mpi_type; }                                                                              \
    static void put_##name(void *buffer, int64_t i, int64_t value) {                                                                       \
        type v = (type)value;                                                                                                              \
        memcpy((char *)buffer + i * (int64_t)sizeof v, &v, sizeof v);                                                                      \
    }                                                                                                                                      \
    static int64_t get_##name(const void *buffer, int64_t i) {                                                                             \
        type v;                                                                                                                            \
        memcpy(&v, (const char *)buffer + i * (int64_t)sizeof v, sizeof v);                                                                \
        return (int64_t)v;                                                                                                                 \
    }

/* A value that no whole number can stand for (a NaN, a fraction) must not equal one. */
#define FLOATING(name, type, mpi_type)                                                                                                     \
    static MPI_Datatype mpi_##name(void) { return mpi_type; }                                                                              \
    static void put_##name(void *buffer, int64_t i, int64_t value) {                                                                       \
        type v = (type)value;                                                                                                              \
        memcpy((char *)buffer + i * (int64_t)sizeof v, &v, sizeof v);                                                                      \
    }                                                                                                                                      \
    static int64_t get_##name(const void *buffer, int64_t i) {                                                                             \
        type v;                                                                                                                            \
        memcpy(&v, (const char *)buffer + i * (int64_t)sizeof v, sizeof v);                                                                \
        if (!((double)v > -0x1p53 && (double)v < 0x1p53)) return INT64_MIN;                                                                \
        return (double)v == (double)(int64_t)v ? (int64_t)v : INT64_MIN;                                                                   \
    }

INTEGER(byte, unsigned char, MPI_BYTE)
INTEGER(int, int, MPI_INT)
INTEGER(long, long, MPI_LONG)
FLOATING(float, float, MPI_FLOAT)
FLOATING(double, double, MPI_DOUBLE)

const struct nd_datatype nd_type_byte = {"byte", 1, 0, 0, mpi_byte, put_byte, get_byte};
const struct nd_datatype nd_type_int = {"int", sizeof(int), 0, 1, mpi_int, put_int, get_int};
static const struct nd_datatype type_long = {"long", sizeof(long), 0, 1, mpi_long, put_long, get_long};
static const struct nd_datatype type_float = {"float", sizeof(float), 1, 1, mpi_float, put_float, get_float};
const struct nd_datatype nd_type_double = {"double", sizeof(double), 1, 1, mpi_double, put_double, get_double};

const struct nd_datatype *const nd_datatypes[] = {&nd_type_byte, &nd_type_int, &type_long, &type_float, &nd_type_double, NULL};

const struct nd_datatype *nd_datatype_find(const char *name) {
    for (int i = 0; nd_datatypes[i]; i++)
        if (strcmp(nd_datatypes[i]->name, name) == 0) return nd_datatypes[i];
    return NULL;
}

/* ---- reductions ---------------------------------------------------------------------------------------------------------------------- */

static int64_t within(int64_t i) { return i % ND_DATA_CYCLE; }
static int64_t nth(int rank) { return rank % ND_DATA_RANK_CYCLE; }

/* 1..41, never 0: a floating zero has two signs. 100,000 ranks sum to some 2 million, which a float still holds exactly (2^24). */
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
    for (int bit = 0; bit < 7; bit++) bits |= rare(rank, i, bit) << bit;
    return bits;
}
static int64_t band_value(int rank, int64_t i) { return 0x7F & ~bor_value(rank, i); }
static int64_t bxor_value(int rank, int64_t i) { return (nth(rank) * 37 + within(i) * 11) & 0x7F; }

static int64_t add(int64_t a, int64_t b) { return a + b; }
static int64_t multiply(int64_t a, int64_t b) { return a * b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t both(int64_t a, int64_t b) { return a && b; }
static int64_t either(int64_t a, int64_t b) { return a || b; }
static int64_t one_of(int64_t a, int64_t b) { return !a != !b; }
static int64_t bits_both(int64_t a, int64_t b) { return a & b; }
static int64_t bits_either(int64_t a, int64_t b) { return a | b; }
static int64_t bits_one_of(int64_t a, int64_t b) { return a ^ b; }

static MPI_Op mpi_sum(void) { return MPI_SUM; }
static MPI_Op mpi_prod(void) { return MPI_PROD; }
static MPI_Op mpi_min(void) { return MPI_MIN; }
static MPI_Op mpi_max(void) { return MPI_MAX; }
static MPI_Op mpi_land(void) { return MPI_LAND; }
static MPI_Op mpi_lor(void) { return MPI_LOR; }
static MPI_Op mpi_lxor(void) { return MPI_LXOR; }
static MPI_Op mpi_band(void) { return MPI_BAND; }
static MPI_Op mpi_bor(void) { return MPI_BOR; }
static MPI_Op mpi_bxor(void) { return MPI_BXOR; }

/* name, needs_arithmetic, needs_integer, ... */
static const struct nd_reduction sum = {"sum", 1, 0, mpi_sum, small_value, add};
static const struct nd_reduction prod = {"prod", 1, 0, mpi_prod, sign_value, multiply};
static const struct nd_reduction min = {"min", 1, 0, mpi_min, small_value, smaller};
static const struct nd_reduction max = {"max", 1, 0, mpi_max, small_value, larger};
static const struct nd_reduction land = {"land", 1, 1, mpi_land, land_value, both};
static const struct nd_reduction lor = {"lor", 1, 1, mpi_lor, lor_value, either};
static const struct nd_reduction lxor = {"lxor", 1, 1, mpi_lxor, lxor_value, one_of};
static const struct nd_reduction band = {"band", 0, 1, mpi_band, band_value, bits_both};
static const struct nd_reduction bor = {"bor", 0, 1, mpi_bor, bor_value, bits_either};
static const struct nd_reduction bxor = {"bxor", 0, 1, mpi_bxor, bxor_value, bits_one_of};

const struct nd_reduction *const nd_reductions[] = {&sum, &prod, &min, &max, &land, &lor, &lxor, &band, &bor, &bxor, NULL};

const struct nd_reduction *nd_reduction_find(const char *name) {
    for (int i = 0; nd_reductions[i]; i++)
        if (strcmp(nd_reductions[i]->name, name) == 0) return nd_reductions[i];
    return NULL;
}

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

int64_t nd_moved_value(int from, int to, int64_t i) { return ((int64_t)from * 31 + (int64_t)to * 17 + i) % ND_DATA_CYCLE; }

/* ---- buffers ------------------------------------------------------------------------------------------------------------------------- */

/* What a stretch of elements holds: one cycle, written as the data type's bytes. */
struct cycle {
    int64_t n, size_bytes; /* elements: at most a cycle */
    char bytes[ND_DATA_CYCLE * ND_DATA_MOST_BYTES];
};

static void moved_cycle(struct cycle *c, const struct nd_datatype *t, int64_t n, int from, int to) {
    c->n = n < ND_DATA_CYCLE ? n : ND_DATA_CYCLE;
    c->size_bytes = t->size_bytes;
    for (int64_t i = 0; i < c->n; i++) t->put(c->bytes, i, nd_moved_value(from, to, i));
}

static void reduced_cycle(struct cycle *c, const struct nd_datatype *t, const struct nd_reduction *r, int64_t n, int first, int last,
                          int64_t first_i) {
    c->n = n < ND_DATA_CYCLE ? n : ND_DATA_CYCLE;
    c->size_bytes = t->size_bytes;
    for (int64_t i = 0; i < c->n; i++) t->put(c->bytes, i, nd_reduction_expected(r, first, last, first_i + i));
}

static void cycle_fill(const struct cycle *c, char *to, int64_t n) {
    for (; n > 0; n -= c->n, to += c->n * c->size_bytes) memcpy(to, c->bytes, (size_t)((n < c->n ? n : c->n) * c->size_bytes));
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

void nd_reduced_fill(const struct nd_datatype *t, const struct nd_reduction *r, void *buffer, int64_t n, int rank) {
    struct cycle c;
    reduced_cycle(&c, t, r, n, rank, rank, 0);
    cycle_fill(&c, buffer, n);
}

int nd_reduced_check(const struct nd_datatype *t, const struct nd_reduction *r, const void *buffer, int64_t n, int first, int last,
                     int64_t first_i) {
    struct cycle c;
    reduced_cycle(&c, t, r, n, first, last, first_i);
    return cycle_check(&c, buffer, n);
}

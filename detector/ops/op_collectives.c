/* Every row of collectives.table as three operations, and the table of all operations. */
#include "detector/ops/neighbours.h"
#include "detector/ops/ops.h"

#define FIELDS(...) __VA_ARGS__
#define ROW(symbol, title, text, fields, ...)                                                                \
    static const struct nd_op symbol##_op = {.name = title, .help = text, FIELDS fields, __VA_ARGS__};

#if ND_HAS_PERSISTENT
#define PERSISTENT(id, Id, bytes, fields, ...)                                                               \
    static int id##_make(struct nd_op_state *s) {                                                            \
        return ND_PERSISTENT_CALL(Id##_init)(__VA_ARGS__, MPI_INFO_NULL, &s->request);                       \
    }                                                                                                        \
    ROW(id##_init, #id "_init", "persistent MPI_" #Id ": MPI_Start with MPI_Wait" bytes, fields,             \
        .completion = ND_PERSISTENT, .start = id##_make)
#define PERSISTENT_ROW(id) &id##_init_op,
#else
#define PERSISTENT(id, Id, bytes, fields, ...)
#define PERSISTENT_ROW(id)
#endif

#define COLLECTIVE(id, Id, bytes, fields, ...)                                                               \
    static int id##_call(struct nd_op_state *s) { return MPI_##Id(__VA_ARGS__); }                            \
    static int id##_start(struct nd_op_state *s) { return MPI_I##id(__VA_ARGS__, &s->request); }             \
    ROW(id, #id, "MPI_" #Id bytes, fields, .call = id##_call)                                                \
    ROW(i##id, "i" #id, "MPI_I" #id " with MPI_Wait" bytes, fields, .completion = ND_NONBLOCKING,            \
        .start = id##_start)                                                                                 \
    PERSISTENT(id, Id, bytes, fields, __VA_ARGS__)
#include "detector/ops/collectives.table"
#undef COLLECTIVE

extern const struct nd_op nd_op_loadtest, nd_op_empty, nd_op_waitpattern_up, nd_op_waitpattern_null;

const struct nd_op *const nd_ops[] = {
#define COLLECTIVE(id, ...) &id##_op, &i##id##_op, PERSISTENT_ROW(id)
#include "detector/ops/collectives.table"
    &nd_op_loadtest, &nd_op_empty, &nd_op_waitpattern_up, &nd_op_waitpattern_null, NULL,
};

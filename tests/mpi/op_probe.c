/* Runs every operation over sizes, data types, reductions, roots and uses of buffers, and checks the data
 * that arrive. Prints TAP: one line for each row of the table. op_probe [--corrupt] [--all-sets]
 * [OPERATION]...
 * --corrupt: after each right call, single bytes of what was received are changed, which the operation's
 * check has to find.
 * --all-sets: rotates through as many sets of buffers as the machine's caches ask for; a few otherwise. */
#include <mpi.h>

#include "common/base/nl_rng.h"
#include "detector/ops/ops.h"

enum { CALLS = 4, FEW_SETS = 3, MESSAGE_BYTES = 256 };

struct probe {
    int rank, n_ranks;
    int corrupts, uses_all_sets;
    struct nl_rng rng;
    int n_cases, n_corruptions;  /* of the operation; this rank's */
    char message[MESSAGE_BYTES]; /* of the first failure; "" without */
};

/* What of an operation is tried once: an element of the loops below. */
struct trial {
    struct nd_op_options options;
    int64_t bytes;
};

static void fail(struct probe *p, const struct nd_op_state *s, const struct trial *t, int call,
                 const char *what) {
    if (p->message[0]) return;
    snprintf(p->message, sizeof p->message,
             "%s: rank %d of %d, call %d, %lld bytes of %s, %s, root %d%s, %s, %d sets", what, p->rank,
             p->n_ranks, call, (long long)t->bytes, s->datatype ? s->datatype->name : "nothing",
             s->reduction ? s->reduction->name : "no reduction", s->root,
             t->options.rotates_root ? " (rotating)" : "", nd_buffer_use_names[t->options.buffer.use],
             s->buffers.n_sets);
}

/* A rank that the row says is given nothing has the buffer as it was poisoned. */
static int is_untouched(const struct nd_op_state *s) {
    const unsigned char *receive = s->receive;
    for (int64_t i = 0; i < s->buffers.receive_bytes; i++)
        if (receive[i] != ND_DATA_POISON) return 0;
    return 1;
}

static void corrupt(struct probe *p, struct nd_op_state *s, const struct trial *t, int call) {
    if (!nd_op_receives(s)) return;
    unsigned char *receive = s->receive;
    int64_t n = s->buffers.receive_bytes;
    int64_t places[] = {0, n - 1, (int64_t)nl_rng_below(&p->rng, (uint64_t)n)};
    for (int i = 0; i < 3; i++) {
        unsigned char right = receive[places[i]];
        receive[places[i]] ^= (unsigned char)(1 + nl_rng_below(&p->rng, 255));
        if (nd_op_check(s) == 0) fail(p, s, t, call, "a changed byte was not found");
        receive[places[i]] = right;
        p->n_corruptions++;
    }
    if (nd_op_check(s)) fail(p, s, t, call, "the check changes what it checks");
}

static void one_call(struct probe *p, struct nd_op_state *s, const struct trial *t, int call) {
    if (call > 0 && s->needs_advance) nd_op_advance(s);
    int receives = nd_op_receives(s);
    if (t->options.checks_every && receives && nd_op_check(s) == 0)
        fail(p, s, t, call, "the data were right before the operation");
    int64_t start_ns = nd_clock_now(s->clock);
    s->call(s);
    int64_t took_ns = nd_clock_now(s->clock) - start_ns;
    if (strcmp(s->op->name, "waitpattern-up") == 0 && took_ns < (p->rank + 1) * 1000)
        fail(p, s, t, call, "did not wait long enough");
    if (nd_op_check(s)) fail(p, s, t, call, "wrong data (sends, receives, shares, receivers?)");
    if (s->op->has_bytes && t->options.checks_every && !receives && !is_untouched(s))
        fail(p, s, t, call, "data where none arrive (receivers?)");
    if (p->corrupts && !p->message[0]) corrupt(p, s, t, call);
}

static void run_trial(struct probe *p, const struct nd_op *op, const struct trial *t) {
    struct nd_op_state s;
    char reason[256];
    if (nd_op_problem(op, &t->options, t->bytes, p->n_ranks, reason, sizeof reason)) return;
    p->n_cases++;
    if (nd_op_open(op, &t->options, &s, MPI_COMM_WORLD, t->bytes)) {
        if (!p->message[0])
            snprintf(p->message, sizeof p->message, "cannot be opened on rank %d with %lld bytes", p->rank,
                     (long long)t->bytes);
        return;
    }
    /* rotating sets come round once: the second time, what the first left there must not help */
    int n_calls = s.buffers.n_sets > 1 ? s.buffers.n_sets + 1 : CALLS;
    for (int call = 0; call < n_calls; call++)
        one_call(p, &s, t, call);
    nd_op_close(&s);
}

/* Every data type and reduction at some sizes, in elements: one, fewer than ranks share well, more than a
 * cycle of values, more than the libraries send at once. */
static void run_types(struct probe *p, const struct nd_op *op) {
    static const int sizes[] = {1, 7, 1000};
    for (int i = 0; nd_datatypes[i] && (i == 0 || op->uses & ND_USES_DATATYPE); i++)
        for (int k = 0; nd_reductions[k] && (k == 0 || op->uses & ND_USES_REDUCTION); k++)
            for (int size = 0; size < 3; size++) {
                struct trial t = {.options = {.datatype = nd_datatypes[i],
                                              .reduction = nd_reductions[k],
                                              .checks_every = 1}};
                t.options.root = op->completion == ND_PERSISTENT ? p->n_ranks - 1 : 0;
                t.options.rotates_root = op->completion != ND_PERSISTENT;
                t.bytes = sizes[size] * nd_op_datatype(op, &t.options)->size_bytes;
                run_trial(p, op, &t);
            }
}

static void run_buffers(struct probe *p, const struct nd_op *op) {
    for (int root = 0; root < p->n_ranks; root++)
        run_trial(p, op, &(struct trial){{.root = root, .checks_every = 1}, 264});
    run_trial(p, op, &(struct trial){.bytes = 264});
    run_trial(p, op, &(struct trial){{.checks_every = 1}, 160000});
    for (int k = 0; k < 4; k++) {
        struct trial t = {{.checks_every = k % 2, .rotates_root = op->completion != ND_PERSISTENT}, 264};
        t.options.buffer.use = k < 2 ? ND_BUFFER_ROTATE : ND_BUFFER_FLUSH;
        t.options.buffer.n_sets = k < 2 && !p->uses_all_sets ? FEW_SETS : 0;
        run_trial(p, op, &t);
    }
}

/* Nobody leaves a row that says so before the last rank has entered. All are on one machine, and have one
 * clock. */
static void run_late(struct probe *p, const struct nd_op *op) {
    struct trial t = {.bytes = op->has_bytes ? 264 : 0};
    struct nd_op_state s;
    if (!op->is_synchronising || p->corrupts || nd_op_open(op, &t.options, &s, MPI_COMM_WORLD, t.bytes))
        return;
    for (int late = 0; late < p->n_ranks; late++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (p->rank == late) nl_sleep_ns(2000000);
        int64_t entered_ns = nl_mono_ns();
        s.call(&s);
        int64_t left_ns = nl_mono_ns();
        MPI_Bcast(&entered_ns, 1, MPI_INT64_T, late, MPI_COMM_WORLD);
        if (left_ns < entered_ns)
            fail(p, &s, &t, late, "left before the last rank entered (is_synchronising?)");
        if (s.needs_advance) nd_op_advance(&s);
    }
    nd_op_close(&s);
}

/* Prints the operation's line, or lines, on rank 0. Returns 1 when it failed on any rank. */
static int report(struct probe *p, const struct nd_op *op, int number) {
    int mine[3] = {p->message[0] != '\0', p->n_cases, p->n_corruptions}, all[3],
        lowest = mine[0] ? p->rank : p->n_ranks;
    MPI_Allreduce(mine, all, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all[0]) MPI_Bcast(p->message, sizeof p->message, MPI_CHAR, lowest, MPI_COMM_WORLD);
    if (p->rank != 0) return all[0] != 0;
    printf("%sok %d - %s leaves the right data on %d rank%s in %d cases", all[0] ? "not " : "", number,
           op->name, p->n_ranks, p->n_ranks == 1 ? "" : "s", p->n_cases);
    if (p->corrupts) printf(", and %d changed bytes are found", all[2]);
    printf("\n");
    if (all[0]) printf("# %d ranks found something, the first: %s\n", all[0], p->message);
    fflush(stdout);
    return all[0] != 0;
}

static int run_row(struct probe *p, const struct nd_op *op, int number) {
    p->n_cases = p->n_corruptions = 0;
    p->message[0] = '\0';
    if (op->has_bytes)
        run_types(p, op), run_buffers(p, op);
    else
        run_trial(p, op, &(struct trial){.options = {.checks_every = 1}});
    run_late(p, op);
    return report(p, op, number);
}

int main(int argc, char **argv) {
    struct probe p = {0};
    int n_failed = 0, n_rows = 0, first_name = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.n_ranks);
    nl_rng_init(&p.rng, 1, (uint64_t)p.rank);
    for (; first_name < argc && argv[first_name][0] == '-'; first_name++) {
        p.corrupts |= strcmp(argv[first_name], "--corrupt") == 0;
        p.uses_all_sets |= strcmp(argv[first_name], "--all-sets") == 0;
    }
    if (first_name == argc)
        for (int i = 0; nd_ops[i]; i++)
            n_failed += run_row(&p, nd_ops[i], ++n_rows);
    for (int i = first_name; i < argc; i++) {
        const struct nd_op *op = nl_find(nd_ops, argv[i]);
        if (op)
            n_failed += run_row(&p, op, ++n_rows);
        else if (p.rank == 0)
            fprintf(stderr, "op_probe: '%s' is not an operation\n", argv[i]);
        n_failed += !op;
    }
    if (p.rank == 0) printf("1..%d\n", n_rows);
    MPI_Finalize();
    return n_failed > 0;
}

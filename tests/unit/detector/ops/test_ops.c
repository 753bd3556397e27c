/* The parts of operations that need no communication. The few MPI functions they call are replaced below: the
 * test says what rank it is. */
#include "detector/ops/ops.h"
#include "tests/unit/unit.h"

static int fake_rank, fake_n_ranks;
static int n_requests, n_freed; /* persistent ones */

int MPI_Comm_rank(MPI_Comm comm, int *rank) {
    (void)comm;
    *rank = fake_rank;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size) {
    (void)comm;
    *size = fake_n_ranks;
    return MPI_SUCCESS;
}

/* A grid of ranks in one dimension. */
static int n_grids; /* made and not yet freed */
int MPI_Dims_create(int n, int n_dimensions, int sizes[]) {
    for (int i = 0; i < n_dimensions; i++)
        sizes[i] = i ? 1 : n;
    return MPI_SUCCESS;
}

int MPI_Cart_create(MPI_Comm comm, int n_dimensions, const int sizes[], const int is_periodic[], int reorder,
                    MPI_Comm *grid) {
    (void)comm;
    EQUAL(n_dimensions, 3, sizes[0], fake_n_ranks, is_periodic[0], 1, is_periodic[2], 1, reorder, 0);
    *grid = MPI_COMM_SELF;
    n_grids++;
    return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm grid, int dimension, int by, int *from, int *to) {
    assert_true(grid == MPI_COMM_SELF);
    int step = dimension ? 0 : by;
    *from = (fake_rank + fake_n_ranks - step) % fake_n_ranks;
    *to = (fake_rank + step) % fake_n_ranks;
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm) {
    assert_true(*comm == MPI_COMM_SELF);
    n_grids--;
    return MPI_SUCCESS;
}

/* In place of what other ranks say. */
static int fake_agreement; /* sets of buffers that another rank has; 0: as many */
static int fake_failure;   /* 1: another rank has no memory */
int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    (void)send, (void)comm;
    assert_int_equal(count, 1);
    assert_true(type == MPI_INT);
    int *value = receive;
    if (op == MPI_MAX && fake_agreement > *value) *value = fake_agreement;
    if (op == MPI_LOR && fake_failure) *value = 1;
    return MPI_SUCCESS;
}

#if ND_HAS_PERSISTENT
int ND_PERSISTENT_CALL(Bcast_init)(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                                   MPI_Info info, MPI_Request *request) {
    (void)buffer, (void)count, (void)type, (void)root, (void)comm, (void)info;
    *request = (MPI_Request)(intptr_t)(++n_requests);
    return MPI_SUCCESS;
}
#endif

int MPI_Request_free(MPI_Request *request) {
    (void)request;
    n_freed++;
    return MPI_SUCCESS;
}

FIXTURE(fresh) {
    fake_rank = 1;
    fake_n_ranks = 3;
    fake_agreement = fake_failure = n_requests = n_freed = n_grids = 0;
    return 0;
}

static const struct nd_op *row(const char *name) {
    const struct nd_op *op = nl_find(nd_ops, name);
    assert_non_null(op);
    return op;
}

static const struct nd_op_options o; /* without any */

static struct nd_op_state opened(const char *name, const struct nd_op_options *options, int64_t bytes) {
    struct nd_op_state s;
    assert_int_equal(nd_op_open(row(name), options, &s, MPI_COMM_WORLD, bytes), 0);
    return s;
}

TEST_WITH(every_row_is_complete_and_is_found_by_its_name, fresh, NULL) {
    for (int i = 0; nd_ops[i]; i++) {
        const struct nd_op *op = nd_ops[i];
        assert_ptr_equal(nl_find(nd_ops, op->name), op); /* also says that no name stands twice */
        assert_true(strlen(op->help) > 10);
        assert_true(op->completion == ND_BLOCKING ? op->call != NULL : op->start != NULL);
        assert_int_equal(op->has_bytes, op->datatype != NULL);
        assert_int_equal(op->has_bytes,
                         strstr(op->help, "; bytes is") != NULL); /* says what the size is of */
        if (op->uses & ND_USES_REDUCTION) assert_ptr_equal(op->datatype, &nd_type_double);
    }
    assert_null(nl_find(nd_ops, "foo"));
    assert_null(nl_find(nd_ops, ""));
}

/* What a program knows of an operation by its row alone, said here again. */
TEST_WITH(rows_say_who_waits_who_receives_and_what_else_there_is, fresh, NULL) {
    static const char *const names[] = {(" barrier allreduce allgather allgatherv alltoall alltoallv "
                                         "alltoallw reduce_scatter reduce_scatter_block loadtest "),
                                        " bcast gather gatherv scatter scatterv reduce ",
                                        " reduce allreduce reduce_scatter reduce_scatter_block scan exscan ",
                                        " empty waitpattern-up waitpattern-null ",
                                        " gather gatherv reduce ",
                                        " bcast ",
                                        " exscan "};
    for (int i = 0; nd_ops[i]; i++) {
        const struct nd_op *op = nd_ops[i];
        const int is[] = {op->is_synchronising,
                          (op->uses & ND_USES_ROOT) != 0,
                          (op->uses & ND_USES_REDUCTION) != 0,
                          op->is_self_test,
                          op->receivers == ND_TO_ROOT,
                          op->receivers == ND_TO_OTHERS,
                          op->receivers == ND_TO_LATER};
        char name[64];
        snprintf(name, sizeof name, " %s ", op->name);
        for (int k = 0; k < 7 && op->completion == ND_BLOCKING; k++)
            if (is[k] != (strstr(names[k], name) != NULL))
                fail_msg("%s: its row and list %d here differ (waits, root, reduces, self-test, to root, "
                         "others, later)",
                         op->name, k + 1);
    }
}

TEST_WITH(moving_takes_bytes_and_reducing_sums_of_doubles_unless_told_otherwise, fresh, NULL) {
    const struct nd_op_options none = {0}, chosen = {.datatype = nl_find(nd_datatypes, "long"),
                                                     .reduction = nl_find(nd_reductions, "max")};
    assert_string_equal(nd_op_datatype(row("bcast"), &none)->name, "byte");
    assert_string_equal(nd_op_datatype(row("allreduce"), &none)->name, "double");
    assert_string_equal(nd_op_reduction(row("allreduce"), &none)->name, "sum");
    assert_string_equal(nd_op_datatype(row("bcast"), &chosen)->name, "long");
    assert_string_equal(nd_op_datatype(row("scan"), &chosen)->name, "long");
    assert_string_equal(nd_op_reduction(row("scan"), &chosen)->name, "max");
    assert_null(nd_op_reduction(row("bcast"), &chosen));
    assert_null(nd_op_datatype(row("barrier"), &chosen));
    assert_string_equal(nd_op_datatype(row("loadtest"), &chosen)->name, "int");
}

TEST_WITH(what_cannot_be_is_said_with_the_option_and_a_way_out, fresh, NULL) {
    static const struct {
        const char *op, *datatype, *reduction;
        int root, rotates_root;
        int64_t bytes;
        int n_ranks;
        const char *wanted; /* beginning, and after '|' what else is in it; NULL: it can be */
    } cases[] = {
        {"bcast", NULL, NULL, 0, 0, 1, 1, NULL},
        {"allreduce", NULL, NULL, 0, 0, 12, 2,
         "--bytes: 12 splits an element of allreduce|a double takes a multiple of 8 bytes (try 16)"},
        {"allreduce", "float", NULL, 0, 0, 4, 2, NULL},
        {"bcast", "int", NULL, 0, 0, 7, 2, "--bytes: 7|multiple of 4 bytes (try 8)"},
        {"bcast", NULL, NULL, 0, 0, 0, 2, "--bytes: 0|(try 1)"},
        {"barrier", "int", NULL, 0, 0, 7, 2, NULL},
        {"bcast", NULL, NULL, 0, 0, INT64_C(1) << 31, 2,
         "--bytes: bcast with 2147483648 bytes|(try at most 2147483647, or a larger --datatype)"},
        {"bcast", "double", NULL, 0, 0, INT64_C(1) << 34, 2, "--bytes:|(try at most 17179869176)"},
        {"alltoall", NULL, NULL, 0, 0, INT64_C(1) << 30, 100000, NULL},
        {"alltoallv", NULL, NULL, 0, 0, 1 << 30, 4, "--bytes: alltoallv|for each of 4 ranks"},
        {"alltoallw", "double", NULL, 0, 0, 1 << 30, 4, "--bytes: alltoallw|its bytes"},
        {"gatherv", NULL, NULL, 0, 0, 21474, 100000,
         "--bytes: gatherv|for each of 100000 ranks|try at most 21473"},
        {"gatherv", NULL, NULL, 0, 0, 21473, 100000, NULL},
        {"neighbor_alltoallv", NULL, NULL, 0, 0, INT64_C(1) << 28, 100000, NULL},
        {"neighbor_alltoallv", NULL, NULL, 0, 0, INT64_C(1) << 29, 2,
         "--bytes: neighbor_alltoallv|for each of 6 neighbours|try at most 357913940"},
        {"reduce_scatter_block", NULL, NULL, 0, 0, INT64_C(8) << 29, 4, "--bytes: reduce_scatter_block"},
        {"allgatherv", NULL, NULL, 0, 0, 1, INT_MAX, "--bytes: allgatherv cannot run on 2147483647 ranks"},
        {"bcast", NULL, NULL, 5, 0, 8, 2, "--root: rank 5 is not among 2 ranks (try 0 to 1)"},
        {"bcast", NULL, NULL, 1, 0, 8, 1, "--root: rank 1 is not among 1 rank (try 0)"},
        {"allgather", NULL, NULL, 5, 0, 8, 2, NULL},
        {"allreduce", "double", "band", 0, 0, 8, 2,
         "--reduce: allreduce has no band of double, it is of byte int long"},
        {"allreduce", "byte", "land", 0, 0, 8, 2, "--reduce:|of int long"},
        {"allreduce", "byte", "bxor", 0, 0, 8, 2, NULL},
        {"bcast", "double", "band", 0, 0, 8, 2, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nd_op_options o = {.root = cases[i].root, .rotates_root = cases[i].rotates_root};
        if (cases[i].datatype) o.datatype = nl_find(nd_datatypes, cases[i].datatype);
        if (cases[i].reduction) o.reduction = nl_find(nd_reductions, cases[i].reduction);
        char reason[256] = "", parts[256];
        const char *problem =
            nd_op_problem(row(cases[i].op), &o, cases[i].bytes, cases[i].n_ranks, reason, sizeof reason);
        if (!cases[i].wanted) {
            if (problem) print_error("%s: %s\n", cases[i].op, problem);
            assert_null(problem);
            continue;
        }
        assert_ptr_equal(problem, reason);
        char *rest = strcpy(parts, cases[i].wanted);
        for (char *part = strsep(&rest, "|"), *first = part; part; part = strsep(&rest, "|")) {
            const char *found = strstr(problem, part);
            if (!found || (part == first && found != problem))
                print_error("'%s' lacks '%s'\n", problem, part);
            assert_true(found && (part != first || found == problem));
        }
        assert_null(strchr(problem, '\n'));
    }
}

TEST_WITH(a_persistent_operation_cannot_rotate_its_root, fresh, NULL) {
    const struct nd_op_options o = {.rotates_root = 1};
    char reason[256];
    for (int i = 0; nd_ops[i]; i++) {
        int is_refused = nd_op_problem(nd_ops[i], &o, 64, 2, reason, sizeof reason) != NULL;
        assert_int_equal(is_refused,
                         nd_ops[i]->completion == ND_PERSISTENT && nd_ops[i]->uses & ND_USES_ROOT);
        if (is_refused) assert_ptr_equal(strstr(reason, "--root: "), reason);
    }
}

/* What prepare really allocates, against what the row announces, on every rank of several. */
TEST_WITH(no_row_takes_more_than_it_announces, fresh, NULL) {
    const struct nd_op_options o = {0}, rotating = {.rotates_root = 1};
    for (int i = 0; nd_ops[i]; i++) {
        if (!nd_ops[i]->has_bytes || nd_ops[i]->completion == ND_PERSISTENT) continue;
        int64_t most_bytes = 0;
        for (fake_n_ranks = 1; fake_n_ranks <= 7; fake_n_ranks += 3)
            for (int64_t bytes = 8; bytes <= 8000; bytes *= 10) {
                for (fake_rank = most_bytes = 0; fake_rank < fake_n_ranks; fake_rank++) {
                    OWNED(nd_op_close) struct nd_op_state s;
                    assert_int_equal(
                        nd_op_open(nd_ops[i], fake_rank % 2 ? &rotating : &o, &s, MPI_COMM_WORLD, bytes), 0);
                    int64_t taken_bytes = s.buffers.send_bytes + s.buffers.receive_bytes;
                    if (taken_bytes > most_bytes) most_bytes = taken_bytes;
                }
                int64_t announced_bytes = nd_op_set_bytes(nd_ops[i], bytes, fake_n_ranks);
                assert_true(most_bytes <= announced_bytes);
                int n_peers = nd_ops[i]->n_peers ? nd_ops[i]->n_peers : fake_n_ranks;
                assert_true(most_bytes >=
                            announced_bytes - 2 * ND_DATA_MOST_BYTES * (n_peers + 1)); /* and not far less */
            }
    }
}

TEST_WITH(shares_vary_by_an_element_and_lie_one_after_the_other, fresh, NULL) {
    fake_n_ranks = 5;
    struct nd_op_state s = opened("gatherv", &o, 10);
    const int counts[] = {9, 10, 11, 9, 10}, displs[] = {0, 9, 19, 30, 39};
    assert_memory_equal(s.counts, counts, sizeof counts);
    assert_memory_equal(s.displs, displs, sizeof displs);
    nd_op_close(&s);
    s = opened("alltoallw", &(struct nd_op_options){.datatype = &nd_type_double},
               80); /* of rank 1, in bytes */
    const int w_counts[] = {10, 11, 9, 10, 11}, w_displs[] = {0, 80, 168, 240, 320};
    assert_memory_equal(s.counts, w_counts, sizeof w_counts);
    assert_memory_equal(s.displs, w_displs, sizeof w_displs);
    assert_true(s.types[4] == MPI_DOUBLE);
    nd_op_close(&s);
    fake_n_ranks = 3;
    s = opened("gatherv", &o, 1); /* at least one element each */
    assert_memory_equal(s.counts, ((int[]){1, 1, 2}), 3 * sizeof(int));
    nd_op_close(&s);
}

TEST_WITH(neighbours_have_shares_on_a_communicator_of_the_operation_and_close_frees_it, fresh, NULL) {
    fake_n_ranks = 5;
    struct nd_op_state s = opened("neighbor_alltoallv", &o, 10);
    const int peers[] = {0, 2, 1, 1, 1, 1}, counts[] = {10, 9, 11, 11, 11, 11},
              displs[] = {0, 10, 19, 30, 41, 52};
    EQUAL(s.n_peers, 6, n_grids, 1, s.buffers.send_bytes, 63);
    assert_true(s.comm == MPI_COMM_SELF);
    assert_memory_equal(s.peers, peers, sizeof peers);
    assert_memory_equal(s.counts, counts, sizeof counts);
    assert_memory_equal(s.displs, displs, sizeof displs);
    nd_op_close(&s);
    assert_int_equal(n_grids, 0);
    fake_failure = 1; /* one rank has no memory: none has the operation, and none is left waiting */
    assert_int_equal(nd_op_open(row("neighbor_allgather"), &o, &s, MPI_COMM_WORLD, 8), -1);
    assert_int_equal(n_grids, 0);
}

TEST_WITH(the_root_goes_round, fresh, NULL) {
    const struct nd_op_options o = {.root = 1, .rotates_root = 1};
    const int roots[] = {1, 2, 0, 1};
    struct nd_op_state s = opened("gather", &o, 8);
    assert_int_equal(s.needs_advance, 1);
    for (int i = 0; i < 4; i++, nd_op_advance(&s))
        assert_int_equal(s.root, roots[i]);
    nd_op_close(&s);
    s = opened("allgather", &o, 8);
    EQUAL(s.needs_advance, 0, s.root, 0);
    nd_op_close(&s);
}

TEST_WITH(sets_go_round, fresh, NULL) {
    const struct nd_op_options o = {.buffer = {.use = ND_BUFFER_ROTATE, .n_sets = 3}};
    OWNED(nd_op_close) struct nd_op_state s = opened("allgather", &o, 8);
    assert_int_equal(s.needs_advance, 1);
    for (int i = 0; i < 7; i++, nd_op_advance(&s)) {
        assert_int_equal(s.buffers.current, i % 3);
        assert_ptr_equal(s.send, s.buffers.send[i % 3]);
        assert_ptr_equal(s.receive, s.buffers.receive[i % 3]);
    }
}

TEST_WITH(only_checking_poisons_what_was_received, fresh, NULL) {
    for (int checks_every = 0; checks_every <= 1; checks_every++)
        for (int n_sets = 1; n_sets <= 2; n_sets++) {
            const struct nd_op_options o = {.checks_every = checks_every,
                                            .buffer = {.use = ND_BUFFER_FLUSH, .n_sets = n_sets}};
            OWNED(nd_op_close) struct nd_op_state s = opened("allgather", &o, 8);
            unsigned char *used = s.receive;
            memset(used, 7, (size_t)s.buffers.receive_bytes);
            nd_op_advance(&s);
            for (int i = 0; i < 24; i++)
                assert_int_equal(used[i], checks_every ? ND_DATA_POISON : 7);
        }
}

TEST_WITH(an_operation_is_advanced_only_where_there_is_something_to_do, fresh, NULL) {
    const struct nd_op_options plain = {0}, checks = {.checks_every = 1},
                               flush = {.buffer.use = ND_BUFFER_FLUSH}, rotates = {.rotates_root = 1};
    static const struct {
        const char *op;
        int plain, checks, flush, rotates;
    } wanted[] = {
        {"barrier", 0, 0, 0, 0},   {"empty", 0, 0, 0, 0},  {"waitpattern-up", 0, 0, 0, 0},
        {"allreduce", 0, 1, 1, 0}, {"ibcast", 0, 1, 1, 1}, {"loadtest", 1, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct nd_op_options *all[] = {&plain, &checks, &flush, &rotates};
        int needs[] = {wanted[i].plain, wanted[i].checks, wanted[i].flush, wanted[i].rotates};
        for (int k = 0; k < 4; k++) {
            OWNED(nd_op_close) struct nd_op_state s = opened(wanted[i].op, all[k], 64);
            assert_int_equal(s.needs_advance, needs[k]);
            nd_op_advance(&s); /* harmless anyway */
        }
    }
}

TEST_WITH(the_load_test_sends_other_numbers_every_time, fresh, NULL) {
    OWNED(nd_op_close) struct nd_op_state s = opened("loadtest", &o, 20);
    for (int call = 0; call < 3; call++, nd_op_advance(&s)) {
        for (int i = 0; i < 5; i++)
            assert_int_equal(((int *)s.send)[i], call * 5 + i + 1); /* rank 1 */
        for (int from = 0; from < 3; from++)
            for (int i = 0; i < 5; i++)
                ((int *)s.receive)[5 * from + i] = call * 5 + i + from;
        assert_int_equal(nd_op_check(&s), 0);
        ((int *)s.receive)[14]++;
        assert_int_equal(nd_op_check(&s), -1);
    }
    s.counter = UINT32_MAX - 2; /* and goes on for ever, without a negative one */
    nd_op_advance(&s);
    for (int i = 0; i < 5; i++)
        assert_true(((int *)s.send)[i] >= 0);
}

TEST_WITH(ranks_that_see_other_caches_have_as_many_requests_and_none_where_one_has_no_memory, fresh, NULL) {
    if (!ND_HAS_PERSISTENT) SKIP("this MPI library has no persistent collectives");
    const struct nd_op_options o = {.buffer = {.use = ND_BUFFER_ROTATE, .n_sets = 3}};
    fake_agreement = 5;
    struct nd_op_state s = opened("bcast_init", &o, 8);
    EQUAL(s.buffers.n_sets, 5, n_requests, 5);
    nd_op_close(&s);
    nd_op_close(&s); /* harmless */
    assert_int_equal(n_freed, 5);
    fake_failure = 1;
    EQUAL(nd_op_open(row("bcast_init"), &o, &s, MPI_COMM_WORLD, 8), -1, n_requests, 5);
    nd_op_close(&s);
}

TEST_WITH(memory_that_is_not_there_leaves_a_closed_state, fresh, NULL) {
    const struct nd_op_options o = {.buffer = {.use = ND_BUFFER_ROTATE, .n_sets = ND_BUFFERS_MOST_SETS}};
    OWNED(nd_op_close) struct nd_op_state s;
    fake_n_ranks = 100000;
    assert_int_equal(nd_op_open(row("alltoall"), &o, &s, MPI_COMM_WORLD, INT_MAX), -1);
    assert_null(s.send);
    assert_null(s.buffers.memory);
}

/* A clock that is a thousand times too slow makes the wait a thousand times as long. */
TEST_WITH(the_wait_pattern_looks_at_the_clock_it_was_given, fresh, NULL) {
    struct nd_clock slow = {
        .read = ND_READ_KERNEL, .id = CLOCK_MONOTONIC_RAW, .is_fake = 1, .fake_drift = -0.999};
    slow.fake_at_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    OWNED(nd_op_close) struct nd_op_state s = opened("waitpattern-up", &o, 0);
    s.clock = &slow;
    s.call(&s); /* 2 us */
    assert_true(nl_now_ns(CLOCK_MONOTONIC_RAW) - slow.fake_at_ns > 1900000);
}

TEST_WITH(a_clock_that_jumps_back_ends_the_wait, fresh, NULL) {
    struct nd_clock jumping = {.read = ND_READ_KERNEL,
                               .id = CLOCK_MONOTONIC_RAW,
                               .is_fake = 1,
                               .fake_jump_ns = -INT64_C(1000000000000)};
    fake_rank = 50000; /* 50 ms */
    OWNED(nd_op_close) struct nd_op_state s = opened("waitpattern-up", &o, 0);
    s.clock = &jumping;
    jumping.fake_at_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    jumping.fake_jump_at_ns = jumping.fake_at_ns + 1000000;
    s.call(&s); /* or else never returns */
}

/* noiselab-rules: which algorithms the MPI library runs, for rules that were advised. Not a command for
 * people: noiselab run advise starts it without the rules and with them, and compares. noiselab-rules --out
 * FILE --ranks N OPERATION=ALGORITHM:BYTES... Rank 0 writes a line "operation bytes ranks wanted ran nodes"
 * for each: `wanted` is the algorithm (forced, by N ranks) or `default` (by N - 1, N and N + 1 ranks, as far
 * as there are so many: what the library, or its rules, choose). N ranks are as many on each node as on any
 * other, numbered as the launcher did. `ran`: -, where nobody could watch; parts, where another component
 * took the call. */
#include <mpi.h>

#include "detector/ops/algorithms.h"
#include "detector/ops/ops.h"
#include "detector/rules/algorithm_watch.h"
#include "detector/ops/per_call.h"

enum { PATIENCE_S = 60, MOST_RANKS = 1 << 30 };

struct rule {
    const struct nd_op *op;
    char algorithm[ND_ALGORITHM_BYTES /* 32 */];
    int64_t bytes;
};

/* A word of the command line. 0, -1 where it is none. */
static int read_rule(const char *word, struct rule *rule) {
    char name[64], end;
    long long bytes;
    if (sscanf(word, "%63[^=]=%31[^:]:%lld%c", name, rule->algorithm, &bytes, &end) != 3) return -1;
    rule->op = nl_find(nd_ops, name);
    rule->bytes = bytes;
    return rule->op && bytes >= 0 ? 0 : -1;
}

/* One operation by `wanted`; what ran is written by rank 0. Collective over `comm`; 0, -1. */
static int run(const struct rule *rule, const char *wanted, MPI_Comm comm, int n_nodes, FILE *out) {
    static const struct nd_op_options options = {.buffer = {.n_sets = 1}};
    struct nd_op_state s;
    struct nd_algorithm a;
    char reason[512], name[ND_PER_CALL_NAME_BYTES];
    int n_ranks;
    MPI_Comm_size(comm, &n_ranks);
    /* a size that splits an element was measured with another data type: that rule is not tried */
    if (nd_op_problem(rule->op, &options, rule->bytes, n_ranks, reason, sizeof reason)) return 0;
    if (nd_algorithm_open(rule->op, wanted, comm, &a, reason, sizeof reason)) {
        if (out) nl_error("%s", reason);
        return -1;
    }
    int failed = nd_op_open(rule->op, &options, &s, a.comm, rule->bytes) != 0;
    if (!failed) {
        /* by the first call han splits the communicator, which takes collectives on it */
        if (!a.is_per_call) failed = s.call(&s) != MPI_SUCCESS;
        nd_watch_begin(a.comm);
        failed = failed || (!a.is_per_call && s.call(&s) != MPI_SUCCESS);
        const char *ran = nd_watch_end();
        /* nobody can watch that library's algorithms: what its variables say, and that it did not refuse */
        if (a.is_per_call) nd_per_call_acts(&a.per_call, &s, name), ran = name;
        if (out)
            fprintf(out, "%s %lld %d %s %s %d\n", rule->op->name, (long long)rule->bytes, n_ranks, wanted,
                    *ran ? ran : "-", n_nodes);
        nd_op_close(&s);
    }
    nd_algorithm_close(&a);
    return failed ? -1 : 0;
}

/* The rank's number on its node. Collective over the world. */
static int number_on_node(int rank) {
    MPI_Comm node;
    int number;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &number);
    MPI_Comm_free(&node);
    return number;
}

/* All ranks, those of the measured number first: of each node the same number, the others behind them.
 * Collective. 0, -1. */
static int order_ranks(int n_ranks, MPI_Comm *ordered) {
    int rank, n_world, n_nodes;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_world);
    int mine = number_on_node(rank), is_first = mine == 0;
    MPI_Allreduce(&is_first, &n_nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (n_ranks % n_nodes != 0) return -1;
    MPI_Comm_split(MPI_COMM_WORLD, 0, mine < n_ranks / n_nodes ? rank : n_world + rank, ordered);
    return 0;
}

/* Whatever is asked of so many ranks. */
static int run_all(const struct rule *rules, int n_rules, MPI_Comm all, int n_ranks, int is_measured,
                   FILE *out) {
    int rank, n_all, n_nodes, failed = 0;
    MPI_Comm comm;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &n_all);
    if (n_ranks < 2 || n_ranks > n_all) return 0;
    int is_first = number_on_node(rank) == 0 && rank < n_ranks;
    MPI_Allreduce(&is_first, &n_nodes, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_split(all, rank < n_ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm == MPI_COMM_NULL) return 0;
    for (int i = 0; i < n_rules && !failed; i++) {
        failed = run(&rules[i], "default", comm, n_nodes, out) != 0;
        if (is_measured && !failed) failed = run(&rules[i], rules[i].algorithm, comm, n_nodes, out) != 0;
    }
    MPI_Comm_free(&comm);
    return failed ? -1 : 0;
}

int main(int argc, char **argv) {
    int rank, n_rules = argc - 5, failed = 0;
    MPI_Comm all = MPI_COMM_NULL;
    nl_set_program("noiselab-rules");
    int n_ranks =
        argc > 5 && strcmp(argv[1], "--out") == 0 && strcmp(argv[3], "--ranks") == 0 ? atoi(argv[4]) : 0;
    struct rule *rules = n_ranks >= 2 && n_ranks < MOST_RANKS ? calloc((size_t)n_rules, sizeof *rules) : NULL;
    for (int i = 0; rules && i < n_rules; i++)
        failed |= read_rule(argv[5 + i], &rules[i]);
    if (!rules || failed) {
        fputs("usage: noiselab-rules --out FILE --ranks N OPERATION=ALGORITHM:BYTES...\n", stderr);
        return NL_EXIT_USAGE;
    }
    /* a library that hangs by a rule is ended: then that rule is not advised */
    alarm(PATIENCE_S);
    nd_algorithms_prepare();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *out = rank == 0 ? fopen(argv[2], "w") : NULL;
    if (rank == 0 && !out) {
        nl_error("cannot write '%s': %s", argv[2], strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, NL_EXIT_USAGE);
    }
    if (order_ranks(n_ranks, &all)) {
        if (out) nl_error("%d ranks are not the same number on each node", n_ranks);
        MPI_Abort(MPI_COMM_WORLD, NL_EXIT_USAGE);
    }
    for (int n = n_ranks - 1; n <= n_ranks + 1 && !failed; n++)
        failed = run_all(rules, n_rules, all, n, n == n_ranks, out) != 0;
    MPI_Comm_free(&all);
    if (out && fclose(out) != 0) failed = 1;
    if (failed) MPI_Abort(MPI_COMM_WORLD, NL_EXIT_USAGE);
    MPI_Finalize();
    free(rules);
    return NL_EXIT_OK;
}

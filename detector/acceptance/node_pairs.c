#include "detector/acceptance/node_pairs.h"

enum { BATCHES = 20, LEAST_BATCHES = 3, TAG = 8 };

/* ---- who is paired with whom, turn by turn
 * ------------------------------------------------------------------------------------------- */

struct turn {
    int a, b; /* ranks; -1: this rank has no part in it */
    const char *variant;
};

/* Numbers of turns: kinds of pairs within nodes, pairs between nodes, rounds of such pairs. */
struct turns {
    int n_within, n_alone, n_at_once;
};

static struct turns count_turns(const struct nx_run *r) {
    struct turns n = {0};
    int n_nodes = r->team.n_nodes, most_ranks = 0;
    for (int node = 0; node < n_nodes; node++)
        if (r->node_ranks[node] > most_ranks) most_ranks = r->node_ranks[node];
    /* nodes of one machine take turns, too */
    n.n_within = (most_ranks > 2 ? 2 : most_ranks > 1 ? 1 : 0) * (r->shares_kernel ? n_nodes : 1);
    n.n_alone = nx_alone_rounds(n_nodes, r->o->is_quick) * (n_nodes / 2);
    n.n_at_once = n_nodes > 3 ? nx_covering_rounds(n_nodes)
                              : 0; /* of two or three nodes a round has one pair, which is alone anyway */
    return n;
}

/* The rank behind a node's first; found by looking, because ranks may be spread over nodes in any way. */
static int second_rank(const struct nx_run *r, int node) {
    int rank = r->node_first[node] + 1;
    while (r->node_of[rank] != node)
        rank++;
    return rank;
}

static struct turn within(const struct nx_run *r, int turn) {
    int node = r->team.node_index, n_ranks = r->node_ranks[node],
        is_near = r->shares_kernel ? turn / r->team.n_nodes : turn;
    struct turn t = {-1, -1, is_near ? "within-near" : "within"};
    if ((r->shares_kernel && turn % r->team.n_nodes != node) || n_ranks < (is_near ? 3 : 2)) return t;
    t.a = r->node_first[node];
    t.b = is_near ? second_rank(r, node) : r->node_last[node];
    return t;
}

static struct turn between(const struct nx_run *r, int round, int pair, const char *variant) {
    int n_nodes = r->team.n_nodes, node = r->team.node_index, k = nx_covering_round(n_nodes, round),
        first = 0;
    int partner = nx_partner(n_nodes, k, node);
    struct turn t = {-1, -1, variant};
    if (partner < 0) return t;
    int low = node < partner ? node : partner, high = node < partner ? partner : node;
    for (int i = 0; pair >= 0 && i < low; i++)
        first += nx_partner(n_nodes, k, i) > i; /* pairs of the round before this node's */
    if (pair >= 0 && first != pair) return t;
    t.a = r->node_first[low];
    t.b = r->node_first[high];
    return t;
}

static struct turn turn_of(const struct nx_run *r, const struct turns *n, int i) {
    int pairs_of_round = r->team.n_nodes / 2;
    if (i < n->n_within) return within(r, i);
    i -= n->n_within;
    if (i < n->n_alone) return between(r, i / pairs_of_round, i % pairs_of_round, "between");
    return between(r, i - n->n_alone, -1, "between-at-once");
}

/* ---- a pair ---- */

/* Batches of how many exchanges fill the time; the first rank finds it, and both know. */
static void find_length(const struct nx_link *l, const struct nx_pair_figure *f, int64_t slice_ns, int is_new,
                        int64_t length[2]) {
    if (is_new) f->time(l, 1); /* connections */
    int64_t ns = f->time(l, 2) / 2;
    if (!l->is_first) {
        MPI_Recv(length, 2, MPI_INT64_T, l->peer, TAG, l->comm, MPI_STATUS_IGNORE);
        return;
    }
    int64_t n = slice_ns / (ns > 0 ? ns : 1);
    length[0] = n < BATCHES ? n : BATCHES;
    if (length[0] < LEAST_BATCHES) length[0] = LEAST_BATCHES;
    length[1] = n / length[0] > 0 ? n / length[0] : 1;
    MPI_Send(length, 2, MPI_INT64_T, l->peer, TAG, l->comm);
}

/* Some batches are made in any case; then the first rank decides for both. A batch that a busy machine made
 * long ends the figure early. */
static int goes_on(const struct nx_link *l, int64_t n_done, int decision) {
    if (n_done < LEAST_BATCHES)
        decision = 1;
    else if (l->is_first)
        MPI_Send(&decision, 1, MPI_INT, l->peer, TAG, l->comm);
    else
        MPI_Recv(&decision, 1, MPI_INT, l->peer, TAG, l->comm, MPI_STATUS_IGNORE);
    nx_meet(l);
    return decision;
}

static void measure_figure(struct nx_run *r, const struct nx_link *l, const struct nx_pair_figure *f,
                           const char *variant, int64_t slice_ns) {
    int64_t length[2], total_ns = 0, n = 0;
    double values[BATCHES];
    nx_meet(l);
    find_length(l, f, slice_ns, r->repetition == 1, length);
    while (n < length[0] && goes_on(l, n, total_ns < slice_ns + slice_ns / 5)) {
        int64_t ns = f->time(l, length[1]);
        total_ns += ns;
        values[n++] = f->value(f->bytes, (double)ns / (double)length[1]);
    }
    if (!l->is_first) return;
    struct nx_row row = nx_row(variant);
    nx_row_sum_up(&row, values, n);
    row.bytes = f->bytes;
    row.rank = r->team.rank;
    row.peer_rank = l->peer;
    row.n_ranks = 2;
    row.n_nodes = r->node_of[l->peer] == r->team.node_index ? 1 : 2;
    nx_put(r, &row, f->metric, f->unit, f->value(f->bytes, (double)total_ns / (double)(n * length[1])), n);
}

int nx_pairs_measure(struct nx_run *r, struct nx_task *t) {
    struct nx_pairs *p = t->state;
    struct turns n = count_turns(r);
    int n_turns = n.n_within + n.n_alone + n.n_at_once;
    int64_t slice_ns = t->budget_ns / (n_turns * p->n_figures);
    for (int i = 0; i < n_turns; i++) {
        struct turn turn = turn_of(r, &n, i);
        for (int k = 0; k < p->n_figures && (turn.a == r->team.rank || turn.b == r->team.rank); k++) {
            struct nx_link l = {.comm = r->team.world,
                                .peer = turn.a + turn.b - r->team.rank,
                                .is_first = turn.a == r->team.rank,
                                .send = p->buffers.send,
                                .receive = p->buffers.receive,
                                .bytes = (int)p->figures[k].bytes};
            measure_figure(r, &l, &p->figures[k], turn.variant, slice_ns);
        }
        nx_quiet_barrier(r->team.world);
    }
    return 0;
}

int nx_pairs_open(struct nx_run *r, struct nx_task *t, const struct nx_pair_figure *figures, int n) {
    struct nx_pairs *p = t->state;
    char reason[NX_REASON_BYTES];
    int64_t largest = 1;
    for (int i = 0; i < n; i++) {
        if (figures[i].bytes > largest && nx_lacks_memory(r, 2 * figures[i].bytes, reason)) {
            snprintf(t->reason, sizeof t->reason, "messages of %lld bytes left out: %.150s",
                     (long long)figures[i].bytes, reason);
            break; /* sizes rise */
        }
        if (figures[i].bytes > largest) largest = figures[i].bytes;
        p->figures[p->n_figures++] = figures[i];
    }
    if (p->n_figures == 0 && !t->reason[0])
        snprintf(t->reason, sizeof t->reason, "--sizes has none for this check");
    if (p->n_figures == 0) return 1;
    return nx_buffers_lack(r, t, &p->buffers, largest, 0);
}

void nx_pairs_close(void *state) { nx_buffers_close(&((struct nx_pairs *)state)->buffers); }

int nx_rounds(int n) { return n < 2 ? 0 : n - 1 + n % 2; }

/* Player `fixed` stays, the others sit on a circle that turns by one place a round; who faces whom has equal
 * sums modulo the circle's size. With an odd number the fixed player does not exist, and its partner rests.
 */
int nx_partner(int n, int round, int player) {
    int circle = nx_rounds(n), fixed = circle;
    if (circle == 0) return -1;
    if (player == fixed) { /* faces the one that would face itself: 2 p = round */
        for (int p = 0; p < circle; p++)
            if (2 * p % circle == round) return p;
        return -1;
    }
    int partner = (round - player + circle) % circle;
    if (partner == player) partner = fixed;
    return partner < n ? partner : -1;
}

int nx_covering_rounds(int n) { return n <= NX_ALL_PAIRS_NODES ? nx_rounds(n) : NX_COVER_ROUNDS; }

int nx_covering_round(int n, int k) { return (int)((long)k * nx_rounds(n) / nx_covering_rounds(n)); }

int nx_alone_rounds(int n, int is_quick) {
    int n_rounds = nx_covering_rounds(n), n_pairs = n / 2;
    if (!is_quick || n_rounds == 0) return n_rounds;
    int most = NX_QUICK_ALONE_PAIRS / n_pairs;
    return most < 1 ? 1 : most < n_rounds ? most : n_rounds;
}

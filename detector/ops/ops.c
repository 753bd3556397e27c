#include "detector/ops/ops.h"

const struct nd_datatype *nd_op_datatype(const struct nd_op *op, const struct nd_op_options *o) {
    return op->uses & ND_USES_DATATYPE && o->datatype ? o->datatype : op->datatype;
}

const struct nd_reduction *nd_op_reduction(const struct nd_op *op, const struct nd_op_options *o) {
    if (!(op->uses & ND_USES_REDUCTION)) return NULL;
    return o->reduction ? o->reduction : nd_reductions[0];
}

/* What MPI counts in an int: elements of one message; of all ranks together where there are displacements or
 * shares; or their bytes. */
enum limit { LIMIT_MESSAGE, LIMIT_ELEMENTS, LIMIT_BYTES };
static enum limit limit_of(const struct nd_op *op) {
    if (op->shares == ND_UNEQUAL_BYTES) return LIMIT_BYTES;
    return op->shares || (op->uses & ND_USES_REDUCTION && op->sends == ND_ALL) ? LIMIT_ELEMENTS
                                                                               : LIMIT_MESSAGE;
}

/* How many ranks have a share of each one's buffers. */
static int peers_of(const struct nd_op *op, int n_ranks) { return op->n_peers ? op->n_peers : n_ranks; }

static const char *size_problem(const struct nd_op *op, const struct nd_datatype *t, int64_t bytes,
                                int n_ranks, char *reason, size_t reason_size) {
    if (bytes < t->size_bytes || bytes % t->size_bytes) {
        int64_t next_bytes = (bytes > 0 ? bytes / t->size_bytes + 1 : 1) * t->size_bytes;
        snprintf(reason, reason_size,
                 "--bytes: %lld splits an element of %s: a %s takes a multiple of %d bytes (try %lld)",
                 (long long)bytes, op->name, t->name, t->size_bytes, (long long)next_bytes);
        return reason;
    }
    enum limit limit = limit_of(op);
    int64_t n_elements = bytes / t->size_bytes, most_elements = INT_MAX;
    int n_peers = peers_of(op, n_ranks);
    /* shares vary by one element, so the largest displacement can need one more on every rank */
    if (limit) most_elements = INT_MAX / n_peers / (limit == LIMIT_BYTES ? t->size_bytes : 1) - 1;
    if (n_elements <= most_elements) return NULL;
    char ranks[32] = "";
    if (limit)
        snprintf(ranks, sizeof ranks, " for each of %d %s", n_peers, op->n_peers ? "neighbours" : "ranks");
    const char *unit = limit == LIMIT_BYTES ? "bytes" : "elements";
    if (most_elements < 1)
        snprintf(reason, reason_size, "--bytes: %s cannot run on %d ranks: MPI counts its %s in an int",
                 op->name, n_ranks, unit);
    else
        snprintf(reason, reason_size,
                 "--bytes: %s with %lld bytes%s is more than an int counts, as MPI wants its %s (try at most "
                 "%lld%s)",
                 op->name, (long long)bytes, ranks, unit, (long long)(most_elements * t->size_bytes),
                 t->size_bytes < ND_DATA_MOST_BYTES ? ", or a larger --datatype" : "");
    return reason;
}

static const char *root_problem(const struct nd_op *op, const struct nd_op_options *o, int n_ranks,
                                char *reason, size_t reason_size) {
    if (o->root < 0 || o->root >= n_ranks) {
        char range[32] = "0";
        if (n_ranks > 1) snprintf(range, sizeof range, "0 to %d", n_ranks - 1);
        snprintf(reason, reason_size, "--root: rank %d is not among %d rank%s (try %s)", o->root, n_ranks,
                 n_ranks == 1 ? "" : "s", range);
        return reason;
    }
    if (o->rotates_root && op->completion == ND_PERSISTENT) {
        snprintf(reason, reason_size,
                 "--root: %s keeps the root it was made with and cannot rotate it (name one rank)", op->name);
        return reason;
    }
    return NULL;
}

const char *nd_op_problem(const struct nd_op *op, const struct nd_op_options *o, int64_t bytes, int n_ranks,
                          char *reason, size_t reason_size) {
    const struct nd_datatype *t = nd_op_datatype(op, o);
    const struct nd_reduction *r = nd_op_reduction(op, o);
    if (r && !nd_reduction_knows(r, t)) {
        snprintf(reason, reason_size, "--reduce: %s has no %s of %s, it is %s", op->name, r->name, t->name,
                 r->help);
        return reason;
    }
    if (op->uses & ND_USES_ROOT && root_problem(op, o, n_ranks, reason, reason_size)) return reason;
    return op->has_bytes ? size_problem(op, t, bytes, n_ranks, reason, reason_size) : NULL;
}

int64_t nd_op_set_bytes(const struct nd_op *op, int64_t bytes, int n_ranks) {
    if (!op->has_bytes) return 0;
    int64_t share_bytes = bytes + (op->shares ? ND_DATA_MOST_BYTES : 0),
            all_bytes = share_bytes * peers_of(op, n_ranks);
    return (op->sends == ND_ALL ? all_bytes : share_bytes) +
           (op->receives == ND_ALL ? all_bytes : share_bytes);
}

int64_t nd_op_memory_bytes(const struct nd_op *op, const struct nd_op_options *o, int64_t bytes,
                           int n_ranks) {
    if (!op->has_bytes) return 0;
    /* numbers of peers, counts, displacements, data types and requests at most */
    int64_t per_peer_bytes = 3 * (int64_t)sizeof(int) + (int64_t)sizeof(MPI_Aint) +
                             (int64_t)sizeof(MPI_Datatype) + 2 * (int64_t)sizeof(MPI_Request);
    int64_t set_bytes = nd_op_set_bytes(op, bytes, n_ranks);
    int64_t persistent_bytes = op->completion == ND_PERSISTENT
                                   ? nd_buffers_sets(&o->buffer, set_bytes) * (int64_t)sizeof(MPI_Request)
                                   : 0;
    return nd_buffers_memory_bytes(&o->buffer, set_bytes) + peers_of(op, n_ranks) * per_peer_bytes +
           persistent_bytes;
}

static int call_nonblocking(struct nd_op_state *s) {
    s->op->start(s);
    return MPI_Wait(&s->request, MPI_STATUS_IGNORE);
}

static int call_persistent(struct nd_op_state *s) {
    MPI_Request *request = &s->persistent[s->buffers.current];
    MPI_Start(request);
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Share number k: s->count - 1, s->count, s->count + 1 in turn, at least 1, or ranks could leave before that
 * one has entered. */
static int unequal_share(const struct nd_op_state *s, int k) {
    int n = s->count + k % 3 - 1;
    return n < 1 ? 1 : n;
}

/* Where share k begins, in elements. */
static int64_t share_at(const struct nd_op_state *s, int k) {
    if (!s->op->shares) return (int64_t)k * s->count;
    return s->displs[k] / (s->op->shares == ND_UNEQUAL_BYTES ? s->datatype->size_bytes : 1);
}

static int share_size(const struct nd_op_state *s, int k) { return s->op->shares ? s->counts[k] : s->count; }

/* Whose share k is. */
static int peer(const struct nd_op_state *s, int k) { return s->peers ? s->peers[k] : k; }

/* Only a root holds what belongs to all ranks: with a rotating one, every rank comes to be it. */
static int64_t part_size(const struct nd_op_state *s, enum nd_part part) {
    if (part == ND_OWN) return s->n_own;
    if (s->op->uses & ND_USES_ROOT && s->rank != s->root && !s->options->rotates_root) return 0;
    return share_at(s, s->n_peers - 1) + share_size(s, s->n_peers - 1);
}

/* What rank a sends to rank b where all send to all is share number a + b: both ends know it. 0, or -1. */
static int make_shares(struct nd_op_state *s) {
    s->n_own = unequal_share(s, s->rank);
    size_t n = (size_t)s->n_peers;
    s->counts = calloc(n, sizeof *s->counts);
    s->displs = calloc(n, sizeof *s->displs);
    s->addresses = calloc(n, sizeof *s->addresses);
    if (s->op->shares == ND_UNEQUAL_BYTES) s->types = calloc(n, sizeof *s->types);
    if (!s->counts || !s->displs || !s->addresses) return -1;
    if (s->op->shares == ND_UNEQUAL_BYTES && !s->types) return -1;
    int first = s->op->sends == ND_ALL && s->op->receives == ND_ALL ? s->rank : 0,
        unit = s->types ? s->datatype->size_bytes : 1;
    for (int k = 0, at = 0; k < s->n_peers; at += s->counts[k++] * unit) {
        s->counts[k] = unequal_share(s, (first + peer(s, k)) % 3);
        s->displs[k] = at;
        s->addresses[k] = at;
        if (s->types) s->types[k] = s->type;
    }
    return 0;
}

static void take_set(struct nd_op_state *s, int set) {
    s->buffers.current = set;
    s->send = s->buffers.send[set];
    s->receive = s->buffers.receive[set];
}

static int open_buffers(struct nd_op_state *s) {
    struct nd_buffer_options o = s->options->buffer;
    o.n_sets = s->buffers.n_sets;
    s->n_own = s->count;
    if (s->op->shares && make_shares(s)) return -1;
    int64_t size = s->datatype->size_bytes;
    if (nd_buffers_open(&s->buffers, &o, part_size(s, s->op->sends) * size,
                        part_size(s, s->op->receives) * size))
        return -1;
    take_set(s, 0);
    return 0;
}

static int fill(struct nd_op_state *s) {
    int64_t n = part_size(s, s->op->sends);
    if (s->reduction)
        nd_reduced_fill(s->datatype, s->reduction, s->send, n, s->rank);
    else if (s->op->sends == ND_OWN)
        nd_moved_fill(s->datatype, s->send, 0, n, s->rank, 0);
    else
        for (int k = 0; n && k < s->n_peers; k++)
            nd_moved_fill(s->datatype, s->send, share_at(s, k), share_size(s, k), s->rank, peer(s, k));
    return 0;
}

int nd_op_receives(const struct nd_op_state *s) {
    switch (s->op->receivers) {
    case ND_TO_ROOT: return s->rank == s->root;
    case ND_TO_OTHERS: return s->rank != s->root;
    case ND_TO_LATER: return s->rank > 0;
    default: return s->op->has_bytes;
    }
}

static int reduced_check(const struct nd_op_state *s) {
    int last = s->op->is_prefix ? s->rank - (s->op->receivers == ND_TO_LATER) : s->n_ranks - 1;
    return nd_reduced_check(s->datatype, s->reduction, s->receive, s->n_own, 0, last,
                            s->op->sends == ND_ALL ? share_at(s, s->rank) : 0);
}

int nd_op_check(const struct nd_op_state *s) {
    if (s->op->check) return s->op->check(s);
    if (!nd_op_receives(s)) return 0;
    if (s->reduction) return reduced_check(s);
    int to = s->op->sends == ND_ALL ? s->rank : 0;
    if (s->op->receives == ND_OWN) return nd_moved_check(s->datatype, s->receive, 0, s->n_own, s->root, to);
    for (int k = 0; k < s->n_peers; k++)
        if (nd_moved_check(s->datatype, s->receive, share_at(s, k), share_size(s, k), peer(s, k), to))
            return -1;
    return 0;
}

static void poison(struct nd_op_state *s) {
    memset(s->receive, ND_DATA_POISON, (size_t)s->buffers.receive_bytes);
}

static void fill_sets(struct nd_op_state *s) {
    for (int set = s->buffers.n_sets - 1; set >= 0; set--) {
        take_set(s, set);
        if (set > 0) memcpy(s->send, s->buffers.send[0], (size_t)s->buffers.send_bytes);
        poison(s);
    }
}

/* Request k of one rank belongs to request k of the others: as many sets everywhere. */
static int sets_of_all(const struct nd_op_state *s) {
    int n_sets = nd_buffers_sets(&s->options->buffer, nd_op_set_bytes(s->op, s->bytes, s->n_ranks));
    if (s->op->completion == ND_PERSISTENT)
        MPI_Allreduce(MPI_IN_PLACE, &n_sets, 1, MPI_INT, MPI_MAX, s->comm);
    return n_sets;
}

static int has_failed_anywhere(MPI_Comm comm, int failed) {
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_LOR, comm);
    return failed;
}

static void make_requests(struct nd_op_state *s) {
    for (int set = 0; set < s->n_persistent; set++) {
        if (s->buffers.n_sets) take_set(s, set);
        s->op->start(s);
        s->persistent[set] = s->request;
    }
    s->request = MPI_REQUEST_NULL;
    if (s->buffers.n_sets) take_set(s, 0);
}

int nd_op_open(const struct nd_op *op, const struct nd_op_options *options, struct nd_op_state *s,
               MPI_Comm comm, int64_t bytes) {
    static const struct nd_clock raw = {.read = ND_READ_KERNEL, .id = CLOCK_MONOTONIC_RAW};
    *s = (struct nd_op_state){.op = op,
                              .options = options,
                              .comm = comm,
                              .bytes = bytes,
                              .clock = &raw,
                              .request = MPI_REQUEST_NULL};
    MPI_Comm_rank(comm, &s->rank);
    MPI_Comm_size(comm, &s->n_ranks);
    s->n_peers = peers_of(op, s->n_ranks);
    s->root = op->uses & ND_USES_ROOT ? options->root : 0;
    s->datatype = nd_op_datatype(op, options);
    s->reduction = nd_op_reduction(op, options);
    s->type = s->datatype ? s->datatype->mpi() : MPI_DATATYPE_NULL;
    s->reduce = s->reduction ? s->reduction->mpi() : MPI_OP_NULL;
    s->count = op->has_bytes ? (int)(bytes / s->datatype->size_bytes) : 0;
    s->needs_advance = op->advance != NULL || (op->uses & ND_USES_ROOT && options->rotates_root) ||
                       (op->has_bytes && (options->buffer.use != ND_BUFFER_REUSE || options->checks_every));
    s->call = op->completion == ND_BLOCKING      ? op->call
              : op->completion == ND_NONBLOCKING ? call_nonblocking
                                                 : call_persistent;

    s->n_persistent = op->completion == ND_PERSISTENT;
    if (op->has_bytes) {
        s->buffers.n_sets = sets_of_all(s); /* for open_buffers */
        if (s->n_persistent) s->n_persistent = s->buffers.n_sets;
    }
    int failed = (op->open && op->open(s)) || (op->has_bytes && open_buffers(s)) ||
                 (op->prepare ? op->prepare(s) : op->has_bytes && fill(s));
    if (s->n_persistent) s->persistent = calloc((size_t)s->n_persistent, sizeof *s->persistent);
    failed = failed || (s->n_persistent && !s->persistent);
    /* what follows is then collective, on every rank or on none */
    if (s->n_persistent || op->open) failed = has_failed_anywhere(comm, failed);
    if (failed) s->n_persistent = 0;
    if (failed) {
        nd_op_close(s);
        return -1;
    }
    if (op->has_bytes) fill_sets(s);
    if (s->n_persistent) make_requests(s);
    return 0;
}

void nd_op_advance(struct nd_op_state *s) {
    const struct nd_op_options *o = s->options;
    if (o->rotates_root && s->op->uses & ND_USES_ROOT) s->root = s->root + 1 < s->n_ranks ? s->root + 1 : 0;
    if (!s->op->has_bytes) return;
    /* the set that has just been used is poisoned, not the next one, which would be in cache then */
    if (o->checks_every) poison(s);
    if (s->buffers.n_sets > 1)
        take_set(s, s->buffers.current + 1 < s->buffers.n_sets ? s->buffers.current + 1 : 0);
    if (s->op->advance) s->op->advance(s);
    if (o->buffer.use == ND_BUFFER_FLUSH) nd_buffers_flush(&s->buffers);
}

void nd_op_close(struct nd_op_state *s) {
    for (int i = 0; i < s->n_persistent; i++)
        MPI_Request_free(&s->persistent[i]);
    if (s->op && s->op->close) s->op->close(s);
    nd_buffers_close(&s->buffers);
    NL_FREE(s->persistent, s->requests, s->counts, s->displs, s->addresses, s->types);
    *s = (struct nd_op_state){0};
}

int nd_op_requests(struct nd_op_state *s) {
    s->requests = calloc(2 * (size_t)s->n_ranks, sizeof *s->requests);
    return s->requests ? 0 : -1;
}

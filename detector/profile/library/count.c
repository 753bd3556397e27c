/* Rows, communicators, and looks at arrivals: what happens in every call. Nothing here allocates after the
 * first call of a communicator. */
#include "detector/profile/library/count.h"
#include "common/sys/nl_preempted.h"

/* calls that are watched in one stretch at most: a program that calls MPI more often between two
 * synchronisations is not slowed down */
enum { SLOTS = 1024, MOST_KNOWN = 256, MOST_WATCHED = 1000 };

/* of the program's time, for looks at arrivals: one in so many */
enum { BUDGET = 200 };

/* Calls that were watched so far, and what the thread lost inside of them. */
struct watched {
    uint64_t n, n_stopped; /* calls; how often there were too many of them to go on */
    int64_t preempted_ns, off_cpu_ns;
    int64_t looks_ns; /* what watching took */
};

/* A communicator in use. */
struct nf_sampled {
    uintptr_t handle;
    int32_t n_ranks;
    int32_t kind;
    int32_t is_looked_at; /* 1: its arrivals can be told from those of others */
    uint32_t id;
    uint64_t n_calls; /* synchronising ones */
    int every_log2;
    int64_t first_ns, left_ns; /* end of its first call and of its last */
    /* at left_ns, where the next call will be looked at */
    int is_open;
    struct nl_thread_times from;
    int64_t mpi_from_ns;
    struct watched watched_from; /* the process's sums then */
    long sleeps_from;
    uint64_t n_watched; /* calls in the last stretch that was looked at: each costs another look */
};

static struct {
    uint16_t row[SLOTS]; /* 1 + index of the row; 0: none */
    uint64_t key[SLOTS];
    struct nf_sampled known[MOST_KNOWN];
    int n_known; /* places used so far; handle 0: it is free again */
    struct nl_preempted account;
    struct watched watched;
    int n_open; /* stretches that will be looked at when they end */
    char lock;
} here;

static void lock(void) {
    if (!nf_process.needs_lock) return;
    for (int turns = 0; __atomic_test_and_set(&here.lock, __ATOMIC_ACQUIRE); turns++)
        if (turns % 100 == 99) sched_yield(); /* its holder may have lost the CPU */
}

static void unlock(void) {
    if (nf_process.needs_lock) __atomic_clear(&here.lock, __ATOMIC_RELEASE);
}

/* ---- rows ---- */

static uint64_t mix(uint64_t x) {
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

static struct nf_row *new_row(uint32_t slot, uint64_t key, const struct nf_row *like) {
    struct nf_file *f = nf_process.file;
    if (f->n_rows == NF_MAX_ROWS) return NULL;
    struct nf_row *row = &f->rows[f->n_rows];
    *row = *like;
    here.key[slot] = key;
    __atomic_store_n(&f->n_rows, f->n_rows + 1, __ATOMIC_RELEASE);
    here.row[slot] = (uint16_t)f->n_rows;
    return row;
}

static int size_class(int64_t bytes) { return bytes <= 0 ? 0 : 64 - __builtin_clzll((uint64_t)bytes); }

static struct nf_row *row_of(int operation, int kind, int n_ranks, int root, int64_t bytes) {
    int class = size_class(bytes);
    uint64_t key =
        (uint64_t)n_ranks << 24 | (uint64_t) class << 16 | (uint64_t)kind << 12 | (uint64_t)(operation + 1);
    uint32_t slot = mix(key) % SLOTS;
    /* there are more slots than rows: one is always empty */
    while (here.row[slot] && here.key[slot] != key)
        slot = (slot + 1) % SLOTS;
    if (here.row[slot]) return &nf_process.file->rows[here.row[slot] - 1];
    return new_row(slot, key,
                   &(struct nf_row){.operation = (uint16_t)operation,
                                    .size_class = (uint8_t) class,
                                    .communicator = (uint8_t)kind,
                                    .n_ranks = n_ranks,
                                    .root = root});
}

/* ---- communicators ---- */

/* Few are in use at a time, and those that came first are used most. */
static struct nf_sampled *known(MPI_Comm comm) {
    for (int i = 0; i < here.n_known; i++)
        if (here.known[i].handle == (uintptr_t)comm) return &here.known[i];
    return NULL;
}

/* A hash of the members' ranks in the world; 0 where it cannot be had. */
static uint32_t members_of(MPI_Comm comm, int n) {
    MPI_Group group, world;
    int *ranks = malloc(2 * sizeof *ranks * (size_t)n);
    if (!ranks) return 0;
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, n, ranks, world, ranks + n);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    uint64_t hash = (uint64_t)n;
    for (int i = 0; i < n; i++)
        hash = mix(hash ^ (uint64_t)ranks[n + i]);
    free(ranks);
    return (uint32_t)(hash >> 32) | 1;
}

/* Gives it an id that all members come to by themselves: they all use communicators of the same members in
 * one order. */
static void name_communicator(struct nf_sampled *k, MPI_Comm comm) {
    struct nf_file *f = nf_process.file;
    uint32_t before = 0;
    if (f->n_communicators == NF_MAX_COMMUNICATORS) return;
    uint32_t members = members_of(comm, k->n_ranks);
    if (!members) return;
    for (uint32_t i = 0; i < f->n_communicators; i++)
        before += f->communicators[i].members == members;
    k->id = members + 2 * before; /* members is odd */
    k->is_looked_at = k->n_ranks > 1;
    f->communicators[f->n_communicators] =
        (struct nf_communicator){.id = k->id, .n_ranks = k->n_ranks, .kind = k->kind, .members = members};
    __atomic_store_n(&f->n_communicators, f->n_communicators + 1, __ATOMIC_RELEASE);
}

static struct nf_sampled *new_known(MPI_Comm comm) {
    static struct nf_sampled none; /* one too many: counted, not told apart */
    int is_between = 0, at = 0;
    while (at < here.n_known && here.known[at].handle)
        at++;
    struct nf_sampled *k = at < MOST_KNOWN ? &here.known[at] : &none;
    here.n_known += k != &none && at == here.n_known;
    *k = (struct nf_sampled){.handle = (uintptr_t)comm};
    PMPI_Comm_size(comm, &k->n_ranks);
    PMPI_Comm_test_inter(comm, &is_between);
    k->kind = k->n_ranks == nf_process.file->n_ranks && !is_between ? NF_WORLD : NF_PART;
    if (k != &none && !is_between) name_communicator(k, comm);
    return k;
}

static void close_stretch(struct nf_sampled *k) {
    here.n_open -= k->is_open;
    k->is_open = 0;
    if (!here.n_open) nf_process.n_to_watch = 0;
}

void nf_comm_free(MPI_Comm comm) {
    if (!nf_process.file) return;
    lock();
    struct nf_sampled *k = known(comm);
    if (k) close_stretch(k);
    if (k) k->handle = 0;
    unlock();
}

int nf_ranks_of(MPI_Comm comm) {
    int n = 1;
    PMPI_Comm_size(comm, &n);
    return n > 0 ? n : 1;
}

int64_t nf_size(int count, MPI_Datatype type) {
    int size = 0;
    if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
    PMPI_Type_size(type, &size);
    return size > 0 ? (int64_t)count * size : 0;
}

int64_t nf_sum(const int *counts, int n, MPI_Datatype type) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += counts[i];
    return sum * nf_size(1, type);
}

/* ---- arrivals ---- */

/* Which calls are looked at: all ranks come to the same ones, and those of 2^n are among those of 2^(n-1). */
static int is_chosen(uint64_t call, int every_log2) {
    return (mix(call) >> 20 & ((UINT64_C(1) << every_log2) - 1)) == 0;
}

static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static int64_t off_cpu_ns(const struct nl_thread_times *from, const struct nl_thread_times *to) {
    int64_t off_ns = nl_thread_times_steal_ns(from, to);
    return nl_preempted_source(&here.account) == NL_PREEMPTED_SCHEDULER && off_ns > 0 ? off_ns : 0;
}

/* What the stretch that ends with this call spent, and lost, inside other calls. What watching them took is
 * no work of the program. */
static void look_inside(struct nf_call *c, struct nf_sampled *k) {
    const struct watched *now = &here.watched, *from = &k->watched_from;
    c->mpi_ns = nf_process.file->mpi_ns - k->mpi_from_ns + now->looks_ns - from->looks_ns;
    k->n_watched = now->n - from->n;
    int are_all_watched = now->n_stopped == from->n_stopped;
    c->mpi_preempted_ns = are_all_watched ? now->preempted_ns - from->preempted_ns : -1;
    c->mpi_off_cpu_ns = are_all_watched ? now->off_cpu_ns - from->off_cpu_ns : -1;
}

void nf_watch(struct nf_call *c) {
    c->watched_from_ns = nd_clock_now(&nf_process.clock);
    nl_thread_times_read(&here.account, &c->times);
    c->is_watched = 1;
}

/* A watched call has ended. */
static void watched(const struct nf_call *c) {
    struct nl_thread_times now;
    nl_thread_times_read(&here.account, &now);
    int64_t preempted_ns = nl_thread_times_preempted_ns(&here.account, &c->times, &now);
    here.watched.n++;
    if (nf_process.n_to_watch && !--nf_process.n_to_watch) here.watched.n_stopped++;
    here.watched.preempted_ns += preempted_ns > 0 ? preempted_ns : 0;
    here.watched.off_cpu_ns += off_cpu_ns(&c->times, &now);
    nf_thread.left_ns = nd_clock_now(&nf_process.clock);
    here.watched.looks_ns += c->entered_ns - c->watched_from_ns + nf_thread.left_ns - c->left_ns;
}

void nf_arrive(struct nf_call *c, MPI_Comm comm) {
    lock();
    struct nf_sampled *k = known(comm);
    if (k && k->is_open && nf_thread.is_first) {
        struct nl_thread_times now;
        nl_thread_times_read(&here.account, &now);
        c->sampled = k;
        c->since_ns = k->left_ns;
        c->preempted_ns = nl_thread_times_preempted_ns(&here.account, &k->from, &now);
        c->off_cpu_ns = off_cpu_ns(&k->from, &now);
        c->has_slept = sleeps() != k->sleeps_from;
        look_inside(c, k);
        close_stretch(k);
        if (!here.n_open) c->is_watched = 0;
        /* the look itself is not the program's, and not MPI's */
        c->entered_ns = nd_clock_now(&nf_process.clock);
    }
    unlock();
}

/* Every second look goes, so that there is room for a program of any length. */
static void make_room(struct nf_file *f) {
    uint32_t kept = 0;
    f->every_log2++;
    for (uint32_t i = 0; i < f->n_samples; i++)
        if (is_chosen(f->samples[i].call, (int)f->every_log2)) f->samples[kept++] = f->samples[i];
    f->n_samples = kept;
}

/* The budget is one for all communicators. */
static void choose_pace(struct nf_sampled *k, int64_t now_ns) {
    const struct nf_file *f = nf_process.file;
    int64_t between_ns = k->n_calls > 1 ? (now_ns - k->first_ns) / (int64_t)(k->n_calls - 1) : 0;
    int64_t wanted_ns =
        f->sample_cost_ns * (int64_t)(1 + k->n_watched) * BUDGET * (int64_t)f->n_communicators;
    int every_log2 = (int)f->every_log2;
    while (every_log2 < 40 && between_ns << every_log2 < wanted_ns)
        every_log2++;
    k->every_log2 = every_log2;
}

static void keep_sample(const struct nf_call *c, int operation) {
    struct nf_file *f = nf_process.file;
    const struct nf_sampled *k = c->sampled;
    while (f->n_samples == NF_MAX_SAMPLES)
        make_room(f);
    f->samples[f->n_samples] = (struct nf_sample){.call = k->n_calls,
                                                  .communicator = k->id,
                                                  .operation = (uint16_t)operation,
                                                  .has_slept = (uint16_t)c->has_slept,
                                                  .since_ns = c->since_ns,
                                                  .arrived_ns = c->entered_ns,
                                                  .left_ns = c->left_ns,
                                                  .preempted_ns = c->preempted_ns,
                                                  .off_cpu_ns = c->off_cpu_ns,
                                                  .mpi_ns = c->mpi_ns,
                                                  .mpi_preempted_ns = c->mpi_preempted_ns,
                                                  .mpi_off_cpu_ns = c->mpi_off_cpu_ns};
    __atomic_store_n(&f->n_samples, f->n_samples + 1, __ATOMIC_RELEASE);
    f->n_sampled++;
}

/* After a synchronising call: will the next one be looked at? Then this is where its time begins. */
static void synchronised(const struct nf_call *c, struct nf_sampled *k, int operation) {
    k->n_calls++;
    k->left_ns = c->left_ns;
    if (k->n_calls == 1) k->first_ns = c->left_ns;
    if (c->sampled) keep_sample(c, operation);
    if (c->sampled || k->n_calls < 64) choose_pace(k, c->left_ns);
    close_stretch(k); /* of a call by another thread nothing was looked at */
    k->is_open = k->is_looked_at && nf_thread.is_first && is_chosen(k->n_calls + 1, k->every_log2);
    if (!k->is_open) return;
    here.n_open++;
    nf_process.n_to_watch = MOST_WATCHED;
    k->mpi_from_ns = nf_process.file->mpi_ns;
    k->watched_from = here.watched;
    k->sleeps_from = sleeps();
    nl_thread_times_read(&here.account, &k->from);
    k->left_ns = nd_clock_now(&nf_process.clock);
}

/* ---- beats ---- */

static void mark(struct nf_mark *m, uint64_t beat) {
    struct nl_thread_times times;
    struct rusage usage;
    nl_thread_times_read(&here.account, &times);
    getrusage(RUSAGE_THREAD, &usage);
    *m = (struct nf_mark){.beat = beat,
                          .mono_ns = nl_mono_ns(),
                          .wall_ns = times.wall_ns,
                          .cpu_ns = times.cpu_ns,
                          .waited_ns = times.waited_ns,
                          .involuntary = usage.ru_nivcsw,
                          .voluntary = usage.ru_nvcsw};
}

/* A beat has ended. Whoever follows the program may have asked for a stretch of them, which begins and ends
 * with what a look costs. */
static void beat(struct nf_beats *b, int64_t at_ns) {
    uint64_t n = b->n + 1;
    uint32_t asked = __atomic_load_n(&b->asked, __ATOMIC_ACQUIRE);
    b->at_ns[n % NF_MAX_BEATS] = at_ns;
    __atomic_store_n(&b->n, n, __ATOMIC_RELEASE);
    if (asked == b->done) return;
    if (b->begun != asked) {
        b->begun = asked;
        mark(&b->first, n);
    } else if (n >= b->first.beat + b->n_wanted) {
        mark(&b->last, n);
        __atomic_store_n(&b->done, asked, __ATOMIC_RELEASE);
    }
}

/* ---- all calls ---- */

void nf_count(const struct nf_call *c, int operation, MPI_Comm comm, int root, int64_t bytes) {
    struct nf_file *f = nf_process.file;
    int64_t inside_ns = c->left_ns - c->entered_ns;
    lock();
    struct nf_sampled *k = comm == MPI_COMM_NULL ? NULL : known(comm);
    if (!k && comm != MPI_COMM_NULL) k = new_known(comm);
    struct nf_row *row = row_of(operation, k ? k->kind : NF_NO_COMMUNICATOR, k ? k->n_ranks : 0, root, bytes);
    if (row) {
        row->n_calls++;
        row->bytes += bytes;
        row->inside_ns += inside_ns;
        if (inside_ns > row->longest_ns) row->longest_ns = inside_ns;
        if (row->n_calls == 1 || inside_ns < row->shortest_ns) row->shortest_ns = inside_ns;
        int64_t entered_ns = c->is_watched ? c->watched_from_ns : c->entered_ns;
        if (nf_thread.left_ns) row->outside_ns += entered_ns - nf_thread.left_ns;
        if (row->root != root) row->root = NF_CHANGING_ROOT;
        if (row - f->rows + 1 == f->beats.row && nf_thread.is_first) beat(&f->beats, c->left_ns);
    } else {
        f->n_lost_calls++;
    }
    f->n_calls++;
    f->mpi_ns += inside_ns;
    f->last_ns = c->left_ns;
    nf_thread.left_ns = c->left_ns;
    if (c->is_watched) watched(c);
    if (k && nf_classes[operation] == NF_SYNCHRONISING) {
        synchronised(c, k, operation);
        if (k->is_open) nf_thread.left_ns = k->left_ns;
    }
    unlock();
}

/* What a look costs: two readings of everything, the least disturbed of some. */
static int64_t look_cost_ns(void) {
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        struct nl_thread_times t;
        int64_t from_ns = nl_mono_ns();
        for (int half = 0; half < 2; half++) {
            nl_thread_times_read(&here.account, &t);
            (void)sleeps();
        }
        int64_t took_ns = nl_mono_ns() - from_ns;
        if (took_ns < least_ns) least_ns = took_ns;
    }
    return least_ns;
}

void nf_count_open(void) {
    nl_preempted_open(&here.account, NL_PREEMPTED_AUTO);
    nf_process.file->can_see_waits = nl_preempted_source(&here.account) == NL_PREEMPTED_SCHEDULER;
    nf_process.file->sample_cost_ns = look_cost_ns();
    nf_thread.is_first = 1;
}

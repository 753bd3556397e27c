#include "detector/measure/together.h"
#include "common/page/nl_page.h"

#define PAGE_MAGIC      0x6e6c7431u         /* "nlt1" */
#define STEP_PARTS      32                  /* words in the time that a loop may last ... */
#define MOST_COUNTED_NS INT64_C(3200000000) /* ... of which no more than this counts ... */
#define LEAST_STEP_NS   2500000. /* ... and no more than one in this time, while it is as fast as planned */

struct nd_together_page {
    struct nl_page page;
    _Alignas(64) _Atomic uint64_t end_at;
};

enum { STEP_GROWS = 4 }; /* from one operation on: at first nothing is known */

static const _Atomic uint64_t never; /* 0: in no loop */

/* Where the page of the node's first rank is; it may belong to another user's namespace, and then nobody has
 * one. */
static struct nd_together_page *attach(pid_t pid, int fd) {
    char path[64];
    struct nd_together_page *page = NULL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0) return NULL;
    page = nl_page_attach(own, PAGE_MAGIC, sizeof *page);
    close(own);
    return page;
}

void nd_together_open(struct nd_together *t, const struct nd_team *team) {
    int fd = -1, where[2] = {-1, -1};
    *t = (struct nd_together){.is_alone = team->n_ranks == 1};
    MPI_Comm_dup(team->world, &t->comm);
    if (team->rank == 0) {
        t->page = nl_page_create("noiselab-together", PAGE_MAGIC, sizeof *t->page, &fd);
        where[0] = (int)getpid();
        where[1] = fd;
    }
    MPI_Bcast(where, 2, MPI_INT, 0, team->world);
    if (team->rank != 0 && team->n_nodes == 1 && where[1] >= 0) t->page = attach(where[0], where[1]);
    int has_page = t->page != NULL, all = 0;
    MPI_Allreduce(&has_page, &all, 1, MPI_INT, MPI_MIN, team->world);
    if (fd >= 0) close(fd);
    if (all) return;
    nl_page_unmap(t->page);
    t->page = NULL;
}

void nd_together_close(struct nd_together *t) {
    if (t->comm == MPI_COMM_NULL) return;
    nl_page_unmap(t->page);
    MPI_Comm_free(&t->comm);
    *t = (struct nd_together){.comm = MPI_COMM_NULL};
}

static int64_t at_least_one(double n) { return n < 1 ? 1 : (int64_t)n; }

/* Operations from word to word while the loop is as fast as planned. */
static int64_t usual_step(const struct nd_ending *e) {
    int64_t longest_ns = e->most_ns < MOST_COUNTED_NS ? e->most_ns : MOST_COUNTED_NS;
    double step_ns = (double)longest_ns / STEP_PARTS;
    return at_least_one((step_ns > LEAST_STEP_NS || e->is_least ? step_ns : LEAST_STEP_NS) / e->planned_ns);
}

void nd_ending_begin(struct nd_ending *e, struct nd_together *t, int is_meeting, int64_t n_most,
                     int64_t most_ns, double planned_ns, int is_least) {
    *e = (struct nd_ending){.together = t,
                            .end_at = &never,
                            .n_most = n_most,
                            .begin_ns = nl_mono_ns(),
                            .most_ns = most_ns,
                            .next_at = INT64_MAX,
                            .planned_ns = planned_ns,
                            .is_least = is_least,
                            .request = MPI_REQUEST_NULL};
    if (!t) return;
    e->before = (uint64_t)t->n_operations;
    if (t->page && (is_meeting || t->is_alone)) {
        e->end_at = &t->page->end_at;
        return;
    }
    e->step = e->next_at = 1;
}

void nd_ending_ask(struct nd_ending *e, int64_t now_ns) {
    if (e->end_at == &never) {
        e->mine_ns = now_ns; /* the next word says it */
        return;
    }
    uint64_t wanted = e->before + e->n + 1, stands = atomic_load(&e->together->page->end_at);
    if ((int64_t)e->n + 1 >= e->n_most) return; /* it ends there anyway, and what stands must not be beyond */
    while (stands <= e->before || stands > wanted)
        if (atomic_compare_exchange_weak(&e->together->page->end_at, &stands, wanted)) return;
}

/* Takes in what all have told at told_at: whether the loop ends here, and how many operations until the next
 * word. */
static void take_in(struct nd_ending *e) {
    double longest_ns = (double)e->longest_ns, each_ns = longest_ns / (double)e->told_at,
           slower = each_ns / e->planned_ns;
    double step = (double)usual_step(e) / (slower > 1 ? slower : 1);
    e->step = at_least_one(step < STEP_GROWS * (double)e->step ? step : STEP_GROWS * (double)e->step);
    /* a later end would come after the next words */
    double until_ns = e->is_least ? longest_ns : each_ns * (double)((int64_t)e->n + e->step);
    e->is_over = e->longest_ns == INT64_MAX || until_ns > (double)e->most_ns;
}

void nd_ending_tell(struct nd_ending *e, int64_t now_ns) {
    if (e->request != MPI_REQUEST_NULL) {
        MPI_Wait(&e->request, MPI_STATUS_IGNORE);
        take_in(e);
        if (e->is_over) return;
    }
    e->told_at = (int64_t)e->n;
    e->next_at = e->told_at + e->step;
    if (e->mine_ns != INT64_MAX) e->mine_ns = now_ns - e->begin_ns;
    MPI_Iallreduce(&e->mine_ns, &e->longest_ns, 1, MPI_INT64_T, MPI_MAX, e->together->comm, &e->request);
}

void nd_ending_finish(struct nd_ending *e) {
    if (!e->together) return;
    if (e->request != MPI_REQUEST_NULL) MPI_Wait(&e->request, MPI_STATUS_IGNORE);
    e->together->n_operations += (int64_t)e->n;
}

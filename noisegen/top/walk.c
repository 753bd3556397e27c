#include "noisegen/top/walk.h"

#include "common/base/nl_hist.h"
#include "common/base/nl_rng.h"

enum {
    PER_STEP = 10, /* nodes that begin a step in a window that is walked: with so many, none of them does with
                      e^-10 */
    EVENTS_OF_VISIT = 8, /* take as long as a visit */
    PASS_STEPS = 300, /* with the same offsets; then all nodes get others */
    FIRST_STEPS = 3 /* of a pass, which do not count: at its begin nodes stand within interruptions that a run
                       would have waited for */
};

#define MOST_LOST 0.995 /* a CPU that loses more, or all of its time, makes no step endless */

/* A node in the heap: when its next event begins, in wall time of the walk. */
struct node {
    int64_t next_ns;
    int64_t origin_ns; /* of the record's present round on this node */
    uint32_t event;    /* index of that event */
};

struct nt_walk {
    struct nt_event *events;   /* those that are walked, by start */
    struct nt_window *windows; /* of all events, in their order */
    size_t n_events;
    int64_t span_ns;
    int n_cpus, n_nodes;
    int64_t *work_ns;        /* by CPU: wall time of a step without walked events */
    int64_t longest_work_ns; /* of these */
    int64_t every_ns;
    int64_t *done_ns; /* by CPU, of the node under way */
    struct node *heap;
    int n_heap;                               /* nodes in the heap */
    int n_begun;                              /* nodes that have begun in this pass */
    enum { BEGINS, VISITS, GOES_BACK } phase; /* of the step under way */
    int64_t end_ns,
        last_ns; /* of it: when its work would end without events; when the last node so far is done */
    int n_steps; /* of this pass; -1: it begins */
    int64_t now_ns;
    struct nl_rng random;
    struct nt_walked walked;
};

/* ---- which events are walked ---- */

/* events: by CPU and start. */
static void find_windows(const struct nt_event *events, size_t n, int64_t every_ns,
                         struct nt_window *windows) {
    int64_t loss_ns = 0;
    for (size_t i = 0, end = 0; i < n; i++) {
        if (i > 0 && end > i) loss_ns -= events[i - 1].end_ns - events[i - 1].start_ns;
        if (end <= i) end = i, loss_ns = 0;
        int64_t left_ns = every_ns; /* of the work when the last event begins */
        while (end < n && events[end].cpu == events[i].cpu &&
               events[end].start_ns - events[i].start_ns - loss_ns < every_ns) {
            loss_ns += events[end].end_ns - events[end].start_ns;
            end++;
        }
        const struct nt_event *last = &events[end - 1];
        left_ns -= last->end_ns - events[i].start_ns - loss_ns;
        int64_t free_ns = i > 0 && events[i - 1].cpu == events[i].cpu
                              ? events[i].start_ns - events[i - 1].end_ns
                              : INT64_MAX;
        windows[i] = (struct nt_window){loss_ns, free_ns < left_ns ? free_ns : left_ns, (uint32_t)end};
    }
}

/* Marks the events of the windows that lose most, of which so many are taken that steps begin in them for
 * enough_ns of the record. */
static int mark(const struct nt_window *windows, size_t n, double enough_ns, uint8_t *is_walked) {
    double *widths; /* by bin of losses */
    int bin = NL_HIST_BINS;
    if (!NL_NEW(widths, NL_HIST_BINS)) return -1;
    for (size_t i = 0; i < n; i++) widths[nl_hist_index(windows[i].loss_ns)] += (double)windows[i].width_ns;
    for (double sum = 0; bin > 0 && sum < enough_ns;) sum += widths[--bin];
    for (size_t i = 0, next = 0; i < n; i++) { /* ends of windows are in order */
        if (nl_hist_index(windows[i].loss_ns) < bin) continue;
        for (size_t j = next > i ? next : i; j < windows[i].end; j++) is_walked[j] = 1;
        next = windows[i].end;
    }
    free(widths);
    return 0;
}

/* The order of events by CPU, and by start on each: places in `events`, which are by end. Those of one CPU do
 * not overlap, so that their order is that of their starts, too. first: n_cpus + 1 numbers. */
static void order_by_cpu(const struct nt_event *events, size_t n, int n_cpus, size_t *first,
                         uint32_t *order) {
    memset(first, 0, ((size_t)n_cpus + 1) * sizeof *first);
    for (size_t i = 0; i < n; i++) first[events[i].cpu + 1]++;
    for (int cpu = 0; cpu < n_cpus; cpu++) first[cpu + 1] += first[cpu];
    for (size_t i = 0; i < n; i++) order[first[events[i].cpu]++] = (uint32_t)i;
}

/* Adds an event at its place by start: nearly always at the end. */
static void insert(struct nt_walk *w, struct nt_event event) {
    size_t at = w->n_events++;
    for (; at > 0 && w->events[at - 1].start_ns > event.start_ns; at--) w->events[at] = w->events[at - 1];
    w->events[at] = event;
}

/* A CPU on which what is walked leaves next to nothing loses MOST_LOST: a step that meets its events would go
 * round the record for ever. Then no others matter. lost: by CPU, of 1. */
static void leave_room(const struct nt_event *events, size_t n, double span_ns, int n_cpus,
                       uint8_t *is_walked, double *walked, double *lost) {
    int is_full = 0;
    for (size_t i = 0; i < n; i++)
        if (is_walked[i]) walked[events[i].cpu] += (double)(events[i].end_ns - events[i].start_ns) / span_ns;
    for (int cpu = 0; cpu < n_cpus; cpu++)
        if (walked[cpu] > MOST_LOST || lost[cpu] > MOST_LOST) lost[cpu] = MOST_LOST, is_full = 1;
    if (is_full) memset(is_walked, 0, n);
}

/* Room for n of what it points to, whatever is in it: to clear it would take as long as to fill it. */
#define ROOM(pointer, n) ((pointer) = malloc((size_t)(n) * sizeof *(pointer)))

/* Copies the events that are walked. The others lie in windows that lose less than those that some ten nodes
 * have in every step, and so do not end it. No sort: this is done while others compute. */
static int choose(struct nt_walk *w, const struct nt_event *events, size_t n, const double *base_share) {
    struct nt_event *by_cpu = NULL;
    struct nt_window *windows = NULL;
    uint8_t *is_walked = NULL, *is_walked_here = NULL;
    uint32_t *order = NULL;
    size_t *first = NULL;
    double *lost = NULL, *walked = NULL;
    int failed = !ROOM(by_cpu, n + 1) || !ROOM(order, n + 1) || !ROOM(windows, n + 1) ||
                 !ROOM(w->windows, n + 1) || !ROOM(w->events, n + 1) || !NL_NEW(is_walked, n + 1) ||
                 !NL_NEW(is_walked_here, n + 1) || !NL_NEW(first, w->n_cpus + 2) ||
                 !NL_NEW(lost, w->n_cpus) || !NL_NEW(walked, w->n_cpus);
    for (int cpu = 0; !failed && base_share && cpu < w->n_cpus; cpu++) lost[cpu] = base_share[cpu];
    if (!failed && n > 0) {
        order_by_cpu(events, n, w->n_cpus, first, order);
        for (size_t i = 0; i < n; i++) by_cpu[i] = events[order[i]];
        find_windows(by_cpu, n, w->every_ns, windows);
        failed = mark(windows, n, PER_STEP * (double)w->span_ns / w->n_nodes, is_walked);
        for (size_t i = 0; i < n; i++) {
            w->windows[order[i]] = windows[i];
            is_walked_here[order[i]] = is_walked[i];
        }
    }
    if (!failed) leave_room(events, n, (double)w->span_ns, w->n_cpus, is_walked_here, walked, lost);
    for (size_t i = 0; !failed && i < n; i++)
        if (is_walked_here[i]) insert(w, events[i]);
    for (int cpu = 0; !failed && cpu < w->n_cpus; cpu++) {
        w->work_ns[cpu] = (int64_t)((double)w->every_ns / (1 - lost[cpu]));
        if (w->work_ns[cpu] > w->longest_work_ns) w->longest_work_ns = w->work_ns[cpu];
    }
    NL_FREE(by_cpu, windows, is_walked, is_walked_here, order, first, lost, walked);
    return failed ? -1 : 0;
}

/* ---- the walk ---- */

static void sift_up(struct nt_walk *w, int at) {
    struct node node = w->heap[at];
    for (int parent; at > 0 && w->heap[parent = (at - 1) / 2].next_ns > node.next_ns; at = parent)
        w->heap[at] = w->heap[parent];
    w->heap[at] = node;
}

/* The node on top has a later event now. */
static void sift_down(struct nt_walk *w) {
    struct node node = w->heap[0];
    int at = 0, child;
    for (; (child = 2 * at + 1) < w->n_heap; at = child) {
        if (child + 1 < w->n_heap && w->heap[child + 1].next_ns < w->heap[child].next_ns) child++;
        if (w->heap[child].next_ns >= node.next_ns) break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = node;
}

static int64_t start_of(const struct nt_walk *w, const struct node *node) {
    return node->origin_ns + w->events[node->event].start_ns;
}
static int64_t end_of(const struct nt_walk *w, const struct node *node) {
    return node->origin_ns + w->events[node->event].end_ns;
}

static void go_on(const struct nt_walk *w, struct node *node) {
    if (++node->event < w->n_events) return;
    node->event = 0;
    node->origin_ns += w->span_ns;
}

/* A node's first event that is not over, at an offset of its own. It begins one event earlier than the first
 * that starts after the begin: that one may last. */
static void begin_node(struct nt_walk *w) {
    int64_t offset_ns = (int64_t)(nl_rng_uniform(&w->random) * (double)w->span_ns);
    size_t low = 0, high = w->n_events;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->events[middle].start_ns < offset_ns) low = middle + 1;
        else high = middle;
    }
    struct node *node = &w->heap[w->n_heap];
    *node = (struct node){.origin_ns = -offset_ns, .event = (uint32_t)low};
    if (low > 0) node->event--;
    while (end_of(w, node) <= 0) go_on(w, node);
    node->next_ns = start_of(w, node);
    sift_up(w, w->n_heap++);
}

/* When the ranks of a node are done with the step that begins now: each CPU's work, and the events that meet
 * it, whose number is added to *n_events. Events are by start, so that what ends the work of one CPU later
 * may bring in more of its events. */
static int64_t node_done(struct nt_walk *w, struct node node, int64_t *n_events) {
    int64_t done_ns = w->now_ns + w->longest_work_ns;
    for (int cpu = 0; cpu < w->n_cpus; cpu++) w->done_ns[cpu] = w->now_ns + w->work_ns[cpu];
    for (; start_of(w, &node) < done_ns; go_on(w, &node), ++*n_events) {
        int64_t start_ns = start_of(w, &node), end_ns = end_of(w, &node),
                *own = &w->done_ns[w->events[node.event].cpu];
        if (end_ns <= w->now_ns || start_ns >= *own) continue;
        *own += end_ns - (start_ns > w->now_ns ? start_ns : w->now_ns);
        if (*own > done_ns) done_ns = *own;
    }
    return done_ns;
}

/* One step of all nodes, or a part of it, of about n_visits; only nodes with an event in it are visited.
 * Those visited wait behind the heap until it is known when the step ends, and go back then. Returns the
 * visits made. */
static int64_t step(struct nt_walk *w, int64_t n_visits) {
    int64_t n = 1, n_events = 0;
    if (w->phase == BEGINS) {
        w->end_ns = w->last_ns = w->now_ns + w->longest_work_ns;
        w->phase = VISITS;
    }
    for (; w->phase == VISITS && n + n_events / EVENTS_OF_VISIT < n_visits; n++) {
        if (w->n_heap == 0 || w->heap[0].next_ns >= w->end_ns) {
            w->phase = GOES_BACK;
            break;
        }
        struct node node = w->heap[0];
        int64_t done_ns = node_done(w, node, &n_events);
        if (done_ns > w->last_ns) w->last_ns = done_ns;
        w->heap[0] = w->heap[--w->n_heap];
        if (w->n_heap > 0) sift_down(w);
        w->heap[w->n_heap] = node;
    }
    n += n_events / EVENTS_OF_VISIT;
    for (; w->phase == GOES_BACK && w->n_heap < w->n_nodes && n < n_visits; n++) {
        struct node *node = &w->heap[w->n_heap];
        while (end_of(w, node) <= w->last_ns) go_on(w, node);
        node->next_ns = start_of(w, node);
        sift_up(w, w->n_heap++);
    }
    if (w->phase != GOES_BACK || w->n_heap < w->n_nodes) return n;
    if (w->n_steps >= FIRST_STEPS) {
        double stall_ns = (double)(w->last_ns - w->now_ns - w->every_ns);
        w->walked.stall_ns += stall_ns;
        w->walked.squares += stall_ns * stall_ns;
        w->walked.work_ns += (double)w->every_ns;
        w->walked.n_steps++;
    }
    w->now_ns = w->last_ns;
    w->n_steps++;
    w->phase = BEGINS;
    return n;
}

void nt_walk_go(struct nt_walk *w, int64_t n_visits) {
    if (w->n_events == 0) {
        w->walked = (struct nt_walked){(double)(w->longest_work_ns - w->every_ns), (double)w->every_ns, 1, 0};
        return;
    }
    while (n_visits > 0) {
        if (w->n_begun < w->n_nodes) {
            begin_node(w);
            w->n_begun++;
            n_visits--;
        } else if (w->n_steps < PASS_STEPS || w->phase != BEGINS) n_visits -= step(w, n_visits + 1);
        else w->n_heap = w->n_begun = w->n_steps = 0, w->now_ns = 0;
    }
}

/* ---- from begin to end ---- */

int nt_walk_open(struct nt_walk **walk, const struct nt_event *events, size_t n, int64_t span_ns, int n_cpus,
                 const double *base_share, int n_nodes, int64_t every_ns, uint64_t seed) {
    struct nt_walk *w = *walk = calloc(1, sizeof *w);
    if (!w) return -1;
    w->span_ns = span_ns;
    w->n_cpus = n_cpus;
    w->n_nodes = n_nodes;
    w->every_ns = every_ns;
    nl_rng_init(&w->random, seed, 0);
    if (NL_NEW(w->work_ns, n_cpus) && NL_NEW(w->done_ns, n_cpus) && NL_NEW(w->heap, n_nodes) &&
        choose(w, events, n, base_share) == 0)
        return 0;
    nt_walk_close(w);
    *walk = NULL;
    return -1;
}

struct nt_walked nt_walk_result(const struct nt_walk *w) {
    return w->walked;
}

int64_t nt_walk_base_ns(const struct nt_walk *w) { return w->longest_work_ns - w->every_ns; }

const struct nt_window *nt_walk_windows(const struct nt_walk *w) { return w->windows; }

void nt_walk_close(struct nt_walk *w) {
    if (w) NL_FREE(w->events, w->windows, w->work_ns, w->done_ns, w->heap);
    free(w);
}

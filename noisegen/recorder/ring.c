#include "noisegen/recorder/ring.h"

#include <sys/ioctl.h>

enum { MIN_RING_BYTES = 64 << 10, MAX_RECORD_BYTES = 256 };

/* Each read of an event gives its value and, from Linux 6.0 on, how many records were lost (PERF_FORMAT_LOST,
 * not in older headers). */
#define FORMAT_LOST (UINT64_C(1) << 4)

/* ---- what the kernel writes: struct perf_event_header, a body, and this at the end of every record; of
 * rings that join it ends with the time ---- */

struct sample_id { uint32_t pid, tid; uint64_t time; uint32_t cpu, reserved; };

enum { JOINED_ID_BYTES = offsetof(struct sample_id, cpu) };

_Static_assert(sizeof(struct nr_switch) ==
                   2 * (sizeof(struct perf_event_header) + sizeof(uint64_t) + JOINED_ID_BYTES),
               "two records of the kernel, side by side");

struct task_body {
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time;
};

struct name_body { struct perf_event_header header; uint32_t pid, tid; char name[]; };

struct lost_body { struct perf_event_header header; uint64_t id, lost; };

struct perf_event_attr nr_ring_attributes(int with_switches) {
    return (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(struct perf_event_attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
        .read_format = FORMAT_LOST,
        .disabled = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC, /* the detector's clock */
        .task = 1,
        .comm = 1,
        .context_switch = (unsigned)(with_switches != 0),
        .watermark = 1,
    };
}

static int open_event(struct perf_event_attr *attributes, pid_t tid, int cpu) {
    int fd = (int)syscall(SYS_perf_event_open, attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0 || errno != EINVAL || !(attributes->read_format & FORMAT_LOST)) return fd;
    attributes->read_format = 0; /* an older kernel */
    return (int)syscall(SYS_perf_event_open, attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int nr_rings_add(struct nr_rings *r, struct perf_event_attr *attributes, pid_t tid, int cpu, int64_t bytes) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (NL_GROW(r->heap, r->n, r->heap_capacity) || NL_GROW(r->rings, r->n, r->capacity)) return -1;
    attributes->wakeup_watermark = (uint32_t)(bytes / 2);
    if (r->joins) attributes->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    int fd = open_event(attributes, tid, cpu);
    if (fd < 0) return -1;
    struct perf_event_mmap_page *page =
        mmap(NULL, page_bytes + (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    if (page != MAP_FAILED)
        r->rings[r->n++] = (struct nr_ring){.fd = fd,
                                            .page = page,
                                            .data = (const char *)page + page->data_offset,
                                            .cpu = cpu,
                                            .bytes = (uint64_t)bytes};
    else close(fd);
    errno = error;
    return page != MAP_FAILED ? 0 : -1;
}

int nr_rings_share(struct nr_rings *r, int (*open_all)(void *, int64_t), void *context, int64_t bytes) {
    for (;; bytes /= 2) {
        int status = open_all(context, bytes), error = errno;
        if (status == 0 || (error != EPERM && error != ENOMEM) || bytes / 2 < MIN_RING_BYTES) return status;
        nr_rings_close(r);
        errno = error;
    }
}

int nr_rings_redirect(struct nr_rings *r, struct perf_event_attr *attributes, pid_t tid, int cpu, int to) {
    if (NL_GROW(r->redirected, r->n_redirected, r->redirected_capacity)) return -1;
    int fd = open_event(attributes, tid, cpu);
    if (fd < 0) return -1;
    r->redirected[r->n_redirected++] = fd;
    return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->rings[to].fd) ? -1 : 0;
}

int nr_rings_enable(struct nr_rings *r) {
    for (int i = 0; i < r->n; i++)
        if (ioctl(r->rings[i].fd, PERF_EVENT_IOC_ENABLE, 0)) return -1;
    for (int i = 0; i < r->n_redirected; i++)
        if (ioctl(r->redirected[i], PERF_EVENT_IOC_ENABLE, 0)) return -1;
    return 0;
}

/* ---- reading ---- */

static size_t size_at(const struct nr_ring *ring, uint64_t at) {
    /* records are aligned to 8: a header is never split */
    const struct perf_event_header *header = (const void *)(ring->data + (at & (ring->bytes - 1)));
    return header->size;
}

static size_t id_bytes(const struct nr_rings *r) {
    return r->joins ? JOINED_ID_BYTES : sizeof(struct sample_id);
}

/* The time of the record at the tail. */
static int64_t time_at_tail(const struct nr_rings *r, const struct nr_ring *ring) {
    uint64_t end = ring->tail + size_at(ring, ring->tail);
    uint64_t at = end - id_bytes(r) + offsetof(struct sample_id, time);
    return *(const int64_t *)(const void *)(ring->data + (at & (ring->bytes - 1)));
}

static int64_t next_of(const struct nr_rings *r, int at) {
    return at < r->n_heap ? r->rings[r->heap[at]].next_ns : INT64_MAX;
}

static void sift_down(struct nr_rings *r, int at) {
    for (;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (next_of(r, child) < next_of(r, least)) least = child;
        if (least == at) return;
        int swapped = r->heap[at];
        r->heap[at] = r->heap[least];
        r->heap[least] = swapped;
        at = least;
    }
}

/* The ring on top has another record now, or is another one. */
static void order(struct nr_rings *r) {
    if (r->n_heap == 2) { /* they take turns */
        int other = r->heap[1];
        int64_t first_ns = r->rings[r->heap[0]].next_ns, other_ns = r->rings[other].next_ns;
        if (other_ns < first_ns) r->heap[1] = r->heap[0], r->heap[0] = other;
        r->others_ns = other_ns < first_ns ? first_ns : other_ns;
        return;
    }
    sift_down(r, 0);
    r->others_ns = next_of(r, 1) < next_of(r, 2) ? next_of(r, 1) : next_of(r, 2);
}

/* What lay at the tail of the ring on top has been taken. */
static void go_on(struct nr_rings *r, struct nr_ring *ring) {
    if (ring->tail < ring->head) {
        ring->next_ns = time_at_tail(r, ring);
        if (ring->next_ns <= r->others_ns) return;
    } else r->heap[0] = r->heap[--r->n_heap];
    order(r);
}

/* The kernel leaves out what has no room: with room for the longest record it has left out nothing. */
static void see_head(struct nr_ring *ring) {
    ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    if (ring->bytes - (ring->head - ring->tail) < MAX_RECORD_BYTES) ring->may_have_lost = 1;
}

void nr_rings_look(struct nr_rings *r) {
    r->n_heap = 0;
    for (int i = 0; i < r->n; i++) {
        struct nr_ring *ring = &r->rings[i];
        see_head(ring);
        if (ring->tail == ring->head) continue;
        ring->next_ns = time_at_tail(r, ring);
        r->heap[r->n_heap++] = i;
    }
    for (int i = r->n_heap / 2 - 1; i > 0; i--) sift_down(r, i);
    order(r);
}

/* Translates one record; 0 for a type that is of no use here. */
static int translate(struct nr_ring *ring, const struct perf_event_header *header, struct nr_record *out) {
    const struct task_body *task = (const void *)header;
    const struct name_body *name = (const void *)header;
    switch (header->type) {
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        out->type = header->misc & PERF_RECORD_MISC_SWITCH_OUT ? NR_RECORD_OUT : NR_RECORD_IN;
        out->is_preempted = nr_is_preempted(header);
        return 1;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        out->type = header->type == PERF_RECORD_FORK ? NR_RECORD_BIRTH : NR_RECORD_EXIT;
        out->pid = task->pid;
        out->tid = task->tid;
        out->parent_pid = task->parent_pid;
        out->parent_tid = task->parent_tid;
        return 1;
    case PERF_RECORD_COMM:
        out->type = NR_RECORD_NAME;
        out->pid = name->pid;
        out->tid = name->tid;
        memccpy(out->name, name->name, '\0', sizeof out->name - 1);
        return 1;
    case PERF_RECORD_LOST:
        out->type = NR_RECORD_LOST;
        ring->n_lost += ((const struct lost_body *)(const void *)header)->lost;
        return 1;
    default: return 0;
    }
}

/* The record at a place in one piece: where it lies, or a copy. A longer one than all that are asked for is
 * left out: NULL. */
static const void *whole_at(const struct nr_ring *ring, uint64_t at, char *copy) {
    uint64_t place = at & (ring->bytes - 1), first = ring->bytes - place;
    size_t size;
    if (first >= MAX_RECORD_BYTES || (size = size_at(ring, at)) <= first) return ring->data + place;
    if (size > MAX_RECORD_BYTES) return NULL;
    memcpy(copy, ring->data + place, first);
    memcpy(copy + first, ring->data, size - first);
    return copy;
}

static int is_switch(const struct perf_event_header *header, int is_out) {
    return header->type == PERF_RECORD_SWITCH_CPU_WIDE &&
           !(header->misc & PERF_RECORD_MISC_SWITCH_OUT) == !is_out;
}

int nr_rings_switches(struct nr_rings *r, int64_t until_ns, int most, const struct nr_switch **switches,
                      int *cpu) {
    if (r->n_heap == 0) return 0;
    struct nr_ring *ring = &r->rings[r->heap[0]];
    uint64_t at = ring->tail & (ring->bytes - 1), bytes = ring->head - ring->tail;
    if (bytes > ring->bytes - at) bytes = ring->bytes - at;
    const struct nr_switch *s = (const void *)(ring->data + at), *first = s,
                           *end = s + (bytes / sizeof *s < (size_t)most ? (int)(bytes / sizeof *s) : most);
    if (until_ns > r->others_ns) until_ns = r->others_ns;
    while (s < end && s->out_ns < until_ns && is_switch(&s->out, 1) && is_switch(&s->in, 0)) s++;
    if (s == first) return 0;
    *switches = first;
    *cpu = ring->cpu;
    ring->tail += (uint64_t)(s - first) * sizeof *s;
    go_on(r, ring);
    return (int)(s - first);
}

/* Who comes, where that is the next record: the kernel writes it right after who leaves. */
static void join(struct nr_ring *ring, struct nr_record *out) {
    _Alignas(8) char copy[MAX_RECORD_BYTES];
    struct nr_switch s;
    if (ring->tail == ring->head) return;
    const struct perf_event_header *in = whole_at(ring, ring->tail, copy);
    if (!in || !is_switch(in, 0)) return;
    memcpy(&s.in, in, sizeof s / 2);
    out->in_ns = s.in_ns;
    out->in_pid = s.in_pid;
    out->in_tid = s.in_tid;
    ring->tail += in->size;
}

/* Takes the record at the tail; 0 for a type that is of no use here. */
static int take(const struct nr_rings *r, struct nr_ring *ring, struct nr_record *record) {
    _Alignas(8) char copy[MAX_RECORD_BYTES];
    const struct perf_event_header *header = whole_at(ring, ring->tail, copy);
    ring->tail += size_at(ring, ring->tail);
    if (!header) return 0;
    struct sample_id id = {.cpu = (uint32_t)ring->cpu};
    memcpy(&id, (const char *)header + header->size - id_bytes(r), id_bytes(r));
    *record =
        (struct nr_record){.time_ns = (int64_t)id.time, .cpu = (int)id.cpu, .pid = id.pid, .tid = id.tid};
    if (!translate(ring, header, record)) return 0;
    if (r->joins && record->type == NR_RECORD_OUT) join(ring, record);
    return 1;
}

int nr_rings_next(struct nr_rings *r, int64_t until_ns, struct nr_record *record) {
    while (r->n_heap > 0) {
        struct nr_ring *ring = &r->rings[r->heap[0]];
        if (ring->next_ns >= until_ns) return 0;
        int is_useful = take(r, ring, record);
        go_on(r, ring);
        if (is_useful) return 1;
    }
    return 0;
}

void nr_rings_done(struct nr_rings *r) {
    for (int i = 0; i < r->n; i++)
        __atomic_store_n(&r->rings[i].page->data_tail, r->rings[i].tail, __ATOMIC_RELEASE);
}

/* An event of another CPU is read there, in an interrupt of whoever runs: only where there may be
 * something. */
uint64_t nr_rings_lost(struct nr_rings *r) {
    uint64_t sum = 0;
    for (int i = 0; i < r->n; i++) {
        struct nr_ring *ring = &r->rings[i];
        uint64_t values[2] = {0, 0}; /* the event's value, then its losses where the kernel tells them */
        see_head(ring);
        if (ring->may_have_lost && read(ring->fd, values, sizeof values) == sizeof values)
            ring->read_lost = values[1];
        ring->may_have_lost = 0;
        sum += ring->read_lost > ring->n_lost ? ring->read_lost : ring->n_lost;
    }
    return sum;
}

void nr_rings_close(struct nr_rings *r) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < r->n_redirected; i++) close(r->redirected[i]);
    for (int i = 0; i < r->n; i++) {
        munmap(r->rings[i].page, page_bytes + r->rings[i].bytes);
        close(r->rings[i].fd);
    }
    NL_FREE(r->rings, r->heap, r->redirected);
    *r = (struct nr_rings){.joins = r->joins};
}

#include "noisegen/recorder/ring.h"

#include <sys/ioctl.h>

enum { MIN_RING_BYTES = 64 << 10, MAX_RECORD_BYTES = 256 };

/* Each read of an event gives its value and, from Linux 6.0 on, how many records were lost (PERF_FORMAT_LOST,
 * not in older headers). */
#define FORMAT_LOST (UINT64_C(1) << 4)

/* ---- what the kernel writes: struct perf_event_header, a body, and this at the end of every record ---- */

struct sample_id { uint32_t pid, tid; uint64_t time; uint32_t cpu, reserved; };

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
    int fd = open_event(attributes, tid, cpu);
    if (fd < 0) return -1;
    void *page = mmap(NULL, page_bytes + (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    if (page != MAP_FAILED)
        r->rings[r->n++] = (struct nr_ring){.fd = fd, .page = page, .bytes = (uint64_t)bytes};
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

static const char *data_of(const struct nr_ring *ring) {
    return (const char *)ring->page + ring->page->data_offset;
}

static size_t size_at(const struct nr_ring *ring, uint64_t at) {
    /* records are aligned to 8: a header is never split */
    const struct perf_event_header *header = (const void *)(data_of(ring) + (at & (ring->bytes - 1)));
    return header->size;
}

/* The time of the record at the tail. */
static int64_t time_at_tail(const struct nr_ring *ring) {
    uint64_t end = ring->tail + size_at(ring, ring->tail);
    uint64_t at = end - sizeof(struct sample_id) + offsetof(struct sample_id, time);
    return *(const int64_t *)(const void *)(data_of(ring) + (at & (ring->bytes - 1)));
}

static void sift_down(struct nr_rings *r, int at) {
    for (;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < r->n_heap; child++)
            if (r->rings[r->heap[child]].next_ns < r->rings[r->heap[least]].next_ns) least = child;
        if (least == at) return;
        int swapped = r->heap[at];
        r->heap[at] = r->heap[least];
        r->heap[least] = swapped;
        at = least;
    }
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
        ring->next_ns = time_at_tail(ring);
        r->heap[r->n_heap++] = i;
    }
    for (int i = r->n_heap / 2 - 1; i >= 0; i--) sift_down(r, i);
}

/* Translates one record; 0 for a type that is of no use here. */
static int translate(struct nr_ring *ring, const struct perf_event_header *header, struct nr_record *out) {
    const struct sample_id *id = (const void *)((const char *)header + header->size - sizeof *id);
    const struct task_body *task = (const void *)header;
    const struct name_body *name = (const void *)header;
    *out =
        (struct nr_record){.time_ns = (int64_t)id->time, .cpu = (int)id->cpu, .pid = id->pid, .tid = id->tid};
    switch (header->type) {
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        out->type = header->misc & PERF_RECORD_MISC_SWITCH_OUT ? NR_RECORD_OUT : NR_RECORD_IN;
        out->is_preempted = (header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
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

/* The kernel writes at a switch who leaves, and right after it who comes. */
static void join(struct nr_ring *ring, struct nr_record *out) {
    uint64_t at = ring->tail & (ring->bytes - 1);
    if (ring->tail == ring->head || ring->bytes - at < MAX_RECORD_BYTES) return;
    const struct perf_event_header *header = (const void *)(data_of(ring) + at);
    if (header->type != PERF_RECORD_SWITCH_CPU_WIDE || header->misc & PERF_RECORD_MISC_SWITCH_OUT) return;
    const struct sample_id *id = (const void *)((const char *)header + header->size - sizeof *id);
    out->in_ns = (int64_t)id->time;
    out->in_pid = id->pid;
    out->in_tid = id->tid;
    ring->tail += header->size;
}

int nr_rings_next(struct nr_rings *r, int64_t until_ns, struct nr_record *record) {
    while (r->n_heap > 0) {
        struct nr_ring *ring = &r->rings[r->heap[0]];
        if (ring->next_ns >= until_ns) return 0;
        _Alignas(8) char copy[MAX_RECORD_BYTES];
        size_t size = size_at(ring, ring->tail), at = ring->tail & (ring->bytes - 1);
        size_t first = ring->bytes - at;
        int is_useful = 0;
        if (size <= first) is_useful = translate(ring, (const void *)(data_of(ring) + at), record);
        else if (size <= sizeof copy) { /* a longer one is of no type asked for */
            memcpy(copy, data_of(ring) + at, first);
            memcpy(copy + first, data_of(ring), size - first);
            is_useful = translate(ring, (const void *)copy, record);
        }
        ring->tail += size;
        if (r->joins && is_useful && record->type == NR_RECORD_OUT) join(ring, record);
        if (ring->tail < ring->head) ring->next_ns = time_at_tail(ring);
        else r->heap[0] = r->heap[--r->n_heap];
        sift_down(r, 0);
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
    *r = (struct nr_rings){0};
}

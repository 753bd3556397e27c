#include "noisegen/patterns/stretch.h"

#include <linux/perf_event.h>

enum { RING_PAGES = 8 }; /* a power of two; a switch takes 16 bytes */

int ng_stretch_open(struct ng_stretch *s) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .sample_type = PERF_SAMPLE_TIME,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .context_switch = 1,
                                   .sample_id_all = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *s = (struct ng_stretch){.fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC),
                             .is_on = 1};
    if (s->fd < 0) return -1;
    s->ring_bytes = (1 + RING_PAGES) * page;
    s->ring = mmap(NULL, s->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (s->ring == MAP_FAILED) {
        close(s->fd);
        s->fd = -1;
        return -1;
    }
    s->since_ns = nl_mono_ns();
    return 0;
}

/* A record of a switch: its header and, by sample_id_all, its time. */
struct record {
    struct perf_event_header header;
    uint64_t time_ns;
};

static void take(struct ng_stretch *s, const struct record *r) {
    if (r->header.type != PERF_RECORD_SWITCH) return;
    int64_t at_ns = (int64_t)r->time_ns;
    if (r->header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
        if (s->is_on && at_ns > s->since_ns) s->total_ns += at_ns - s->since_ns;
        s->is_on = 0;
    } else {
        s->since_ns = at_ns;
        s->is_on = 1;
    }
}

/* Takes all records up to `head`. */
static void take_all(struct ng_stretch *s, uint64_t head) {
    struct perf_event_mmap_page *control = s->ring;
    size_t page = s->ring_bytes / (1 + RING_PAGES), size = s->ring_bytes - page;
    const unsigned char *data = (const unsigned char *)s->ring + page;
    uint64_t tail = control->data_tail;
    while (tail < head) {
        struct record r;
        size_t at = tail % size,
               first = size - at < sizeof r ? size - at : sizeof r; /* a record may wrap around */
        memcpy(&r, data + at, first);
        memcpy((unsigned char *)&r + first, data, sizeof r - first);
        take(s, &r);
        tail += r.header.size;
    }
    __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
}

int64_t ng_stretch_ns(struct ng_stretch *s) {
    const struct perf_event_mmap_page *control = s->ring;
    uint64_t head;
    int64_t now_ns;
    do {
        head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
        take_all(s, head);
        now_ns = nl_mono_ns();
    } while (__atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE) !=
             head);  /* switched away just now: that time is not ours */
    if (!s->is_on) { /* but we are: the ring was full, and the switch to us is lost */
        s->since_ns = now_ns;
        s->is_on = 1;
    }
    return s->total_ns + now_ns - s->since_ns;
}

void ng_stretch_close(struct ng_stretch *s) {
    if (s->fd < 0) return;
    munmap(s->ring, s->ring_bytes);
    close(s->fd);
    s->fd = -1;
}

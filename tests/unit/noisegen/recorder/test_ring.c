/* Records of the switches of one CPU, read in two ways at once. */
#include "noisegen/recorder/ring.h"
#include "tests/unit/unit.h"

enum { BYTES = 256 << 10, SLEEPS = 300, MOST = 20000 };

struct came { int64_t at_ns; uint32_t pid, tid; };

static void end_rings(struct nr_rings *r) { nr_rings_close(r); }

static int open_rings(struct nr_rings *r, int cpu) {
    struct perf_event_attr attributes = nr_ring_attributes(1);
    return nr_rings_add(r, &attributes, -1, cpu, BYTES);
}

/* Who came, in order, from then until then; *n_out: of how many others it is said that they left. */
static int read_all(struct nr_rings *r, int64_t from_ns, int64_t until_ns, struct came *came, int *n_out) {
    struct nr_record record;
    int n = 0;
    *n_out = 0;
    nr_rings_look(r);
    while (n < MOST && nr_rings_next(r, until_ns, &record)) {
        struct came one = {record.time_ns, record.pid, record.tid};
        *n_out += record.type == NR_RECORD_OUT && record.time_ns >= from_ns;
        if (record.type == NR_RECORD_OUT) one = (struct came){record.in_ns, record.in_pid, record.in_tid};
        if (one.at_ns >= from_ns && one.at_ns < until_ns) came[n++] = one;
    }
    nr_rings_done(r);
    return n;
}

TEST(rings_that_join_say_the_same_of_who_left_and_who_came) {
    OWNED(end_rings) struct nr_rings plain = {0}, joined = {0};
    static struct came came[2][MOST];
    int n[2], n_out[2], cpu = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    joined.joins = 1;
    if (open_rings(&plain, cpu) || open_rings(&joined, cpu)) SKIP("perf_event_open: %s", strerror(errno));
    assert_int_equal(nr_rings_enable(&plain) + nr_rings_enable(&joined), 0);
    nl_sleep_ns(1000000);
    int64_t begin_ns = nl_mono_ns();
    for (int i = 0; i < SLEEPS; i++) nl_sleep_ns(100000);
    int64_t end_ns = nl_mono_ns();
    nl_sleep_ns(1000000); /* a switch that was under way then is over */
    n[0] = read_all(&plain, begin_ns, end_ns, came[0], &n_out[0]);
    n[1] = read_all(&joined, begin_ns, end_ns, came[1], &n_out[1]);
    EQUAL(n[1], n[0], n_out[1], n_out[0], n[0] >= SLEEPS, 1);
    for (int i = 0; i < n[0]; i++) {
        EQUAL(came[1][i].pid, came[0][i].pid, came[1][i].tid, came[0][i].tid);
        assert_near((double)(came[1][i].at_ns - came[0][i].at_ns), 0, 1e5);
    }
}

/* A ring as the kernel writes it, in memory of this test. */
static struct {
    struct perf_event_mmap_page page;
    char data[256];
} made;

static void write_record(uint16_t type, uint16_t misc, const uint64_t *words, size_t n) {
    struct perf_event_header header = {type, misc, (uint16_t)(sizeof header + n * sizeof *words)};
    uint64_t all[8];
    memcpy(all, &header, sizeof header);
    memcpy(all + 1, words, n * sizeof *words);
    for (size_t i = 0; i <= n; i++, made.page.data_head += 8)
        memcpy(made.data + made.page.data_head % sizeof made.data, &all[i], 8);
}

static uint64_t numbers(uint32_t pid) { return (uint64_t)pid << 32 | pid; }

static void write_half(int is_out, uint32_t pid, uint32_t other, uint64_t time) {
    write_record(PERF_RECORD_SWITCH_CPU_WIDE, is_out ? PERF_RECORD_MISC_SWITCH_OUT : 0,
                 (const uint64_t[]){numbers(other), numbers(pid), time}, 3);
}

TEST(rings_that_join_hand_out_switches_whole_or_in_halves_wherever_they_lie) {
    struct nr_ring ring = {
        .fd = -1, .page = &made.page, .data = made.data, .cpu = 3, .bytes = sizeof made.data};
    int heap[1], cpu, n, n_side_by_side = 0;
    struct nr_rings r = {.rings = &ring, .n = 1, .heap = heap, .joins = 1};
    struct nr_record one;
    const struct nr_switch *s;
    /* the first of two halves of 32 bytes, and every third time 24 bytes between them, begins everywhere */
    for (int64_t at = 100; at < 20000; at += 100) {
        int has_more = at % 300 == 0;
        write_half(1, 5, 7, (uint64_t)at);
        write_half(0, 7, 5, (uint64_t)at + 10);
        if (has_more)
            write_record(PERF_RECORD_LOST, 0, (const uint64_t[]){1, 2, numbers(9), (uint64_t)at + 20}, 4);
        nr_rings_look(&r);
        assert_int_equal(nr_rings_switches(&r, at, 2, &s, &cpu) + nr_rings_next(&r, at, &one), 0);
        n = nr_rings_switches(&r, at + 1, 2, &s, &cpu);
        n_side_by_side += n;
        if (n > 0)
            EQUAL(cpu, 3, s->out_ns, at, s->out_tid, 5, s->in_tid, 7, s->in_pid, 7, s->in_ns, at + 10);
        else {
            assert_int_equal(nr_rings_next(&r, at + 1, &one), 1);
            EQUAL(one.type, NR_RECORD_OUT, one.cpu, 3, one.time_ns, at, one.tid, 5, one.in_tid, 7, one.in_pid,
                  7, one.in_ns, at + 10);
        }
        assert_int_equal(nr_rings_switches(&r, INT64_MAX, 2, &s, &cpu), 0);
        assert_int_equal(nr_rings_next(&r, INT64_MAX, &one), has_more);
        if (has_more) EQUAL(one.type, NR_RECORD_LOST, one.time_ns, at + 20, one.cpu, 3);
        nr_rings_done(&r);
    }
    assert_int_equal(ring.n_lost, 2 * 66);
    assert_true(n_side_by_side > 100 && n_side_by_side < 199); /* some lie across the end */
    /* a half alone: the other one is yet to come, or is lost */
    write_half(1, 5, 7, 30000);
    nr_rings_look(&r);
    assert_int_equal(nr_rings_switches(&r, INT64_MAX, 2, &s, &cpu), 0);
    assert_int_equal(nr_rings_next(&r, INT64_MAX, &one), 1);
    EQUAL(one.type, NR_RECORD_OUT, one.tid, 5, one.in_ns, 0);
    nr_rings_done(&r);
    write_half(0, 7, 5, 30010);
    write_half(1, 7, 8, 30100);
    write_half(1, 9, 8, 30200);
    nr_rings_look(&r);
    assert_int_equal(nr_rings_switches(&r, INT64_MAX, 2, &s, &cpu), 0);
    const struct {
        int type;
        int64_t tid;
    } wanted[] = {{NR_RECORD_IN, 7}, {NR_RECORD_OUT, 7}, {NR_RECORD_OUT, 9}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nr_rings_next(&r, INT64_MAX, &one), 1);
        EQUAL(one.type, wanted[i].type, one.tid, wanted[i].tid, one.in_ns, 0);
    }
    assert_int_equal(nr_rings_next(&r, INT64_MAX, &one), 0);
}

TEST(switches_side_by_side_are_taken_in_order_of_time_from_several_rings) {
    static char data[3][256];
    struct perf_event_mmap_page pages[3];
    struct nr_ring rings[3];
    int heap[3], cpu, n_taken = 0;
    struct nr_rings r = {.rings = rings, .n = 3, .heap = heap, .joins = 1};
    const struct nr_switch *s;
    int64_t last_ns = 0;
    memset(pages, 0, sizeof pages);
    for (int i = 0; i < 3; i++) {
        rings[i] = (struct nr_ring){.fd = -1, .page = &pages[i], .data = data[i], .cpu = i, .bytes = 256};
        for (int k = 0; k < 3; k++) { /* 0 1 2 2 1 0 0 1 2 */
            uint64_t at = (uint64_t)(1000 * k + 100 * (k == 1 ? 2 - i : i) + 100);
            memset(&made.page, 0, sizeof made.page);
            write_half(1, 5, 7, at);
            write_half(0, 7, 5, at + 10);
            memcpy(data[i] + 64 * k, made.data, 64);
            pages[i].data_head += 64;
        }
    }
    nr_rings_look(&r);
    for (int n; (n = nr_rings_switches(&r, 2200, 8, &s, &cpu)) > 0; n_taken += n)
        for (int i = 0; i < n; i++) {
            assert_true(s[i].out_ns > last_ns);
            last_ns = s[i].out_ns;
            EQUAL(cpu, last_ns < 1000   ? last_ns / 100 - 1
                       : last_ns < 2000 ? 13 - last_ns / 100
                                        : last_ns / 100 - 21);
        }
    EQUAL(n_taken, 7, last_ns, 2100);
}

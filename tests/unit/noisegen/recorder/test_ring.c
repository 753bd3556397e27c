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
    if (open_rings(&plain, cpu) || open_rings(&joined, cpu)) SKIP("perf_event_open: %s", strerror(errno));
    joined.joins = 1;
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

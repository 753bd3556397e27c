/* The recorder: activities and periods of known bursts, the table of tasks, and, where the kernel lets us,
 * what the sources see of threads whose doings are known. */
#include <pthread.h>

#include "noisegen/recorder/source.h"
#include "noisegen/recorder/summary.h"
#include "tests/unit/unit.h"
#include "noisegen/recorder/activity.h"
#include "noisegen/recorder/takers.h"

enum { MS = 1000000, MOST = 20000 };

static struct nr_burst bursts[MOST];

static struct nr_burst burst(int64_t start_ns, int64_t length_ns, int cpu) {
    return (struct nr_burst){.start_ns = start_ns, .end_ns = start_ns + length_ns, .cpu = cpu, .tid = 1};
}

/* A share from 0 to 1 by number. */
static double share(uint64_t i) {
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(x >> 11) / 9007199254740992.0;
}

/* Bursts of 1 ms with a period, starts off by up to `jitter` periods, each cut in `parts` by gaps of 50 us; a
 * share of them is missing. */
static size_t train(int n, int64_t period_ns, double jitter, int parts, double missing) {
    size_t k = 0;
    for (int i = 0; i < n; i++) {
        int64_t start_ns =
            (i + 1) * period_ns + (int64_t)(jitter * (double)period_ns * (share((uint64_t)i) - 0.5));
        for (int part = 0; part < parts && share((uint64_t)i + 1000) >= missing; part++)
            bursts[k++] = burst(start_ns + part * (MS / parts + 50000), MS / parts, 0);
    }
    return k;
}

static struct nr_rhythm rhythm_of(size_t n) {
    struct nr_rhythm rhythm;
    assert_int_equal(nr_rhythm(bursts, n, 0, &rhythm), 0);
    return rhythm;
}

static void assert_about(double value, double wanted, double share) {
    assert_near(value, wanted, share * fabs(wanted));
}

TEST(bursts_closer_than_the_gap_are_one_activity) {
    struct nr_activity a[4];
    bursts[0] = burst(0, 100, 0);
    bursts[1] = burst(150, 100, 1);
    bursts[2] = burst(160, 40, 0);
    bursts[3] = burst(1000, 10, 0);
    bursts[2].name = 7;
    assert_int_equal(nr_activities(bursts, 4, 60, 1, a), 3);
    EQUAL(a[0].busy_ns, 140, a[0].end_ns, 200, a[0].n_bursts, 2);
    assert_int_equal(a[0].name, 0); /* of the longest burst */
    assert_int_equal(a[1].cpu, 1);
    assert_int_equal(nr_activities(bursts, 4, 60, 0, a), 2);
    EQUAL(a[0].busy_ns, 240, a[0].cpu, -1, a[0].end_ns, 250);
    assert_int_equal(nr_activities(bursts, 0, 60, 1, a), 0);
}

TEST(the_period_of_a_regular_program_is_found_within_1_percent) {
    static const int64_t periods_ns[] = {10 * MS, 100 * MS, 1000 * MS};
    for (int p = 0; p < 3; p++)
        for (int parts = 1; parts <= 3; parts += 2)
            for (int missing = 0; missing <= 1; missing++) {
                struct nr_rhythm r = rhythm_of(train(60, periods_ns[p], 0.1, parts, 0.1 * missing));
                assert_about(r.period_ns, (double)periods_ns[p], 0.01);
                assert_true(r.gap_ns >= 50000 && r.gap_ns < periods_ns[p]);
            }
}

/* Each 100 ms five bursts of 1 ms, 4 ms apart. */
TEST(the_parts_of_an_activity_do_not_hide_its_period) {
    size_t n = 0;
    static struct nr_activity a[250];
    for (int i = 0; i < 50; i++)
        for (int part = 0; part < 5; part++)
            bursts[n++] = burst(i * INT64_C(100000000) + part * 4 * MS, MS, part % 2);
    struct nr_rhythm r = rhythm_of(n);
    assert_about(r.period_ns, 100 * MS, 0.001);
    assert_int_equal(nr_activities(bursts, n, r.gap_ns, 0, a), 50);
}

/* Each second one of 2 ms, and six small ones between. */
TEST(small_wake_ups_do_not_hide_the_period) {
    size_t n = 0;
    for (int i = 0; i < 40; i++) {
        bursts[n++] = burst(i * INT64_C(1000000000), 2 * MS, 0);
        for (int k = 1; k < 7; k++, n++)
            bursts[n] = burst(i * INT64_C(1000000000) + (int64_t)(k * 137 + 20 * share(n)) * MS, 20000, 0);
    }
    assert_about(rhythm_of(n).period_ns, 1e9, 0.001);
}

/* On a busy machine a third of the bursts waits for the CPU, up to half a period, and some are cut in two far
 * apart. */
TEST(late_and_torn_bursts_still_have_their_period) {
    size_t n = 0;
    for (int i = 0; i < 400; i++) {
        int64_t late_ns = share((uint64_t)i) < 0.35 ? (int64_t)(5 * MS * share((uint64_t)i + 5000)) : 0;
        int is_torn = share((uint64_t)i + 9000) < 0.1;
        bursts[n++] = burst(i * INT64_C(10000000) + late_ns, is_torn ? MS / 2 : MS, 0);
        if (is_torn) bursts[n++] = burst(i * INT64_C(10000000) + late_ns + 4 * MS, MS / 2, 0);
    }
    assert_about(rhythm_of(n).period_ns, 10 * MS, 0.01);
}

/* 250 ms by absolute deadlines in a recording of 5 s: a third of the starts waits up to 40 ms, bursts are
 * torn by others' turns of up to 20 ms, and the start of the program comes first. */
TEST(a_short_disturbed_recording_has_the_period_to_a_thousandth_and_says_how_sure) {
    int n_inside = 0, n_sharp = 0;
    for (uint64_t run = 0; run < 100; run++) {
        size_t n = 0;
        bursts[n++] = burst(100 * MS, 30 * MS, 0);
        for (int i = 0; i < 20; i++) {
            uint64_t seed = run * 1000 + (uint64_t)i;
            int64_t start_ns =
                INT64_C(250) * MS * (i + 1) + (share(seed) < 0.33 ? (int64_t)(40e6 * share(seed + 500000))
                                                                  : (int64_t)(1e5 * share(seed + 700000)));
            int64_t torn_ns = share(seed + 900000) < 0.3 ? (int64_t)(20e6 * share(seed + 800000)) : 0;
            bursts[n++] = burst(start_ns, MS, 0);
            bursts[n++] = burst(start_ns + MS + torn_ns, 3 * MS / 2, 0);
        }
        struct nr_rhythm r = rhythm_of(n);
        assert_about(r.period_ns, 250e6, 0.003);
        n_sharp += r.period_error_ns < 50000;
        n_inside += fabs(r.period_ns - 250e6) <= r.period_error_ns;
    }
    assert_true(n_inside >= 96);
    assert_true(n_sharp >= 80);
}

/* A program that sleeps for its period after its work has no clock to keep to: how sure its mean period is
 * follows from the scatter of the single ones. */
TEST(delays_that_add_up_make_the_period_less_sure) {
    int n_inside = 0;
    for (uint64_t run = 0; run < 100; run++) {
        int64_t start_ns = 0;
        for (uint64_t i = 0; i < 60; i++) {
            start_ns += 100 * MS + (int64_t)(2e7 * (share(run * 1000 + i) - 0.5));
            bursts[i] = burst(start_ns, MS, 0);
        }
        struct nr_rhythm r = rhythm_of(60);
        n_inside += fabs(r.period_ns - 100e6) <= r.period_error_ns;
    }
    assert_true(n_inside >= 90);
}

TEST(random_bursts_have_no_period) {
    int64_t at_ns = 0;
    for (int i = 0; i < 2000; i++) {
        at_ns += MS + (int64_t)(-log(1 - share((uint64_t)i)) * 20 * MS);
        bursts[i] = burst(at_ns, MS / 2, 0);
    }
    assert_true(rhythm_of(2000).period_ns == 0);
    assert_true(rhythm_of(3).period_ns == 0);
    assert_true(rhythm_of(0).period_ns == 0);
}

TEST(the_table_of_tasks_counts_by_arm_cpu_name_and_group) {
    struct nr_tally t = {0};
    size_t n_bins;
    assert_int_equal(nr_tally_reserve(&t), 0);
    for (int i = 1; i <= 100; i++) {
        struct nr_burst b = burst(0, i * 1000, 3);
        b.tid = i % 4 + 1;
        b.arm = (uint8_t)(i > 50);
        b.group = NR_AGENT;
        nr_tally_burst(&t, &b);
    }
    assert_int_equal(t.n_rows, 2);
    const struct nr_row *row = nr_tally_row(&t, 0, 3, 0, NR_AGENT);
    EQUAL(row->n_bursts, 50, row->wall_ns, 1275000, row->max_ns, 50000, row->n_threads, 4);
    struct nr_map_entry *sorted = nr_tally_sorted_bins(&t, &n_bins);
    assert_about((double)nr_tally_quantiles(sorted, n_bins, 0).p50_ns, 25000, 0.01);
    assert_about((double)nr_tally_quantiles(sorted, n_bins, 1).p99_ns, 100000, 0.01);
    assert_int_equal(nr_tally_quantiles(sorted, n_bins, 2).p50_ns, -1);
    free(sorted);
    nr_tally_free(&t);
}

/* ---- sources ---- */

static struct nr_recorder *opened(struct nr_config config) {
    struct nr_recorder *r;
    nl_set_quiet(1);
    int status = nr_open(&r, &config);
    nl_set_quiet(0);
    if (status == 0) return r;
    SKIP("source %s is not possible here", config.source);
    return NULL;
}

/* Of all groups that have a CPU. */
static int64_t sum_ns(const struct nr_totals *half) {
    int64_t sum = 0;
    for (int group = 0; group <= NR_UNKNOWN; group++)
        sum += half->group_ns[group];
    return sum;
}

static void spin(int64_t ns) {
    for (int64_t begin_ns = nl_thread_cpu_ns(); nl_thread_cpu_ns() - begin_ns < ns;) {}
}

/* Works 20 times 2 ms, and rests 3 ms after each. */
static void work_20_times(void) {
    for (int i = 0; i < 20; i++) {
        spin(2 * MS);
        nl_sleep_ns(3 * MS);
    }
}

/* A child of this process, which ends with it: it waits for a word, does `body`, and says so. */
struct child {
    pid_t pid;
    int go[2], done[2];
};

static struct child fork_child(void (*body)(void)) {
    struct child c;
    char byte;
    assert_int_equal(pipe(c.go) || pipe(c.done), 0);
    c.pid = fork();
    if (c.pid) return c;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(c.go[0], &byte, 1) == 1) body();
    if (write(c.done[1], "", 1) == 1) pause();
    _exit(0);
}

/* However long a busy machine takes for it. */
static void let_it_work(const struct child *c) {
    char byte;
    assert_int_equal(write(c->go[1], "", 1), 1);
    assert_int_equal(read(c->done[0], &byte, 1), 1);
}

static void end_child(struct child *c) {
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    for (int end = 0; end < 2; end++) {
        close(c->go[end]);
        close(c->done[end]);
    }
}

static void work_in_a_child(void) {
    pid_t pid = fork();
    if (pid == 0) {
        work_20_times();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

TEST(a_short_lived_child_of_the_agent_is_the_agent) {
    struct nr_totals half;
    struct child c = fork_child(work_in_a_child);
    struct nr_recorder *r = opened((struct nr_config){
        .source = "cpu", .pids = &c.pid, .n_pids = 1, .max_bursts = 1000, .keep = 1u << NR_AGENT});
    assert_int_equal(nr_mark(r, getpid(), NR_NOISELAB, 0), 1);
    assert_int_equal(nr_begin(r, 1), 0);
    let_it_work(&c);
    assert_int_equal(nr_end(r, &half), 0);
    end_child(&c);
    /* what the work takes and at most some switching */
    assert_true(half.group_ns[NR_AGENT] >= 39 * MS);
    EQUAL(half.lost, 0, half.cut, 0);
    int64_t kept_ns = 0;
    assert_true(r->n_bursts >= 20);
    for (const struct nr_burst *kept = r->bursts; kept < r->bursts + r->n_bursts; kept++) {
        assert_int_equal(kept->arm, 1);
        assert_true(kept->start_ns >= r->origin_ns);
        kept_ns += kept->end_ns - kept->start_ns;
    }
    assert_int_equal(kept_ns, half.group_ns[NR_AGENT]);
    assert_int_equal(nr_is_alive(r, NR_AGENT), 0);
    nr_close(r);
}

TEST(all_time_of_a_measured_cpu_is_somebodys) {
    struct nr_totals half;
    int cpu = sched_getcpu();
    struct nr_recorder *r = opened((struct nr_config){.source = "cpu", .cpus = &cpu, .n_cpus = 1});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nr_begin(r, i % 2), 0);
        spin(3 * MS);
        nl_sleep_ns(3 * MS);
        assert_int_equal(nr_end(r, &half), 0);
        assert_true(sum_ns(&half) <= half.wall_ns && sum_ns(&half) >= half.wall_ns - 1000);
        nl_sleep_ns(2 * MS); /* not measured */
    }
    assert_int_equal(r->totals.cut, 0);
    assert_int_equal(r->totals.ins, r->totals.outs);
    nr_close(r);
}

static int there[2], back[2];

static void *play(void *nothing) {
    char byte = 0;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) {}
    close(back[1]);
    return nothing;
}

/* Two threads on one CPU that hand a byte to and fro: many switches into a small ring that nobody reads
 * meanwhile. */
TEST(lost_records_are_counted_and_nothing_is_invented) {
    int cpu = sched_getcpu();
    cpu_set_t one, before;
    struct nr_totals half;
    struct nr_recorder *r =
        opened((struct nr_config){.source = "cpu", .cpus = &cpu, .n_cpus = 1, .ring_bytes = 65536});
    assert_int_equal(pipe(there) || pipe(back), 0);
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, play, NULL), 0);
    assert_int_equal(nr_begin(r, 0), 0);
    for (int i = 0; i < 3000; i++) {
        char byte = 1;
        assert_int_equal(write(there[1], &byte, 1), 1);
        assert_int_equal(read(back[0], &byte, 1), 1);
    }
    assert_int_equal(nr_end(r, &half), 0);
    assert_true(half.lost > 1000);
    assert_true(sum_ns(&half) <= half.wall_ns);
    /* afterwards it goes on, and what was cut has been said */
    assert_int_equal(nr_begin(r, 0), 0);
    nl_sleep_ns(5 * MS);
    assert_int_equal(nr_end(r, &half), 0);
    assert_int_equal(half.lost, 0);
    assert_true(r->totals.cut >= 1);
    assert_true(half.group_ns[NR_IDLE] + half.group_ns[NR_OTHER] + half.group_ns[NR_KERNEL] > 0);
    close(there[1]);
    pthread_join(thread, NULL);
    close(there[0]);
    close(back[0]);
    sched_setaffinity(0, sizeof before, &before);
    nr_close(r);
}

struct worker {
    _Atomic pid_t tid;
    int go; /* a pipe: works when something comes */
};

static void *rest_20_times(void *argument) {
    struct worker *worker = argument;
    int go = worker->go;
    char byte;
    worker->tid = (pid_t)syscall(SYS_gettid);
    if (read(go, &byte, 1) == 1) work_20_times();
    return NULL;
}

/* Starts a thread that waits for its word to go; its number, 0: none. */
static pid_t start_worker(pthread_t *thread, int go) {
    struct worker worker = {0, go};
    if (pthread_create(thread, NULL, rest_20_times, &worker)) return 0;
    while (worker.tid == 0)
        nl_sleep_ns(100000);
    return worker.tid;
}

/* What is written of a recording; to be freed. */
static char *written(const struct nr_recorder *r, int is_trace) {
    static const struct nr_arm_words words[] = {{"off", "", ""}, {"on", "x", ""}};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_int_equal(is_trace ? nr_write_bursts(r, file, "H") : nr_write_tasks(r, file, "L", "H", words), 0);
    fclose(file);
    return text;
}

static struct nr_config watching(const pid_t *tid, int max_bursts) {
    return (struct nr_config){.source = "thread",
                              .view = NR_VIEW_THREADS,
                              .tids = tid,
                              .n_tids = 1,
                              .max_bursts = max_bursts,
                              .keep = 1u << NR_YIELDED};
}

TEST(a_thread_tells_when_it_was_off_its_cpu) {
    int go[2];
    pthread_t thread;
    struct nr_totals half;
    assert_int_equal(pipe(go), 0);
    pid_t tid = start_worker(&thread, go[0]);
    struct nr_recorder *r = opened(watching(&tid, 1000));
    assert_string_equal(nr_source(r), "thread");
    assert_int_equal(nr_begin(r, 0), 0);
    assert_int_equal(write(go[1], "", 1), 1);
    pthread_join(thread, NULL);
    close(go[0]);
    close(go[1]);
    assert_int_equal(nr_end(r, &half), 0);
    int n_naps = 0;
    for (int64_t i = 0; i < r->n_bursts; i++)
        n_naps += r->bursts[i].end_ns - r->bursts[i].start_ns >= 3 * MS;
    assert_true(n_naps >= 20 && n_naps <= 21); /* the wait for the word to go may have lasted as long */
    assert_true(half.group_ns[NR_YIELDED] >= 60 * MS);
    assert_int_equal(half.cut, 0);
    char *text = written(r, 0);
    assert_contains(text, "L,H,thread,off,,,");
    assert_contains(text, ",?,yielded,");
    free(text);
    nr_close(r);
}

TEST(a_trace_says_how_many_bursts_found_no_room) {
    pid_t tid = (pid_t)syscall(SYS_gettid);
    struct nr_totals half;
    struct nr_recorder *r = opened(watching(&tid, 5));
    assert_int_equal(nr_begin(r, 0), 0);
    for (int i = 0; i < 20; i++)
        nl_sleep_ns(MS);
    assert_int_equal(nr_end(r, &half), 0);
    char *text = written(r, 1), wanted[64];
    assert_true(half.not_kept >= 15);
    snprintf(wanted, sizeof wanted, "# not_kept: %lld\n", (long long)half.not_kept);
    assert_contains(text, wanted);
    free(text);
    nr_close(r);
}

/* As many threads as a node of a cluster has ranks, in an account whose limit of locked memory is that of a
 * default installation. Status 0: they all are watched. */
static int watch_many_threads(uid_t user) {
    enum { N = 10 };
    struct rlimit none = {0};
    struct nr_recorder *r;
    pthread_t thread;
    pid_t tids[N];
    int go[2], n_kib = (int)nr_proc_number("/proc/sys/kernel/perf_event_mlock_kb", 0) *
                       (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (setgid(user) || setuid(user) || setrlimit(RLIMIT_MEMLOCK, &none) || pipe(go)) return 1;
    if (n_kib < N * 68) return 77; /* not even the smallest rings */
    for (int i = 0; i < N; i++)
        if (!(tids[i] = start_worker(&thread, go[0]))) return 2;
    struct nr_config config = {.source = "thread", .view = NR_VIEW_THREADS, .tids = tids, .n_tids = N};
    return nr_open(&r, &config) ? 3 : r->rings.n != N;
}

TEST(many_threads_share_the_locked_memory_that_an_account_has) {
    int status;
    if (geteuid()) SKIP("needs root, to have the limits of another account");
    pid_t pid = fork();
    if (pid == 0) _exit(watch_many_threads(65534));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("an account without privileges may not watch others here, or lock too little memory");
    assert_int_equal(status, 0);
}

TEST(the_source_without_records_knows_the_cpu_time) {
    struct nr_totals half;
    struct child c = fork_child(work_20_times);
    struct nr_recorder *r =
        opened((struct nr_config){.source = "schedstat", .view = NR_VIEW_TASKS, .pids = &c.pid, .n_pids = 1});
    assert_int_equal(nr_begin(r, 0), 0);
    let_it_work(&c);
    assert_int_equal(nr_end(r, &half), 0);
    assert_about((double)half.group_ns[NR_AGENT], 40 * MS, 0.25);
    end_child(&c);
    nr_close(r);
}

/* What is written beside the bursts takes at most half of the room, and each file has its own groups. */
TEST(bursts_of_others_have_a_file_of_their_own_and_take_no_room_from_the_agents) {
    static struct nr_source source = {.name = "cpu"};
    static struct nr_burst room[8];
    static struct nr_recorder r = {.source = &source, .bursts = room, .end_ns = INT64_MAX};
    char *text = NULL;
    size_t size;
    r.config = (struct nr_config){
        .max_bursts = 8, .keep = 1u << NR_AGENT, .beside = 1u << NR_OTHER | 1u << NR_KERNEL};
    assert_int_equal(nr_tasks_open(&r.tasks, NULL), 0);
    assert_int_equal(nr_tally_reserve(&r.tally), 0);
    for (int i = 0; i < 10; i++) {
        struct nr_burst b = burst((1 + i) * MS, 1000, 0);
        b.name = nr_tasks_name(&r.tasks, i < 6 ? "stranger" : "agent");
        b.group = i < 6 ? (i % 2 ? NR_KERNEL : NR_OTHER) : NR_AGENT;
        nr_take_burst(&r, b);
    }
    EQUAL(r.n_bursts, 8, r.n_beside, 4);
    EQUAL(r.totals.beside_not_kept, 2, r.totals.not_kept, 0);
    for (int is_beside = 0; is_beside < 2; is_beside++) {
        FILE *file = open_memstream(&text, &size);
        assert_int_equal((is_beside ? nr_write_beside : nr_write_bursts)(&r, file, "H"), 0);
        fclose(file);
        assert_non_null(strstr(text, is_beside ? "\tstranger\n" : "\tagent\n"));
        assert_null(strstr(text, is_beside ? "agent" : "stranger"));
        assert_non_null(strstr(text, is_beside ? "# not_kept: 2\n" : "# not_kept: 0\n"));
        free(text);
    }
}

/* A program of 20 ms each second on CPU 1, torn once in the middle; two kworkers on two CPUs; a
 * single burst. */
TEST(who_ran_is_named_with_its_time_bursts_period_and_cpu) {
    static struct nr_recorder r = {.n_cpus = 2, .config.keep = ~0u};
    struct nr_taker takers[3];
    size_t n = 0;
    assert_int_equal(nr_tasks_open(&r.tasks, NULL), 0);
    assert_int_equal(nr_tally_reserve(&r.tally), 0);
    const uint32_t busy = nr_tasks_name(&r.tasks, "busy/x"), first = nr_tasks_name(&r.tasks, "kworker/0:1"),
                   second = nr_tasks_name(&r.tasks, "kworker/1:2"), once = nr_tasks_name(&r.tasks, "once");
    for (int i = 0; i < 12; i++) {
        int64_t start_ns = i * INT64_C(1000) * MS;
        struct nr_burst parts[] = {burst(start_ns, 12 * MS, 1), burst(start_ns + 12 * MS, 10000, 1),
                                   burst(start_ns + 12 * MS + 10000, 8 * MS, 1),
                                   burst(start_ns + 300 * MS + i * 7 * MS, MS, 0)};
        const uint32_t names[] = {busy, first, busy, i % 3 ? first : second};
        for (int part = 0; part < 4; part++) {
            parts[part].name = names[part];
            parts[part].group = names[part] == busy ? NR_OTHER : NR_KERNEL;
            bursts[n] = parts[part];
            nr_tally_burst(&r.tally, &bursts[n++]);
        }
    }
    bursts[n] = burst(INT64_C(12000) * MS, 5000, 0);
    bursts[n].name = once;
    nr_tally_burst(&r.tally, &bursts[n++]);
    assert_int_equal(nr_takers(&r, bursts, n, takers, 3), 3);
    assert_string_equal(takers[0].task, "busy/x");
    EQUAL(takers[0].busy_ns, 12 * 20 * MS, takers[0].n_bursts, 12, takers[0].typical_ns, 20 * MS,
          takers[0].longest_ns, 20 * MS);
    assert_about(takers[0].period_ns, 1000. * MS, 0.001);
    assert_string_equal(takers[0].cpus, "1");
    assert_string_equal(takers[1].task, "kworker");
    assert_int_equal(takers[1].busy_ns, 12 * MS + 12 * 10000);
    assert_string_equal(takers[1].cpus, "0");
    assert_string_equal(takers[2].task, "once");
    assert_int_equal(takers[2].n_bursts, 1);
    assert_true(takers[2].period_ns <= 0);
    /* the torn one is one burst, and all of them are what it does */
    EQUAL(takers[0].n_main, 12, takers[0].main_ns, 12 * 20 * MS);
    EQUAL(takers[0].n_pieces, 12, takers[0].parted_ns, 0);
    EQUAL(takers[0].pid, 0, takers[0].n_processes, 0);
    assert_int_equal(nr_takers(&r, bursts, n, takers, 1), 1);
    nr_tally_free(&r.tally);
    nr_tasks_close(&r.tasks);
}

NL_ORDER_BY(by_start, struct nr_burst, start_ns)

static void add_burst_of(struct nr_recorder *r, size_t *n, uint32_t name, int tid, int pid, int64_t start_ns,
                         int64_t length_ns, int cpu);

/* 20 ms each second, of which a rank that waits for the CPU gets a slice of 4 ms after each 4 ms. The kernel
 * is there for 3 us in the middle of a piece. */
TEST(a_burst_that_a_busy_cpu_takes_in_pieces_is_one_burst_of_its_task_but_not_one_loss_of_the_cpu) {
    static struct nr_recorder r = {
        .n_cpus = 2, .config.keep = ~0u, .source = &nr_source_cpu, .end_ns = INT64_MAX};
    static struct nr_summary s;
    size_t n = 0;
    assert_int_equal(nr_tasks_open(&r.tasks, NULL), 0);
    assert_int_equal(nr_tally_reserve(&r.tally), 0);
    const uint32_t busy = nr_tasks_name(&r.tasks, "busy"), kernel = nr_tasks_name(&r.tasks, "kernel");
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < 5; k++) {
            int64_t start_ns = i * INT64_C(1000) * MS + k * 8 * MS;
            add_burst_of(&r, &n, busy, 1000, 1000, start_ns, 1 * MS, 1);
            add_burst_of(&r, &n, kernel, 20, 20, start_ns + 1 * MS, 3000, 1);
            add_burst_of(&r, &n, busy, 1000, 1000, start_ns + 1 * MS + 3000, 3 * MS, 1);
        }
    r.bursts = bursts;
    r.n_bursts = (int64_t)n;
    r.totals.wall_ns = INT64_C(12000) * MS;
    assert_int_equal(nr_summarise(&r, 0, -1, &s), 0);
    assert_string_equal(s.takers[0].task, "busy");
    EQUAL(s.takers[0].n_main, 12, s.takers[0].main_ns, 12 * 20 * MS, s.takers[0].n_pieces, 60,
          s.takers[0].parted_ns, 12 * 4 * (4 * MS - 3000), s.takers[0].n_lengths, NR_LENGTHS,
          s.takers[0].lengths_ns[0], 4 * MS, s.takers[0].lengths_ns[NR_LENGTHS - 1], 4 * MS);
    EQUAL(s.n_stalls, 60, s.stalls[0].busy_ns, 4 * MS + 3000, s.stalls[59].busy_ns, 4 * MS + 3000);
    free(s.trace);
    free(s.stalls);
    nr_tally_free(&r.tally);
    nr_tasks_close(&r.tasks);
}

/* Adds a burst of a thread of a process. */
static void add_burst_of(struct nr_recorder *r, size_t *n, uint32_t name, int tid, int pid, int64_t start_ns,
                         int64_t length_ns, int cpu) {
    struct nr_burst *b = &bursts[(*n)++];
    *b = burst(start_ns, length_ns, cpu);
    b->name = name;
    b->tid = tid;
    b->group = NR_OTHER;
    nr_tasks_at(&r->tasks, (uint32_t)tid)->pid = pid;
    nr_tally_burst(&r->tally, b);
}

/* 1000: 20 ms each second on CPU 1, and 20 us each 100 ms; 1100 with a second thread: 3 ms each 250 ms on CPU
 * 0; both are called "twin". 12 processes "many", none with a large part; "sh": a new one each second. */
TEST(processes_of_one_name_are_kept_apart_where_each_has_a_large_part_of_its_time) {
    static struct nr_recorder r = {.n_cpus = 2, .config.keep = ~0u};
    struct nr_taker takers[NR_MOST_TAKERS];
    size_t n = 0;
    assert_int_equal(nr_tasks_open(&r.tasks, NULL), 0);
    assert_int_equal(nr_tally_reserve(&r.tally), 0);
    const uint32_t twin = nr_tasks_name(&r.tasks, "twin"), many = nr_tasks_name(&r.tasks, "many"),
                   sh = nr_tasks_name(&r.tasks, "sh");
    for (int i = 0; i < 20; i++) {
        int64_t start_ns = i * INT64_C(1000) * MS;
        add_burst_of(&r, &n, twin, 1000, 1000, start_ns, 20 * MS, 1);
        for (int k = 1; k < 10; k++)
            add_burst_of(&r, &n, twin, 1000, 1000, start_ns + k * 100 * MS, 20000, 1);
        for (int k = 0; k < 4; k++)
            add_burst_of(&r, &n, twin, 1100 + k % 2, 1100, start_ns + 30 * MS + k * 250 * MS, 3 * MS, 0);
        for (int k = 0; k < 12; k++)
            add_burst_of(&r, &n, many, 1200 + k, 1200 + k, start_ns + 500 * MS + k * MS, MS, 0);
        add_burst_of(&r, &n, sh, 1300 + i, 1300 + i, start_ns + 700 * MS, MS / 2, 1);
    }
    qsort(bursts, n, sizeof *bursts, by_start);
    assert_int_equal(nr_takers(&r, bursts, n, takers, NR_MOST_TAKERS), 4);
    assert_string_equal(takers[0].task, "twin");
    assert_string_equal(takers[1].task, "twin");
    EQUAL(takers[0].pid, 1000, takers[1].pid, 1100, takers[0].n_processes, 1, takers[1].n_processes, 1);
    assert_string_equal(takers[0].cpus, "1");
    assert_string_equal(takers[1].cpus, "0");
    /* what it does are its 20 ms, and not the mean of these and of its short ones */
    EQUAL(takers[0].n_cpus, 1, takers[0].on[0].cpu, 1, takers[0].on[0].busy_ns, takers[0].busy_ns);
    EQUAL(takers[0].n_main, 20, takers[0].main_ns, 20 * 20 * MS, takers[0].n_bursts, 200, takers[0].busy_ns,
          20 * (20 * MS + 9 * 20000));
    EQUAL(takers[1].n_main, 80, takers[1].main_ns, 80 * 3 * MS);
    EQUAL(takers[1].n_pieces, 80, takers[1].lengths_ns[0], 3 * MS, takers[3].n_pieces, 20);
    assert_about(takers[0].period_ns, 1000. * MS, 0.001);
    assert_about(takers[1].period_ns, 250. * MS, 0.001);
    assert_string_equal(takers[2].task, "many");
    EQUAL(takers[2].pid, 0, takers[2].n_processes, 12, takers[2].busy_ns, 240 * MS);
    assert_int_equal(strncmp(takers[2].pids, "1200,1201,", 10), 0);
    assert_string_equal(takers[3].task, "sh");
    EQUAL(takers[3].pid, 0, takers[3].n_processes, 20, takers[3].n_main, 20);
    /* with room for one only the name has a row */
    assert_int_equal(nr_takers(&r, bursts, n, takers, 1), 1);
    EQUAL(takers[0].n_processes, 2, takers[0].busy_ns, 20 * (20 * MS + 9 * 20000 + 12 * MS));
    nr_tally_free(&r.tally);
    nr_tasks_close(&r.tasks);
}

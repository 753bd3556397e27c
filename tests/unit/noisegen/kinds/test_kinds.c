/* The load kinds: every row works, and has the effect it promises, by the counter that moves. Nothing here
 * needs a privilege; what this machine or user does not have is skipped with a reason. */
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>

#include "common/sys/nl_whole.h"
#include "common/trace/nl_trace.h"
#include "noisegen/kinds/kinds.h"
#include "tests/unit/files.h"

enum { REASON_BYTES = 256, MAX_CPUS = 1024 };

static int cpus[MAX_CPUS], n_cpus; /* allowed to this process */

/* ---- set-up ---- */

FIXTURE(set_up) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return -1;
    for (int cpu = 0; cpu < MAX_CPUS; cpu++)
        if (CPU_ISSET(cpu, &set)) cpus[n_cpus++] = cpu;
    return make_folder(state);
}

static struct ng_kind_options some_options(void) {
    return (struct ng_kind_options){
        .array_bytes = 100000, .folder = folder, .cpu = cpus[0], .cpus = cpus, .n_cpus = n_cpus};
}

/* These with one field changed: WITH(array_bytes = 8). */
#define WITH(assignment)                                                                                     \
    ({                                                                                                       \
        struct ng_kind_options with = some_options();                                                        \
        with.assignment;                                                                                     \
        with;                                                                                                \
    })

/* ---- a kind in use ---- */

struct load {
    const struct ng_kind *kind;
    void *state;
    char reason[REASON_BYTES]; /* why prepare failed */
};

/* @return 0, -1 when prepare failed. */
static int try_to_open(struct load *load, const char *name, struct ng_kind_options options) {
    *load = (struct load){.kind = ng_kind_find(name)};
    return ng_kind_open(load->kind, &options, &load->state, load->reason, sizeof load->reason);
}

static struct load open_load(const char *name, struct ng_kind_options options) {
    struct load load;
    if (try_to_open(&load, name, options)) fail_msg("%s: %s", name, load.reason);
    return load;
}

static void close_load(struct load *load) {
    ng_kind_close(load->kind, load->state);
    load->state = NULL;
}

static const char *failure_of(struct load *load) {
    return load->kind->failure ? load->kind->failure(load->state, load->reason, sizeof load->reason)
                               : "no failure text";
}

/* Runs quanta that must not fail; returns their units. */
static int64_t run_quanta(struct load *load, int64_t n_quanta) {
    int64_t units = 0;
    for (int64_t i = 0; i < n_quanta; i++) {
        int64_t n = load->kind->work(load->state);
        if (n < 0) fail_msg("%s: %s", load->kind->name, failure_of(load));
        units += n;
    }
    return units;
}

/* Runs quanta until one fails, or `most` have not. Returns the failure, NULL when there was none. */
static const char *run_until_failure(struct load *load, int64_t most) {
    for (int64_t i = 0; i < most; i++)
        if (load->kind->work(load->state) < 0) return failure_of(load);
    return NULL;
}

static void assert_between(int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most)
        fail_msg("%" PRId64 " is not from %" PRId64 " to %" PRId64, value, least, most);
}

/* How many entries a folder has; of /proc the processes. */
static int n_entries(const char *path) {
    int n = 0;
    DIR *d = opendir(path);
    if (!d) return -1;
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(path, "/proc") == 0 ? isdigit((unsigned char)e->d_name[0]) != 0
                                        : strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

static int n_open_files(void) { return n_entries("/proc/self/fd"); }

static struct rusage usage_of_thread(void) {
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

/* The number behind a word in a file; -1 when this kernel has none. */
static int64_t number_in(const char *path, const char *word) {
    char text[4096];
    nl_read(path, text, sizeof text);
    const char *at = strstr(text, word);
    return at && text[0] ? strtoll(at + strlen(word), NULL, 10) : -1;
}

static int64_t io_count(const char *word) { return number_in("/proc/self/io", word); }

/* ---- what changes the process is done in a child ---- */

enum { CHILD_OK, CHILD_FAILED, CHILD_SKIPPED };

enum { TEXT_BYTES = 512 };
static char *text; /* of the child, shared with it */

/* Runs a function in a child; its result and text become this test's. */
static void in_child(int (*body)(void)) {
    int status;
    if (!text) text = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(text != MAP_FAILED);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        _exit(body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) fail_msg("the child died of signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == CHILD_SKIPPED) SKIP("%s", text);
    if (WEXITSTATUS(status) != CHILD_OK) fail_msg("%s", text);
}

/* A test that is the child; returns CHILD_OK. */
#define TEST_IN_CHILD(name)                                                                                  \
    static int name##_child(void);                                                                           \
    TEST(name) { in_child(name##_child); }                                                                   \
    static int name##_child(void)

#define CHILD_FAIL(...) return snprintf(text, TEXT_BYTES, __VA_ARGS__), CHILD_FAILED
#define CHILD_SKIP(...) return snprintf(text, TEXT_BYTES, __VA_ARGS__), CHILD_SKIPPED

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* ---- every row ---- */

/* The shortest of ten times that 20 calls took, of what takes long the first. */
static int64_t shortest_ns(int64_t (*work)(void *state), void *state) {
    int64_t least_ns = INT64_MAX, took_ns;
    for (int round = 0; round < 10 && (round == 0 || least_ns < 50000); round++) {
        int64_t begin_ns = nl_mono_ns();
        for (int i = 0; i < 20; i++)
            work(state);
        if ((took_ns = nl_mono_ns() - begin_ns) < least_ns) least_ns = took_ns;
    }
    return least_ns;
}

static int64_t nothing(void *state) {
    (void)state;
    return 0;
}

TEST(a_trace_knows_the_kinds_of_the_table_and_which_of_them_keep_to_a_duration) {
    for (int i = 0; ng_kinds[i] || nl_trace_kinds[i]; i++) {
        char reason[1000] = "", text[64];
        struct nl_trace trace;
        assert_string_equal(ng_kinds[i]->name, nl_trace_kinds[i]);
        snprintf(text, sizeof text, "0\t10\t-\t%s\n", ng_kinds[i]->name);
        put("trace", text);
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/trace", folder);
        int rc = nl_trace_check(path, NL_TRACE_OF_USER, &trace, reason, sizeof reason);
        assert_int_equal(rc, ng_kinds[i]->pacing == NG_PACING_PUBLISHED ? -1 : 0);
        nl_trace_close(&trace);
        assert_int_equal(unlink(path), 0);
    }
}

TEST(every_row_has_a_name_a_help_line_and_a_period) {
    for (const struct ng_kind *const *k = ng_kinds; *k; k++) {
        const struct ng_kind *kind = *k;
        for (const char *c = kind->name; *c; c++)
            assert_true(islower((unsigned char)*c));
        assert_ptr_equal(ng_kind_find(kind->name), kind);
        assert_non_null(kind->help);
        assert_null(strchr(kind->help, '\n'));
        assert_between(kind->period_ns, 1000000, INT64_C(60000000000));
        assert_non_null(kind->work);
        assert_true(!(kind->uses & NG_USES_ARRAY) || kind->array_bytes > 0);
        assert_true(kind->units_per_wake_up == 0 || kind->unit);
        assert_true(!kind->prepare == !kind->state_bytes);
    }
    assert_null(ng_kind_find("nothing"));
    assert_null(ng_kind_find(""));
}

TEST(every_kind_can_be_prepared_run_and_cleaned_up_twice) {
    for (const struct ng_kind *const *k = ng_kinds; *k; k++) {
        int n_files = n_open_files();
        for (int round = 0; round < 2; round++) {
            const char *reason = (*k)->supported ? (*k)->supported() : NULL;
            if (!reason && strcmp((*k)->name, "ipi") == 0 && n_cpus < 2) reason = "one CPU";
            if (reason) {
                print_message("%s is left out: %s\n", (*k)->name, reason);
                break;
            }
            struct load other = open_load((*k)->name, some_options()); /* two do not disturb each other */
            OWNED(close_load) struct load load = open_load((*k)->name, some_options());
            assert_int_equal(load.reason[0], '\0');
            run_quanta(&other, 5);
            run_quanta(&load, 20);
            close_load(&other);
            run_quanta(&load, 5);
            if (round == 0 && shortest_ns((*k)->work, load.state) < 3 * shortest_ns(nothing, NULL))
                fail_msg("%s: work does nothing: a quantum takes no longer than a call of an empty function",
                         (*k)->name);
        }
        assert_int_equal(n_open_files(), n_files);
        assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* no child is left */
        ng_kind_close(*k, NULL);
    }
}

struct refusal {
    const char *kind;
    struct ng_kind_options options;
    const char *reason; /* a part of it */
};

TEST(a_failing_prepare_leaves_no_state_and_says_why_in_one_line) {
    const struct refusal refusals[] = {
        {"sum", {.array_bytes = 7}, "at least 8 bytes"},
        {"sum", {.array_bytes = -1}, "at least 8 bytes"},
        {"sum", {.array_bytes = INT64_C(1) << 60}, "no memory for 1152921504606846976 bytes"},
        {"membw", {.array_bytes = 63}, "at least 64 bytes"},
        {"membw", {.array_bytes = INT64_MAX}, "no memory for 9223372036854775807 bytes"},
        {"cache", {.cpu = 999999}, "CPU 999999 is not in"},
        {"cache", {.cpu = -1}, "CPU -1 is not in"},
        {"ipi", {.cpu = cpus[0], .cpus = cpus, .n_cpus = 1}, "is the only one allowed"},
        {"ipi", {.cpu = cpus[0], .cpus = NULL, .n_cpus = 0}, "is the only one allowed"},
        {"disk", {.folder = NULL}, "--kind: folder is missing"},
        {"disk", {.folder = ""}, "--kind: folder is missing"},
        {"disk", {.folder = "/nonexistent"}, "'/nonexistent' does not exist"},
        {"disk", {.folder = "/dev/null"}, "'/dev/null' is not a folder"},
        {"disk", {.folder = "/proc"}, "'/proc' is not writable"},
    };
    int n_files = n_open_files();
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct load load;
        if (try_to_open(&load, refusals[i].kind, refusals[i].options) == 0)
            fail_msg("row %zu: %s accepts this", i, refusals[i].kind);
        assert_null(load.state);
        assert_contains(load.reason, refusals[i].reason);
        assert_null(strchr(load.reason, '\n'));
    }
    assert_int_equal(n_open_files(), n_files);
}

/* ---- spin, sum, seed, wakeup ---- */

TEST(arithmetic_takes_cpu_time_and_neither_faults_nor_sleeps) {
    static const char *const names[] = {"spin", "sum", "seed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OWNED(close_load) struct load load = open_load(names[i], some_options());
        run_quanta(&load, 1);
        struct rusage before = usage_of_thread();
        int64_t begin_ns = nl_thread_cpu_ns(), used_ns = 0;
        int64_t n = 0;
        for (; n < 10000000 && used_ns < 5000000; n += 20) {
            run_quanta(&load, 20);
            used_ns = nl_thread_cpu_ns() - begin_ns;
        }
        struct rusage after = usage_of_thread();
        assert_true(used_ns >= 5000000);
        assert_between(after.ru_minflt - before.ru_minflt, 0,
                       2); /* the system may move a page now and then */
        assert_between(after.ru_nvcsw - before.ru_nvcsw, 0, 2);
    }
}

TEST(sum_counts_every_byte_of_its_array_once_per_pass) {
    OWNED(close_load) struct load load = open_load("sum", WITH(array_bytes = 5 * 2048 + 24));
    for (int pass = 0; pass < 3; pass++)
        assert_int_equal(run_quanta(&load, 6), 5 * 2048 + 24);
}

TEST(without_a_size_a_kind_takes_its_own) {
    for (int i = 0; i < 2; i++) {
        OWNED(close_load) struct load load = open_load(i ? "sum" : "membw", WITH(array_bytes = 0));
        assert_int_equal(((const struct ng_array *)load.state)->n_bytes, load.kind->array_bytes);
    }
}

/* ---- kinds whose effect is a counter of the system's ---- */

static int64_t n_sleeps(void) { return usage_of_thread().ru_nvcsw; }
static int64_t n_faults(void) { return usage_of_thread().ru_minflt; }
static int64_t n_packets(void) { return number_in("/sys/class/net/lo/statistics/rx_packets", ""); }
static int64_t n_bytes_written(void) { return io_count("wchar:"); }
static int64_t n_writes(void) { return io_count("syscw:"); }

TEST(each_unit_moves_its_counter) {
    static const struct {
        const char *kind;
        int64_t n;
        int64_t (*count)(void);
        double least, most; /* for each unit */
    } rows[] = {
        {"wakeup", 400, n_sleeps, 0.5,
         1.01}, /* on a busy machine a time may be over before the sleep begins */
        {"pagefault", 5000, n_faults, 1, 1.01},
        {"net", 30000, n_packets, 1, 1e9}, /* more than its queue could hold; others' may be among them */
        {"disk", 20, n_bytes_written, 4096, 4096},
        {"disk", 20, n_writes, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(close_load) struct load load = open_load(rows[i].kind, some_options());
        int64_t before = rows[i].count(), units = run_quanta(&load, rows[i].n),
                moved = rows[i].count() - before;
        assert_int_equal(units, rows[i].n);
        if (before < 0)
            print_message("%s: this kernel has no such counter\n", rows[i].kind);
        else if ((double)moved < rows[i].least * (double)units ||
                 (double)moved > rows[i].most * (double)units)
            fail_msg("row %zu, %s: %" PRId64 " for %" PRId64 " units", i, rows[i].kind, moved, units);
        assert_int_equal(n_entries(folder), 0); /* what disk writes has no name */
    }
}

/* ---- membw, cache ---- */

TEST(membw_writes_every_whole_line_of_its_array_in_one_pass) {
    static const int64_t sizes[] = {(3 << 20) + 64, 4096 + 64 + 63};
    for (int i = 0; i < 2; i++) {
        OWNED(close_load) struct load load = open_load("membw", WITH(array_bytes = sizes[i]));
        const struct ng_array *array = load.state;
        assert_int_equal(array->n_bytes, sizes[i]);
        for (int pass = 0; pass < 2; pass++) {
            int64_t units = 0, whole = sizes[i] / 64 * 64;
            memset(array->bytes, 0x55, array->n_bytes);
            while (units < whole)
                units += run_quanta(&load, 1);
            assert_int_equal(units, whole);
            assert_null(memchr(array->bytes, 0x55, (size_t)whole));
        }
    }
}

/* Runs a whole sweep; returns its number of quanta. */
static int64_t sweep(struct load *load) {
    int64_t n = 0;
    do
        n++;
    while (run_quanta(load, 1) == 0);
    return n;
}

/* hwloc takes this description for the machine. */
static void with_machine(const char *description) {
    if (description)
        setenv("HWLOC_SYNTHETIC", description, 1);
    else
        unsetenv("HWLOC_SYNTHETIC");
}

TEST(cache_takes_the_size_of_the_last_level_and_says_when_there_is_none) {
    static const struct {
        const char *machine;
        int cpu;
        size_t n_bytes;
        const char *reason;
    } rows[] = {
        {"package:2 l3:1(size=4194304) l2:2(size=1048576) pu:1", 3, 4194304, NULL},
        {"package:1 l2:1(size=262144) pu:2", 1, 262144, NULL},
        {"package:1 core:2 pu:1", 0, 0, "CPU 0 has neither L2 nor L3"},
        {"package:1 l3:1(size=1152921504606846976) pu:2", 1, 0, "no memory for 1152921504606846976 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(close_load) struct load load;
        with_machine(rows[i].machine);
        int failed = try_to_open(&load, "cache", WITH(cpu = rows[i].cpu));
        assert_int_equal(failed, rows[i].reason ? -1 : 0);
        if (failed)
            assert_contains(load.reason, rows[i].reason);
        else
            assert_int_equal(((const struct ng_array *)load.state)->n_bytes, rows[i].n_bytes);
    }
    with_machine(NULL);
}

TEST(cache_touches_each_line_of_its_buffer_once_per_sweep) {
    static const int n_lines[] = {1, 3, 16, 1638, 8192, 12615};
    for (size_t i = 0; i < sizeof n_lines / sizeof *n_lines; i++) {
        char machine[80];
        snprintf(machine, sizeof machine, "package:1 l2:1(size=%d) pu:1", 64 * n_lines[i]);
        with_machine(machine);
        OWNED(close_load) struct load load = open_load("cache", WITH(cpu = 0));
        const struct ng_array *array = load.state;
        memset(array->bytes, 0, array->n_bytes);
        for (int n = 1; n <= 3; n++) {
            sweep(&load);
            for (size_t j = 0; j < array->n_bytes; j++)
                assert_int_equal(array->bytes[j], j % 64 == 0 ? n : 0);
        }
    }
    with_machine(NULL);
}

/* A prefetcher follows neighbouring lines and equal distances within a page. */
TEST(cache_hardly_ever_stays_in_a_page) {
    enum { PAGE = 4096 };
    with_machine("package:1 l2:1(size=262144) pu:1");
    struct load load = open_load("cache", WITH(cpu = 0));
    const struct ng_array *array = load.state;
    int n_pages = (int)(array->n_bytes / PAGE), n_twice = 0, n_quanta = 0;
    for (int64_t units = 0; units == 0; n_quanta++) {
        memset(array->bytes, 0, array->n_bytes);
        units = run_quanta(&load, 1);
        for (int page = 0; page < n_pages; page++) {
            int n = 0;
            for (int line = 0; line < PAGE; line += 64)
                n += array->bytes[page * PAGE + line];
            n_twice += n > 1;
        }
        if (n_quanta == 200) break;
    }
    assert_between(n_twice, 0,
                   n_quanta / 5); /* four lines at random on 64 pages meet in one of eleven quanta */
    close_load(&load);
    with_machine(NULL);
}

/* ---- syscall ---- */

/* What the kernel is asked for, as it came to the filter of seccomp: each call but the return from a signal
 * and the end is one signal. */
static int n_calls, n_getppid;

static void count_call(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number;
    (void)context;
    n_calls++;
    n_getppid += info->si_syscall == SYS_getppid;
}

TEST_IN_CHILD(syscall_makes_exactly_one_call_per_unit) {
    enum { N = 500 };
#ifdef __SANITIZE_ADDRESS__
    CHILD_SKIP("a sanitizer makes calls of its own, and waits for ever for those that the filter stops");
#endif
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct load load = open_load("syscall", some_options());
    sigaction(SIGSYS, &(struct sigaction){.sa_sigaction = count_call, .sa_flags = SA_SIGINFO}, NULL);
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        CHILD_SKIP("this kernel filters no system calls: %s", strerror(errno));
    int64_t units = run_quanta(&load, N);
    if (units != N || n_getppid != N || n_calls != N)
        CHILD_FAIL("%d calls, %d of them getppid, are not %d", n_calls, n_getppid, N);
    return CHILD_OK;
}

/* ---- procfs ---- */

TEST(procfs_reads_a_file_per_quantum_and_all_processes_per_sweep) {
    int64_t calls = io_count("syscr:"), bytes = io_count("rchar:");
    if (calls < 0) SKIP("this kernel does not count reads in /proc/self/io");
    int least = n_entries("/proc") * 3 / 4; /* some may end meanwhile */
    OWNED(close_load) struct load load = open_load("procfs", some_options());
    for (int round = 0; round < 3; round++) {
        calls = io_count("syscr:");
        bytes = io_count("rchar:");
        int64_t n_quanta = sweep(&load);
        assert_true(n_quanta > least);
        assert_true(io_count("syscr:") - calls >=
                    n_quanta - 1 - n_quanta / 4); /* others' processes may be hidden from us */
        assert_true(io_count("rchar:") - bytes > 100 * n_quanta / 4);
    }
}

TEST(procfs_does_not_mind_processes_that_end) {
    enum { N = 30 };
    pid_t children[N];
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            for (;;)
                pause();
        }
    }
    OWNED(close_load) struct load load = open_load("procfs", some_options());
    int64_t units = 0;
    for (int i = N - 1;
         i >= 0 || units == 0;) { /* one ends before each file that is read, those listed last first */
        if (i >= 0) {
            kill(children[i], SIGKILL);
            waitpid(children[i--], NULL, 0);
        }
        units += run_quanta(&load, 1);
    }
    assert_true(units > 0);
}

TEST(procfs_fails_with_the_name_of_the_file_when_none_can_be_opened) {
    struct load load = open_load("procfs", some_options());
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const char *failure = run_until_failure(&load, 1);
    struct load second;
    int rc = try_to_open(&second, "procfs", some_options());
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_contains(failure, "cannot read /proc/stat: ");
    close_load(&load);
    assert_int_equal(rc, -1);
    assert_null(second.state);
    assert_contains(second.reason, "cannot open /proc: ");
}

/* ---- fork ---- */

static int64_t used_ns(const struct rusage *r) {
    return (r->ru_utime.tv_sec + r->ru_stime.tv_sec) * INT64_C(1000000000) +
           (r->ru_utime.tv_usec + r->ru_stime.tv_usec) * INT64_C(1000);
}

TEST(fork_makes_one_child_per_unit_and_adds_up_their_time) {
    OWNED(close_load) struct load load = open_load("fork", some_options());
    struct rusage before, after;
    assert_int_equal(load.kind->extra_cpu_ns(load.state), 0);
    getrusage(RUSAGE_CHILDREN, &before);
    int64_t units = run_quanta(&load, 40);
    getrusage(RUSAGE_CHILDREN, &after);
    assert_int_equal(units, 40);
    int64_t of_children_ns = used_ns(&after) - used_ns(&before);
    int64_t extra_ns = load.kind->extra_cpu_ns(load.state);
    assert_true(extra_ns > 0);
    assert_between(extra_ns, of_children_ns - units * 3000,
                   of_children_ns + units * 3000); /* each is rounded to microseconds */
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST_IN_CHILD(fork_says_so_when_no_more_children_are_allowed) {
    struct load load;
    struct rlimit none = {0, 0};
    signal(SIGCHLD, SIG_IGN); /* as a careless parent may hand it down */
    if (try_to_open(&load, "fork", some_options())) CHILD_FAIL("%s", load.reason);
    if (run_until_failure(&load, 3)) CHILD_FAIL("with SIGCHLD ignored: %s", failure_of(&load));
    if (load.kind->extra_cpu_ns(load.state) <= 0)
        CHILD_FAIL("with SIGCHLD ignored there is no CPU time of children");
    if (geteuid() == 0 && setresuid(65534, 65534, 65534))
        CHILD_SKIP("root may not become somebody else: %s", strerror(errno));
    if (setrlimit(RLIMIT_NPROC, &none)) CHILD_SKIP("no limit on processes: %s", strerror(errno));
    const char *failure = run_until_failure(&load, 1);
    if (!failure) CHILD_FAIL("it makes children beyond the limit");
    if (!strstr(failure, "cannot run /") || !strstr(failure, strerror(EAGAIN)))
        CHILD_FAIL("the failure is '%s'", failure);
    close_load(&load);
    return CHILD_OK;
}

/* ---- ipi ---- */

/* Function call interrupts of one CPU so far; -1 when this kernel does not list them. */
static int64_t n_calls_to_cpu(int cpu) {
    char line[16384], *p;
    int column = -1, n_columns = 0;
    int64_t n = -1;
    FILE *f = fopen("/proc/interrupts", "re");
    if (!f) return -1;
    if (fgets(line, sizeof line, f))
        for (p = strstr(line, "CPU"); p; p = strstr(p + 3, "CPU"), n_columns++)
            if (atoi(p + 3) == cpu) column = n_columns;
    while (column >= 0 && n < 0 && fgets(line, sizeof line, f)) {
        if (!strstr(line, "Function call interrupts") || !(p = strchr(line, ':'))) continue;
        p++;
        for (int i = 0; i <= column; i++)
            n = strtoll(p, &p, 10);
    }
    fclose(f);
    return n;
}

static int perf_is_permitted(int cpu) {
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, 0UL);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* How many interrupts `units` bring to a CPU that a busy process has, registered with membarrier or not; -1
 * after a reason. */
static int64_t n_interrupts(int is_registered, int64_t most, int64_t enough, int64_t *units, char *reason) {
    struct load load;
    struct ng_kind_options options = some_options();
    int ends[2];
    char byte = 0;
    options.n_cpus = 2; /* all of them to one CPU */
    pin(options.cpu);
    if (try_to_open(&load, "ipi", options) || pipe2(ends, O_CLOEXEC))
        return nl_say(reason, REASON_BYTES, "%s", load.reason);
    pid_t busy = fork();
    if (busy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        pin(cpus[1]);
        if (is_registered) syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
        if (write(ends[1], &byte, 1) != 1) _exit(1);
        for (volatile int i = 0;; i++)
            continue;
    }
    if (read(ends[0], &byte, 1) != 1) return nl_say(reason, REASON_BYTES, "no busy process");
    int64_t before = n_calls_to_cpu(cpus[1]), n = 0;
    /* while another program has that CPU, a call interrupts nobody and is soon over: how many are needed
     * depends on the machine */
    for (*units = 0; *units < most && n < enough; n = n_calls_to_cpu(cpus[1]) - before)
        for (int j = 0; j < 500; j++)
            *units += load.kind->work(load.state);
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    close_load(&load);
    return n;
}

/* With perf counters a unit is an interrupt; by membarrier, without a privilege, processes that are
 * registered for it get some. */
static int count_interrupts(int by_membarrier) {
    enum { N = 2000, ENOUGH = 1000, MOST = 2000000 };
    int64_t units;
    if (n_cpus < 2) CHILD_SKIP("one CPU is allowed, and so there is no other");
    if (n_calls_to_cpu(cpus[1]) < 0) CHILD_SKIP("this kernel does not list function call interrupts");
    if (by_membarrier && geteuid() == 0 && setresuid(65534, 65534, 65534))
        CHILD_SKIP("root may not become somebody else: %m");
    if (perf_is_permitted(cpus[1]) == by_membarrier)
        CHILD_SKIP("perf counters of other CPUs are%s permitted to this user", by_membarrier ? "" : " not");
    int64_t n = n_interrupts(by_membarrier, by_membarrier ? MOST : N, by_membarrier ? ENOUGH : INT64_MAX,
                             &units, text);
    if (n < 0) return by_membarrier ? CHILD_SKIPPED : CHILD_FAILED;
    /* the system has its own */
    if (by_membarrier ? n < ENOUGH : units != N || n < N * 0.95 || n > N * 1.5 + 500)
        CHILD_FAIL("%" PRId64 " units were %" PRId64 " interrupts", units, n);
    return CHILD_OK;
}

TEST_IN_CHILD(ipi_interrupts_a_cpu_that_runs_an_unrelated_process_once_per_unit) {
    return count_interrupts(0);
}
TEST_IN_CHILD(ipi_interrupts_registered_processes_without_a_privilege) { return count_interrupts(1); }

TEST_IN_CHILD(ipi_asks_for_more_files_where_there_are_more_cpus_than_files) {
    struct load load;
    struct rlimit limit;
    if (n_cpus < 2 || !perf_is_permitted(cpus[1]))
        CHILD_SKIP("counters of another CPU are not to be had here");
    if (getrlimit(RLIMIT_NOFILE, &limit)) CHILD_FAIL("no limit");
    limit.rlim_cur = 3; /* standard input, output and error: no room */
    if (setrlimit(RLIMIT_NOFILE, &limit)) CHILD_FAIL("no limit");
    if (try_to_open(&load, "ipi", some_options())) CHILD_FAIL("%s", load.reason);
    if (run_until_failure(&load, 10)) CHILD_FAIL("%s", failure_of(&load));
    close_load(&load);
    return CHILD_OK;
}

/* ---- pagefault ---- */

TEST(pagefault_takes_little_memory_and_gives_it_back) {
    int64_t before = number_in("/proc/self/statm", "");
    if (before < 0) SKIP("no /proc/self/statm");
    for (int i = 0; i < 1000; i++) {
        OWNED(close_load) struct load load = open_load("pagefault", some_options());
        run_quanta(&load, 3);
    }
    assert_between(number_in("/proc/self/statm", "") - before, LONG_MIN, 4000);
}

/* ---- disk ---- */

TEST_IN_CHILD(disk_stays_within_the_limit_on_file_sizes) {
    struct load load;
    struct rlimit limit = {3 * 4096 + 100, 3 * 4096 + 100};
    if (setrlimit(RLIMIT_FSIZE, &limit)) CHILD_FAIL("no limit");
    if (try_to_open(&load, "disk", some_options())) CHILD_FAIL("%s", load.reason);
    if (run_until_failure(&load, 10)) CHILD_FAIL("%s", failure_of(&load)); /* and no SIGXFSZ */
    close_load(&load);
    limit = (struct rlimit){4095, 4095};
    if (setrlimit(RLIMIT_FSIZE, &limit)) CHILD_FAIL("no limit");
    if (try_to_open(&load, "disk", some_options()) == 0)
        CHILD_FAIL("it works with files of 4095 bytes at most");
    if (load.state || !strstr(load.reason, "ulimit -f")) CHILD_FAIL("the reason is '%s'", load.reason);
    return CHILD_OK;
}

GROUP(set_up, remove_tree)

/* Guardians act when a process ends, and only then. Each test forks a process that has a guardian, which
 * writes a file of the test's folder when it acts. */
#include "common/sys/nl_guard.h"
#include "common/sys/nl_stat.h"
#include "tests/unit/files.h"

#define MS INT64_C(1000000)
enum { LONG_MS = 20000, MOMENT_MS = 200 };

static char acted[PATH_MAX];

static void write_it(void *path, int64_t told) {
    FILE *f = fopen(path, "we");
    if (f) fprintf(f, "%lld", (long long)told);
    if (f) fclose(f);
}

/* What a guardian wrote, within so long; "": nothing. */
static const char *what_was_written(int patience_ms) {
    static char text[32];
    text[0] = '\0';
    for (int ms = 0; ms < patience_ms && !text[0]; ms += 5) {
        if (access(acted, F_OK) == 0) {
            FILE *f = fopen(acted, "re");
            if (f && !fgets(text, sizeof text, f)) text[0] = '\0';
            if (f) fclose(f);
        }
        nl_sleep_ns(5 * MS);
    }
    unlink(acted);
    return text;
}

static const struct nl_guard_work writing = {.name = "nl-guard-test", .act = write_it, .context = acted};

/* A process that has done `set_up` when this returns, and then waits to be killed. */
static pid_t process_that(int (*set_up)(void)) {
    int ends[2];
    char word;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (set_up() || write(ends[1], "x", 1) != 1) _exit(1);
        close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &word, 1), 1);
    close(ends[0]);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

FIXTURE(set_up_folder) {
    if (make_folder(state)) return -1;
    snprintf(acted, sizeof acted, "%s/acted", folder);
    return 0;
}

GROUP(set_up_folder, remove_tree)

static int with_guard(void) {
    static struct nl_guard guard;
    return nl_guard_start(&guard, &writing);
}

TEST(a_guardian_acts_when_its_process_is_killed_and_not_before) {
    pid_t pid = process_that(with_guard);
    assert_string_equal(what_was_written(MOMENT_MS), "");
    end(pid);
    assert_string_equal(what_was_written(LONG_MS), "0");
}

static int tells_an_orphan(void) {
    static struct nl_guard guard;
    struct nl_guard_work work = writing;
    siginfo_t none;
    work.is_orphan = 1;
    return nl_guard_start(&guard, &work) || nl_guard_tell(&guard, 17) || nl_guard_tell(&guard, 4711) ||
           waitid(P_ALL, 0, &none, WEXITED | WNOHANG) != -1;
}

TEST(an_orphan_is_no_child_and_acts_by_what_it_was_told_last) {
    end(process_that(tells_an_orphan));
    assert_string_equal(what_was_written(LONG_MS), "4711");
}

TEST(one_that_is_ended_does_not_act_and_one_that_is_left_does_at_once) {
    struct nl_guard guard;
    assert_int_equal(nl_guard_start(&guard, &writing), 0);
    pid_t pid = guard.pid;
    nl_guard_end(&guard);
    EQUAL(guard.is_up, 0, waitpid(pid, NULL, 0), -1);
    assert_string_equal(what_was_written(MOMENT_MS), "");
    assert_int_equal(nl_guard_start(&guard, &writing), 0);
    pid = guard.pid;
    nl_guard_leave(&guard);
    assert_string_equal(what_was_written(LONG_MS), "0");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    /* without one */
    nl_guard_end(&guard);
    nl_guard_leave(&guard);
    assert_int_equal(nl_guard_tell(&guard, 1), -1);
}

TEST(a_guardian_keeps_no_file_open_and_no_signal_but_one_ends_it) {
    struct nl_guard guard;
    int ends[2];
    char word;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(nl_guard_start(&guard, &writing), 0);
    close(ends[1]);
    struct pollfd closed = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&closed, 1, LONG_MS), 1);
    assert_int_equal(read(ends[0], &word, 1), 0);
    close(ends[0]);
    const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        kill(guard.pid, signals[i]);
    struct nl_stat s;
    assert_int_equal(nl_stat_read(guard.pid, &s), 0);
    assert_string_equal(s.name, "nl-guard-test");
    assert_int_equal(nl_guard_tell(&guard, 5), 0);
    pid_t pid = guard.pid;
    nl_guard_leave(&guard);
    assert_string_equal(what_was_written(LONG_MS), "5");
    waitpid(pid, NULL, 0);
}

/* Two descriptors are left, which the two ends take. */
static int has_no_files_left(void) {
    struct nl_guard guard;
    struct rlimit limit = {64, 64};
    int last = -1, fd;
    if (setrlimit(RLIMIT_NOFILE, &limit)) return 1;
    while ((fd = dup(0)) >= 0)
        last = fd;
    close(last);
    close(last - 1);
    int started = nl_guard_start(&guard, &writing);
    for (fd = 32; fd < 64; fd++)
        close(fd);
    siginfo_t none;
    return started != -1 || guard.is_up || waitid(P_ALL, 0, &none, WEXITED | WNOHANG) != -1;
}

TEST(where_no_file_can_be_opened_it_is_said_and_nothing_acts) {
    end(process_that(has_no_files_left));
    assert_string_equal(what_was_written(MOMENT_MS), "");
}

static pid_t watched;

static int watches(void) { return nl_guard_watch(watched, &writing); }

static int does_nothing(void) { return 0; }

TEST(one_that_watches_an_owner_acts_at_its_end_and_not_at_ours) {
    int pidfd = nl_pidfd(getpid());
    if (pidfd < 0) SKIP("the kernel has no pidfd");
    close(pidfd);
    watched = process_that(does_nothing);
    pid_t pid = process_that(watches);
    end(pid);
    nl_sleep_ns(MOMENT_MS * MS);
    end(watched);
    assert_string_equal(what_was_written(MOMENT_MS), "");
    watched = process_that(does_nothing);
    pid = process_that(watches);
    assert_string_equal(what_was_written(MOMENT_MS), "");
    end(watched);
    assert_string_equal(what_was_written(LONG_MS), "0");
    end(pid);
}

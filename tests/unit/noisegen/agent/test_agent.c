/* The companion of an agent: a child of this test runs it as the program does, the test is its owner, and the
 * agents are real processes. */
#include <jansson.h>
#include <pthread.h>
#include <sys/mount.h>

#include "noisegen/agent/session.h"
#include "common/sys/nl_cgroup.h"
#include "tests/unit/files.h"
#include "noisegen/agent/kept.h"

#define MS INT64_C(1000000)
#define LONG_NS INT64_C(40000000000) /* only a broken test waits so long */
enum { NOBODY = 65534, MAX_WORDS = 16 };

struct companion {
    struct nl_agent *page;
    pid_t pid;
    int said; /* what it says on stderr */
};

/* What is forked goes on as this user, as a program that he had started; 0: as who it is. */
static void become(uid_t uid) {
    if (uid && (setgid(uid) || setuid(uid))) _exit(99);
    if (uid) prctl(PR_SET_DUMPABLE, 1);
}

/* Starts it with these words, the last one NULL; as user `uid`. */
static struct companion start_as(uid_t uid, const char *const *words) {
    struct companion c;
    int fd, ends[2];
    c.page = nl_agent_create(&fd);
    assert_non_null(c.page);
    assert_int_equal(pipe(ends), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        char text[32], *argv[MAX_WORDS + 3] = {"noiselab-agent", "--control-fd", text};
        struct na_options options;
        int argc = 3;
        prctl(PR_SET_NAME, "noiselab-agent");
        for (; *words; words++) argv[argc++] = (char *)*words;
        snprintf(text, sizeof text, "%d", fd);
        dup2(ends[1], 2);
        become(uid);
        nl_set_program("noiselab-agent");
        int go_on = na_options_parse(argc, argv, NULL, &options);
        _exit(go_on > 0 ? na_session(&options) : go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK);
    }
    close(fd);
    close(ends[1]);
    c.said = ends[0];
    siginfo_t end = {0};
    while (atomic_load(&c.page->companion_pid) == 0 && !end.si_pid) {
        assert_int_equal(waitid(P_PID, (id_t)c.pid, &end, WEXITED | WNOHANG | WNOWAIT), 0);
        nl_sleep_ns(1 * MS);
    }
    return c;
}

#define start(...) start_as(0, (const char *const[]){__VA_ARGS__, NULL})

static int tell(struct companion *c, enum nl_agent_command command) {
    nl_agent_send(c->page, command);
    int status = nl_agent_await(c->page, LONG_NS);
    if (status && status != NL_AGENT_DIED)
        print_message("command %d: status %d: %s\n", command, status, c->page->text);
    return status;
}

/* It does all of these, one after the other; ends with NL_AGENT_NONE. */
static void obey(struct companion *c, const enum nl_agent_command *commands) {
    for (; *commands != NL_AGENT_NONE; commands++) assert_int_equal(tell(c, *commands), NL_AGENT_DONE);
}
#define obeys(c, ...) obey(c, (const enum nl_agent_command[]){__VA_ARGS__, NL_AGENT_NONE})

static void place_in(struct companion *c, const char *directory) {
    struct nl_agent *p = c->page;
    p->n_ranks = 1;
    p->ranks[0] = (struct nl_agent_rank){getpid(), getpid(), 0};
    p->n_arms = 2;
    strcpy(p->arms[0].name, "off");
    strcpy(p->arms[1].name, "on");
    strcpy(p->arms[1].kind, "agent");
    strcpy(p->host, "here");
    strcpy(p->launch, "test");
    strcpy(p->directory, directory);
    assert_int_equal(tell(c, NL_AGENT_PLACE), NL_AGENT_DONE);
}

static struct companion place_it(struct companion c) {
    place_in(&c, "");
    return c;
}

#define placed(...) place_it(start(__VA_ARGS__))

/* A half of so many ms; its account stands in the page. */
static int half(struct companion *c, int arm, int ms) {
    c->page->arm = arm;
    c->page->half++;
    int status = tell(c, NL_AGENT_BEGIN);
    if (status) return status;
    nl_sleep_ns(ms * MS);
    return tell(c, NL_AGENT_END);
}

/* Halves, until the agent had CPU time in one of them: how much it gets, and when, a busy machine decides. */
static void busy_half(struct companion *c, int arm, int ms) {
    for (int i = 0; i == 0 || (i < 500 && c->page->account.cpu_ns == 0); i++)
        assert_int_equal(half(c, arm, ms), NL_AGENT_DONE);
    assert_true(c->page->account.cpu_ns > 0);
}

static void idle_half(struct companion *c, int ms) {
    assert_int_equal(half(c, 0, ms), NL_AGENT_DONE);
    assert_int_equal(c->page->account.cpu_ns, 0);
}

/* What the test has of it, once it has ended. */
static void forget(struct companion *c) {
    nl_page_unmap(c->page);
    close(c->said);
}

/* Ends it, and returns its certificate. */
static json_t *stop(struct companion *c) {
    int status;
    assert_int_equal(tell(c, NL_AGENT_QUIT), NL_AGENT_DONE);
    json_t *certificate = json_loads(c->page->text, 0, NULL);
    assert_non_null(certificate);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == NL_EXIT_OK);
    forget(c);
    return certificate;
}

/* It did not become ready: status 2, and one line with `text`. */
static void was_refused(struct companion *c, const char *text) {
    char said[2048] = "";
    int status;
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    ssize_t n = read(c->said, said, sizeof said - 1);
    said[n > 0 ? n : 0] = '\0';
    assert_contains(said, text);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == NL_EXIT_USAGE);
    forget(c);
}

/* The same without it. */
static void quit(struct companion *c) { json_decref(stop(c)); }

static void kill_companion(struct companion *c) {
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    forget(c);
}

static const char *text_of(json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

static int warns(json_t *certificate, const char *text) {
    json_t *list = json_object_get(certificate, "warnings"), *item;
    size_t i;
    json_array_foreach(list, i, item) if (strstr(json_string_value(item), text)) return 1;
    return 0;
}

/* ---- agents ---- */

static void *spin(void *nothing) {
    for (;;) {}
    return nothing;
}

static void *doze(void *nothing) {
    for (;;) nl_sleep_ns(1 * MS);
    return nothing;
}

/* A process of this user with so many threads that do `work`; it is a child of this test. */
static pid_t make_agent(uid_t uid, int n_threads, void *(*work)(void *)) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        nl_sleep_ns(20 * MS);
        return pid;
    }
    become(uid);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* setuid() forgets it */
    pthread_t thread;
    for (int i = 1; i < n_threads; i++) pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    _exit(0);
}

static void end_agent(pid_t pid) {
    kill(pid, SIGKILL);
    kill(pid, SIGCONT);
    waitpid(pid, NULL, 0);
}

static void end_owned(const pid_t *pid) { end_agent(*pid); }

static char state_of(pid_t pid) {
    struct nl_stat s;
    return nl_stat_read(pid, &s) ? '-' : s.state;
}

/* CPU time of a process by its own clock. */
static int64_t clock_of(pid_t pid) {
    clockid_t clock;
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    return nl_now_ns(clock);
}

static int runs(pid_t pid) {
    int64_t before_ns = clock_of(pid);
    for (int i = 0; i < 400; i++) {
        nl_sleep_ns(5 * MS);
        if (clock_of(pid) > before_ns) return 1;
    }
    return 0;
}

/* Whether it used no CPU at all for some time. */
static int stands_still(pid_t pid) {
    int64_t before_ns = clock_of(pid);
    nl_sleep_ns(30 * MS);
    return clock_of(pid) == before_ns;
}

/* The cgroup in which a freezer would find it. */
static void cgroup_of(pid_t pid, char *path, int size) {
    if (nl_cgroup_of("", pid, "freezer", path, size))
        assert_int_equal(nl_cgroup_of("", pid, "", path, size), 0);
}

static char *text_pid(char *text, pid_t pid) { return sprintf(text, "%d", (int)pid), text; }
#define pid_text(pid) text_pid((char[16]){0}, pid)

/* ---- the ways ---- */

TEST(a_process_is_frozen_and_thawed_and_left_running) {
    char cgroup[512], now[512];
    OWNED(end_owned) pid_t agent = make_agent(0, 3, spin);
    cgroup_of(agent, cgroup, sizeof cgroup);
    struct companion c = placed("--agent-pid", pid_text(agent), "--agent-name", "spinner");
    for (int i = 0; i < 3; i++) {
        obeys(&c, NL_AGENT_OFF);
        assert_true(c.page->switch_ns > 0);
        assert_true(stands_still(agent));
        idle_half(&c, 20);
        obeys(&c, NL_AGENT_OFF, NL_AGENT_ON);
        busy_half(&c, 1, 20);
        assert_int_equal(c.page->account.n_processes, 1);
        assert_true(c.page->account.rss_kib > 0);
        assert_true(c.page->account.observer_cpu_ns >= 0 &&
                    c.page->account.observer_cpu_ns < c.page->account.wall_ns / 2);
    }
    obeys(&c, NL_AGENT_OFF);
    json_auto_t *certificate = stop(&c);
    /* it starts nothing, and counters would make it dearer */
    assert_string_equal(text_of(certificate, "account"), "clocks");
    assert_string_equal(text_of(certificate, "state_found"), "running");
    assert_string_equal(text_of(certificate, "state_left"), "running");
    assert_string_equal(text_of(certificate, "way"), "pid");
    assert_string_equal(text_of(certificate, "name"), "spinner");
    assert_true(runs(agent));
    cgroup_of(agent, now, sizeof now);
    assert_string_equal(now, cgroup);
}

TEST(where_cgroups_are_not_permitted_signals_are_used) {
    if (geteuid()) SKIP("only root can be somebody else");
    OWNED(end_owned) pid_t agent = make_agent(NOBODY, 4, spin);
    struct companion c =
        place_it(start_as(NOBODY, (const char *const[]){"--agent-pid", pid_text(agent), NULL}));
    obeys(&c, NL_AGENT_OFF);
    assert_int_equal(state_of(agent), 'T');
    assert_true(stands_still(agent));
    obeys(&c, NL_AGENT_ON);
    busy_half(&c, 1, 50);
    json_auto_t *certificate = stop(&c);
    assert_string_equal(text_of(certificate, "freezer"), "signals");
    assert_true(text_of(certificate, "freezer_reason")[0]);
    assert_true(runs(agent));
}

/* Cgroups that a test which failed may have left, in memory that the guardian of this file sees, too. */
enum { MOST_MADE = 16 };
static struct {
    char paths[MOST_MADE][600];
    int n;
} *made;

/* A cgroup of this test with an agent in it; `path` is where it stands. Skips the test where that is not
 * permitted. */
static pid_t agent_in_cgroup(const char *controller, const char *name, char *path, int size) {
    char mount[512], file[700], word[16];
    if (nl_cgroup_mount("", controller, mount, sizeof mount) || access(mount, W_OK))
        SKIP("no cgroups with the controller %s that may be written", controller);
    pid_t agent = make_agent(0, 2, spin);
    snprintf(path, (size_t)size, "%s/%s", mount, name);
    if (made->n < MOST_MADE) snprintf(made->paths[made->n++], sizeof made->paths[0], "%s", path);
    snprintf(file, sizeof file, "%s/cgroup.procs", path);
    text_pid(word, agent);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(na_write(file, word), 0);
    return agent;
}

TEST(a_given_cgroup_is_frozen_itself_and_one_found_frozen_is_refused) {
    char name[64], path[600], file[700], now[64];
    snprintf(name, sizeof name, "nl-test-agent-%d", (int)getpid());
    pid_t agent = agent_in_cgroup("freezer", name, path, sizeof path);
    struct companion c = placed("--agent-cgroup", name); /* below the mount */
    obeys(&c, NL_AGENT_OFF);
    assert_true(stands_still(agent));
    snprintf(file, sizeof file, "%s/freezer.state", path);
    assert_true(nl_read(file, now, sizeof now) > 0);
    assert_string_equal(now, "FROZEN\n");
    struct companion second = start("--agent-cgroup", path);
    was_refused(&second, "is frozen already");
    json_auto_t *certificate = stop(&c);
    assert_string_equal(text_of(certificate, "freezer"), "freezer-v1");
    assert_true(runs(agent));
    end_agent(agent);
    c = start("--agent-cgroup", path);
    was_refused(&c, "has no process");
    assert_int_equal(rmdir(path), 0);
}

TEST(a_unit_is_found_by_its_cgroup_and_refused_where_two_have_its_name) {
    char name[64], path[600], above[600], other[700];
    snprintf(name, sizeof name, "nl-test-%d.service", (int)getpid());
    pid_t agent = agent_in_cgroup("", name, path, sizeof path);
    snprintf(above, sizeof above, "%.*s/nl-other-%d", (int)(strrchr(path, '/') - path), path, (int)getpid());
    snprintf(other, sizeof other, "%s/%s", above, name);
    *strchr(name, '.') = '\0'; /* .service is added */
    struct companion c = placed("--agent-unit", name);
    obeys(&c, NL_AGENT_OFF);
    assert_true(stands_still(agent));
    obeys(&c, NL_AGENT_ON);
    busy_half(&c, 1, 50);
    json_auto_t *certificate = stop(&c);
    assert_string_equal(text_of(certificate, "freezer"), "freezer-v2");
    assert_string_equal(text_of(certificate, "account"), "cgroup");
    assert_true(runs(agent));
    assert_int_equal(mkdir(above, 0755) + mkdir(other, 0755), 0);
    c = start("--agent-unit", name);
    was_refused(&c, "there are two units");
    end_agent(agent);
    assert_int_equal(rmdir(other) + rmdir(above) + rmdir(path), 0);
}

/* How many processes have this word in their command line. */
static int n_processes_with(const char *word) {
    char command[128];
    int n = -1;
    /* not the shell that runs this */
    snprintf(command, sizeof command, "pgrep -fc '[%c]%s'", word[0], word + 1);
    FILE *f = popen(command, "re");
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

TEST(a_command_is_started_and_ended_and_its_short_lived_children_count) {
    struct companion c =
        placed("--agent-cmd", "while :; do /bin/true; done", "--shell", "--agent-name", "forker");
    assert_int_equal(half(&c, 0, 20), NL_AGENT_DONE);
    EQUAL(c.page->account.cpu_ns, 0, c.page->account.n_processes, 0);
    obeys(&c, NL_AGENT_ON);
    assert_int_equal(half(&c, 1, 300), NL_AGENT_DONE);
    /* it never sleeps but for its children, which run then: together they are one busy CPU, as far as this
     * machine has one for them */
    assert_in_range(c.page->account.cpu_ns, c.page->account.wall_ns / 50, 2 * c.page->account.wall_ns);
    obeys(&c, NL_AGENT_OFF);
    assert_int_equal(half(&c, 0, 20), NL_AGENT_DONE);
    assert_int_equal(c.page->account.n_processes, 0);
    /* it was seen to start processes: now they are counted to the ns */
    obeys(&c, NL_AGENT_ON);
    assert_int_equal(half(&c, 1, 100), NL_AGENT_DONE);
    assert_in_range(c.page->account.cpu_ns, c.page->account.wall_ns / 50, 2 * c.page->account.wall_ns);
    assert_true(c.page->account.cpu_ns % (10 * MS) != 0);
    json_auto_t *certificate = stop(&c);
    assert_true(warns(certificate, "it starts short-lived processes"));
    assert_string_equal(text_of(certificate, "state_found"), "not started");
    assert_string_equal(text_of(certificate, "state_left"), "not started");
    assert_string_equal(text_of(certificate, "account"), "perf");
}

static int may_run_on(void *cpu, pid_t tid) {
    cpu_set_t set;
    return sched_getaffinity(tid, sizeof set, &set) == 0 && CPU_ISSET(*(int *)cpu, &set);
}

TEST(all_its_threads_leave_the_ranks_cpu_and_its_agent_gets_no_descriptor_of_others) {
    cpu_set_t before, one;
    char threads[64];
    int rank_cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) SKIP("needs 2 CPUs");
    while (!CPU_ISSET(rank_cpu, &before)) rank_cpu++;
    CPU_ZERO(&one);
    CPU_SET(rank_cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); /* as a launcher binds a rank */
    int foreign = open("/dev/zero", O_RDONLY); /* handed down by whoever started us */
    struct companion c = start("--agent-cmd", "ls /proc/self/fd >files; exec sleep 1000", "--shell",
                               "--agent-timeout", "400ms");
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    c.page->ranks[0].cpu = rank_cpu;
    place_in(&c, "");
    snprintf(threads, sizeof threads, "/proc/%d/task", (int)c.pid);
    assert_int_equal(nl_each_number(threads, may_run_on, &rank_cpu), 0);
    obeys(&c, NL_AGENT_ON);
    nl_sleep_ns(100 * MS);
    close(foreign);
    FILE *f = fopen("files", "re");
    int number, most = 0;
    assert_non_null(f);
    while (fscanf(f, "%d", &number) == 1) most = number > most ? number : most;
    fclose(f);
    assert_int_equal(most, 3); /* by ls itself */
    quit(&c);
}

/* An off command that waits for its daemon's end, as an init script does. */
TEST(the_end_of_a_daemon_that_was_switched_on_is_seen_by_its_off_command) {
    struct companion c = placed("--shell", "--agent-on", "setsid sleep 1000 & echo $! >pid", "--agent-off",
                                "p=$(cat pid); kill $p; i=0; while kill -0 $p; do sleep 0.02; i=$((i+1)); [ "
                                "$i -lt 100 ] || exit 1; done");
    obeys(&c, NL_AGENT_ON, NL_AGENT_OFF);
    quit(&c);
}

TEST(two_commands_switch_anything_and_off_is_run_at_the_end) {
    struct companion c = placed("--agent-on", "touch 'a mark'", "--agent-off", "rm \"a mark\"");
    obeys(&c, NL_AGENT_ON);
    assert_int_equal(access("a mark", F_OK), 0);
    assert_int_equal(half(&c, 1, 1), NL_AGENT_DONE);
    assert_int_equal(c.page->account.cpu_ns, -1);
    obeys(&c, NL_AGENT_OFF);
    assert_int_equal(access("a mark", F_OK), -1);
    obeys(&c, NL_AGENT_ON);
    json_auto_t *certificate = stop(&c);
    assert_contains(text_of(certificate, "state_left"),
                    "off, switched by --agent-off (how it was before is not known");
    assert_int_equal(access("a mark", F_OK), -1);
}

/* Switches as often as asked, beginning with on. */
static void switch_times(struct companion *c, int n) {
    for (int i = 0; i < n; i++) obeys(c, i % 2 ? NL_AGENT_OFF : NL_AGENT_ON);
}

TEST(what_two_commands_switch_is_left_as_it_was_found_after_whatever_arm) {
    static const char *const found[] = {"on", "off"};
    for (int was = 0; was < 2; was++)
        for (int n = 0; n < 4; n++) {
            if (was == 0) put("mark", "");
            struct companion c = placed("--shell", "--agent-on", "touch mark", "--agent-off", "rm -f mark",
                                        "--agent-found", found[was]);
            switch_times(&c, n);
            assert_int_equal(access("mark", F_OK), n == 0 ? -was : n % 2 ? 0 : -1);
            json_auto_t *certificate = stop(&c);
            assert_int_equal(access("mark", F_OK), -was);
            if (n > 0) assert_string_equal(text_of(certificate, "state_left"), found[was]);
            else assert_contains(text_of(certificate, "state_left"), "it was not switched");
            assert_string_equal(text_of(certificate, "state_found"), found[was]);
            unlink("mark");
        }
}

TEST(a_scraped_agent_is_scraped_once_per_period_while_it_is_on) {
    struct companion c = placed("--agent-cmd", "sleep 1000", "--scrape", "echo x >>scrapes",
                                "--scrape-period", "50ms", "--shell");
    obeys(&c, NL_AGENT_ON);
    assert_int_equal(half(&c, 1, 500), NL_AGENT_DONE);
    assert_true(c.page->account.scraper_cpu_ns > 0);
    obeys(&c, NL_AGENT_OFF);
    struct stat before, after;
    assert_int_equal(stat("scrapes", &before), 0);
    assert_int_equal(half(&c, 0, 120), NL_AGENT_DONE);
    assert_int_equal(c.page->account.scraper_cpu_ns, 0);
    assert_int_equal(stat("scrapes", &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_in_range(before.st_size / 2, 5, 14); /* 10 and the first; fewer on a busy machine */
    json_auto_t *certificate = stop(&c);
    assert_false(warns(certificate, "scrapes failed"));
}

/* What a half leaves of a period goes on in the next: a scrape each 200 ms of the time that it is on, in
 * halves of 20 ms that each would have one if it began with it. */
TEST(short_halves_have_no_more_scrapes_in_a_second_than_long_ones) {
    struct companion c = placed("--agent-cmd", "sleep 1000", "--freeze", "--scrape", "echo x >>seldom",
                                "--scrape-period", "200ms", "--shell");
    for (int n = 0; n < 30; n++) {
        obeys(&c, NL_AGENT_ON);
        assert_int_equal(half(&c, 1, 20), NL_AGENT_DONE);
        obeys(&c, NL_AGENT_OFF);
        assert_int_equal(half(&c, 0, 20), NL_AGENT_DONE);
    }
    struct stat scrapes;
    assert_int_equal(stat("seldom", &scrapes), 0);
    /* the first, and three of 600 ms; more where a busy machine makes halves longer */
    assert_in_range(scrapes.st_size / 2, 2, 10);
    json_auto_t *certificate = stop(&c);
    assert_false(warns(certificate, "scrapes failed"));
}

TEST(a_scrape_that_never_succeeds_is_refused) {
    struct companion c = placed("--scrape", "false", "--scrape-period", "50ms", "--agent-timeout", "200ms");
    assert_int_equal(tell(&c, NL_AGENT_ON), NL_AGENT_REFUSED);
    assert_non_null(strstr(c.page->text, "does not succeed: status 1"));
    obeys(&c, NL_AGENT_OFF);
    quit(&c);
}

/* ---- bad input ---- */

TEST(an_agent_that_dies_is_said_and_off_halves_go_on) {
    pid_t agent = make_agent(0, 1, doze);
    struct companion c = placed("--agent-pid", pid_text(agent));
    obeys(&c, NL_AGENT_ON);
    c.page->arm = 1;
    c.page->half = 7;
    obeys(&c, NL_AGENT_BEGIN);
    end_agent(agent);
    assert_int_equal(tell(&c, NL_AGENT_END), NL_AGENT_DIED);
    assert_non_null(strstr(c.page->text, "in half 7 of arm 1"));
    obeys(&c, NL_AGENT_OFF);
    assert_int_equal(half(&c, 0, 1), NL_AGENT_DONE);
    assert_int_equal(tell(&c, NL_AGENT_ON), NL_AGENT_DIED);
    json_auto_t *certificate = stop(&c);
    assert_non_null(strstr(text_of(certificate, "died"), "half 7"));
    assert_string_equal(text_of(certificate, "state_left"), "ended by itself");
}

TEST(an_agent_that_dies_while_it_is_frozen_is_seen) {
    pid_t agent = make_agent(0, 1, doze);
    struct companion c = placed("--agent-pid", pid_text(agent));
    obeys(&c, NL_AGENT_OFF);
    kill(agent, SIGKILL);
    /* by version 1 a frozen process dies when it is thawed, by version 2 and signals at once */
    int status = tell(&c, NL_AGENT_ON);
    waitpid(agent, NULL, 0);
    assert_int_equal(status == NL_AGENT_DONE ? half(&c, 1, 1) : status, NL_AGENT_DIED);
    quit(&c);
}

TEST(a_daemon_is_followed_and_ended_with_everything_it_left) {
    struct companion c =
        placed("--agent-cmd", "(setsid sh -c 'while :; do :; done' nl-test-daemon &) ; exit 0", "--shell");
    obeys(&c, NL_AGENT_ON);
    nl_sleep_ns(50 * MS);
    busy_half(&c, 1, 200);
    assert_int_equal(c.page->account.n_processes, 1);
    assert_int_equal(n_processes_with("nl-test-daemon"), 1);
    obeys(&c, NL_AGENT_OFF);
    assert_int_equal(n_processes_with("nl-test-daemon"), 0);
    json_auto_t *certificate = stop(&c);
    assert_true(warns(certificate, "goes on in the background"));
}

TEST(a_command_that_ignores_sigterm_is_killed_and_it_says_so) {
    struct companion c = placed("--agent-cmd", "trap '' TERM; while :; do sleep 0.01; done", "--shell",
                                "--agent-timeout", "400ms");
    obeys(&c, NL_AGENT_ON);
    nl_sleep_ns(50 * MS);
    obeys(&c, NL_AGENT_OFF);
    assert_int_equal(half(&c, 0, 1), NL_AGENT_DONE);
    assert_int_equal(c.page->account.n_processes, 0);
    json_auto_t *certificate = stop(&c);
    assert_true(warns(certificate, "it got SIGKILL"));
}

TEST(gigabytes_of_output_are_taken_in_and_a_megabyte_is_kept) {
    struct stat st;
    struct companion c = start("--agent-cmd", "cat /dev/zero");
    place_in(&c, ".");
    obeys(&c, NL_AGENT_ON);
    assert_int_equal(half(&c, 1, 500), NL_AGENT_DONE);
    assert_true(c.page->account.written_bytes > 8 << 20);
    quit(&c);
    assert_int_equal(stat("agent.here.log", &st), 0);
    assert_int_equal(st.st_size, NA_LOG_BYTES);
}

TEST(a_number_that_belongs_to_another_process_is_not_signalled) {
    pid_t agent = make_agent(0, 1, doze);
    struct na_process p = na_process_of(agent), old = {p.pid, p.start_ticks - 1};
    assert_true(na_process_lives(p));
    assert_false(na_process_lives(old));
    assert_int_equal(na_process_signal(old, SIGKILL), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(na_process_signal(p, SIGKILL), 0);
    waitpid(agent, NULL, 0);
    assert_int_equal(na_process_signal(p, SIGKILL), -1);
}

/* ---- whatever happens, it is left as it was found ---- */

TEST(a_killed_companion_leaves_no_started_agent) {
    struct companion c =
        placed("--agent-cmd",
               "(setsid sh -c 'while :; do sleep 0.01; done' nl-test-orphan &) ; exec sleep 1000", "--shell");
    obeys(&c, NL_AGENT_ON);
    nl_sleep_ns(50 * MS);
    assert_int_equal(half(&c, 1, 1), NL_AGENT_DONE);
    assert_true(n_processes_with("nl-test-orphan") >= 1); /* 2 while its sleep comes into being */
    kill_companion(&c);
    for (int i = 0; i < 200 && n_processes_with("nl-test-orphan") > 0; i++) nl_sleep_ns(10 * MS);
    assert_int_equal(n_processes_with("nl-test-orphan"), 0);
}

TEST(a_killed_owner_leaves_no_frozen_agent_and_no_companion) {
    for (int has_closed = 0; has_closed < 2; has_closed++) { /* the page, as its signal handler does */
        int ready[2];
        pid_t companion;
        OWNED(end_owned) pid_t agent = make_agent(0, 2, spin);
        assert_int_equal(pipe(ready), 0);
        pid_t owner = fork();
        if (owner == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            struct companion c = placed("--agent-pid", pid_text(agent));
            obeys(&c, NL_AGENT_OFF, NL_AGENT_BEGIN);
            for (int i = 0; i < 2 && has_closed; i++) {
                nl_agent_close(c.page);
                nl_sleep_ns(100 * MS);
            }
            if (write(ready[1], &c.pid, sizeof c.pid) < 0) _exit(1);
            for (;;) pause();
        }
        assert_int_equal(read(ready[0], &companion, sizeof companion), sizeof companion);
        assert_true(has_closed ? runs(agent) : stands_still(agent));
        kill(owner, SIGKILL);
        waitpid(owner, NULL, 0);
        assert_true(runs(agent));
        for (int i = 0; i < 300 && strchr("Z-", state_of(companion)) == NULL; i++) nl_sleep_ns(10 * MS);
        assert_non_null(strchr("Z-", state_of(companion)));
        close(ready[0]);
        close(ready[1]);
    }
}

TEST(a_closed_page_restores_at_once_and_commands_go_on_being_answered) {
    OWNED(end_owned) pid_t agent = make_agent(0, 2, spin);
    struct companion c = placed("--agent-pid", pid_text(agent));
    obeys(&c, NL_AGENT_OFF);
    c.page->arm = 0;
    obeys(&c, NL_AGENT_BEGIN);
    nl_agent_close(c.page);
    assert_true(runs(agent));
    obeys(&c, NL_AGENT_END, NL_AGENT_OFF);
    assert_true(runs(agent));
    json_auto_t *certificate = stop(&c);
    assert_string_equal(text_of(certificate, "state_left"), "running");
}

TEST(a_stopped_owner_leaves_the_agent_frozen_no_longer_than_its_lease) {
    OWNED(end_owned) pid_t agent = make_agent(0, 2, spin);
    struct companion c = start("--agent-pid", pid_text(agent));
    c.page->lease_ns = 300 * MS;
    place_in(&c, "");
    for (int i = 0; i < 4; i++) { /* commands keep it */
        obeys(&c, NL_AGENT_OFF);
        assert_int_equal(half(&c, 0, 100), NL_AGENT_DONE);
    }
    assert_true(stands_still(agent));
    c.page->arm = 0;
    obeys(&c, NL_AGENT_BEGIN);
    nl_sleep_ns(400 * MS);
    assert_true(runs(agent));
    assert_int_equal(tell(&c, NL_AGENT_END), NL_AGENT_REFUSED);
    assert_non_null(strstr(c.page->text, "no command came for 0.3 s while it was frozen"));
    assert_int_equal(tell(&c, NL_AGENT_OFF), NL_AGENT_REFUSED);
    assert_true(runs(agent));
    json_auto_t *certificate = stop(&c);
    assert_string_equal(text_of(certificate, "state_left"), "running");
}

static pid_t guardian_of(pid_t companion) {
    struct na_set children = {0};
    struct nl_stat s;
    pid_t found = 0;
    na_set_add_children(&children, companion);
    for (int i = 0; i < children.n; i++)
        if (nl_stat_read(children.p[i].pid, &s) == 0 && strcmp(s.name, "nl-guardian") == 0)
            found = children.p[i].pid;
    na_set_free(&children);
    assert_true(found > 0);
    return found;
}

TEST(what_companion_and_guardian_leave_frozen_when_killed_together_is_restored_by_the_next) {
    char runtime[PATH_MAX - 32], file[PATH_MAX];
    OWNED(end_owned) pid_t agent = make_agent(0, 2, spin);
    /* root's folder is a fixed one */
    snprintf(runtime, sizeof runtime, "%s/run", folder);
    assert_int_equal(mkdir(runtime, 0700), 0);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    struct companion c = placed("--agent-pid", pid_text(agent));
    obeys(&c, NL_AGENT_OFF);
    snprintf(file, sizeof file, "%s/noiselab/%d.journal", geteuid() ? runtime : "/run", (int)c.pid);
    if (access(file, F_OK)) { /* no folder for a journal */
        kill_companion(&c);
        assert_true(runs(agent));
        return;
    }
    kill(guardian_of(c.pid), SIGKILL);
    kill_companion(&c);
    nl_sleep_ns(100 * MS);
    assert_true(stands_still(agent));
    assert_int_equal(na_journal_restore(), 0);
    assert_true(runs(agent));
    assert_int_not_equal(access(file, F_OK), 0);
    /* one that says nothing of use stays, and is told */
    assert_int_equal(close(open(file, O_WRONLY | O_CREAT | O_EXCL, 0600)), 0);
    assert_int_equal(na_journal_restore(), 1);
    assert_int_equal(unlink(file), 0);
}

TEST(a_killed_companion_is_undone_by_its_guardian) {
    OWNED(end_owned) pid_t agent = make_agent(0, 2, spin);
    struct companion c = placed("--agent-pid", pid_text(agent));
    obeys(&c, NL_AGENT_OFF);
    pid_t guardian = guardian_of(c.pid);
    kill_companion(&c);
    assert_true(runs(agent));
    for (int i = 0; i < 500 && strchr("Z-", state_of(guardian)) == NULL; i++) nl_sleep_ns(10 * MS);
    assert_non_null(strchr("Z-", state_of(guardian))); /* it could undo everything */
}

/* Waits until the mark is there (0) or not (-1). */
static int comes_to(int wanted) {
    for (int i = 0; i < 500 && access("mark", F_OK) != wanted; i++) nl_sleep_ns(10 * MS);
    return access("mark", F_OK) == wanted;
}

TEST(what_two_commands_switch_is_left_as_it_was_found_when_the_companion_is_killed_at_any_stage) {
    static const char *const found[] = {"on", "off", "unknown"};
    for (int was = 0; was < 3; was++)
        for (int n = 0; n < 4; n++) {
            unlink("mark");
            if (was == 0) put("mark", "");
            struct companion c = placed("--shell", "--agent-on", "touch mark", "--agent-off", "rm -f mark",
                                        "--agent-found", found[was]);
            switch_times(&c, n);
            pid_t guardian = guardian_of(c.pid);
            kill_companion(&c);
            for (int i = 0; i < 500 && strchr("Z-", state_of(guardian)) == NULL; i++) nl_sleep_ns(10 * MS);
            assert_int_equal(access("mark", F_OK), was == 0 ? 0 : -1);
        }
}

/* It runs on, and what it does at its end would come after what the guardian does. */
TEST(a_switch_under_way_when_the_companion_is_killed_is_undone_after_its_end) {
    struct companion c = placed("--shell", "--agent-on", "touch begun; sleep 0.4; touch mark", "--agent-off",
                                "rm -f mark; touch off", "--agent-found", "off");
    nl_agent_send(c.page, NL_AGENT_ON);
    for (int i = 0; i < 500 && access("begun", F_OK); i++) nl_sleep_ns(10 * MS);
    kill_companion(&c);
    for (int i = 0; i < 500 && access("off", F_OK); i++) nl_sleep_ns(10 * MS);
    assert_int_equal(access("off", F_OK), 0);
    nl_sleep_ns(600 * MS);
    assert_int_equal(access("mark", F_OK), -1);
}

TEST(what_two_commands_switched_is_put_back_by_the_next_when_companion_and_guardian_are_killed_together) {
    char runtime[PATH_MAX - 32], file[PATH_MAX];
    snprintf(runtime, sizeof runtime, "%s/run2", folder);
    assert_int_equal(mkdir(runtime, 0700), 0);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    for (int was_on = 0; was_on < 2; was_on++) {
        struct companion c = placed("--shell", "--agent-on", "touch 'mark'\n: \\t\t", "--agent-off",
                                    "rm -f 'mark'\n: \\n", "--agent-found", was_on ? "on" : "off");
        switch_times(&c, was_on ? 2 : 1);
        snprintf(file, sizeof file, "%s/noiselab/%d.journal", geteuid() ? runtime : "/run", (int)c.pid);
        assert_true(comes_to(was_on ? -1 : 0));
        pid_t guardian = guardian_of(c.pid);
        int has_journal = access(file, F_OK) == 0;
        if (has_journal) kill(guardian, SIGKILL);
        kill_companion(&c);
        if (has_journal) {
            nl_sleep_ns(50 * MS);
            assert_int_equal(access("mark", F_OK), was_on ? -1 : 0);
            assert_int_equal(na_journal_restore(), 0);
            assert_int_not_equal(access(file, F_OK), 0);
        }
        assert_true(comes_to(was_on ? 0 : -1));
    }
}

TEST(an_off_command_that_fails_once_is_run_again_by_the_guardian) {
    struct companion c = placed("--agent-on", "true", "--agent-off", "test -e may && touch done", "--shell");
    obeys(&c, NL_AGENT_ON);
    json_auto_t *certificate = stop(&c);
    assert_non_null(strstr(text_of(certificate, "state_left"), "the command of --agent-off failed"));
    put("may", "");
    for (int i = 0; i < 1000 && access("done", F_OK); i++) nl_sleep_ns(10 * MS);
    assert_int_equal(access("done", F_OK), 0);
}

TEST(a_page_of_another_version_and_commands_out_of_order_are_refused) {
    int fd;
    struct nl_agent *page = nl_agent_create(&fd);
    page->page.size_bytes--;
    assert_null(nl_page_attach(fd, NL_AGENT_MAGIC, sizeof *page));
    page->page.size_bytes++;
    nl_page_unmap(page);
    close(fd);
    struct companion c = start("--agent-cmd", "sleep 1000");
    enum nl_agent_command early[] = {NL_AGENT_ON, NL_AGENT_BEGIN, NL_AGENT_END, (enum nl_agent_command)99};
    for (int i = 0; i < 4; i++) assert_int_equal(tell(&c, early[i]), NL_AGENT_REFUSED);
    quit(&c);
}

/* When this program is killed its agents end with it, and companions restore what they froze: then its
 * folders can go. */
static void remove_what_is_left(void *nothing, int64_t told) {
    (void)nothing, (void)told;
    for (int i = 0; i < 200; i++) {
        int n_left = 0;
        for (int k = made->n - 1; k >= 0; k--) n_left += rmdir(made->paths[k]) && errno != ENOENT;
        if (n_left == 0) break;
        nl_sleep_ns(50 * MS);
    }
    remove_tree(NULL);
}

static struct nl_guard guard;

/* Root's journals lie in one folder of the machine, and whoever starts an agent restores what a dead
 * session left there. A test that looks at what is left needs a folder that no other session sees. Where no
 * mount namespace can be made, the tests share the folder. */
static void hide_journals(void) {
    if (geteuid() != 0 || (mkdir("/run/noiselab", 0700) && errno != EEXIST) || unshare(CLONE_NEWNS)) return;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        mount("noiselab-test", "/run/noiselab", "tmpfs", 0, "mode=0700");
}

FIXTURE(set_up) {
    const struct nl_guard_work work = {.name = "nl-test-guard", .is_orphan = 1, .act = remove_what_is_left};
    made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    hide_journals();
    return made == MAP_FAILED || make_folder(state) || chdir(folder) || nl_guard_start(&guard, &work);
}

FIXTURE(tear_down) {
    struct na_set left = {0};
    na_set_add_children(&left, getpid());
    for (int i = 0; i < left.n; i++) end_agent(left.p[i].pid);
    na_set_free(&left);
    nl_guard_end(&guard);
    while (made->n > 0) rmdir(made->paths[--made->n]);
    return remove_tree(state);
}

GROUP(set_up, tear_down)

/* ---- settings ---- */

static void put_value(const char *path, const char *value) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", value);
    fclose(f);
}

static int says(const char *path, const char *value) {
    char now[NA_UNDO_VALUE_BYTES];
    return na_value_read(path, now, sizeof now) == 0 && strcmp(now, value) == 0;
}

/* For some seconds: a guardian restores it when it finds time. */
static int comes_to_say(const char *path, const char *value) {
    for (int i = 0; i < 20000 && !says(path, value); i++) nl_sleep_ns(1 * MS);
    return says(path, value);
}

/* Where a journal can be, and a setting that was found at 5. */
static const char *setting_place(char *runtime, char *path) {
    strcpy(runtime, "/tmp/nl-setting-XXXXXX");
    assert_non_null(mkdtemp(runtime));
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    snprintf(path, PATH_MAX, "%s/knob", runtime);
    put_value(path, "5");
    return path;
}

static void leave_place(const char *runtime, const char *path) {
    char folder[PATH_MAX];
    unlink(path);
    snprintf(folder, sizeof folder, "%s/noiselab", runtime);
    rmdir(folder);
    rmdir(runtime);
}

TEST(settings_are_words_that_are_crossed_and_have_a_placebo) {
    static struct na_settings s;
    char reason[512];
    assert_int_equal(na_settings_add(&s, "kernel.numa_balancing=1,0", reason, sizeof reason), 0);
    assert_int_equal(na_settings_add(&s, "/sys/x/enabled=always,never,a\\,b", reason, sizeof reason), 0);
    assert_int_equal(na_settings_cross(&s, reason, sizeof reason), 0);
    EQUAL(s.n, 2, s.n_arms, 6, s.settings[1].n_values, 3);
    assert_string_equal(s.settings[1].values[2], "a,b");
    assert_string_equal(s.arms[0].name, "enabled-never");
    assert_string_equal(s.arms[4].name, "numa_balancing-0_enabled-a_b");
    assert_string_equal(s.arms[5].name, NA_PLACEBO);
    EQUAL(s.arms[4].at[0], 1, s.arms[4].at[1], 2, s.arms[5].at[0], 0, s.arms[5].at[1], 0);
    assert_ptr_equal(na_settings_find(&s, NA_PLACEBO), &s.arms[5]);
    assert_null(na_settings_find(&s, "numa_balancing-1"));
    static const struct { const char *text, *reason;
    } bad[] = {{"kernel.x", "is not NAME="},           {"=1,0", "is not NAME="},
               {"kernel.x=1", "has one value"},        {"kernel.x=1,", "is empty"},
               {"kernel.x=1,1", "stands twice"},       {"kernel.numa_balancing=1,0", "given twice"},
               {"irq:eth0=0,x", "not a list of CPUs"}, {"confine:a=0-", "not a list of CPUs"},
               {"../x=1,0", "neither a sysctl"},       {"irq:=0,1", "neither a sysctl"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(na_settings_add(&s, bad[i].text, reason, sizeof reason), -1);
        assert_contains(reason, bad[i].reason);
    }
    assert_int_equal(na_settings_add(&s, "confine:sshd=0,1+2", reason, sizeof reason), 0);
    EQUAL(s.settings[2].n_values, 3, s.settings[2].kind, NA_SETTING_CONFINE);
}

/* The companion of a setting that is 1 or 0, in its reference. */
static struct companion setting_at(const char *path) {
    static char words[PATH_MAX + 16];
    snprintf(words, sizeof words, "%s=1,0", path);
    struct companion c = start("--setting", words);
    struct nl_agent *p = c.page;
    p->n_arms = 3;
    strcpy(p->arms[1].kind, "knob-0");
    strcpy(p->arms[2].kind, NA_PLACEBO);
    assert_int_equal(tell(&c, NL_AGENT_PLACE), NL_AGENT_DONE);
    return c;
}

static void switch_to(struct companion *c, int arm) {
    c->page->arm = arm;
    assert_int_equal(tell(c, arm > 0 ? NL_AGENT_ON : NL_AGENT_OFF), NL_AGENT_DONE);
}

TEST(a_setting_has_its_values_and_is_left_as_it_was_found) {
    char runtime[64], path[PATH_MAX], journal[PATH_MAX];
    setting_place(runtime, path);
    struct companion c = setting_at(path);
    snprintf(journal, sizeof journal, "%s/noiselab/%d.journal", geteuid() ? runtime : "/run", (int)c.pid);
    assert_true(says(path, "1"));
    assert_int_equal(access(journal, F_OK), 0);
    switch_to(&c, 1);
    assert_true(says(path, "0"));
    assert_int_equal(half(&c, 1, 1), NL_AGENT_DONE);
    switch_to(&c, 2);
    assert_true(says(path, "1"));
    switch_to(&c, 1);
    switch_to(&c, 0);
    assert_true(says(path, "1"));
    switch_to(&c, 1);
    json_t *certificate = stop(&c);
    const json_t *one = json_array_get(json_object_get(certificate, "settings"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "found")), "5");
    assert_string_equal(json_string_value(json_object_get(one, "left")), "5");
    json_decref(certificate);
    assert_true(says(path, "5"));
    assert_int_not_equal(access(journal, F_OK), 0);
    leave_place(runtime, path);
}

TEST(a_setting_is_restored_whoever_is_killed) {
    char runtime[64], path[PATH_MAX];
    setting_place(runtime, path);
    for (int with_guardian = 0; with_guardian < 2; with_guardian++) {
        for (int arm = 0; arm < 3; arm++) {
            struct companion c = setting_at(path);
            switch_to(&c, arm);
            if (with_guardian) kill(guardian_of(c.pid), SIGKILL);
            kill_companion(&c);
            if (with_guardian) {
                nl_sleep_ns(20 * MS);
                assert_true(says(path, arm == 1 ? "0" : "1"));
                assert_int_equal(na_journal_restore(), 0);
            }
            assert_true(comes_to_say(path, "5"));
        }
    }
    leave_place(runtime, path);
}

/* A signal during the start: the page is closed, and the command that was under way comes afterwards. */
TEST(what_is_closed_before_it_is_placed_changes_nothing) {
    char runtime[64], path[PATH_MAX], words[PATH_MAX + 16];
    setting_place(runtime, path);
    snprintf(words, sizeof words, "%s=1,0", path);
    struct companion c = start("--setting", words);
    kill(guardian_of(c.pid), SIGKILL);
    nl_agent_close(c.page);
    assert_int_equal(tell(&c, NL_AGENT_PLACE), NL_AGENT_DONE);
    assert_true(says(path, "5"));
    kill_companion(&c);
    assert_true(says(path, "5"));
    leave_place(runtime, path);
}

TEST(a_value_that_does_not_take_is_refused_by_name_and_what_was_found_comes_back) {
    char runtime[64], path[PATH_MAX], words[PATH_MAX + 400], reason[512];
    setting_place(runtime, path);
    /* the kernel takes no such number, and says so when it is written */
    if (geteuid() == 0 && access("/proc/sys/vm/stat_interval", W_OK) == 0 &&
        na_value_write("/proc/self/oom_score_adj", "0", 0, reason, sizeof reason) == 0) {
        snprintf(words, sizeof words, "%s=1,0", path);
        struct companion c = start("--setting", words, "--setting", "/proc/self/oom_score_adj=0,nonsense");
        nl_agent_send(c.page, NL_AGENT_PLACE);
        assert_int_equal(nl_agent_await(c.page, LONG_NS), NL_AGENT_REFUSED);
        assert_contains(
            c.page->text,
            "/proc/self/oom_score_adj=nonsense: /proc/self/oom_score_adj does not take 'nonsense'");
        quit(&c);
    }
    assert_true(says(path, "5"));
    struct companion none = start("--setting", "kernel.no_such_setting=1,0");
    was_refused(&none,
                "--setting: kernel.no_such_setting: this machine has no /proc/sys/kernel/no_such_setting");
    snprintf(words, sizeof words, "%s=1,0", runtime);
    struct companion folder = start("--setting", words);
    was_refused(&folder, "cannot be read and written: Is a directory");
    put_value(path, "two\nlines");
    snprintf(words, sizeof words, "%s=1,0", path);
    struct companion lines = start("--setting", words);
    was_refused(&lines, "is not one line");
    leave_place(runtime, path);
}

TEST(values_are_read_back_in_the_forms_that_the_kernel_has) {
    char runtime[64], path[PATH_MAX], value[NA_UNDO_VALUE_BYTES], reason[512];
    cpu_set_t cpus;
    setting_place(runtime, path);
    put_value(path, "always [madvise] never");
    assert_int_equal(na_value_read(path, value, sizeof value), 0);
    assert_string_equal(value, "madvise");
    assert_int_equal(na_value_write(path, "10", 0, reason, sizeof reason), 0);
    assert_int_equal(na_value_write(path, "9", 0, reason, sizeof reason), 0);
    assert_true(says(path, "9"));
    assert_int_equal(na_cpus_parse("0-2+5", &cpus), 0);
    EQUAL(CPU_COUNT(&cpus), 4, !!CPU_ISSET(5, &cpus), 1, na_cpus_parse("x", &cpus), -1);
    leave_place(runtime, path);
}

TEST(tasks_that_are_confined_run_again_where_they_might_and_so_do_their_children) {
    char runtime[64], path[PATH_MAX];
    static struct na_undo undo;
    cpu_set_t all, one, now;
    setting_place(runtime, path);
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2) SKIP("one CPU cannot confine anything");
    int first = 0;
    while (!CPU_ISSET((size_t)first, &all)) first++;
    CPU_ZERO(&one);
    CPU_SET((size_t)first, &one);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t task = fork();
    if (task == 0) {
        char word;
        prctl(PR_SET_NAME, "nl-confined");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (read(ends[0], &word, 1) == 1)
            if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                pause();
            }
        _exit(0);
    }
    char name[64] = "";
    while (strcmp(name, "nl-confined\n") != 0) {
        snprintf(path, sizeof path, "/proc/%d/comm", (int)task);
        nl_read(path, name, sizeof name);
    }
    char reason[512];
    strcpy(undo.confine_pattern, "nl-conf*");
    undo.confines[undo.n_confines++] = one;
    assert_int_equal(na_confine(&undo, &one, reason, sizeof reason), 1);
    sched_getaffinity(task, sizeof now, &now);
    assert_true(CPU_EQUAL(&now, &one));
    assert_int_equal(write(ends[1], "x", 1), 1);
    pid_t child = 0;
    for (int i = 0; i < 5000 && !child; i++) {
        struct na_set children = {0};
        na_set_add_children(&children, task);
        if (children.n > 0) child = children.p[0].pid;
        na_set_free(&children);
        nl_sleep_ns(1 * MS);
    }
    assert_int_not_equal(child, 0);
    sched_getaffinity(child, sizeof now, &now);
    assert_true(CPU_EQUAL(&now, &one));
    assert_int_equal(na_undo_settings(&undo, reason, sizeof reason), 0);
    sched_getaffinity(task, sizeof now, &now);
    assert_true(CPU_EQUAL(&now, &all));
    sched_getaffinity(child, sizeof now, &now);
    assert_true(CPU_EQUAL(&now, &all));
    kill(child, SIGKILL);
    kill(task, SIGKILL);
    waitpid(task, NULL, 0);
    snprintf(path, sizeof path, "%s/knob", runtime);
    leave_place(runtime, path);
}

/* ---- two versions of an agent ---- */

/* A child of this process whose command line has this word; 0: none. */
static pid_t child_with(pid_t parent, const char *word) {
    char path[64], words[512];
    struct na_set set = {0};
    pid_t found = 0;
    na_set_add_children(&set, parent);
    for (int i = 0; i < set.n; i++) {
        snprintf(path, sizeof path, "/proc/%d/cmdline", (int)set.p[i].pid);
        int n = nl_read(path, words, sizeof words);
        for (int k = 0; k < n - 1; k++)
            if (!words[k]) words[k] = ' ';
        if (n > 0 && strstr(words, word)) found = set.p[i].pid;
    }
    na_set_free(&set);
    return found;
}

static const char spinning[] = "sh -c 'while :; do :; done' %s";

static struct companion two_versions(const char *freeze) {
    static char new[64], old[64];
    snprintf(new, sizeof new, spinning, "nl-new");
    snprintf(old, sizeof old, spinning, "nl-old");
    struct companion c =
        freeze ? start("--agent-cmd", new, "--against", old, "--agent-name", "new", "--against-name", "old",
                       freeze)
               : start("--agent-cmd", new, "--against", old, "--agent-name", "new", "--against-name", "old");
    struct nl_agent *p = c.page;
    p->n_ranks = 0;
    p->n_arms = 3;
    strcpy(p->arms[1].kind, "new");
    strcpy(p->arms[2].kind, "old");
    assert_int_equal(tell(&c, NL_AGENT_PLACE), NL_AGENT_DONE);
    return c;
}

TEST(of_two_versions_that_are_started_one_runs_or_none) {
    struct companion c = two_versions(NULL);
    const int arms[] = {1, 2, 0, 2, 1};
    for (size_t i = 0; i < sizeof arms / sizeof *arms; i++) {
        switch_to(&c, arms[i]);
        assert_int_equal(child_with(c.pid, "nl-new") > 0, arms[i] == 1);
        assert_int_equal(child_with(c.pid, "nl-old") > 0, arms[i] == 2);
        if (arms[i] > 0) busy_half(&c, arms[i], 20);
        else idle_half(&c, 20);
    }
    json_t *certificate = stop(&c);
    assert_string_equal(json_string_value(json_object_get(certificate, "name")), "new");
    assert_string_equal(json_string_value(json_object_get(json_object_get(certificate, "against"), "name")),
                        "old");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(certificate, "against"), "state_left")),
        "not started");
    json_decref(certificate);
}

TEST(of_two_versions_that_are_frozen_one_runs_or_none_and_both_end) {
    struct companion c = two_versions("--freeze");
    pid_t new = child_with(c.pid, "nl-new"), old = child_with(c.pid, "nl-old");
    assert_true(new > 0 && old > 0);
    const int arms[] = {0, 1, 2, 1, 0};
    for (size_t i = 0; i < sizeof arms / sizeof *arms; i++) {
        switch_to(&c, arms[i]);
        assert_true(arms[i] == 1 ? runs(new) : stands_still(new));
        assert_true(arms[i] == 2 ? runs(old) : stands_still(old));
        if (arms[i] > 0) busy_half(&c, arms[i], 20);
        else idle_half(&c, 20);
    }
    quit(&c);
    for (int i = 0; i < 2000 && (kill(new, 0) == 0 || kill(old, 0) == 0); i++) nl_sleep_ns(1 * MS);
    assert_true(kill(new, 0) != 0 && kill(old, 0) != 0);
}

TEST(two_versions_end_when_their_companion_is_killed) {
    struct companion c = two_versions("--freeze");
    pid_t new = child_with(c.pid, "nl-new"), old = child_with(c.pid, "nl-old");
    switch_to(&c, 2);
    kill_companion(&c);
    for (int i = 0; i < 20000 && (kill(new, 0) == 0 || kill(old, 0) == 0); i++) nl_sleep_ns(1 * MS);
    assert_true(kill(new, 0) != 0 && kill(old, 0) != 0);
}

/* The generator under a detector: a child of this test runs it as the program does, and the test is its
 * owner. What is delivered to the nanosecond is the business of test_pace.c; here the machine may be busy. */
#include <jansson.h>

#include "noisegen/worker.h"
#include "tests/unit/unit.h"
#include "noisegen/control.h"

#define MS      INT64_C(1000000)
#define LONG_NS INT64_C(20000000000) /* only a broken test waits so long */

static int allowed[NL_CONTROL_MAX_WORKERS], n_allowed;

FIXTURE(set_up) {
    struct nl_place *place;
    if (nl_place_open(&place)) return -1;
    nl_place_restrict_to_binding(place);
    n_allowed = nl_place_cpus(place, allowed, NL_CONTROL_MAX_WORKERS);
    nl_place_close(place);
    return n_allowed > 0 ? 0 : -1;
}

struct generator {
    struct nl_control *page;
    int fd;
    pid_t pid;
};

/* Starts the generator with these options, its words separated by single spaces. */
static struct generator start_of(int32_t owner_pid, const char *options) {
    struct generator g;
    g.page = nl_control_create(&g.fd);
    assert_non_null(g.page);
    g.page->owner_pid = owner_pid;
    g.pid = fork();
    assert_true(g.pid >= 0);
    if (g.pid > 0) return g;
    char copy[1024], fd[32], *words[32] = {"noiselab-gen", fd};
    int n = 2;
    struct ng_options *o = calloc(1, sizeof *o);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* as main does: a failed assertion must not leave it behind */
    snprintf(fd, sizeof fd, "--control-fd=%d", g.fd);
    snprintf(copy, sizeof copy, "%s", options);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        words[n++] = word;
    nl_set_program("noiselab-gen");
    _exit(o && ng_options_parse(n, words, o) == 1 ? ng_controlled(o) : NL_EXIT_USAGE);
}

static struct generator start(const char *options) { return start_of((int32_t)getpid(), options); }

/* The same with a trace. */
static struct generator replaying(const char *text) {
    char path[] = "/tmp/noiselab-test-controlled.XXXXXX", options[128];
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    snprintf(options, sizeof options, "--replay=%s", path);
    struct generator g = start(options);
    nl_control_send(g.page, NL_COMMAND_IDLE);
    assert_int_equal(nl_control_await(g.page, LONG_NS), 0); /* it has read it */
    unlink(path);
    return g;
}

static int command(struct generator *g, enum nl_command c) {
    nl_control_send(g->page, c);
    int rc = nl_control_await(g->page, LONG_NS);
    if (rc == -2) fail_msg("no answer");
    return rc;
}

static int place(struct generator *g, const int *cpus, int n) {
    g->page->n_cpus = n;
    for (int i = 0; i < n && i < NL_CONTROL_MAX_WORKERS; i++)
        g->page->cpus[i] = cpus[i];
    return command(g, NL_COMMAND_PLACE);
}

/* What RUN asks for: account 1, the first kind and pattern, 5 % in halves of 10 ms on every CPU. */
static void fill_run(struct generator *g) {
    struct nl_dose *dose = &g->page->dose;
    *dose = (struct nl_dose){.account = 1,
                             .level_percent = 5,
                             .period_ns = 10 * MS,
                             .half_ns = 10 * MS,
                             .first_burst_ns = nl_mono_ns(),
                             .n_periods = 1,
                             .seed = 1};
    memset(dose->is_active, 1, sizeof dose->is_active);
}

static struct generator placed(const char *options, int n_cpus) {
    struct generator g = start(options);
    assert_int_equal(place(&g, allowed, n_cpus), 0);
    fill_run(&g);
    return g;
}

static int run(struct generator *g) {
    g->page->dose.first_burst_ns = nl_mono_ns();
    return command(g, NL_COMMAND_RUN);
}

/* Ends the generator; its certificate, to be freed by json_decref. */
static json_t *quit(struct generator *g) {
    int status;
    json_error_t error;
    assert_int_equal(command(g, NL_COMMAND_QUIT), 0);
    json_t *json = json_loads(g->page->text, 0, &error);
    if (!json) fail_msg("the certificate is not JSON: %s", error.text);
    assert_int_equal(waitpid(g->pid, &status, 0), g->pid);
    assert_int_equal(status, 0);
    nl_page_unmap(g->page);
    close(g->fd);
    return json;
}

static void quit_and_forget(struct generator *g) { json_decref(quit(g)); }

static int64_t integer(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    if (!json_is_integer(value)) fail_msg("%s is not a number", key);
    return json_integer_value(value);
}

static int64_t integer_at(const json_t *json, const char *list, int i, const char *key) {
    return integer(json_array_get(json_object_get(json, list), (size_t)i), key);
}

static const char *text_at(const json_t *json, const char *list, int i, const char *key) {
    return json_string_value(json_object_get(json_array_get(json_object_get(json, list), (size_t)i), key));
}

static int n_of(const json_t *json, const char *list) {
    return (int)json_array_size(json_object_get(json, list));
}

/* So many runs, each followed by a pause. */
static void run_times(struct generator *g, int n, int pause_ms) {
    for (int i = 0; i < n; i++) {
        assert_int_equal(run(g), 0);
        nl_sleep_ns(pause_ms * MS);
    }
}

static void assert_refused(struct generator *g, int rc, const char *wanted) {
    assert_int_equal(rc, -1);
    assert_contains(g->page->text, wanted);
}

/* Threads of the generator, and all their voluntary context switches. */
static int count_threads(pid_t pid, int64_t *n_switches) {
    char command[160];
    int n = 0;
    snprintf(command, sizeof command,
             "awk '/^volun/ { n++; s += $2 } END { print n + 0, s + 0 }' /proc/%d/task/*/status 2>&-",
             (int)pid);
    FILE *f = popen(command, "re");
    assert_int_equal(fscanf(f, "%d %" SCNd64, &n, n_switches), 2);
    pclose(f);
    return n;
}

/* ---- what it obeys ---- */

TEST(every_cpu_gets_its_worker_and_the_certificate_tells_of_each) {
    struct generator g = start("");
    assert_int_equal(place(&g, allowed, n_allowed), 0);
    assert_int_equal(atomic_load(&g.page->n_workers), n_allowed);
    int64_t n_switches;
    assert_int_equal(count_threads(g.pid, &n_switches), n_allowed);
    fill_run(&g);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(run(&g), 0);
        assert_int_equal(nl_control_n_due(g.page), n_allowed);
        nl_sleep_ns(10 * MS);
    }
    assert_int_equal(command(&g, NL_COMMAND_IDLE), 0);
    json_auto_t *json = quit(&g);
    EQUAL(n_of(json, "threads"), n_allowed, n_of(json, "levels"), 1);
    for (int i = 0; i < n_allowed; i++) {
        const json_t *seen =
            json_object_get(json_array_get(json_object_get(json, "threads"), (size_t)i), "cpus_seen");
        EQUAL(json_array_size(seen), 1, json_integer_value(json_array_get(seen, 0)), allowed[i],
              integer_at(json, "threads", i, "cpu"), allowed[i], integer_at(json, "threads", i, "migrations"),
              0, integer_at(json, "threads", i, "bursts_planned"), 40,
              integer_at(json, "threads", i, "requested_ns"), 40 * 500000);
    }
    assert_string_equal(text_at(json, "levels", 0, "kind"), "spin");
    assert_string_equal(text_at(json, "levels", 0, "pattern"), "periodic");
    EQUAL(integer_at(json, "levels", 0, "bursts_planned"), 40 * n_allowed, integer(json, "requested_ns"),
          INT64_C(40) * 500000 * n_allowed);
}

TEST(accounts_of_several_kinds_and_patterns_are_kept_apart) {
    struct generator g = placed("--kind=spin,syscall --pattern=periodic,poisson,bursts", 1);
    for (int i = 0; i < 60; i++) {
        g.page->dose.account = i % 6;
        g.page->dose.kind = i % 2;
        g.page->dose.pattern = i % 6 / 2;
        g.page->dose.level_percent = 1 + i % 6;
        assert_int_equal(run(&g), 0);
        nl_sleep_ns(5 * MS);
    }
    static const char *const patterns[] = {"periodic", "poisson", "bursts"};
    json_auto_t *json = quit(&g);
    assert_int_equal(n_of(json, "levels"), 6);
    for (int i = 0; i < 6; i++) {
        const json_t *level = json_array_get(json_object_get(json, "levels"), (size_t)i);
        assert_true(json_number_value(json_object_get(level, "level_requested_percent")) == 1 + i);
        assert_string_equal(text_at(json, "levels", i, "kind"), i % 2 ? "syscall" : "spin");
        assert_string_equal(text_at(json, "levels", i, "pattern"), patterns[i / 2]);
        assert_int_equal(integer(level, "halves"), 10);
    }
}

/* What the owner gives on top is owed from the command on, and what is still owed is said when the load ends.
 */
TEST(time_on_top_is_owed_and_what_is_owed_is_said) {
    struct generator g = placed("", 1);
    for (int i = 0; i < 2; i++) {
        g.page->dose.first_burst_ns = nl_mono_ns() + LONG_NS; /* nothing is ever due */
        g.page->dose.extra_ns = i == 0 ? 3 * MS : -1 * MS;
        assert_int_equal(command(&g, NL_COMMAND_RUN), 0);
        nl_sleep_ns(5 * MS);
        assert_int_equal(command(&g, NL_COMMAND_IDLE), 0);
        assert_in_range(nl_control_owed_ns(g.page), (i == 0 ? 3 : 2) * MS - MS / 2, (i == 0 ? 3 : 2) * MS);
    }
    g.page->dose.extra_ns = 0;
    json_auto_t *json = quit(&g);
    assert_int_equal(integer(json, "requested_ns"), 2 * MS);
}

TEST(a_worker_that_is_not_active_carries_no_load) {
    if (n_allowed < 2) SKIP("needs 2 CPUs");
    struct generator g = placed("", 2);
    g.page->dose.is_active[0] = 0;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(run(&g), 0);
        EQUAL(atomic_load(&g.page->workers[0].is_burst_due), 0, atomic_load(&g.page->workers[1].is_burst_due),
              1);
        nl_sleep_ns(5 * MS);
    }
    json_auto_t *json = quit(&g);
    EQUAL(integer_at(json, "threads", 0, "requested_ns"), 0, integer_at(json, "threads", 0, "delivered_ns"),
          0, integer_at(json, "threads", 1, "requested_ns"), 10 * 500000);
}

TEST(placing_anew_ends_the_workers_before) {
    struct generator g = start("");
    int64_t n_switches;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(place(&g, allowed, n_allowed), 0);
        assert_int_equal(count_threads(g.pid, &n_switches), n_allowed);
        fill_run(&g);
        assert_int_equal(run(&g), 0);
        assert_int_equal(place(&g, allowed + n_allowed - 1, 1), 0); /* in the middle of a run */
        assert_int_equal(atomic_load(&g.page->n_workers), 1);
        assert_int_equal(count_threads(g.pid, &n_switches), 1);
        assert_int_equal(run(&g), 0);
    }
    json_auto_t *json = quit(&g);
    EQUAL(n_of(json, "threads"), 1, integer(json, "cpu"), allowed[n_allowed - 1]);
}

TEST(an_idle_generator_wakes_nobody) {
    OWNED(quit_and_forget) struct generator g = placed("", n_allowed);
    int64_t before, after;
    for (int i = 0; i < 2; i++) { /* at level 0, too, and after a run that is over */
        g.page->dose.account = 1 - i;
        g.page->dose.level_percent = i ? 0 : 5;
        assert_int_equal(run(&g), 0);
        if (i == 0) assert_int_equal(command(&g, NL_COMMAND_IDLE), 0);
        nl_sleep_ns(50 * MS);
        count_threads(g.pid, &before);
        nl_sleep_ns(300 * MS);
        count_threads(g.pid, &after);
        assert_int_equal(before, after);
    }
}

TEST(a_run_is_bounded_even_when_the_owner_stands_still) {
    OWNED(quit_and_forget) struct generator g = placed("", 1);
    g.page->dose.n_periods = 5;
    run_times(&g, 1, 150);
    int64_t n_run = atomic_load(&g.page->bursts_run);
    assert_in_range(n_run, 1, 5);
    nl_sleep_ns(100 * MS);
    EQUAL(atomic_load(&g.page->bursts_run), n_run, nl_control_requested_ns(g.page), 5 * 500000);
}

TEST(after_closing_nothing_starts_any_more) {
    OWNED(quit_and_forget) struct generator g = placed("", n_allowed);
    g.page->dose.n_periods = 100000;
    run_times(&g, 1, 30);
    nl_control_close(g.page);
    nl_sleep_ns(50 * MS);
    int64_t n_run = atomic_load(&g.page->bursts_run);
    assert_int_equal(run(&g), 0); /* it answers, and does nothing */
    assert_int_equal(nl_control_n_due(g.page), 0);
    nl_sleep_ns(50 * MS);
    assert_int_equal(atomic_load(&g.page->bursts_run), n_run);
    g.page->dose.account =
        -1; /* half written when a signal handler closed the page: no order, and no refusal */
    assert_int_equal(run(&g), 0);
}

TEST(a_trace_goes_on_from_half_to_half_at_the_level_asked_for) {
    char text[4096] = "";
    for (int i = 0; i < 100; i++) /* 4 %, in 100 ms */
        sprintf(text + strlen(text), "%d\t%d\n", i * 1000000 + i % 7 * 10000, 20000 + i % 5 * 10000);
    struct generator g = replaying(text);
    assert_int_equal(place(&g, allowed, 1), 0);
    fill_run(&g);
    g.page->dose.level_percent = 2; /* half of what was recorded */
    run_times(&g, 50, 12);          /* longer than the half */
    int64_t requested_ns = nl_control_requested_ns(g.page);
    json_auto_t *json = quit(&g);
    /* 50 halves of 10 ms are five rounds, however long it took to ask for them */
    assert_in_range(integer_at(json, "levels", 0, "bursts_planned"), 499, 501);
    /* a burst that a busy machine kept from ending within its half does not owe the rest */
    assert_in_range(requested_ns, 9500000, 10000000 + 60000);
    assert_string_equal(text_at(json, "levels", 0, "pattern"), "replay");
}

TEST(in_slots_all_workers_stay_at_the_same_place_of_a_trace) {
    char text[4096] = "# span_ns: 1000000000\n";
    for (int i = 0; i < 100; i++)
        sprintf(text + strlen(text), "%d\t20000\n", i * 10000000); /* a burst every 10 ms */
    struct generator g = replaying(text);
    assert_int_equal(place(&g, allowed, n_allowed), 0);
    fill_run(&g);
    g.page->dose.half_ns = g.page->dose.period_ns = 5 * MS;
    g.page->dose.slot_ns = 10 * MS;
    int n_missed = 0;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(run(&g), 0);
        n_missed += nl_control_n_due(g.page) != n_allowed; /* each half begins with the burst of its slot */
        nl_sleep_ns(i % 3 * 4 * MS);                       /* however long it lasts */
        assert_int_equal(command(&g, NL_COMMAND_IDLE), 0);
    }
    assert_in_range(n_missed, 0, 3); /* a worker that was kept from its CPU for a slot is at the next one */
    g.page->dose.slot_ns = -1;
    assert_refused(&g, run(&g), "a negative slot");
    json_auto_t *json = quit(&g);
    for (int i = 0; i < n_allowed; i++)
        assert_int_equal(integer_at(json, "threads", i, "bursts_planned"), 30);
}

/* ---- what it refuses ---- */

TEST(what_cannot_be_is_refused_and_the_generator_lives_on) {
    struct generator g = start("--kind=spin,sum --duty-cap=50");
    int bad_cpu[] = {allowed[0], 60000};
    fill_run(&g);
    assert_refused(&g, run(&g), "RUN before PLACE");
    assert_refused(&g, command(&g, (enum nl_command)77), "unknown command 77");
    assert_refused(&g, place(&g, allowed, 0), "0 CPUs are not from 1 to 256");
    assert_refused(&g, place(&g, allowed, -1), "-1 CPUs are not from 1 to 256");
    assert_refused(&g, place(&g, bad_cpu, 2), "CPU 60000 is not among the allowed CPUs (");
    assert_refused(&g, run(&g), "RUN before PLACE");
    assert_int_equal(command(&g, NL_COMMAND_IDLE), 0);
    assert_int_equal(place(&g, allowed, n_allowed), 0);
    struct nl_control *c = g.page;
#define REFUSES(change, wanted)                                                                              \
    do {                                                                                                     \
        fill_run(&g);                                                                                        \
        change;                                                                                              \
        assert_refused(&g, run(&g), wanted);                                                                 \
    } while (0)
    REFUSES(c->dose.account = -1, "level index -1 is not from 0 to 63");
    REFUSES(c->dose.account = 64, "level index 64 is not from 0 to 63");
    REFUSES(c->dose.kind = 2, "kind 2 is not one of the 2 asked for");
    REFUSES(c->dose.kind = -1, "kind -1 is not one");
    REFUSES(c->dose.pattern = 1, "pattern 1 is not one of the 1 asked for");
    REFUSES(c->dose.level_percent = -1, "a level of -1 % is not from 0 to 100");
    REFUSES(c->dose.level_percent = 101, "a level of 101 % is not from 0 to 100");
    REFUSES(c->dose.level_percent = 0. / 0., "is not from 0 to 100");
    REFUSES(c->dose.level_percent = 51, "a level of 51 % is above the duty cap");
    REFUSES(c->dose.period_ns = 99999, "the period is not from 0.1 ms to 600 s");
    REFUSES(c->dose.period_ns = 0, "the period is not from 0.1 ms to 600 s");
    REFUSES(c->dose.period_ns = INT64_MAX, "the period is not from 0.1 ms to 600 s");
    REFUSES(c->dose.n_periods = -1, "a negative number of periods");
    fill_run(&g);
    assert_int_equal(run(&g), 0);
    REFUSES(c->dose.level_percent = 6, "level index 1 is the account of spin at 5 %, not of spin at 6 %");
    REFUSES(c->dose.kind = 1, "level index 1 is the account of spin at 5 %, not of sum at 5 %");
    fill_run(&g);
    c->dose.n_periods = INT64_MAX; /* as long as can be: no reason to overflow */
    run_times(&g, 1, 20);
    assert_int_equal(command(&g, NL_COMMAND_IDLE), 0);
    quit_and_forget(&g);
}

TEST(groups_that_do_not_fit_their_level_are_refused_when_they_are_run) {
    OWNED(quit_and_forget) struct generator g = placed("--pattern=bursts", 1);
    g.page->dose.level_percent = 20;
    assert_refused(&g, run(&g), "--pattern: spacing: bursts of 2 ms every 1 ms would be one long burst");
    fill_run(&g);
    g.page->dose.account = 2;
    assert_int_equal(run(&g), 0);
}

TEST(a_kind_that_cannot_be_prepared_is_refused_when_it_is_placed) {
    OWNED(quit_and_forget) struct generator g = start("--kind=disk:folder=/nonexistent");
    assert_refused(&g, place(&g, allowed, n_allowed), "--kind: disk on CPU ");
    assert_refused(&g, place(&g, allowed, n_allowed), "'/nonexistent' does not exist");
    fill_run(&g);
    assert_refused(&g, run(&g), "does not exist");
}

TEST(a_page_of_somebody_else_is_refused) {
    int status;
    struct generator g = start_of(1, "");
    assert_int_equal(waitpid(g.pid, &status, 0), g.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == NL_EXIT_USAGE);
    nl_page_unmap(g.page);
    close(g.fd);
}

GROUP(set_up, NULL)

/* The control page: commands cross from the owner to the workers of another process, and their answers back. The generator behind it is
 * tested in test_controlled.c. */
#include <pthread.h>

#include "common/page/nl_control.h"
#include "tests/unit/unit.h"

#define LONG_NS INT64_C(20000000000) /* only a broken test waits so long */

static struct nl_control *c;
static int fd;

FIXTURE(make_page) { return (c = nl_control_create(&fd)) ? 0 : -1; }

FIXTURE(end_page) {
    nl_page_unmap(c);
    return close(fd);
}

/* A test of a page of its own. */
#define PAGED(name) TEST_WITH(name, make_page, end_page)

TEST(a_file_that_is_no_control_page_is_refused) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_null(nl_control_attach(ends[0]));
    assert_null(nl_control_attach(-1));
    close(ends[0]);
    close(ends[1]);
    /* the right size alone is not enough */
    int file = memfd_create("not-a-page", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, sizeof(struct nl_control)), 0);
    assert_null(nl_control_attach(file));
    close(file);
}

PAGED(a_page_of_another_version_is_refused) {
    struct nl_control *same = nl_control_attach(fd);
    assert_non_null(same);
    nl_page_unmap(same);
    c->page.size_bytes--;
    assert_null(nl_control_attach(fd));
    c->page.size_bytes++;
    c->page.magic++;
    assert_null(nl_control_attach(fd));
    nl_page_unmap(NULL);
}

PAGED(a_new_page_says_who_made_it_and_that_nobody_works_yet) {
    assert_int_equal(c->owner_pid, getpid());
    assert_int_equal(atomic_load(&c->generator_pid), 0);
    assert_int_equal(atomic_load(&c->n_workers), 1);
    assert_int_equal(nl_control_n_due(c), 0);
    assert_int_equal(nl_control_requested_ns(c), 0);
    assert_int_equal(nl_control_extra_cpu_ns(c), 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0); /* the generator inherits it */
}

PAGED(one_worker_that_does_not_answer_is_missed) {
    atomic_store(&c->n_workers, 3);
    nl_control_send(c, NL_COMMAND_IDLE);
    uint32_t number = atomic_load(&c->command_number);
    nl_control_answer(c, 0, number);
    nl_control_answer(c, 2, number);
    assert_int_equal(nl_control_await(c, 1000000), -2);
    nl_control_answer(c, 1, number - 1); /* the command before is not enough */
    assert_int_equal(nl_control_await(c, 1000000), -2);
    nl_control_answer(c, 1, number + 1); /* a later one is: a signal handler closed the page meanwhile */
    assert_int_equal(nl_control_await(c, 1000000), 0);
}

PAGED(command_numbers_may_wrap_around) {
    atomic_store(&c->command_number, UINT32_MAX);
    nl_control_answer(c, 0, UINT32_MAX);
    assert_int_equal(nl_control_await(c, 1000000), 0);
    nl_control_send(c, NL_COMMAND_IDLE); /* number 0 */
    assert_int_equal(nl_control_await(c, 1000000), -2);
    assert_int_equal(nl_control_wait(c, UINT32_MAX, -1), 1);
    nl_control_answer(c, 0, 0);
    assert_int_equal(nl_control_await(c, 1000000), 0);
}

PAGED(a_wait_ends_at_its_deadline) {
    int64_t deadline_ns = nl_mono_ns() + 2000000;
    assert_int_equal(nl_control_wait(c, 0, deadline_ns), 0);
    assert_true(nl_mono_ns() >= deadline_ns);
    nl_control_send(c, NL_COMMAND_RUN);
    assert_int_equal(nl_control_wait(c, 0, -1), 1);
}

PAGED(the_first_refusal_is_the_one_that_is_told) {
    nl_control_send(c, NL_COMMAND_RUN);
    nl_control_refuse(c, "the first");
    nl_control_refuse(c, "the second");
    nl_control_answer(c, 0, atomic_load(&c->command_number));
    assert_int_equal(nl_control_await(c, LONG_NS), -1);
    assert_string_equal(c->text, "the first");
    /* the next command begins anew */
    nl_control_send(c, NL_COMMAND_RUN);
    nl_control_answer(c, 0, atomic_load(&c->command_number));
    assert_int_equal(nl_control_await(c, LONG_NS), 0);
}

PAGED(sums_are_over_the_workers_there_are) {
    for (int i = 0; i < NL_CONTROL_MAX_WORKERS; i++) {
        atomic_store(&c->workers[i].is_burst_due, i % 2);
        atomic_store(&c->workers[i].requested_ns, 1000 + i);
        atomic_store(&c->workers[i].extra_cpu_ns, 10);
    }
    atomic_store(&c->n_workers, 4);
    assert_int_equal(nl_control_n_due(c), 2);
    assert_int_equal(nl_control_requested_ns(c), 4006);
    assert_int_equal(nl_control_extra_cpu_ns(c), 40);
}

/* ---- a real second process with several workers ---- */

struct worker { struct nl_control *page; int index, is_refusing; };

/* Answers every command until told to quit; what it may refuse, it refuses with its own number. */
static void *answer_until_quit(void *argument) {
    struct worker *w = argument;
    uint32_t seen = 0, command;
    do {
        nl_control_wait(w->page, seen, -1);
        seen = atomic_load(&w->page->command_number);
        command = w->page->command;
        if (command == NL_COMMAND_PLACE && w->is_refusing) nl_control_refuse(w->page, "a refusal");
        if (command == NL_COMMAND_RUN) atomic_fetch_add(&w->page->workers[w->index].requested_ns, w->page->dose.period_ns);
        nl_control_answer(w->page, w->index, seen);
    } while (command != NL_COMMAND_QUIT);
    return NULL;
}

static void work(int n_workers) {
    struct worker workers[16];
    pthread_t threads[16];
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a failed assertion must not leave this process behind */
    if (!(c = nl_control_attach(fd))) _exit(1);
    for (int i = 0; i < n_workers; i++) {
        workers[i] = (struct worker){.page = c, .index = i, .is_refusing = i % 2};
        if (pthread_create(&threads[i], NULL, answer_until_quit, &workers[i])) _exit(1);
    }
    for (int i = 0; i < n_workers; i++) pthread_join(threads[i], NULL);
    _exit(0);
}

TEST(commands_cross_to_every_worker_of_another_process_and_back) {
    enum { N_COMMANDS = 200 };
    for (int n_workers = 1; n_workers <= 8; n_workers *= 2) {
        int status;
        assert_int_equal(make_page(NULL), 0);
        atomic_store(&c->n_workers, n_workers);
        pid_t pid = fork();
        if (pid == 0) work(n_workers);
        for (int i = 0; i < N_COMMANDS; i++) {
            c->dose.period_ns = i + 1; /* fields are valid from the raise on */
            nl_control_send(c, i % 2 ? NL_COMMAND_RUN : NL_COMMAND_IDLE);
            assert_int_equal(nl_control_await(c, LONG_NS), 0);
        }
        /* every worker has seen every command with its own fields: 2 + 4 + ... + 200 */
        assert_int_equal(nl_control_requested_ns(c), n_workers * 10100);
        nl_control_send(c, NL_COMMAND_PLACE);
        assert_int_equal(nl_control_await(c, LONG_NS), n_workers > 1 ? -1 : 0);
        if (n_workers > 1) assert_string_equal(c->text, "a refusal");
        nl_control_send(c, NL_COMMAND_QUIT);
        assert_int_equal(nl_control_await(c, LONG_NS), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        end_page(NULL);
    }
}

PAGED(closing_keeps_the_command_and_wakes_everybody) {
    nl_control_send(c, NL_COMMAND_QUIT);
    uint32_t number = atomic_load(&c->command_number);
    nl_control_close(c);
    assert_int_equal(c->command, NL_COMMAND_QUIT);
    assert_int_equal(atomic_load(&c->is_closed), 1);
    assert_int_equal(nl_control_wait(c, number, -1), 1);
}

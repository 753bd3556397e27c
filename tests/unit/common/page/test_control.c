/* The control page: commands and their answers. That they cross to the generator and back: test_controlled.c.
 */
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

PAGED(a_file_that_is_no_page_of_this_version_is_refused) {
    int ends[2], file = memfd_create("not-a-page", MFD_CLOEXEC); /* the right size alone is not enough */
    assert_int_equal(pipe(ends) || ftruncate(file, sizeof(struct nl_control)), 0);
    const int others[] = {ends[0], -1, file};
    for (int i = 0; i < 3; i++)
        assert_null(nl_control_attach(others[i]));
    close(ends[0]);
    close(ends[1]);
    close(file);
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
    EQUAL(atomic_load(&c->generator_pid), 0, atomic_load(&c->n_workers), 1, nl_control_n_due(c), 0);
    EQUAL(nl_control_requested_ns(c), 0, nl_control_extra_cpu_ns(c), 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0); /* the generator inherits it */
}

PAGED(one_worker_that_does_not_answer_is_missed_also_where_command_numbers_wrap_around) {
    for (int wraps = 0; wraps < 2; wraps++) {
        atomic_store(&c->n_workers, 3);
        atomic_store(&c->command_number, wraps ? UINT32_MAX : 5);
        for (int i = 0; i < 3; i++)
            nl_control_answer(c, i, atomic_load(&c->command_number));
        nl_control_send(c, NL_COMMAND_IDLE);
        uint32_t number = atomic_load(&c->command_number);
        assert_true(!wraps || number == 0);
        assert_int_equal(nl_control_wait(c, number - 1, -1), 1);
        nl_control_answer(c, 0, number);
        nl_control_answer(c, 2, number);
        assert_int_equal(nl_control_await(c, 1000000), -2);
        nl_control_answer(c, 1, number - 1); /* the command before is not enough */
        assert_int_equal(nl_control_await(c, 1000000), -2);
        nl_control_answer(c, 1, number + 1); /* a later one is: a signal handler closed the page meanwhile */
        assert_int_equal(nl_control_await(c, 1000000), 0);
    }
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
    EQUAL(nl_control_n_due(c), 2, nl_control_requested_ns(c), 4006, nl_control_extra_cpu_ns(c), 40);
}

PAGED(closing_keeps_the_command_and_wakes_everybody) {
    nl_control_send(c, NL_COMMAND_QUIT);
    uint32_t number = atomic_load(&c->command_number);
    nl_control_close(c);
    EQUAL(c->command, NL_COMMAND_QUIT, atomic_load(&c->is_closed), 1);
    assert_int_equal(nl_control_wait(c, number, -1), 1);
}

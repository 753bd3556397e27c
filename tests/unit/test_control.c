#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "nl_clock.h"
#include "nl_control.h"

static void a_file_that_is_no_control_page_is_refused(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_null(nl_control_attach(ends[0]));
    assert_null(nl_control_attach(-1));
    close(ends[0]);
    close(ends[1]);
}

static void an_unanswered_command_times_out(void **state) {
    (void)state;
    int fd;
    struct nl_control *c = nl_control_create(&fd);
    assert_non_null(c);
    nl_control_send(c, NL_COMMAND_IDLE);
    assert_int_equal(nl_control_await(c, 1000000), -2);
    nl_control_unmap(c);
    close(fd);
}

static void a_wait_ends_at_its_deadline(void **state) {
    (void)state;
    int fd;
    struct nl_control *c = nl_control_create(&fd);
    int64_t deadline_ns = nl_mono_ns() + 2000000;
    assert_int_equal(nl_control_wait(c, 0, deadline_ns), 0);
    assert_true(nl_mono_ns() >= deadline_ns);
    nl_control_send(c, NL_COMMAND_RUN);
    assert_int_equal(nl_control_wait(c, 0, -1), 1);
    nl_control_unmap(c);
    close(fd);
}

/* a real second process: answers every command with its own fields until told to quit */
static void answer_until_quit(int fd) {
    struct nl_control *c = nl_control_attach(fd);
    uint32_t seen = 0;
    while (c) {
        nl_control_wait(c, seen, -1);
        seen = atomic_load(&c->command_number);
        nl_control_answer(c, seen, c->command == NL_COMMAND_PLACE ? -1 : 0);
        if (c->command == NL_COMMAND_QUIT) _exit(0);
    }
    _exit(1);
}

static void commands_cross_to_another_process_and_back(void **state) {
    (void)state;
    int fd, status;
    struct nl_control *c = nl_control_create(&fd);
    pid_t pid = fork();
    if (pid == 0) answer_until_quit(fd);
    for (int i = 0; i < 100; i++) {
        nl_control_send(c, i % 2 ? NL_COMMAND_RUN : NL_COMMAND_IDLE);
        assert_int_equal(nl_control_await(c, 5000000000), 0);
    }
    nl_control_send(c, NL_COMMAND_PLACE);
    assert_int_equal(nl_control_await(c, 5000000000), -1);
    nl_control_send(c, NL_COMMAND_QUIT);
    assert_int_equal(nl_control_await(c, 5000000000), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    nl_control_unmap(c);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_no_control_page_is_refused),
        cmocka_unit_test(an_unanswered_command_times_out),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(commands_cross_to_another_process_and_back),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}

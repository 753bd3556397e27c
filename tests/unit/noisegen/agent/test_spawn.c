/* How commands ended that the companion of an agent started. */
#include "noisegen/agent/spawn.h"
#include "tests/unit/unit.h"

enum { ORPHANS = 200 };

static void wait_for_all(void) {
    siginfo_t ended;
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) == 0) na_reap_all();
}

TEST(the_end_of_a_command_is_known_whatever_else_ends) {
    char reason[256];
    struct na_command command;
    pid_t pid, orphan = 0;
    assert_int_equal(na_command_make(&command, "exit 7", 1, reason, sizeof reason), 0);
    assert_int_equal(na_command_start(&command, -1, NULL, &pid, reason, sizeof reason), 0);
    wait_for_all();
    for (int i = 0; i < ORPHANS; i++) {
        /* as processes of a daemon are, that become ours when their parent ends */
        orphan = fork();
        assert_true(orphan >= 0);
        if (orphan == 0) _exit(1);
    }
    wait_for_all();
    int status = na_status_of(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_true(na_was_reaped(pid) && na_was_reaped(orphan));
    na_command_free(&command);
}

TEST(a_command_that_runs_is_known_after_any_number_of_others) {
    char reason[256];
    struct na_command agent, scrape;
    pid_t pid, other;
    assert_int_equal(na_command_make(&agent, "read line; exit 5", 1, reason, sizeof reason), 0);
    assert_int_equal(na_command_make(&scrape, "true", 0, reason, sizeof reason), 0);
    assert_int_equal(na_command_start(&agent, -1, NULL, &pid, reason, sizeof reason), 0);
    kill(pid, SIGSTOP);
    for (int i = 0; i < 1200; i++) {
        assert_int_equal(na_command_start(&scrape, -1, NULL, &other, reason, sizeof reason), 0);
        while (!na_reap(other)) usleep(200);
        assert_int_equal(na_status_of(other), 0);
    }
    kill(pid, SIGCONT);
    wait_for_all();
    assert_int_equal(WEXITSTATUS(na_status_of(pid)), 5);
    na_command_free(&agent);
    na_command_free(&scrape);
}

/* The agent of a launch: how it is named, and how long its halves are. */
#include "detector/options/options.h"
#include "tests/unit/detector/parsed.h"
#include "tests/unit/unit.h"

TEST(an_agent_without_a_name_has_that_of_its_program_unit_or_group) {
    static const struct {
        const char *way, *value, *name;
    } rows[] = {
        {"agent-cmd", "/usr/sbin/collectd -f -C '/etc/collectd conf'", "collectd"},
        {"agent-cmd", "  'top' -b", "top"},
        {"agent-cmd", "./.hidden", "hidden"},
        {"agent-unit", "prometheus-node-exporter.service", "prometheus-node-exporter"},
        {"agent-unit", ".service", "service"},
        {"agent-cgroup", "/sys/fs/cgroup/system.slice/atop.service/", "atop.service"},
        {"agent-on", "systemctl start x", "agent"},
        {"scrape", "curl -s http://localhost:9100/metrics", "curl"},
        {"agent-cmd", "a,b\"", "a_b"},
        {"agent-cmd", "", "agent"},
        {"agent-cmd", "/", "agent"},
        {"agent-cmd", "a-very-long-name-of-more-than-thirty-two-letters", "a-very-long-name-of-more-than-th"},
        {"agent-pid", "4194999999", "pid-4194999999"}, /* above what Linux numbers: none */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[ND_AGENT_NAME_BYTES + 1];
        nd_agent_make_name(rows[i].way, rows[i].value, name);
        assert_string_equal(name, rows[i].name);
    }
}

TEST(a_command_has_the_name_that_a_person_would_give_it) {
    static const char *const rows[][2] = {
        {"collectd -f -C /etc/c.conf", "collectd"},
        {"python3 /opt/agent/exporter.py --port 9100", "exporter.py"},
        {"/usr/bin/python3.11 -u exporter.py", "exporter.py"},
        {"python3 -m prometheus_agent --x", "prometheus_agent"},
        {"python3 -c 'import x'", "python3"},
        {"perl -w /usr/bin/munin-node", "munin-node"},
        {"java -Xmx1g -jar /opt/agent.jar", "agent.jar"},
        {"taskset -c 1 top -b -d 1", "top"},
        {"taskset 0x2 /usr/bin/top", "top"},
        {"nice -n 10 top", "top"},
        {"env -i PATH=/bin LANG=C vmstat 1", "vmstat"},
        {"LC_ALL=C vmstat 1", "vmstat"},
        {"sh -c 'while :; do x; done'", "sh"},
        {"sh -c 'exec taskset -c 3 python3 \"my agent.py\" -v'", "my_agent.py"},
        {"bash -lc 'collectd -f'", "collectd"},
        {"bash ./poll.sh 1", "poll.sh"},
        {"timeout 60 chrt -f 10 nice -n 5 env A=b sh -c 'netdata -D'", "netdata"},
        {"pythonic --run", "pythonic"},
        {"taskset -c 1", "taskset"},
        {"'/opt/my agent/run it' x", "run_it"},
    };
    char name[ND_AGENT_NAME_BYTES + 1];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nd_agent_make_name("agent-cmd", rows[i][0], name);
        if (strcmp(name, rows[i][1]) != 0)
            fail_msg("'%s' is called '%s' instead of '%s'", rows[i][0], name, rows[i][1]);
    }
}

TEST(a_script_that_runs_has_its_own_name) {
    char name[ND_AGENT_NAME_BYTES + 1], number[32], script[] = "/tmp/nl-agent-XXXXXX";
    int fd = mkstemp(script);
    assert_true(fd >= 0 && write(fd, "kill -STOP $$\n", 14) == 14);
    close(fd);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", script, (char *)NULL);
        _exit(1);
    }
    assert_true(pid > 0);
    snprintf(number, sizeof number, "%d", (int)pid);
    for (int i = 0; i < 200; i++) {
        nd_agent_make_name("agent-pid", number, name);
        if (strcmp(name, script + 5) == 0) break;
        usleep(10000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    unlink(script);
    assert_string_equal(name, script + 5);
}

TEST(the_agent_names_itself_before_what_scrapes_it) {
    static struct nd_agent_options a = {.settle_ns = -1};
    assert_int_equal(nd_agent_take(&a, "--scrape 'curl x' --scrape-period 1s"), 0);
    assert_int_equal(nd_agent_take(&a, "--agent-cmd='exporter --port 1' --shell"), 0);
    assert_int_equal(nd_agent_read(&a), 0);
    assert_true(nd_agent_is_given(&a));
    assert_int_equal(nd_agent_complete(&a, 0, 1000000000), 0);
    assert_string_equal(a.name, "exporter");
    static const char *const words[] = {"--agent-cmd=exporter --port 1", "--scrape=curl x",
                                        "--scrape-period=1s", "--shell", "--agent-name=exporter"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(a.words[i], words[i]);
    assert_null(a.words[5]);
}

TEST(halves_hold_whole_periods_and_settling_half_a_one) {
    static const int64_t ms = 1000000;
    /* period, half, settling; 0: the period is not known */
    static const int64_t rows[][3] = {{100, 100, 50},        {33, 132, 16}, {1000, 1000, 500}, {1, 100, 5},
                                      {60000, 60000, 30000}, {99, 198, 49}, {0, 1000, 100}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nd_agent_options a = {.settle_ns = -1, .period_ns = rows[i][0] * ms, .name = "x"};
        assert_int_equal(nd_agent_half_ns(&a), rows[i][1] * ms);
        assert_int_equal(nd_agent_complete(&a, 0, rows[i][1] * ms), 0);
        assert_true(a.settle_ns / ms == rows[i][2]);
    }
    struct nd_agent_options told = {.settle_ns = 0, .period_ns = 100 * ms, .name = "x"};
    assert_int_equal(nd_agent_complete(&told, 0, 100 * ms), 0);
    assert_int_equal(told.settle_ns, 0);
}

TEST(agent_and_generator_share_halves_that_hold_whole_periods_of_both) {
    static struct nd_options o;
    static char *const words[][7] = {
        {"noiselab-detect", "--agent=--agent-cmd 'collectd -f'", "--agent-period=33ms", "--levels=0,1",
         "--op=barrier"},
        {"noiselab-detect", "--agent=--agent-cmd 'collectd -f'", "--agent-period=30ms", "--levels=1",
         "--period=20ms", "--op=barrier"},
        {"noiselab-detect", "--agent=--agent-pid=1", "--agent-period=10s", "--op=barrier"},
        {"noiselab-detect", "--agent=--agent-pid=1", "--design=single", "--arms=off",
         "--op=barrier"}}; /* it has to be kept off */
    static const struct {
        int64_t half_ns;
        int n_arms, n_doses;
    } wanted[] = {
        {132000000, 3, 2}, {120000000, 2, 1}, {INT64_C(10000000000), 1, 0}, {INT64_C(60000000000), 0, 0}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(parsed(&o, words[i]), 1);
        EQUAL(o.half_ns, wanted[i].half_ns, o.n_arms, wanted[i].n_arms, o.n_doses, wanted[i].n_doses);
        EQUAL(nd_options_has_agent(&o), 1, nd_options_has_generator(&o), wanted[i].n_doses > 0);
        if (i == 2) assert_int_equal(nd_options_n_halves(&o), 6);
        if (i > 0) continue;
        assert_int_equal(o.half_ns % o.period_ns, 0);
        assert_string_equal(o.arms[2].name, "collectd");
        EQUAL(nd_arm_is_placebo(&o.arms[2]), 0, nd_arm_is_placebo(&o.arms[0]), 1);
    }
}

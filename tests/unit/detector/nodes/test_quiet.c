/* What goes on before measuring, by two looks at a /proc of our own. */
#include "detector/nodes/quiet.h"
#include "tests/unit/files.h"

static const unsigned char used[] = {1, 1, 0, 1};
static const pid_t own[] = {50, 40};

static void put_task_of(int policy, int pid, int tid, const char *name, int ppid, int user, int system,
                        int cpu) {
    char path[64], text[512];
    snprintf(path, sizeof path, "%d/task/%d/stat", pid, tid);
    snprintf(text, sizeof text,
             "%d (%s) S %d 1 1 0 -1 4194560 100 0 0 0 %d %d 0 0 20 0 1 0 12345 1000000 500 "
             "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 "
             "%d %d %d 0 0 0\n",
             tid, name, ppid, user, system, cpu, policy ? 20 : 0, policy);
    put(path, text);
}
#define put_task(...) put_task_of(0, __VA_ARGS__)

static struct nd_quiet *begin(void) {
    put("stat", "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 100 1000 0 0 0 10 0 0\ncpu1 100 0 100 1000 0 0 0 10 0 "
                "0\ncpu2 0 0 0 0 0 0 0 0 0 0\n"
                "cpu3 100 0 100 1000 0 0 0 10 0 0\nintr 5\n");
    put_task(7, 7, "R", 1, 10, 10, 1);
    put_task(7, 8, "R worker", 1, 5, 0, 1);
    put_task(9, 9, "odd) S 1 (name", 1, 0, 0, 1);
    put_task(10, 10, "elsewhere", 1, 0, 0, 2);
    put_task(50, 50, "noiselab-detect", 40, 0, 0, 1);
    put_task(51, 51, "noiselab-gen", 50, 0, 0, 1);
    put_task(60, 60, "still", 1, 3, 3, 0);
    struct nd_quiet *q = nd_quiet_open(folder, used, 4, own, 2);
    assert_non_null(q);
    nd_quiet_begin(q);
    return q;
}

TEST_WITH(busy_cpus_and_their_tasks_are_found, make_folder, remove_tree) {
    struct nd_quiet *q = begin();
    struct nd_quiet_node node;
    char line[300];
    /* 100 ticks: CPU 1 is busy for 20 and 3 in interrupts, 2 of steal; CPU 0 for one; CPU 3 loses 5 to the
     * hypervisor */
    put("stat", "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 101 0 100 1099 0 0 0 10 0 0\ncpu1 110 5 105 1050 25 1 2 12 0 "
                "0\ncpu2 100 0 0 0 0 0 0 0 0 0\n"
                "cpu3 100 0 100 1095 0 0 0 15 0 0\nintr 5\n");
    put_task(7, 7, "R", 1, 20, 10, 1);
    put_task(7, 8, "R worker", 1, 10, 0, 1);
    put_task(9, 9, "odd) S 1 (name", 1, 2, 1, 1);
    put_task(10, 10, "elsewhere", 1, 90, 0, 2);
    put_task(50, 50, "noiselab-detect", 40, 90, 0, 1);
    put_task(51, 51, "noiselab-gen", 50, 90, 0, 1);
    put_task(70, 70, "just born", 1, 90, 0, 1);
    nd_quiet_end(q, &node);
    nd_quiet_close(q);
    EQUAL(node.n_cpus, 3, node.n_listed, 3);
    assert_float_equal(node.resolution_percent, 1, 1e-9);
    assert_float_equal(node.busy_percent, (23 + 1 + 0) / 3., 1e-9);
    assert_float_equal(node.steal_percent, (2 + 0 + 5) / 3., 1e-9);
    const struct nd_quiet_cpu *cpu = &node.cpus[0];
    assert_int_equal(cpu->cpu, 1);
    assert_float_equal(cpu->busy_percent, 23, 1e-9);
    assert_float_equal(cpu->steal_percent, 2, 1e-9);
    assert_int_equal(cpu->n_tasks, 2);
    assert_string_equal(cpu->tasks[0].name, "R");
    assert_int_equal(cpu->tasks[0].pid, 7);
    assert_float_equal(cpu->tasks[0].percent, 15, 1e-9); /* both threads */
    assert_string_equal(cpu->tasks[1].name, "odd) S 1 (name");
    assert_float_equal(cpu->tasks[1].percent, 3, 1e-9);
    EQUAL(node.cpus[1].cpu, 3, node.cpus[1].n_tasks, 0);
    assert_false(nd_quiet_is(&node, 1, 2));
    assert_true(nd_quiet_is(&node, 1, 30));
    assert_int_equal(nd_quiet_tell(&node, 1, 1, line, sizeof line), 2);
    assert_string_equal(line, "CPU 1 is 23 % busy (R 15 %, odd) S 1 (name 3 %), steal 2 %; CPU 3: steal 5 %");
    snprintf(node.host, sizeof node.host, "n2");
    struct nd_quiet_node both[2] = {{.host = "n1"}, node};
    assert_int_equal(nd_quiet_tell(both, 2, 4, line, sizeof line), 2);
    assert_string_equal(line,
                        "CPU 1 of n2 is 23 % busy (R 15 %, odd) S 1 (name 3 %); CPU 3 of n2: steal 5 %");
    char small[20]; /* is cut, not overrun */
    nd_quiet_tell(&node, 1, 1, small, sizeof small);
    assert_int_equal(strlen(small), 19);
}

/* What two looks see, the second of this stat and of a thread with this policy, where it is not 0. */
static struct nd_quiet_node seen_of(int policy, const char *stat) {
    struct nd_quiet *q = begin();
    struct nd_quiet_node node;
    put("stat", stat);
    if (policy) put_task_of(policy, 7, 7, "R", 1, 105, 10, 1);
    nd_quiet_end(q, &node);
    nd_quiet_close(q);
    return node;
}

static struct nd_quiet_node seen(const char *stat) { return seen_of(0, stat); }

TEST_WITH(a_real_time_task_is_named_as_one, make_folder, remove_tree) {
    for (int policy = 1; policy <= 6; policy++) { /* FIFO RR BATCH - IDLE DEADLINE */
        struct nd_quiet_node node = seen_of(policy, "cpu0 101 0 100 1099 0 0 0 10 0 0\ncpu1 195 0 100 1005 0 "
                                                    "0 0 10 0 0\ncpu3 100 0 100 1100 0 0 0 10 0 0\n");
        char line[300];
        nd_quiet_tell(&node, 1, 2, line, sizeof line);
        assert_string_equal(line, policy == 1 || policy == 2 || policy == 6
                                      ? "CPU 1 is 95 % busy (R 95 %, real-time: before any rank)"
                                      : "CPU 1 is 95 % busy (R 95 %)");
    }
}

TEST_WITH(an_idle_machine_is_quiet_and_in_a_short_look_a_single_tick_says_nothing, make_folder, remove_tree) {
    struct nd_quiet_node node = seen("cpu0 101 0 100 1099 0 0 0 10 0 0\ncpu1 100 0 100 1100 0 0 0 10 0 "
                                     "0\ncpu3 100 0 100 1100 0 0 0 10 0 0\n");
    char line[300];
    assert_true(nd_quiet_is(&node, 1, ND_QUIET_LIMIT_PERCENT));
    assert_int_equal(nd_quiet_tell(&node, 1, 1, line, sizeof line), 0);
    assert_string_equal(line, "");
    /* ten ticks of 10 ms: one of them is 10 %, and chance */
    node = seen("cpu0 101 0 100 1009 0 0 0 10 0 0\ncpu1 100 0 100 1010 0 0 0 10 0 0\ncpu3 100 0 100 1010 0 0 "
                "0 10 0 0\n");
    assert_float_equal(node.cpus[0].busy_percent, 10, 1e-9);
    assert_true(nd_quiet_is(&node, 1, ND_QUIET_LIMIT_PERCENT));
}

TEST_WITH(of_many_cpus_the_busiest_are_listed, make_folder, remove_tree) {
    enum { N = 40 };
    static unsigned char all[N];
    char text[4096], *at = text, line[600];
    memset(all, 1, sizeof all);
    put("stat", "cpu 0\n");
    struct nd_quiet *q = nd_quiet_open(folder, all, N, own, 2);
    nd_quiet_begin(q);
    for (int i = 0; i < N; i++)
        at += sprintf(at, "cpu%d %d 0 0 %d 0 0 0 0 0 0\n", i, (i * 7) % N, 100 - (i * 7) % N);
    put("stat", text);
    struct nd_quiet_node node;
    nd_quiet_end(q, &node);
    nd_quiet_close(q);
    EQUAL(node.n_cpus, N, node.n_listed, ND_QUIET_CPUS);
    for (int i = 0; i < ND_QUIET_CPUS; i++)
        assert_float_equal(node.cpus[i].busy_percent, N - 1 - i, 1e-9);
    assert_int_equal(nd_quiet_tell(&node, 1, 1, line, sizeof line), ND_QUIET_CPUS);
    assert_non_null(strstr(line, "; and 12 more"));
}

TEST_WITH(what_cannot_be_read_is_not_known, make_folder, remove_tree) {
    struct nd_quiet *q = nd_quiet_open("/nonexistent", used, 4, own, 2);
    struct nd_quiet_node node;
    char line[100];
    nd_quiet_begin(q);
    nd_quiet_end(q, &node);
    nd_quiet_close(q);
    assert_int_equal(node.n_cpus, 0);
    assert_true(nd_quiet_is(&node, 1, 2));
    assert_int_equal(nd_quiet_tell(&node, 1, 1, line, sizeof line), 0);
}

TEST(ranks_that_share_the_one_cpu_they_may_use_are_named_with_it) {
    static const struct nd_host hosts[] = {{.host = "n1"}, {.host = "n2"}, {.host = "n3"}};
    /* NODE:CPU of each rank, -1: several */
    static const struct {
        const char *places;
        int n;
        const char *line;
    } rows[] = {
        {"0:0 0:1 1:0 1:1 2:-1 2:-1", 0, ""},
        {"0:1 0:1", 1, "2 ranks of n1 may use CPU 1 only"},
        {"0:2 0:2 0:3 0:3 0:3", 1, "3 ranks of n1 may use CPU 3 only"},
        {"0:5 1:5 2:5", 0, ""},
        {"2:1 0:0 1:1 0:1 2:1 1:1", 2, "2 ranks of n2 may use CPU 1 only, and so on 1 other node(s)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nd_binding bindings[16];
        char line[200];
        int n = 0, used;
        for (const char *at = rows[i].places;
             sscanf(at, " %d:%d%n", &bindings[n].node, &bindings[n].cpu, &used) == 2; n++)
            at += used;
        assert_int_equal(nd_crowd_tell(bindings, n, hosts, line, sizeof line), rows[i].n);
        assert_string_equal(line, rows[i].line);
    }
}

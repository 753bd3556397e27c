/* Where the time of CPUs went, by two looks at a /proc of our own: the tasks there, and what the kernel says
 * of the CPUs. */
#include <jansson.h>

#include "common/sys/nl_account.h"
#include "tests/unit/files.h"
#include "common/sys/nl_account_json.h"

#define MS   INT64_C(1000000)
#define TICK (10 * MS)

static int64_t now_ns;
static int64_t told_ns(void) { return now_ns; }

static const unsigned char all[] = {1, 1}, second[] = {0, 1};
static const pid_t own[] = {50};

/* A thread; ticks of CPU time of its whole process and of that process's children that ended count for its
 * first thread. */
static void put_task(int pid, int tid, int ppid, int cpu, int64_t run_ns, int process_ticks,
                     int children_ticks) {
    char path[64], text[512];
    for (int is_whole = 0; is_whole <= (pid == tid); is_whole++) {
        snprintf(text, sizeof text,
                 "%d (task) S %d 1 1 0 -1 4194560 100 0 0 0 %d 0 %d 0 20 0 1 0 12345 1000000 500 "
                 "18446744073709551615 1 1 0 0 0 0 0 "
                 "0 0 0 0 0 17 %d 0 0 0 0 0\n",
                 tid, ppid, is_whole ? process_ticks : (int)(run_ns / TICK), children_ticks, cpu);
        if (is_whole)
            snprintf(path, sizeof path, "%d/stat", pid);
        else
            snprintf(path, sizeof path, "%d/task/%d/stat", pid, tid);
        put(path, text);
    }
    snprintf(path, sizeof path, "%d/task/%d/schedstat", pid, tid);
    snprintf(text, sizeof text, "%lld 0 0\n", (long long)run_ns);
    put(path, text);
}

static void take_away(const char *name) {
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -r '%s/%s'", folder, name);
    assert_int_equal(system(command), 0);
}

/* Each second is 100 ticks: CPU 0 is idle for `idle0` of them, CPU 1 for `idle1`, 5 are interrupts and 3
 * steal on CPU 1. */
static void put_cpus(int idle0, int idle1, int irq1, int steal1, int n_tasks) {
    char text[256];
    snprintf(text, sizeof text,
             "cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 7 0 7 %d 0 0 0 0 0 0\ncpu1 7 0 7 %d 1 %d 0 %d 0 0\ncpu2 7 0 7 0 "
             "0 0 0 0 0 0\nintr 5\n",
             idle0, idle1 - 1, irq1, steal1);
    put("stat", text);
    snprintf(text, sizeof text, "0.5 0.5 0.5 1/%d 77\n", n_tasks);
    put("loadavg", text);
}

static struct nl_account *begin(const unsigned char *watched) {
    put_task(1, 1, 0, 0, 100 * MS, 10, 0);
    put_task(50, 50, 1, 1, 0, 0, 0); /* a rank of ours, and its companion */
    put_task(51, 51, 50, 0, 0, 0, 0);
    put_task(60, 60, 1, 0, 40 * MS, 4, 0); /* somebody else, with two threads */
    put_task(60, 61, 1, 1, 40 * MS, 0, 0);
    put_cpus(1000, 2000, 10, 10, 5);
    struct nl_account *a = nl_account_open(folder, watched, 2, own, 1, told_ns);
    assert_non_null(a);
    nl_account_begin(a, 0);
    return a;
}

TEST_WITH(what_runs_is_accounted_for_cpu_by_cpu, make_folder, remove_tree) {
    struct nl_account_sum sum;
    struct nl_account_cpu cpus[2];
    now_ns = 0;
    struct nl_account *a = begin(all);
    put_task(50, 50, 1, 1, 700 * MS, 70, 0);
    put_task(51, 51, 50, 0, 60 * MS, 6, 0);
    put_task(60, 60, 1, 0, 240 * MS, 32, 0);
    put_task(60, 61, 1, 1, 120 * MS, 0, 0);
    put_cpus(1074, 2014, 15, 13, 5); /* CPU 0 is busy for 26 ticks, CPU 1 for 86 */
    now_ns = 1000 * MS;
    nl_account_end(a, &sum, cpus);
    EQUAL(sum.n_cpus, 2, sum.span_ns, 1000 * MS, sum.n_there, 5, sum.n_seen, 5);
    EQUAL(cpus[0].busy_ns, 260 * MS, cpus[0].own_ns, 60 * MS, cpus[0].tasks_ns, 200 * MS,
          cpus[0].unaccounted_ns, 0);
    EQUAL(cpus[1].busy_ns, 860 * MS, cpus[1].own_ns, 700 * MS, cpus[1].tasks_ns, 80 * MS,
          cpus[1].interrupts_ns, 50 * MS);
    EQUAL(cpus[1].steal_ns, 30 * MS, cpus[1].unaccounted_ns, 0, sum.all.unaccounted_ns, 0, sum.all.busy_ns,
          1120 * MS);
    assert_near(sum.resolution_percent, 4, 1e-9);
    assert_string_equal(sum.blind, "");
    assert_false(nl_account_is_blind(&sum, 0));
    nl_account_close(a);
}

/* The same, but one who takes 300 ms of CPU 0 and 450 ms of CPU 1 is in no list. */
TEST_WITH(a_stranger_who_is_not_listed_is_unaccounted_for, make_folder, remove_tree) {
    struct nl_account_sum sum;
    struct nl_account_cpu cpus[2];
    now_ns = 5000 * MS;
    struct nl_account *a = begin(all);
    put_task(50, 50, 1, 1, 400 * MS, 40, 0);
    put_cpus(1070, 2015, 10, 10, 8 + 5);
    now_ns = 6000 * MS;
    nl_account_end(a, &sum, cpus);
    EQUAL(cpus[0].unaccounted_ns, 300 * MS, cpus[1].unaccounted_ns, 450 * MS, sum.all.unaccounted_ns,
          750 * MS, sum.worst.cpu, 1);
    assert_near(nl_account_unaccounted_percent(&sum), 37.5, 1e-9);
    assert_near(nl_account_percent_of_cpu(&sum, sum.worst.unaccounted_ns), 45, 1e-9);
    assert_string_equal(sum.blind, "8 of 13 tasks of this machine cannot be seen");
    assert_true(nl_account_is_blind(&sum, 10));
    assert_false(nl_account_is_blind(&sum, 40));
    json_t *json = nl_account_json(&sum, cpus, 2);
    assert_near(json_real_value(json_object_get(json, "unaccounted_percent")), 37.5, 1e-9);
    assert_int_equal(json_array_size(json_object_get(json, "by_cpu")), 2);
    json_decref(json);
    /* a record of every switch, which gave the rest to tasks and the hypervisor's 0 to nobody, leaves none */
    cpus[0].tasks_ns = 290 * MS;
    cpus[1].tasks_ns = 450 * MS;
    nl_account_by_record(a, &sum, cpus, 1);
    EQUAL(sum.all.unaccounted_ns, 10 * MS, cpus[1].unaccounted_ns, 0, sum.worst.cpu, 0,
          sum.worst.unaccounted_ns, 10 * MS);
    nl_account_close(a);
}

/* What ended is in the account of the process that it belonged to, or of the parent that waited for it. */
TEST_WITH(threads_and_children_that_ended_are_accounted_for, make_folder, remove_tree) {
    struct nl_account_sum sum;
    now_ns = 0;
    put_task(70, 70, 60, 0, 150 * MS, 15, 0); /* a child that will end, with 150 ms before */
    struct nl_account *a = begin(all);
    take_away("70");
    take_away("60/task/61");
    put_task(60, 60, 1, 0, 40 * MS, 4 + 4 + 26, 15 + 30); /* its thread had 26 ticks more, and its child 30 */
    put_cpus(1040, 2100, 10, 10, 4);
    now_ns = 1000 * MS;
    nl_account_end(a, &sum, NULL);
    EQUAL(sum.all.busy_ns, 600 * MS, sum.all.tasks_ns, (4 + 26 + 30) * TICK, sum.all.unaccounted_ns, 0);
    nl_account_close(a);
}

/* A task that went from a CPU that is watched to another, or came from there, hides nobody. */
TEST_WITH(a_task_that_moved_hides_no_stranger_and_is_none, make_folder, remove_tree) {
    struct nl_account_sum sum;
    for (int has_stranger = 0; has_stranger < 2; has_stranger++) {
        now_ns = 0;
        struct nl_account *a = begin(second);
        put_task(60, 60, 1, 1, 540 * MS, 54, 0); /* was on CPU 0, and had 300 ms there and 200 on CPU 1 */
        put_cpus(1070, 2080 - 25 * has_stranger, 10, 10, 5);
        now_ns = 1000 * MS;
        nl_account_end(a, &sum, NULL);
        EQUAL(sum.n_cpus, 1, sum.all.busy_ns, (200 + 250 * has_stranger) * MS, sum.all.unaccounted_ns,
              250 * has_stranger * MS);
        EQUAL(sum.all.tasks_ns, 200 * MS, sum.worst.cpu, 1);
        nl_account_close(a);
    }
}

TEST_WITH(without_the_kernels_account_nothing_is_known_and_nothing_is_quiet, make_folder, remove_tree) {
    struct nl_account_sum sum;
    now_ns = 0;
    struct nl_account *a = begin(all);
    take_away("stat");
    take_away("loadavg");
    take_away("1");
    now_ns = 1000 * MS;
    nl_account_end(a, &sum, NULL);
    EQUAL(sum.span_ns, 0, sum.n_there, -1);
    assert_true(nl_account_unaccounted_percent(&sum) < 0);
    assert_true(nl_account_is_blind(&sum, 100));
    assert_contains(sum.blind, "hidepid"); /* process 1 is there, and does not show */
    json_t *json = nl_account_json(&sum, NULL, 0);
    assert_true(json_is_null(json_object_get(json, "unaccounted_ns")));
    assert_null(json_object_get(json, "by_cpu"));
    json_decref(json);
    nl_account_close(a);
}

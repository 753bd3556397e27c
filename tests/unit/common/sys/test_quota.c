/* Limits of CPU time that cgroups set, on trees as the kernel shows them; on this machine: tests/cli/detect.bats. */
#include "common/sys/nl_cgroup.h"
#include "tests/unit/files.h"

enum { PID = 77 };

static void put_v2(const char *cgroup, const char *part) {
    char line[256];
    snprintf(line, sizeof line, "0::%s\n", cgroup);
    put("proc/77/cgroup", line);
    snprintf(line, sizeof line,
             "25 1 0:1 / / rw - ext4 /dev/vda rw\n30 25 0:26 %s /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n", part);
    put("proc/self/mountinfo", line);
}

static void put_v1(const char *cgroup, const char *part) {
    char line[512];
    snprintf(line, sizeof line, "4:memory:/\n3:cpu,cpuacct:%s\n1:name=systemd:/init\n0::/\n", cgroup);
    put("proc/77/cgroup", line);
    snprintf(
        line, sizeof line,
        "30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 25 0:28 %s /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:11 - cgroup cgroup rw,cpu,cpuacct\n",
        part);
    put("proc/self/mountinfo", line);
}

/* As the kernel writes it; version 2 in microseconds. */
static void put_stat_v2(const char *cgroup, const char *throttled) {
    char name[256], text[256];
    snprintf(name, sizeof name, "/sys/fs/cgroup%s/cpu.stat", cgroup);
    snprintf(
        text, sizeof text,
        "usage_usec 1000\nuser_usec 600\nsystem_usec 400\nnr_periods 20\nnr_throttled 10\nthrottled_usec %s\nnr_bursts 0\nburst_usec 0\n",
        throttled);
    put(name, text);
}

TEST_WITH(a_quota_of_the_own_group_is_found_in_version_2, make_folder, remove_tree) {
    OWNED(nl_quota_close) struct nl_quota q;
    char text[256];
    put_v2("/job/step", "/");
    put("sys/fs/cgroup/job/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
    put_stat_v2("/job/step", "1234");
    assert_int_equal(nl_quota_open(&q, folder, PID), 1);
    assert_true(nl_quota_cpus(&q) == 0.5);
    EQUAL(q.depth, 0, q.version, 2);
    assert_true(nl_quota_throttled_ns(&q) == 1234000);
    assert_non_null(strstr(nl_quota_tell(&q, text, sizeof text), "0.5 CPUs (50 ms of every 100 ms, "));
    assert_non_null(strstr(text, "/sys/fs/cgroup/job/step)"));
    put_stat_v2("/job/step", "5000000000");
    assert_true(nl_quota_throttled_ns(&q) == INT64_C(5000000000000));
}

TEST_WITH(a_quota_above_the_own_group_counts_and_the_tightest_is_told, make_folder, remove_tree) {
    OWNED(nl_quota_close) struct nl_quota q;
    put_v2("/a/b/c", "/");
    put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    put("sys/fs/cgroup/a/b/cpu.max", "800000 200000\n");
    put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put_stat_v2("/a", "7");
    put_stat_v2("/a/b", "5");
    put_stat_v2("/a/b/c", "1000");
    assert_int_equal(nl_quota_open(&q, folder, PID), 1);
    assert_true(nl_quota_cpus(&q) == 1.5);
    assert_int_equal(q.depth, 2);
    /* of those that have a limit */
    assert_true(nl_quota_throttled_ns(&q) == 12000);
}

TEST_WITH(a_quota_is_found_in_version_1_by_its_controller, make_folder, remove_tree) {
    OWNED(nl_quota_close) struct nl_quota q;
    put_v1("/slurm/job_7", "/");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "20000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "10000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 987654321\n");
    assert_int_equal(nl_quota_open(&q, folder, PID), 1);
    assert_true(nl_quota_cpus(&q) == 2);
    assert_int_equal(q.version, 1);
    assert_true(nl_quota_throttled_ns(&q) == 987654321);
}

TEST_WITH(in_a_container_the_part_that_is_mounted_is_looked_at, make_folder, remove_tree) {
    struct nl_quota q;
    put_v1("/docker/abc/inner", "/docker/abc");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(nl_quota_open(&q, folder, PID), 1);
    assert_true(nl_quota_cpus(&q) == 0.5);
    assert_int_equal(q.depth, 1);
    /* cpu.stat cannot be read: not known, not 0 */
    assert_true(nl_quota_throttled_ns(&q) == -1);
    nl_quota_close(&q);
    /* a name space of cgroups: the own group is "/", and its limit can be seen */
    put_v2("/", "/");
    put("sys/fs/cgroup/cpu.max", "25000 100000\n");
    assert_int_equal(nl_quota_open(&q, folder, PID), 1);
    assert_true(nl_quota_cpus(&q) == 0.25);
    nl_quota_close(&q);
}

TEST_WITH(without_a_limit_a_file_or_a_mount_there_is_no_quota, make_folder, remove_tree) {
    OWNED(nl_quota_close) struct nl_quota q;
    assert_int_equal(nl_quota_open(&q, folder, PID), 0);
    assert_true(nl_quota_throttled_ns(&q) == -1);
    put_v2("/job", "/");
    assert_int_equal(nl_quota_open(&q, folder, PID), 0);
    put("sys/fs/cgroup/job/cpu.max", "max 100000\n");
    assert_int_equal(nl_quota_open(&q, folder, PID), 0);
    put("sys/fs/cgroup/job/cpu.max", "damaged\n");
    assert_int_equal(nl_quota_open(&q, folder, PID), 0);
    put("sys/fs/cgroup/job/cpu.max", "50000 0\n");
    assert_int_equal(nl_quota_open(&q, folder, PID), 0);
    assert_true(nl_quota_cpus(&q) == 0);
}

/* Limits of CPU time that cgroups set, on trees as the kernel shows them; on this machine:
 * tests/cli/detect.bats. */
#include "common/sys/nl_cgroup.h"
#include "tests/unit/files.h"

enum { PID = 77 };

/* The process's cgroup, and what of the hierarchy is mounted. */
static void put_group(int version, const char *cgroup, const char *part) {
    char line[512];
    snprintf(line, sizeof line,
             version == 2 ? "0::%s\n" : "4:memory:/\n3:cpu,cpuacct:%s\n1:name=systemd:/init\n0::/\n", cgroup);
    put("proc/77/cgroup", line);
    snprintf(line, sizeof line,
             version == 2 ? "25 1 0:1 / / rw - ext4 /dev/vda rw\n30 25 0:26 %s /sys/fs/cgroup rw,nosuid "
                            "shared:9 - cgroup2 cgroup2 rw\n"
                          : "30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                            "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                            "32 25 0:28 %s /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:11 - cgroup cgroup "
                            "rw,cpu,cpuacct\n",
             part);
    put("proc/self/mountinfo", line);
}

#define V2          "sys/fs/cgroup"
#define V1          "sys/fs/cgroup/cpu,cpuacct"
#define STAT_V2(us) "usage_usec 1000\nnr_periods 20\nnr_throttled 10\nthrottled_usec " us "\nnr_bursts 0\n"

static const struct {
    int version;
    const char *cgroup, *part, *files[6][2];
    double cpus; /* 0: no quota */
    int depth;
    int64_t throttled_ns; /* -1: not known */
} rows[] = {
    {2,
     "/job/step",
     "/",
     {{V2 "/job/cpu.max", "max 100000\n"},
      {V2 "/job/step/cpu.max", "50000 100000\n"},
      {V2 "/job/step/cpu.stat", STAT_V2("5000000000")}},
     0.5,
     0,
     INT64_C(5000000000000)},
    /* one above its own counts, and the tightest is told; stops of those that have a limit */
    {2,
     "/a/b/c",
     "/",
     {{V2 "/a/cpu.max", "150000 100000\n"},
      {V2 "/a/b/cpu.max", "800000 200000\n"},
      {V2 "/a/b/c/cpu.max", "max 100000\n"},
      {V2 "/a/cpu.stat", STAT_V2("7")},
      {V2 "/a/b/cpu.stat", STAT_V2("5")},
      {V2 "/a/b/c/cpu.stat", STAT_V2("1000")}},
     1.5,
     2,
     12000},
    /* version 1 by its controller */
    {1,
     "/slurm/job_7",
     "/",
     {{V1 "/cpu.cfs_quota_us", "-1\n"},
      {V1 "/slurm/cpu.cfs_quota_us", "-1\n"},
      {V1 "/slurm/job_7/cpu.cfs_quota_us", "20000\n"},
      {V1 "/slurm/job_7/cpu.cfs_period_us", "10000\n"},
      {V1 "/slurm/job_7/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 987654321\n"}},
     2,
     0,
     987654321},
    /* in a container the part that is mounted; without cpu.stat it is not known, and not 0 */
    {1,
     "/docker/abc/inner",
     "/docker/abc",
     {{V1 "/cpu.cfs_quota_us", "50000\n"},
      {V1 "/cpu.cfs_period_us", "100000\n"},
      {V1 "/inner/cpu.cfs_quota_us", "-1\n"}},
     0.5,
     1,
     -1},
    /* a name space of cgroups: the own group is "/", and its limit can be seen */
    {2, "/", "/", {{V2 "/cpu.max", "25000 100000\n"}}, 0.25, 0, -1},
    {2, "/job", "/", {{NULL}}, 0, 0, -1},
    {2, "/job", "/", {{V2 "/job/cpu.max", "max 100000\n"}}, 0, 0, -1},
    {2, "/job", "/", {{V2 "/job/cpu.max", "damaged\n"}}, 0, 0, -1},
    {2, "/job", "/", {{V2 "/job/cpu.max", "50000 0\n"}}, 0, 0, -1},
};

TEST(the_tightest_quota_is_found_with_its_stops) {
    struct nl_quota q;
    char text[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(make_folder(state), 0);
        put_group(rows[i].version, rows[i].cgroup, rows[i].part);
        for (int k = 0; k < 6 && rows[i].files[k][0]; k++)
            put(rows[i].files[k][0], rows[i].files[k][1]);
        EQUAL(nl_quota_open(&q, folder, PID), rows[i].cpus > 0, q.depth, rows[i].depth,
              nl_quota_throttled_ns(&q), rows[i].throttled_ns);
        assert_true(nl_quota_cpus(&q) == rows[i].cpus);
        if (rows[i].cpus > 0) assert_int_equal(q.version, rows[i].version);
        if (i == 0)
            assert_contains(nl_quota_tell(&q, text, sizeof text), "0.5 CPUs (50 ms of every 100 ms, ");
        if (i == 0) assert_contains(text, "/sys/fs/cgroup/job/step)");
        nl_quota_close(&q);
        remove_tree(state);
    }
}

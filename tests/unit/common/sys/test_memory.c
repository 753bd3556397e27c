/* How much memory can still be had: no more than the machine has, and no more than a cgroup leaves. */
#include "common/sys/nl_cgroup.h"
#include "common/sys/nl_stat.h"
#include "tests/unit/unit.h"
#include "common/sys/nl_memory.h"

enum { LIMIT_MIB = 64 };

/* Writes a number into a file of a folder. 0, -1. */
static int put(const char *folder, const char *name, long number) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    int failed = !f || fprintf(f, "%ld", number) < 0;
    return (f && fclose(f)) || failed ? -1 : 0;
}

/* A cgroup of memory below our own, with a limit, into `folder`; 0: none could be made. */
static int make_cgroup(char folder[PATH_MAX]) {
    static const char *const rows[][2] = {{"memory", "memory.limit_in_bytes"}, {"", "memory.max"}};
    char mount[PATH_MAX / 4], own[PATH_MAX / 2];
    for (int i = 0; i < 2; i++) {
        if (nl_cgroup_mount("", rows[i][0], mount, sizeof mount) ||
            nl_cgroup_of("", getpid(), rows[i][0], own, sizeof own))
            continue;
        snprintf(folder, PATH_MAX, "%s%s/noiselab-test-%d", mount, own, (int)getpid());
        if (mkdir(folder, 0755)) continue;
        if (put(folder, rows[i][1], LIMIT_MIB << 20) == 0) return 1;
        rmdir(folder);
    }
    return 0;
}

TEST(the_memory_to_be_had_is_known_and_less_than_the_machine_has) {
    int64_t available = nl_memory_available();
    if (available < 0) SKIP("no /proc/meminfo");
    assert_in_range(available, 1, (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

TEST(in_a_cgroup_no_more_can_be_had_than_its_limit) {
    char folder[PATH_MAX];
    int status = 0;
    if (!make_cgroup(folder)) SKIP("no cgroup of memory can be made here");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (put(folder, "cgroup.procs", getpid())) _exit(77);
        int64_t available = nl_memory_available();
        _exit(available >= 0 && available <= (int64_t)LIMIT_MIB << 20 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int try = 0; rmdir(folder) && errno == EBUSY && try < 100; try++)
        usleep(10000); /* the child's end is seen there a moment later */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("no process may enter a cgroup here");
    assert_int_equal(status, 0);
}

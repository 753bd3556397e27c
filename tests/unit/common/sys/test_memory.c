/* How much memory can still be had: no more than the machine has, and no more than a cgroup leaves. */
#include "common/sys/nl_stat.h"
#include "tests/unit/unit.h"

enum { LIMIT_MIB = 64 };

static int put(const char *folder, const char *name, const char *text) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3000s/%s", folder, name);
    FILE *f = fopen(path, "we");
    if (!f) return -1;
    int failed = fputs(text, f) < 0;
    return fclose(f) || failed ? -1 : 0;
}

/* A cgroup of memory below our own, with a limit; its folder, and the version in which it could be made, 0: none. */
static int make_cgroup(char *folder, size_t size) {
    char line[PATH_MAX + 128], limit[32];
    int version = 0;
    FILE *f = fopen("/proc/self/cgroup", "re");
    snprintf(limit, sizeof limit, "%d", LIMIT_MIB << 20);
    while (f && !version && fgets(line, sizeof line, f)) {
        char *path = strrchr(line, ':');
        int is_first = strstr(line, ":memory:") != NULL, is_second = strncmp(line, "0::", 3) == 0;
        if (!path || (!is_first && !is_second)) continue;
        path[strcspn(path, "\n")] = '\0';
        snprintf(folder, size, "/sys/fs/cgroup%s%.3000s/noiselab-test-%d", is_first ? "/memory" : "", path + 1, (int)getpid());
        if (mkdir(folder, 0755)) continue;
        if (put(folder, is_first ? "memory.limit_in_bytes" : "memory.max", limit)) rmdir(folder);
        else version = is_first ? 1 : 2;
    }
    if (f) fclose(f);
    return version;
}

TEST(the_memory_to_be_had_is_known_and_less_than_the_machine_has) {
    int64_t available = nl_memory_available();
    if (available < 0) SKIP("no /proc/meminfo");
    assert_true(available >= 1);
    assert_true(available <= (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

TEST(in_a_cgroup_no_more_can_be_had_than_its_limit) {
    char folder[PATH_MAX];
    int status = 0;
    if (!make_cgroup(folder, sizeof folder)) SKIP("no cgroup of memory can be made here");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char pid[32];
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        if (put(folder, "cgroup.procs", pid)) _exit(77);
        int64_t available = nl_memory_available();
        _exit(available >= 0 && available <= (int64_t)LIMIT_MIB << 20 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int try = 0; rmdir(folder) && errno == EBUSY && try < 100; try++) usleep(10000); /* the child's end is seen there a moment later */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("no process may enter a cgroup here");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

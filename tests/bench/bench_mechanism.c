/* An agent that disturbs by one known mechanism, until it is ended; started and frozen as any agent is:
 *   bench_mechanism calls CPU...         reads a counter of each CPU over and over: a function-call interrupt
 *                                        there (needs CAP_PERFMON)
 *   bench_mechanism tlb NAME             tells the kernel that memory of the processes called NAME is cold:
 *                                        TLB shootdowns (needs CAP_SYS_NICE)
 *   bench_mechanism cache                writes through 96 MiB without end
 *   bench_mechanism core                 writes through 8 MiB each 10 ms: what its CPU's own caches held is
 *                                        gone then
 *   bench_mechanism smaps NAME           reads /proc/PID/smaps of the processes called NAME over and over
 *   bench_mechanism timers MICROSECONDS  a timer of this period wakes it, and it does nothing
 *   bench_mechanism writer FILE          writes 1 MiB to FILE and has the kernel's flushers bring it to the
 *                                        disk, each 50 ms
 *   bench_mechanism fsync FILE           appends 4 KiB to FILE and waits until that is on the disk, 20 times
 *                                        each 50 ms: threads of the kernel see to it
 * And what it does to a rank on this machine, percent:
 *   bench_mechanism shared CPU           how much longer memory takes here while `cache` runs on CPU, by the
 *                                        trial of ranks
 *   bench_mechanism own CPU              the same while `core` runs there, where this process should be, too
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include "common/base/nl_units.h"
#include "detector/measure/probe.h"
#include "tests/bench/median.h"

#ifndef MADV_COLD
#define MADV_COLD 20
#endif

enum {
    MOST = 64,
    THRASH_BYTES = 96 << 20,
    CORE_BYTES = 8 << 20,
    WRITE_BYTES = 1 << 20,
    APPEND_BYTES = 4096,
    MOST_APPENDED = 4000
};

static const struct timespec pause_50us = {.tv_nsec = 50000}, pause_10ms = {.tv_nsec = 10000000},
                             pause_50ms = {.tv_nsec = 50000000};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void calls(char **cpus) {
    int fds[MOST], n = 0;
    uint64_t value;
    for (; *cpus && n < MOST; cpus++) {
        struct perf_event_attr a = {
            .type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_CPU_CLOCK};
        fds[n] = (int)syscall(SYS_perf_event_open, &a, -1, atoi(*cpus), -1, PERF_FLAG_FD_CLOEXEC);
        if (fds[n++] < 0) fail("perf_event_open");
    }
    for (;; nanosleep(&pause_50us, NULL))
        for (int i = 0; i < n; i++)
            if (read(fds[i], &value, sizeof value) < 0) fail("read");
}

static int is_called(const char *pid, const char *name) {
    char path[288], text[64] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    int found = fgets(text, sizeof text, f) && strncmp(text, name, strlen(name)) == 0;
    fclose(f);
    return found;
}

/* At most MOST processes, found anew each time: ranks come and go. */
static int find(const char *name, pid_t pids[MOST]) {
    int n = 0;
    DIR *d = opendir("/proc");
    if (!d) fail("/proc");
    for (struct dirent *e; (e = readdir(d)) && n < MOST;)
        if (isdigit((unsigned char)e->d_name[0]) && is_called(e->d_name, name))
            pids[n++] = (pid_t)atoi(e->d_name);
    closedir(d);
    return n;
}

/* The stack and the heap, which are used all the time. */
static int find_memory(pid_t pid, struct iovec *memory) {
    char path[64], line[512];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    while (n < 2 && fgets(line, sizeof line, f)) {
        unsigned long from, to;
        if (!strstr(line, "[stack]") && !strstr(line, "[heap]")) continue;
        if (sscanf(line, "%lx-%lx", &from, &to) == 2)
            memory[n++] = (struct iovec){.iov_base = (void *)from, .iov_len = to - from};
    }
    fclose(f);
    return n;
}

static void tlb(const char *name) {
    pid_t pids[MOST];
    for (;;) {
        int n = find(name, pids);
        for (int i = 0; i < n; i++) {
            struct iovec memory[2];
            int parts = find_memory(pids[i], memory), fd = (int)syscall(SYS_pidfd_open, pids[i], 0);
            for (int round = 0; round < 500 && parts > 0 && fd >= 0; round++, nanosleep(&pause_50us, NULL))
                if (syscall(SYS_process_madvise, fd, memory, (size_t)parts, MADV_COLD, 0) < 0) break;
            if (fd >= 0) close(fd);
        }
        if (n == 0) nanosleep(&pause_50ms, NULL);
    }
}

/* `pause`: between two rounds; NULL: none. */
static void thrash(size_t size, const struct timespec *pause) {
    char *memory = malloc(size);
    if (!memory) fail("malloc");
    for (uint8_t round = 0;; round++) {
        for (size_t i = 0; i < size; i += 64)
            memory[i] = (char)round;
        __asm__ volatile("" : : "r"(memory) : "memory");
        if (pause) nanosleep(pause, NULL);
    }
}

/* The trial after 25 ms each, with a process that writes on that CPU and without it, in turn. One in which
 * this process lost its CPU does not count. */
static int compare_memory(const char *cpu, size_t size, const struct timespec *pause) {
    enum { EACH = 200 };
    static double took_ns[2][EACH];
    struct nd_probe *probe = nd_probe_open();
    pid_t child = probe ? fork() : -1;
    if (child < 0) fail("fork");
    if (child == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(atoi(cpu), &one);
        if (sched_setaffinity(0, sizeof one, &one)) fail("sched_setaffinity");
        thrash(size, pause);
    }
    int n[2] = {0};
    for (int i = 0; n[0] < EACH || n[1] < EACH; i++) {
        int is_on = i & 1;
        struct nd_probe_sum sum;
        kill(child, is_on ? SIGCONT : SIGSTOP);
        for (int64_t until_ns = nl_mono_ns() + 25000000; nl_mono_ns() < until_ns;)
            continue;
        nd_probe_begin(probe);
        nd_probe_end(probe, &sum);
        if (sum.n_memory > 0 && n[is_on] < EACH) took_ns[is_on][n[is_on]++] = sum.memory_ns;
    }
    kill(child, SIGKILL);
    printf("%.1f\n", 100 * (median(took_ns[1], EACH) / median(took_ns[0], EACH) - 1));
    return 0;
}

static void smaps(const char *name) {
    static char text[1 << 16];
    pid_t pids[MOST];
    for (;;) {
        int n = find(name, pids);
        for (int i = 0; i < n; i++) {
            char path[64];
            snprintf(path, sizeof path, "/proc/%d/smaps", (int)pids[i]);
            for (int round = 0; round < 50; round++) {
                int fd = open(path, O_RDONLY);
                while (fd >= 0 && read(fd, text, sizeof text) > 0)
                    continue;
                if (fd >= 0) close(fd);
            }
        }
        if (n == 0) nanosleep(&pause_50ms, NULL);
    }
}

static void timers(const char *microseconds) {
    struct timespec period = nl_timespec(1000 * atoll(microseconds));
    struct itimerspec every = {.it_interval = period, .it_value = period};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    uint64_t n;
    if (fd < 0 || timerfd_settime(fd, 0, &every, NULL)) fail("timerfd");
    while (read(fd, &n, sizeof n) > 0)
        continue;
    fail("read");
}

static void writer(const char *path) {
    static char text[WRITE_BYTES];
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) fail(path);
    for (;; nanosleep(&pause_50ms, NULL)) {
        text[0]++;
        if (pwrite(fd, text, sizeof text, 0) < 0) fail("write");
        sync();
    }
}

static void append(const char *path) {
    static char text[APPEND_BYTES];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) fail(path);
    for (off_t n = 0;; n = (n + 1) % MOST_APPENDED) {
        if (n == 0 && ftruncate(fd, 0)) fail("ftruncate");
        if (pwrite(fd, text, sizeof text, n * APPEND_BYTES) < 0) fail("write");
        if (fsync(fd)) fail("fsync");
        if (n % 20 == 19) nanosleep(&pause_50ms, NULL);
    }
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "calls") == 0 && argc > 2)
        calls(argv + 2);
    else if (strcmp(word, "tlb") == 0 && argc == 3)
        tlb(argv[2]);
    else if (strcmp(word, "cache") == 0 && argc == 2)
        thrash(THRASH_BYTES, NULL);
    else if (strcmp(word, "core") == 0 && argc == 2)
        thrash(CORE_BYTES, &pause_10ms);
    else if (strcmp(word, "shared") == 0 && argc == 3)
        return compare_memory(argv[2], THRASH_BYTES, NULL);
    else if (strcmp(word, "own") == 0 && argc == 3)
        return compare_memory(argv[2], CORE_BYTES, &pause_10ms);
    else if (strcmp(word, "smaps") == 0 && argc == 3)
        smaps(argv[2]);
    else if (strcmp(word, "timers") == 0 && argc == 3 && atoll(argv[2]) > 0)
        timers(argv[2]);
    else if (strcmp(word, "writer") == 0 && argc == 3)
        writer(argv[2]);
    else if (strcmp(word, "fsync") == 0 && argc == 3)
        append(argv[2]);
    fprintf(stderr, "usage: bench_mechanism calls CPU... | tlb NAME | cache | core | smaps NAME | timers "
                    "MICROSECONDS | writer FILE | fsync FILE | shared CPU | own CPU\n");
    return 2;
}

#include "detector/measure/probe.h"

#include <linux/perf_event.h>

#include "common/sys/nl_whole.h"

/* Lines of memory one page apart: all fall on the same few sets of a core's own caches, which hold a small
 * part of them, so that most come from the shared cache, or from memory where others have driven them out.
 * They follow each other in a random cycle, so that no prefetcher knows the next one. */
enum { PAGE_BYTES = 4096, LINE_BYTES = 64, TRIES = 3, N_EVENTS = 3, N_CLOCKS = 2 };

struct nd_probe {
    char *lines; /* ND_PROBE_LINES pages */
    int fds[N_EVENTS];
    char problem[192];
    int64_t before[N_EVENTS];
    int clocks[N_CLOCKS]; /* aperf, mperf; -1: this machine has none, or does not permit it */
    int64_t clocks_before[N_CLOCKS];
    struct rusage own, process;
    int cpu;
};

void nd_probe_join(struct nd_probe_sum *a, const struct nd_probe_sum *b) {
    a->n_ranks += b->n_ranks;
    a->n_speed += b->n_speed;
    a->n_memory += b->n_memory;
    a->n_lock += b->n_lock;
    a->n_perf += b->n_perf;
    a->faults += b->faults;
    a->major_faults += b->major_faults;
    a->voluntary += b->voluntary;
    a->involuntary += b->involuntary;
    a->moved += b->moved;
    a->speed_ns += b->speed_ns;
    a->memory_ns += b->memory_ns;
    a->lock_ns += b->lock_ns;
    a->cycles += b->cycles;
    a->instructions += b->instructions;
    a->misses += b->misses;
    a->n_clock += b->n_clock;
    a->aperf += b->aperf;
    a->mperf += b->mperf;
}

/* ---- hardware counters of this thread: one group, so that all count in the same time ---- */

void nd_probe_say_why(int error, const char *paranoid, char *text, size_t size) {
    char why[128];
    int is_refused = error == EACCES || error == EPERM;
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
        nl_say(why, sizeof why, "this machine has no hardware counters");
    else if (is_refused && atoi(paranoid) > 2)
        nl_say(why, sizeof why, "kernel.perf_event_paranoid is %s, and must be at most 2", paranoid);
    else if (is_refused)
        nl_say(why, sizeof why, "this user or container is not permitted to use it");
    else
        nl_say(why, sizeof why, "%s", strerror(error));
    nl_say(text, size, "cycles, instructions and cache misses are not counted here (perf: %s)", why);
}

static void open_counters(struct nd_probe *p) {
    char paranoid[32];
    static const uint64_t events[N_EVENTS] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                              PERF_COUNT_HW_CACHE_MISSES};
    for (int i = 0; i < N_EVENTS; i++) {
        struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
                                    .size = sizeof a,
                                    .config = events[i],
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1};
        p->fds[i] =
            (int)syscall(SYS_perf_event_open, &a, 0, -1, i > 0 ? p->fds[0] : -1, PERF_FLAG_FD_CLOEXEC);
        if (p->fds[i] >= 0) continue;
        int error = errno;
        nl_read_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid);
        nd_probe_say_why(error, paranoid, p->problem, sizeof p->problem);
        while (i > 0)
            close(p->fds[--i]);
        p->fds[0] = -1;
        return;
    }
}

static int read_each(const int *fds, int n, int64_t *counts) {
    for (int i = 0; i < n; i++)
        if (read(fds[i], &counts[i], sizeof counts[i]) != (ssize_t)sizeof counts[i]) return -1;
    return 0;
}

/* A number in a file of that source, behind `before`; -1: there is none. */
static long long source_number(const char *source, const char *name, const char *before) {
    char path[PATH_MAX], line[64];
    snprintf(path, sizeof path, "%s/%s", source, name);
    nl_read_line(path, line, sizeof line);
    if (strncmp(line, before, strlen(before)) != 0) return -1;
    char *end;
    long long number = strtoll(line + strlen(before), &end, 0);
    return end > line + strlen(before) ? number : -1;
}

/* The clock that the CPU had, in kernel mode, too: the source has no modes. Where it cannot be read the trial
 * of the core's speed stands in. */
static void open_clocks(struct nd_probe *p, const char *source) {
    static const char *const names[N_CLOCKS] = {"events/aperf", "events/mperf"};
    long long type = source_number(source, "type", "");
    p->clocks[0] = -1;
    for (int i = 0; i < N_CLOCKS; i++) {
        long long event = source_number(source, names[i], "event=");
        struct perf_event_attr a = {.type = (uint32_t)type, .size = sizeof a, .config = (uint64_t)event};
        int group = i > 0 ? p->clocks[0] : -1;
        p->clocks[i] = type < 0 || event < 0
                           ? -1
                           : (int)syscall(SYS_perf_event_open, &a, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
        if (p->clocks[i] >= 0) continue;
        if (i > 0) close(p->clocks[0]);
        p->clocks[0] = -1;
        return;
    }
}

/* ---- trials ---- */

/* Sattolo's shuffle makes one cycle of all lines. */
static void link_lines(struct nd_probe *p) {
    static int order[ND_PROBE_LINES];
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < ND_PROBE_LINES; i++)
        order[i] = i;
    for (int i = ND_PROBE_LINES - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int j = (int)((state >> 33) % (uint64_t)i), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int i = 0; i < ND_PROBE_LINES; i++) {
        char *next = p->lines + (size_t)order[i] * PAGE_BYTES;
        memcpy(p->lines + (size_t)i * PAGE_BYTES, &next, sizeof next);
    }
}

static int64_t walk_ns(const struct nd_probe *p) {
    const void *at = p->lines;
    int64_t from_ns = nl_mono_ns();
    for (int i = 0; i < ND_PROBE_LINES; i++)
        memcpy(&at, at, sizeof at);
    __asm__ volatile("" : : "r"(at) : "memory");
    return nl_mono_ns() - from_ns;
}

static int64_t compute_ns(void) {
    int64_t best_ns = INT64_MAX;
    for (int try = 0; try < TRIES; try++) {
        uint64_t x = (uint64_t)try;
        int64_t from_ns = nl_mono_ns();
        for (int i = 0; i < ND_PROBE_STEPS; i++) {
            x = x * 6364136223846793005u + 1;
            __asm__ volatile("" : "+r"(x));
        }
        int64_t took_ns = nl_mono_ns() - from_ns;
        if (took_ns < best_ns) best_ns = took_ns;
    }
    return best_ns;
}

/* -1: the system refuses. */
static int64_t map_ns(void) {
    int64_t from_ns = nl_mono_ns();
    for (int i = 0; i < ND_PROBE_MAPS; i++) {
        void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED || munmap(page, PAGE_BYTES)) return -1;
    }
    return nl_mono_ns() - from_ns;
}

/* ---- around a half ---- */

struct nd_probe *nd_probe_open(void) { return nd_probe_open_with(ND_PROBE_MSR); }

struct nd_probe *nd_probe_open_with(const char *source) {
    struct nd_probe *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->lines = mmap(NULL, (size_t)ND_PROBE_LINES * PAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p->lines == MAP_FAILED) {
        free(p);
        return NULL;
    }
    link_lines(p);
    open_counters(p);
    open_clocks(p, source);
    return p;
}

void nd_probe_close(struct nd_probe *p) {
    if (!p) return;
    for (int i = 0; i < N_EVENTS && p->fds[0] >= 0; i++)
        close(p->fds[i]);
    for (int i = 0; i < N_CLOCKS && p->clocks[0] >= 0; i++)
        close(p->clocks[i]);
    munmap(p->lines, (size_t)ND_PROBE_LINES * PAGE_BYTES);
    free(p);
}

const char *nd_probe_problem(const struct nd_probe *p) { return p->problem; }

void nd_probe_begin(struct nd_probe *p) {
    p->cpu = sched_getcpu();
    getrusage(RUSAGE_SELF, &p->process);
    getrusage(RUSAGE_THREAD, &p->own);
    if (p->fds[0] >= 0 && read_each(p->fds, N_EVENTS, p->before)) p->before[0] = -1;
    if (p->clocks[0] >= 0 && read_each(p->clocks, N_CLOCKS, p->clocks_before)) p->clocks_before[0] = -1;
}

/* Whether the thread lost its CPU to another task since the last call. */
static int was_preempted(int64_t *n) {
    struct rusage now;
    getrusage(RUSAGE_THREAD, &now);
    int was = now.ru_nivcsw != *n;
    *n = now.ru_nivcsw;
    return was;
}

void nd_probe_end(struct nd_probe *p, struct nd_probe_sum *sum) {
    struct rusage process, own;
    int64_t counts[N_EVENTS] = {0}, clocks[N_CLOCKS] = {0};
    int knows_counts = p->fds[0] >= 0 && p->before[0] >= 0 && read_each(p->fds, N_EVENTS, counts) == 0;
    int knows_clocks =
        p->clocks[0] >= 0 && p->clocks_before[0] >= 0 && read_each(p->clocks, N_CLOCKS, clocks) == 0;
    getrusage(RUSAGE_SELF, &process);
    getrusage(RUSAGE_THREAD, &own);
    int64_t switches = own.ru_nivcsw;
    int moved = p->cpu >= 0 && sched_getcpu() != p->cpu;
    int64_t memory_ns = walk_ns(p);
    int knows_memory = !was_preempted(&switches);
    int64_t speed_ns = compute_ns();
    was_preempted(&switches);
    int64_t lock_ns = map_ns();
    int knows_lock = !was_preempted(&switches) && lock_ns >= 0;
    *sum = (struct nd_probe_sum){.n_ranks = 1,
                                 .n_speed = 1,
                                 .n_memory = knows_memory,
                                 .n_lock = knows_lock,
                                 .n_perf = knows_counts,
                                 .n_clock = knows_clocks,
                                 .faults = process.ru_minflt + process.ru_majflt - p->process.ru_minflt -
                                           p->process.ru_majflt,
                                 .major_faults = process.ru_majflt - p->process.ru_majflt,
                                 .voluntary = own.ru_nvcsw - p->own.ru_nvcsw,
                                 .involuntary = own.ru_nivcsw - p->own.ru_nivcsw,
                                 .moved = moved,
                                 .speed_ns = (double)speed_ns,
                                 .memory_ns = knows_memory ? (double)memory_ns / ND_PROBE_LINES : 0,
                                 .lock_ns = knows_lock ? (double)lock_ns / ND_PROBE_MAPS : 0};
    if (knows_clocks) {
        sum->aperf = clocks[0] - p->clocks_before[0];
        sum->mperf = clocks[1] - p->clocks_before[1];
    }
    if (!knows_counts) return;
    sum->cycles = counts[0] - p->before[0];
    sum->instructions = counts[1] - p->before[1];
    sum->misses = counts[2] - p->before[2];
}

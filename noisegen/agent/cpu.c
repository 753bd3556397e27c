#include "noisegen/agent/cpu.h"
#include "noisegen/agent/agent.h"

#include <linux/perf_event.h>

#include "common/sys/nl_cgroup.h"

/* ---- the account of a cgroup that holds the agent and nobody else: version 1 counts in ns (cpuacct.usage),
 * version 2 in us ---- */

static int read_cgroup(struct na_cpu *c, const struct na_set *set, int is_begin,
                       int64_t totals[NA_CPU_COUNTS]) {
    char text[1024];
    (void)set;
    (void)is_begin;
    if (nl_read(c->file, text, sizeof text) <= 0) return -1;
    const char *usec = strstr(text, "usage_usec ");
    if (!usec && !isdigit((unsigned char)text[0])) return -1;
    totals[NA_CPU_NS] =
        usec ? strtoll(usec + strlen("usage_usec "), NULL, 10) * 1000 : strtoll(text, NULL, 10);
    return 0;
}

/* Whether the cgroup's members, and those below it, are the agent's processes and no others. */
static int is_agents_own(const char *directory, const struct na_set *set) {
    struct na_set members = {0};
    int is_own = na_set_add_cgroup(&members, directory) >= 0;
    for (int i = 0; is_own && i < members.n; i++) is_own = na_set_has(set, members.p[i].pid);
    for (int i = 0; is_own && i < set->n; i++) is_own = na_set_has(&members, set->p[i].pid);
    na_set_free(&members);
    return is_own;
}

static int open_cgroup(struct na_cpu *c, const struct na_set *set) {
    static const char *const accounts[][2] = {{"cpuacct", "cpuacct.usage"}, {"", "cpu.stat"}};
    char mount[PATH_MAX], path[PATH_MAX], directory[2 * PATH_MAX];
    int64_t ignored[NA_CPU_COUNTS];
    for (int i = 0; i < 2 && set->n > 0; i++) {
        if (nl_cgroup_mount("", accounts[i][0], mount, sizeof mount) ||
            nl_cgroup_of("", set->p[0].pid, accounts[i][0], path, sizeof path) ||
            strcmp(path, "/") == 0 /* everybody's */)
            continue;
        snprintf(directory, sizeof directory, "%s%s", mount, path);
        if (is_agents_own(directory, set) &&
            snprintf(c->file, sizeof c->file, "%s/%s", directory, accounts[i][1]) < (int)sizeof c->file &&
            !read_cgroup(c, set, 0, ignored))
            return 0;
    }
    return -1;
}

/* ---- software counters of perf events on every thread, handed down to what they start (inherit): exact to
 * the ns, with children that begin and end between two readings, and for one's own processes at
 * perf_event_paranoid 2. Context switches and migrations happen in the kernel, and are counted only for those
 * who may look there ---- */

/* `tid` 0: for what the calling thread will start, and not for itself. */
static int open_event(pid_t tid, uint64_t event, int with_kernel) {
    struct perf_event_attr a = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = event, .inherit = 1, .exclude_hv = 1};
    a.disabled = a.enable_on_exec = tid == 0;
    a.exclude_kernel = !with_kernel;
    return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_thread(void *cpu, pid_t tid) {
    static const uint64_t events[NA_CPU_COUNTS] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
                                                   PERF_COUNT_SW_CPU_MIGRATIONS};
    struct na_cpu *c = cpu;
    for (int i = 0; i < (c->has_switches ? NA_CPU_COUNTS : 1); i++) {
        if (NL_GROW(c->fds, c->n_fds, c->room_fds)) return -2;
        if ((c->fds[c->n_fds] = open_event(tid, events[i], c->has_switches)) < 0)
            return errno == ESRCH && i == 0 ? 0 : -2;
        c->n_fds++;
    }
    return 0;
}

static void close_perf(struct na_cpu *c) {
    while (c->n_fds > 0) close(c->fds[--c->n_fds]);
}

/* set NULL: of a child to be started. */
static int open_perf(struct na_cpu *c, const struct na_set *set) {
    struct rlimit limit;
    char path[64];
    /* three descriptors per thread: an agent may have hundreds */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (c->has_switches = 1; c->has_switches >= 0; c->has_switches--) {
        int rc = set ? 0 : open_thread(c, 0);
        for (int i = 0; set && i < set->n && rc != -2; i++) {
            snprintf(path, sizeof path, "/proc/%d/task", (int)set->p[i].pid);
            rc = nl_each_number(path, open_thread, c);
        }
        if (rc != -2 && c->n_fds > 0) return 0;
        close_perf(c);
    }
    return -1;
}

static int read_perf(struct na_cpu *c, const struct na_set *set, int is_begin,
                     int64_t totals[NA_CPU_COUNTS]) {
    int n = c->has_switches ? NA_CPU_COUNTS : 1;
    uint64_t value;
    (void)set;
    (void)is_begin;
    for (int i = 0; i < n; i++) totals[i] = 0;
    for (int i = 0; i < c->n_fds; totals[i++ % n] += (int64_t)value)
        if (read(c->fds[i], &value, sizeof value) != (ssize_t)sizeof value) return -1;
    return 0;
}

/* ---- the CPU clocks of the processes, which everybody may read: ns, with threads that have ended. Children
 * that ended meanwhile count where their parent has waited for them (in ticks of 10 ms), or we have ---- */

static int64_t read_clock(pid_t pid) {
    struct timespec t;
    struct nl_stat s;
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) || nl_stat_read(pid, &s)) return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec +
           s.dead_children_ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}

static int open_clocks(struct na_cpu *c, const struct na_set *set) {
    (void)c;
    return set->n > 0 && read_clock(set->p[0].pid) >= 0 ? 0 : -1;
}

static int begin_clocks(struct na_cpu *c, const struct na_set *set) {
    struct na_cpu_clock *clocks = realloc(c->clocks, (size_t)(set->n + 1) * sizeof *clocks);
    if (!clocks) return -1;
    c->clocks = clocks;
    c->n_clocks = set->n;
    for (int i = 0; i < set->n; i++) clocks[i] = (struct na_cpu_clock){set->p[i], read_clock(set->p[i].pid)};
    c->begin_reaped_ns = na_reaped().cpu_ns;
    return 0;
}

static int read_clocks(struct na_cpu *c, const struct na_set *set, int is_begin,
                       int64_t totals[NA_CPU_COUNTS]) {
    totals[NA_CPU_NS] = 0;
    if (is_begin) return begin_clocks(c, set);
    int64_t sum_ns = na_reaped().cpu_ns - c->begin_reaped_ns;
    for (int i = 0; i < set->n; i++) {
        int64_t now_ns = read_clock(set->p[i].pid);
        for (int j = 0; j < c->n_clocks && now_ns >= 0; j++)
            if (na_is_same(c->clocks[j].process, set->p[i]) && c->clocks[j].cpu_ns >= 0)
                now_ns -= c->clocks[j].cpu_ns;
        if (now_ns > 0) sum_ns += now_ns;
    }
    /* a child of ours that was there at the begin has now been waited for as a whole */
    for (int j = 0; j < c->n_clocks; j++)
        if (!na_process_lives(c->clocks[j].process) && na_was_reaped(c->clocks[j].process.pid))
            sum_ns -= c->clocks[j].cpu_ns;
    if (sum_ns > 0) totals[NA_CPU_NS] = sum_ns;
    return 0;
}

/* ---- the table ---- */

static const struct na_cpu_source
    by_cgroup = {"cgroup", "the kernel's account of the agent's own cgroup", 1, 0, open_cgroup, read_cgroup},
    by_perf = {"perf",   "perf's software counters on every thread, handed down to children", 1, 1, open_perf,
               read_perf},
    by_clocks = {"clocks",    "the processes' CPU clocks, and what parents know of children that ended",
                 0,           0,
                 open_clocks, read_clocks};

const struct na_cpu_source *const na_cpu_sources[] = {&by_cgroup, &by_perf, &by_clocks, NULL};

void na_cpu_open(struct na_cpu *c, const struct na_set *set, int starts_processes) {
    na_cpu_close(c);
    for (const struct na_cpu_source *const *row = na_cpu_sources; *row && !c->row; row++)
        if ((starts_processes || !(*row)->adds_cost) && (*row)->open(c, set) == 0) c->row = *row;
}

int na_cpu_open_child(struct na_cpu *c) {
    na_cpu_close(c);
    if (open_perf(c, NULL)) return -1;
    c->row = &by_perf;
    return 0;
}

void na_cpu_close(struct na_cpu *c) {
    close_perf(c);
    NL_FREE(c->fds, c->clocks);
    *c = (struct na_cpu){.begin = {-1, -1, -1}};
}

void na_cpu_begin(struct na_cpu *c, const struct na_set *set) {
    for (int i = 0; i < NA_CPU_COUNTS; i++) c->begin[i] = -1;
    if (c->row && c->row->read(c, set, 1, c->begin)) c->begin[NA_CPU_NS] = -1;
}

void na_cpu_end(struct na_cpu *c, const struct na_set *set, int64_t counts[NA_CPU_COUNTS]) {
    for (int i = 0; i < NA_CPU_COUNTS; i++) counts[i] = -1;
    int failed = !c->row || c->begin[NA_CPU_NS] < 0 || c->row->read(c, set, 0, counts);
    for (int i = 0; i < NA_CPU_COUNTS; i++)
        counts[i] = failed || counts[i] < 0 || c->begin[i] < 0 ? -1 : counts[i] - c->begin[i];
}

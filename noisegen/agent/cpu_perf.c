/* CPU time by software counters of the kernel's perf events on every thread, handed down to what they start (inherit): exact to the ns,
 * with children that begin and end between two readings, and readable for one's own processes at perf_event_paranoid 2. Context switches
 * and migrations happen in the kernel, and are counted only for those who may look there. */
#include <linux/perf_event.h>

#include "noisegen/agent/cpu.h"

/* The events of each thread, in this order. */
static const uint64_t events[] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS};
enum { N_EVENTS = sizeof events / sizeof *events, MAX_FDS = 8192 };

/* `tid` 0: for what the calling thread will start, and not for itself. */
static int open_event(pid_t tid, uint64_t event, int with_kernel) {
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = event};
    a.inherit = 1;
    a.disabled = a.enable_on_exec = tid == 0;
    a.exclude_kernel = !with_kernel;
    a.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

struct opening { struct na_cpu *c; int error; };

static int open_thread(void *context, pid_t tid) {
    struct opening *o = context;
    struct na_cpu *c = o->c;
    for (int i = 0; i < (c->has_switches ? N_EVENTS : 1); i++) {
        int *fds = c->n_fds < MAX_FDS ? realloc(c->fds, (size_t)(c->n_fds + 1) * sizeof *fds) : NULL;
        if (fds) c->fds = fds;
        int fd = fds ? open_event(tid, events[i], c->has_switches) : -1;
        if (fd < 0 && fds && errno == ESRCH) return 0;
        if (fd < 0) {
            o->error = fds ? errno : EMFILE;
            return 1;
        }
        c->fds[c->n_fds++] = fd;
    }
    return 0;
}

static void close_it(struct na_cpu *c) {
    for (int i = 0; i < c->n_fds; i++) close(c->fds[i]);
    free(c->fds);
    c->fds = NULL;
    c->n_fds = 0;
}

static int open_all(struct na_cpu *c, const struct na_set *set, int with_kernel) {
    struct opening o = {.c = c};
    char path[64];
    c->has_switches = with_kernel;
    for (int i = 0; i < set->n && !o.error; i++) {
        snprintf(path, sizeof path, "/proc/%d/task", (int)set->p[i].pid);
        nl_each_number(path, open_thread, &o);
    }
    if (!o.error && c->n_fds > 0) return 0;
    close_it(c);
    return o.error ? o.error : ESRCH;
}

static int open_it(struct na_cpu *c, const struct na_set *set, char *reason, int reason_size) {
    struct rlimit limit;
    /* three descriptors per thread: an agent may have hundreds */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    int error = open_all(c, set, 1);
    if (error == EACCES || error == EPERM) error = open_all(c, set, 0);
    if (!error) return 0;
    return nl_say(reason, reason_size, "%s", strerror(error));
}

static int open_child(struct na_cpu *c, char *reason, int reason_size) {
    for (int with_kernel = 1; with_kernel >= 0; with_kernel--) {
        struct opening o = {.c = c};
        c->has_switches = with_kernel;
        if (open_thread(&o, 0) == 0) return 0;
        close_it(c);
        nl_say(reason, reason_size, "%s", strerror(o.error));
    }
    return -1;
}

static int read_it(struct na_cpu *c, int64_t *cpu_ns, int64_t *switches, int64_t *migrations) {
    int n = c->has_switches ? N_EVENTS : 1;
    int64_t sums[N_EVENTS] = {0};
    for (int i = 0; i < c->n_fds; i++) {
        uint64_t value;
        if (read(c->fds[i], &value, sizeof value) != (ssize_t)sizeof value) return -1;
        sums[i % n] += (int64_t)value;
    }
    *cpu_ns = sums[0];
    if (n == 1) return 0;
    *switches = sums[1];
    *migrations = sums[2];
    return 0;
}

const struct na_cpu_source na_cpu_perf = {.name = "perf", .help = "perf's software counters on every thread, handed down to children",
                                          .counts_children = 1, .adds_cost = 1, .open = open_it, .open_child = open_child, .read = read_it,
                                          .close = close_it};

#include "common/sys/nl_preempted.h"

const char *const nl_preempted_names[] = {[NL_PREEMPTED_AUTO] = "auto",
                                          [NL_PREEMPTED_SCHEDULER] = "scheduler",
                                          [NL_PREEMPTED_CLOCKS] = "clocks",
                                          NULL};

/* The account is "time on a CPU, time on run queues, how often it got a CPU"; 0 or -1. */
static int read_account(int fd, int64_t *waited_ns, int64_t *n_runs) {
    char text[96], *waited, *runs, *end;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0) return -1;
    text[n] = '\0';
    (void)strtoll(text, &waited, 10);
    *waited_ns = strtoll(waited, &runs, 10);
    *n_runs = strtoll(runs, &end, 10);
    return end == runs ? -1 : 0;
}

int nl_preempted_open(struct nl_preempted *s, enum nl_preempted_source wanted) {
    int64_t waited_ns, n_runs;
    s->fd = -1;
    if (wanted == NL_PREEMPTED_CLOCKS) return 0;
    s->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    /* a kernel that keeps no account has the file all the same, with zeros */
    if (s->fd >= 0 && (read_account(s->fd, &waited_ns, &n_runs) || n_runs <= 0)) nl_preempted_close(s);
    return s->fd < 0 && wanted == NL_PREEMPTED_SCHEDULER ? -1 : 0;
}

void nl_preempted_close(struct nl_preempted *s) {
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

enum nl_preempted_source nl_preempted_source(const struct nl_preempted *s) {
    return s->fd >= 0 ? NL_PREEMPTED_SCHEDULER : NL_PREEMPTED_CLOCKS;
}

int64_t nl_preempted_ns(const struct nl_preempted *s) {
    int64_t waited_ns = 0, n_runs;
    if (s->fd < 0) return nl_now_ns(CLOCK_MONOTONIC_RAW) - nl_thread_cpu_ns();
    read_account(s->fd, &waited_ns, &n_runs);
    return waited_ns;
}

void nl_thread_times_read(const struct nl_preempted *s, struct nl_thread_times *t) {
    enum { MOST_TURNS = 4 };
    int64_t again_ns = s->fd < 0 ? 0 : nl_preempted_ns(s);
    int n = 0;
    do {
        t->waited_ns = again_ns;
        t->cpu_ns = nl_thread_cpu_ns();
        t->wall_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
        if (s->fd >= 0) again_ns = nl_preempted_ns(s);
    } while (again_ns != t->waited_ns && ++n < MOST_TURNS);
}

int64_t nl_thread_times_preempted_ns(const struct nl_preempted *s, const struct nl_thread_times *from,
                                     const struct nl_thread_times *to) {
    if (s->fd >= 0) return to->waited_ns - from->waited_ns;
    return to->wall_ns - from->wall_ns - (to->cpu_ns - from->cpu_ns);
}

int64_t nl_thread_times_steal_ns(const struct nl_thread_times *from, const struct nl_thread_times *to) {
    return to->wall_ns - from->wall_ns - (to->cpu_ns - from->cpu_ns) - (to->waited_ns - from->waited_ns);
}

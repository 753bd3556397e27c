#include "nl_stolen.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "nl_clock.h"

const char *const nl_stolen_names[] = {
    [NL_STOLEN_AUTO] = "auto", [NL_STOLEN_SCHEDULER] = "scheduler", [NL_STOLEN_CLOCKS] = "clocks", NULL};

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

int nl_stolen_open(struct nl_stolen *s, enum nl_stolen_source wanted) {
    int64_t waited_ns, n_runs;
    s->fd = -1;
    if (wanted == NL_STOLEN_CLOCKS) return 0;
    s->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    /* a kernel that keeps no account has the file all the same, with zeros */
    if (s->fd >= 0 && (read_account(s->fd, &waited_ns, &n_runs) || n_runs <= 0)) nl_stolen_close(s);
    return s->fd < 0 && wanted == NL_STOLEN_SCHEDULER ? -1 : 0;
}

void nl_stolen_close(struct nl_stolen *s) {
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

enum nl_stolen_source nl_stolen_source(const struct nl_stolen *s) { return s->fd >= 0 ? NL_STOLEN_SCHEDULER : NL_STOLEN_CLOCKS; }

int64_t nl_stolen_ns(const struct nl_stolen *s) {
    int64_t waited_ns = 0, n_runs;
    if (s->fd < 0) return nl_now_ns(CLOCK_MONOTONIC_RAW) - nl_thread_cpu_ns();
    read_account(s->fd, &waited_ns, &n_runs);
    return waited_ns;
}

/* A setting whose effect is known: a load of BUSY in each PERIOD while FILE says "load", by its own CPU time,
 * at fixed moments; nothing while it says anything else. It sleeps between, and is told by the kernel when
 * the file is written. bench_switched FILE BUSY PERIOD     such as: bench_switched knob 1ms 100ms */
#include "common/base/nl_units.h"
#include "common/sys/nl_whole.h"

#include <sys/inotify.h>

static int says_load(const char *file) {
    char text[64];
    return strcmp(nl_read_line(file, text, sizeof text), "load") == 0;
}

int main(int argc, char **argv) {
    int64_t busy_ns, period_ns;
    char events[4096];
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (argc != 4 || nl_parse_duration(argv[2], &busy_ns) || nl_parse_duration(argv[3], &period_ns) ||
        busy_ns >= period_ns) {
        fprintf(stderr, "usage: bench_switched FILE BUSY PERIOD\n");
        return 2;
    }
    if (fd < 0 || inotify_add_watch(fd, argv[1], IN_CLOSE_WRITE) < 0) {
        fprintf(stderr, "bench_switched: %s cannot be watched: %s\n", argv[1], strerror(errno));
        return 2;
    }
    struct pollfd written = {.fd = fd, .events = POLLIN};
    for (int64_t next_ns = nl_mono_ns(); access(argv[1], F_OK) == 0;) {
        int is_on = says_load(argv[1]);
        struct timespec left = nl_timespec(next_ns > nl_mono_ns() ? next_ns - nl_mono_ns() : 0);
        if (ppoll(&written, 1, is_on ? &left : NULL, NULL) > 0) {
            while (read(fd, events, sizeof events) > 0)
                continue;
            continue;
        }
        if (nl_mono_ns() < next_ns) continue;
        while (next_ns <= nl_mono_ns())
            next_ns += period_ns;
        int64_t from_ns = nl_thread_cpu_ns();
        while (nl_thread_cpu_ns() - from_ns < busy_ns)
            continue;
    }
    return 0;
}

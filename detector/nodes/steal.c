#include "detector/nodes/steal.h"

#include "common/base/nl_clock.h"

enum { BUFFER_BYTES = 1 << 20, STEAL_FIELD = 8 /* user nice system idle iowait irq softirq steal */ };

struct nd_steal {
    int fd;
    int n_cpus;
    const unsigned char *cpu_used; /* borrowed; n_cpus flags */
    int64_t tick_ns;
    char *buffer;
};

struct nd_steal *nd_steal_open(const unsigned char *cpu_used, int n_cpus, int64_t half_ns) {
    struct nd_steal *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->cpu_used = cpu_used;
    s->n_cpus = n_cpus;
    s->tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    s->fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    s->buffer = malloc(BUFFER_BYTES);
    if (s->fd < 0 || !s->buffer) goto refuse;
    int64_t before_ns = nl_mono_ns();
    for (int i = 0; i < 4; i++)
        if (nd_steal_read(s) < 0) goto refuse;
    if ((nl_mono_ns() - before_ns) / 4 > half_ns / 100) goto refuse;
    return s;
refuse:
    nd_steal_close(s);
    return NULL;
}

/* The value of the steal field of a "cpuN ..." line, in ticks; -1 when the line is short. */
static int64_t steal_field(const char *line) {
    for (int field = 0; field < STEAL_FIELD; field++) {
        line = strchr(line, ' ');
        if (!line) return -1;
        line++;
    }
    return strtoll(line, NULL, 10);
}

int64_t nd_steal_read(struct nd_steal *s) {
    ssize_t n = pread(s->fd, s->buffer, BUFFER_BYTES - 1, 0);
    if (n <= 0) return -1;
    s->buffer[n] = '\0';
    int64_t ticks = 0;
    for (char *line = s->buffer, *next; line && strncmp(line, "cpu", 3) == 0; line = next) {
        next = strchr(line, '\n');
        if (next) next++;
        if (line[3] == ' ') continue; /* the sum over all CPUs */
        long cpu = strtol(line + 3, NULL, 10);
        if (cpu < 0 || cpu >= s->n_cpus || !s->cpu_used[cpu]) continue;
        int64_t mine = steal_field(line);
        if (mine < 0) return -1;
        ticks += mine;
    }
    return ticks * s->tick_ns;
}

void nd_steal_close(struct nd_steal *s) {
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    free(s->buffer);
    free(s);
}

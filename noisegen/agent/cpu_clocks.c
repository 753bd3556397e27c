/* CPU time by the CPU clocks of the processes, which everybody may read: ns, with threads that have ended. Children that ended meanwhile
 * count where their parent has waited for them (in ticks of 10 ms), or we have. */
#include "noisegen/agent/cpu.h"
#include "noisegen/agent/spawn.h"

static int64_t read_clock(pid_t pid) {
    struct timespec t;
    struct nl_stat s;
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) || nl_stat_read(pid, &s)) return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + s.dead_children_ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}

static int open_it(struct na_cpu *c, const struct na_set *set, char *reason, int reason_size) {
    (void)c;
    if (set->n > 0 && read_clock(set->p[0].pid) >= 0) return 0;
    return nl_say(reason, reason_size, "its CPU clock cannot be read");
}

static int begin(struct na_cpu *c, const struct na_set *set) {
    struct na_cpu_clock *clocks = realloc(c->clocks, (size_t)(set->n + 1) * sizeof *clocks);
    if (!clocks) return -1;
    c->clocks = clocks;
    c->n_clocks = set->n;
    for (int i = 0; i < set->n; i++) clocks[i] = (struct na_cpu_clock){set->p[i], read_clock(set->p[i].pid)};
    c->begin_reaped_ns = na_reaped().cpu_ns;
    return 0;
}

static int64_t end(struct na_cpu *c, const struct na_set *set) {
    int64_t sum_ns = na_reaped().cpu_ns - c->begin_reaped_ns;
    for (int i = 0; i < set->n; i++) {
        int64_t now_ns = read_clock(set->p[i].pid);
        for (int j = 0; j < c->n_clocks && now_ns >= 0; j++) {
            if (c->clocks[j].process.pid != set->p[i].pid || c->clocks[j].process.start_ticks != set->p[i].start_ticks) continue;
            if (c->clocks[j].cpu_ns >= 0) now_ns -= c->clocks[j].cpu_ns;
            break;
        }
        if (now_ns > 0) sum_ns += now_ns;
    }
    /* a child of ours that was there at the begin has now been waited for as a whole */
    for (int j = 0; j < c->n_clocks; j++)
        if (!na_process_lives(c->clocks[j].process) && na_was_reaped(c->clocks[j].process.pid)) sum_ns -= c->clocks[j].cpu_ns;
    return sum_ns > 0 ? sum_ns : 0;
}

static void close_it(struct na_cpu *c) {
    free(c->clocks);
    c->clocks = NULL;
}

const struct na_cpu_source na_cpu_clocks = {.name = "clocks",
                                            .help = "the processes' CPU clocks, and what parents know of children that ended",
                                            .open = open_it, .begin = begin, .end = end, .close = close_it};

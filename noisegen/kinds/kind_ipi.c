/* ipi: interrupts *other* CPUs, whatever they run, as TLB shootdowns and remote function calls of agents and
 * daemons do. (Shootdowns themselves reach only CPUs that run threads of the same process.) Of two ways
 * prepare takes the first that is permitted, and either way the sender waits until the other CPU has
 * answered:
 *
 * 1. A perf counter on each other CPU allowed to us, which can be read only where it counts: one unit is one
 * interrupt. Needs CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), or a perf_event_paranoid below 1. A CPU in a
 * polling idle state notices it without an interrupt. 2. membarrier(GLOBAL_EXPEDITED), without a privilege:
 * interrupts the CPUs that run a process registered for it at that moment, others' too. One unit is one call:
 * how many CPUs it hit cannot be known. */
#include <linux/membarrier.h>
#include <linux/perf_event.h>

#include "noisegen/kinds/kinds.h"

struct ipi_state {
    int n_counters; /* one per other CPU; 0: membarrier */
    int next;
    int error;
    int *counters; /* file descriptors */
};

/* A counter that counts nothing: only the reading of it matters. */
static int open_counter(int cpu) {
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

static int has_membarrier(void) {
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

static const char *supported(void) {
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return "this machine has one CPU, and so no other one to interrupt";
    if (has_membarrier()) return NULL;
    int counter = open_counter(0);
    if (counter < 0)
        return "perf counters are not permitted, and this kernel has no membarrier(GLOBAL_EXPEDITED)";
    close(counter);
    return NULL;
}

static void close_counters(struct ipi_state *s) {
    while (s->n_counters > 0)
        close(s->counters[--s->n_counters]);
}

static void clean_up(void *state) {
    struct ipi_state *s = state;
    close_counters(s);
    free(s->counters);
}

/* Every thread of this program holds a counter for every other CPU, which soon is more than the usual 1024
 * files. */
static int allow_more_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max) return -1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

/* Opens a counter on each CPU but our own; -1 with errno, and then none is open. */
static int open_counters(struct ipi_state *s, const struct ng_kind_options *options) {
    for (int i = 0; i < options->n_cpus; i++) {
        if (options->cpus[i] == options->cpu) continue;
        int counter = open_counter(options->cpus[i]);
        if (counter < 0 && errno == EMFILE && allow_more_files() == 0)
            counter = open_counter(options->cpus[i]);
        if (counter < 0) {
            int error = errno;
            close_counters(s);
            errno = error;
            return -1;
        }
        s->counters[s->n_counters++] = counter;
    }
    return 0;
}

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    int n_others = 0;
    for (int i = 0; i < options->n_cpus; i++)
        n_others += options->cpus[i] != options->cpu;
    if (n_others == 0)
        return nl_say(reason, reason_size, "CPU %d is the only one allowed: no other is there to interrupt",
                      options->cpu);
    struct ipi_state *s = state;
    s->counters = calloc((size_t)n_others, sizeof *s->counters);
    if (!s->counters) return nl_say(reason, reason_size, "no memory");
    int error = open_counters(s, options) ? errno : 0;
    if (error && !has_membarrier())
        return nl_say(reason, reason_size,
                      "no perf counters (%s), and this kernel has no membarrier(GLOBAL_EXPEDITED)",
                      strerror(error));
    return 0;
}

static int64_t work(void *state) {
    struct ipi_state *s = state;
    if (s->n_counters > 0) {
        uint64_t count;
        ssize_t n = read(s->counters[s->next], &count, sizeof count);
        s->next = s->next + 1 < s->n_counters ? s->next + 1 : 0;
        if (n == (ssize_t)sizeof count) return 1;
        s->error = n < 0 ? errno : EIO;
        return -1;
    }
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0) return 1;
    s->error = errno;
    return -1;
}

static const char *failure(const void *state, char *text, size_t size) {
    const struct ipi_state *s = state;
    const char *way = s->n_counters ? "reading a counter of another CPU" : "membarrier";
    snprintf(text, size, "%s fails: %s", way, strerror(s->error));
    return text;
}

static const char *remark(const void *state) {
    const struct ipi_state *s = state;
    return s->n_counters ? "perf events: every unit interrupted another CPU"
                         : "membarrier: a unit interrupted the CPUs that ran registered processes, if any";
}

const struct ng_kind ng_kind_ipi = {
    .name = "ipi",
    .help = "interrupts the other CPUs, in turn",
    .unit = "interrupts",
    .needs = "two CPUs; CAP_PERFMON or perf_event_paranoid < 1 for CPUs of other programs, otherwise "
             "processes registered with membarrier",
    .period_ns = 10000000,
    .supported = supported,
    .state_bytes = sizeof(struct ipi_state),
    .prepare = prepare,
    .work = work,
    .failure = failure,
    .remark = remark,
    .clean_up = clean_up,
};

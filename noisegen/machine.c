#include "noisegen/machine.h"
#include "common/sys/nl_futex.h"

enum { SLICE_NS = 500000 };

/* Every sleep of a generator alone is a sleep on this word, so the handler ends them all. */
static _Atomic uint32_t stop_requested;

void ng_machine_stop(void) {
    atomic_store(&stop_requested, 1);
    nl_futex_wake(&stop_requested);
}

static void on_stop(int signal_number) {
    (void)signal_number;
    ng_machine_stop();
}

void ng_machine_stop_on_signals(void) {
    struct sigaction action = {.sa_handler = on_stop};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* As the kernel wants it; the C library has neither this nor the call. */
struct scheduling {
    uint32_t size_bytes, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
    uint32_t utilisation_min, utilisation_max;
};

/* Beside a busy process the scheduler makes one burst in four wait for the end of the other's time slice, 3
 * ms and more, unless we ask for shorter slices than the other has. This gives no larger share of the CPU and
 * needs no privilege; kernels before 6.12 ignore it. */
static void ask_for_short_slices(void) {
    struct scheduling s = {0};
    if (syscall(SYS_sched_getattr, 0, &s, sizeof s, 0U) || s.policy != SCHED_OTHER) return;
    if (s.runtime_ns == 0) return; /* this kernel does not know of slices */
    s.runtime_ns = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &s, 0U);
}

void ng_machine_be_punctual(void) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    ask_for_short_slices();
}

void ng_cpus_note(struct ng_cpus *cpus) {
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= NG_MAX_CPUS || cpu == cpus->last) return;
    if (cpus->last >= 0) cpus->n_migrations++;
    cpus->last = cpu;
    cpus->seen[cpu / 64] |= (uint64_t)1 << (cpu % 64);
}

struct ng_switches ng_switches_since(const struct ng_switches *before) {
    struct rusage usage = {0};
    const struct ng_switches none = {0}, *from = before ? before : &none;
    getrusage(RUSAGE_THREAD, &usage);
    return (struct ng_switches){usage.ru_nvcsw - from->n_voluntary, usage.ru_nivcsw - from->n_involuntary};
}

int64_t ng_machine_now_ns(void *context) {
    (void)context;
    return nl_mono_ns();
}

int ng_machine_interrupted(void *context) {
    (void)context;
    return atomic_load_explicit(&stop_requested, memory_order_relaxed) != 0;
}

int ng_machine_sleep_until(void *context, int64_t deadline_ns) {
    (void)context;
    return nl_futex_wait(&stop_requested, 0, deadline_ns);
}

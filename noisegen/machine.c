#include "machine.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nl_clock.h"

enum { SLICE_NS = 500000 };

/* The stop flag, and the deadline of the sleep in progress: a signal that comes between the look at the flag and the system call would
 * otherwise go unnoticed until the sleep ends. The handler moves the deadline into the past, and the kernel reads it only then. */
static volatile sig_atomic_t stop_requested;
static volatile struct timespec sleep_deadline;

static void on_stop(int signal_number) {
    (void)signal_number;
    stop_requested = 1;
    sleep_deadline.tv_sec = 0;
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

/* Beside a busy process the scheduler makes one burst in four wait for the end of the other's time slice, 3 ms and more, unless we ask for
 * shorter slices than the other has. This gives no larger share of the CPU and needs no privilege; kernels before 6.12 ignore it. */
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

int ng_machine_die_with_parent(int parent_pid) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
    return getppid() == parent_pid ? 0 : -1;
}

void ng_cpus_init(struct ng_cpus *cpus) {
    *cpus = (struct ng_cpus){.last = -1};
}

void ng_cpus_note(struct ng_cpus *cpus) {
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= NG_MAX_CPUS || cpu == cpus->last) return;
    if (cpus->last >= 0) cpus->n_migrations++;
    cpus->last = cpu;
    cpus->seen[cpu / 64] |= (uint64_t)1 << (cpu % 64);
}

struct ng_switches ng_switches_now(void) {
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return (struct ng_switches){.n_voluntary = usage.ru_nvcsw, .n_involuntary = usage.ru_nivcsw};
}

int64_t ng_machine_now_ns(void *context) {
    (void)context;
    return nl_mono_ns();
}

int64_t ng_machine_cpu_ns(void *context) {
    (void)context;
    return nl_thread_cpu_ns();
}

static int interrupted(void *context) {
    (void)context;
    return stop_requested;
}

static int sleep_until(void *context, int64_t deadline_ns) {
    struct timespec deadline = nl_timespec(deadline_ns);
    sleep_deadline.tv_nsec = deadline.tv_nsec;
    sleep_deadline.tv_sec = deadline.tv_sec;
    while (!stop_requested) {
        /* the cast: the handler's stores are what the volatile is for, and the kernel reads the memory itself */
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, (const struct timespec *)&sleep_deadline, NULL) != EINTR) break;
    }
    ng_cpus_note(context);
    return stop_requested;
}

/* Only for the published pacing, which is what it is: a relative sleep, a little longer than asked for. */
static int sleep_for(void *context, int64_t duration_ns) {
    struct timespec duration = nl_timespec(duration_ns > 0 ? duration_ns : 0);
    if (!stop_requested) nanosleep(&duration, NULL);
    ng_cpus_note(context);
    return stop_requested;
}

struct ng_machine ng_machine_alone(struct ng_cpus *cpus) {
    return (struct ng_machine){.context = cpus,
                               .now_ns = ng_machine_now_ns,
                               .cpu_ns = ng_machine_cpu_ns,
                               .sleep_until = sleep_until,
                               .sleep_for = sleep_for,
                               .interrupted = interrupted};
}

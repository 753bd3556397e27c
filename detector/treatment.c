#include "treatment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nl_clock.h"
#include "nl_control.h"
#include "nl_error.h"

#define READY_TIMEOUT_NS INT64_C(10000000000)
#define ANSWER_TIMEOUT_NS INT64_C(5000000000)
#define SETTLE_NS INT64_C(200000)
enum { MAX_WORDS = 64 };
#define LOOK_NS INT64_C(50000000) /* how often a silent generator is checked for being dead */

struct nd_treatment {
    struct nl_control *control;
    pid_t pid;
    clockid_t cpu_clock;
    int stat_fds[NL_CONTROL_MAX_WORKERS]; /* /proc/PID/task/TID/stat of its threads */
    int n_stats;
    int is_refused; /* the last RUN was */
    struct nl_hist switch_times;
};

/* noiselab-gen in the folder of this program when it is there, otherwise by PATH. */
static void find_generator(const char *path, char *out, size_t size) {
    if (path) {
        snprintf(out, size, "%s", path);
        return;
    }
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        char *slash = strrchr(self, '/');
        if (slash) *slash = '\0';
        snprintf(out, size, "%s/noiselab-gen", self);
        if (access(out, X_OK) == 0) return;
    }
    snprintf(out, size, "noiselab-gen");
}

static void become_generator(const char *program, const char *const *words, int fd) {
    char fd_text[16];
    const char *argv[MAX_WORDS + 4] = {program, "--control-fd", fd_text};
    for (int i = 0; i < MAX_WORDS && words[i]; i++) argv[3 + i] = words[i];
    snprintf(fd_text, sizeof fd_text, "%d", fd);
    /* dies with us even if the exec has not happened yet; the generator repeats this for itself */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* a Ctrl-C reaches the whole process group; the owner decides when the load ends and must still get the certificate */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    execvp(program, (char *const *)argv);
    nl_error("--generator: cannot run '%s': %s", program, strerror(errno));
    _exit(127);
}

int nd_treatment_is_gone(const struct nd_treatment *t) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Whether it ended with a usage error: it has then said itself what is wrong. */
static int has_explained(const struct nd_treatment *t) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_code == CLD_EXITED && info.si_status == NL_EXIT_USAGE;
}

static int await_ready(const struct nd_treatment *t) {
    int64_t deadline_ns = nl_mono_ns() + READY_TIMEOUT_NS;
    struct timespec pause = {.tv_nsec = 1000000};
    while (atomic_load(&t->control->generator_pid) == 0) {
        if (nd_treatment_is_gone(t) || nl_mono_ns() > deadline_ns) return -1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void close_stats(struct nd_treatment *t) {
    for (int i = 0; i < t->n_stats; i++) close(t->stat_fds[i]);
    t->n_stats = 0;
}

static int open_stats(struct nd_treatment *t) {
    char path[64];
    close_stats(t);
    for (int i = 0; i < atomic_load(&t->control->n_workers); i++) {
        snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)t->pid, (long)atomic_load(&t->control->workers[i].tid));
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return -1;
        t->stat_fds[t->n_stats++] = fd;
    }
    return 0;
}

int nd_treatment_start(struct nd_treatment **treatment, const char *path, const char *const *words) {
    char program[PATH_MAX + 32];
    int fd = -1;
    struct nd_treatment *t = calloc(1, sizeof *t);
    if (!t) {
        nl_error("no memory for the treatment");
        return -1;
    }
    t->control = nl_control_create(&fd);
    if (!t->control) {
        nl_error("cannot make the control page: %s", strerror(errno));
        goto fail;
    }
    find_generator(path, program, sizeof program);
    t->pid = fork();
    if (t->pid == 0) become_generator(program, words, fd);
    close(fd);
    if (t->pid < 0) {
        nl_error("cannot start the generator: %s", strerror(errno));
        goto fail;
    }
    if (await_ready(t) || clock_getcpuclockid(t->pid, &t->cpu_clock) || open_stats(t)) {
        if (!has_explained(t)) nl_error("the generator '%s' did not become ready", program);
        goto fail;
    }
    *treatment = t;
    return 0;
fail:
    nd_treatment_free(t);
    return -1;
}

int nd_treatment_check(const char *path, const char *const *words) {
    char program[PATH_MAX + 32];
    const char *asking[MAX_WORDS + 1] = {"--dry-run"};
    int status = 0;
    for (int i = 0; i < MAX_WORDS - 1 && words[i]; i++) asking[i + 1] = words[i];
    find_generator(path, program, sizeof program);
    pid_t pid = fork();
    if (pid == 0) become_generator(program, asking, 0);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (pid < 0) nl_error("cannot start the generator: %s", strerror(errno));
    return -1;
}

/* Sends the command that stands in the page; 0, -1 refused, -2 gone. */
static int command(struct nd_treatment *t, enum nl_command c) {
    int64_t sent_ns = nl_mono_ns();
    nl_control_send(t->control, c);
    while (nl_mono_ns() - sent_ns < ANSWER_TIMEOUT_NS) {
        int rc = nl_control_await(t->control, LOOK_NS);
        if (rc == 0) nl_hist_add(&t->switch_times, nl_mono_ns() - sent_ns);
        if (rc != -2) return rc;
        if (nd_treatment_is_gone(t)) return -2;
    }
    return -2;
}

/* Whether all its threads sleep, by the state in /proc: "pid (name) S ...". */
static int is_asleep(const struct nd_treatment *t) {
    for (int i = 0; i < t->n_stats; i++) {
        char text[64];
        ssize_t n = pread(t->stat_fds[i], text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        const char *state = strrchr(text, ')');
        if (state && state[1] == ' ' && state[2] != 'S') return 0;
    }
    return 1;
}

/* After its answer the generator still has to arm its timer and go to sleep, and that must not fall into the half about to start. (Its CPU
 * clock cannot tell: seen from another process it stands still while the generator runs.) Bounded: a generator that shares our CPU may be
 * waiting for it. */
static void await_sleep(const struct nd_treatment *t) {
    int64_t deadline_ns = nl_mono_ns() + SETTLE_NS;
    while (!is_asleep(t) && nl_mono_ns() < deadline_ns) sched_yield();
}

int nd_treatment_place(struct nd_treatment *t, const int *cpus, int n_cpus, char *reason, int reason_size) {
    t->control->n_cpus = n_cpus;
    for (int i = 0; i < n_cpus && i < NL_CONTROL_MAX_WORKERS; i++) t->control->cpus[i] = cpus[i];
    int rc = command(t, NL_COMMAND_PLACE);
    /* the times of interest are those between arms */
    memset(&t->switch_times, 0, sizeof t->switch_times);
    if (rc == -1) snprintf(reason, (size_t)reason_size, "%s", t->control->text);
    if (rc == -2) snprintf(reason, (size_t)reason_size, "the generator is gone");
    if (rc == 0 && open_stats(t)) {
        snprintf(reason, (size_t)reason_size, "cannot read the state of the generator's threads in /proc");
        rc = -1;
    }
    return rc ? -1 : 0;
}

int nd_treatment_switch(struct nd_treatment *t, const struct nd_dose *dose) {
    struct nl_control *c = t->control;
    c->level_index = dose->account;
    c->kind = dose->kind;
    c->pattern = dose->pattern;
    c->level_percent = dose->level_percent;
    c->period_ns = dose->period_ns;
    c->first_burst_ns = dose->first_burst_ns;
    c->n_periods = dose->n_periods;
    c->half_ns = dose->half_ns;
    c->slot_ns = dose->slot_ns;
    c->seed = dose->seed;
    c->skip = dose->skip;
    for (int i = 0; i < NL_CONTROL_MAX_WORKERS; i++) c->is_active[i] = dose->is_active ? dose->is_active[i] : 0;
    int rc = command(t, NL_COMMAND_RUN);
    t->is_refused = rc == -1;
    if (rc) return -1;
    await_sleep(t);
    return 0;
}

int nd_treatment_idle(struct nd_treatment *t) { return command(t, NL_COMMAND_IDLE) ? -1 : 0; }

const char *nd_treatment_refusal(const struct nd_treatment *t) { return t->is_refused ? t->control->text : ""; }

void nd_treatment_close(struct nd_treatment *t) { nl_control_close(t->control); }

int64_t nd_treatment_cpu_ns(const struct nd_treatment *t) {
    struct timespec now;
    if (clock_gettime(t->cpu_clock, &now)) return -1;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + nl_control_extra_cpu_ns(t->control);
}

int nd_treatment_n_due(const struct nd_treatment *t) { return nl_control_n_due(t->control); }

int64_t nd_treatment_requested_ns(const struct nd_treatment *t) { return nl_control_requested_ns(t->control); }

int64_t nd_treatment_bursts_run(const struct nd_treatment *t) { return atomic_load(&t->control->bursts_run); }

const struct nl_hist *nd_treatment_switch_times(const struct nd_treatment *t) { return &t->switch_times; }

void nd_treatment_stop(struct nd_treatment *t, char *text, int text_size) {
    struct nl_hist times = t->switch_times;
    text[0] = '\0';
    if (command(t, NL_COMMAND_QUIT) == 0) snprintf(text, (size_t)text_size, "%s", t->control->text);
    t->switch_times = times;
}

void nd_treatment_free(struct nd_treatment *t) {
    if (!t) return;
    if (t->pid > 0) {
        kill(t->pid, SIGKILL);
        waitpid(t->pid, NULL, 0);
    }
    close_stats(t);
    nl_control_unmap(t->control);
    free(t);
}

#include "noisegen/agent/spawn.h"
#include "common/sys/nl_spawn.h"

#include "common/base/nl_words.h"
#include "common/sys/nl_stat.h"

enum { LOOK_MS = 10, N_ENDS = 1024, RUNS = -1 };

/* ---- a command ---- */

static int is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Whether execvp would find it. */
static int is_found(const char *name) {
    char path[PATH_MAX];
    if (strchr(name, '/')) return is_program(name);
    const char *at = getenv("PATH");
    if (!at) at = "/usr/bin:/bin";
    for (;; at++) {
        int length = (int)strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", length ? length : 1, length ? at : ".", name);
        if (is_program(path)) return 1;
        at += length;
        if (!*at) return 0;
    }
}

int na_command_make(struct na_command *c, const char *text, int is_shell, char *reason, int reason_size) {
    char problem[64];
    *c = (struct na_command){.text = text, .is_shell = is_shell};
    if (nl_words_split(text, &c->words, problem, sizeof problem) < 0) {
        /* the shell has rules of its own; only a name for it is looked for here */
        if (is_shell && *text) return 0;
        return nl_say(reason, reason_size, "'%s' is not a command: %s", text, problem);
    }
    if (is_shell) return 0;
    char sign = nl_words_shell_sign(text);
    if (sign) nl_say(reason, reason_size, "'%s' has the shell's %c: give --shell, or quote it", text, sign);
    else if (is_found(c->words[0])) return 0;
    else nl_say(reason, reason_size, "there is no program '%s'%s", c->words[0],
                strchr(c->words[0], '/') ? " that may be run" : " in PATH (shell syntax needs --shell)");
    na_command_free(c);
    return -1;
}

void na_command_free(struct na_command *c) {
    free(c->words);
    c->words = NULL;
}

static int is_setting(const char *word) {
    const char *c = word;
    while (isalnum((unsigned char)*c) || *c == '_') c++;
    return c > word && *c == '=';
}

void na_command_name(const struct na_command *c, char *name, int size) {
    int first = 0;
    /* what stands before the program: DB_PASS=x exec collectd */
    while (c->words && c->words[first] && c->words[first + 1] &&
           (is_setting(c->words[first]) || strcmp(c->words[first], "exec") == 0 ||
            strcmp(c->words[first], "env") == 0))
        first++;
    const char *word = c->words ? c->words[first] : "sh", *slash = strrchr(word, '/');
    nl_say(name, size, "%s", slash && slash[1] ? slash + 1 : word);
}

int na_try_cpus(const cpu_set_t *cpus) {
    cpu_set_t before;
    if (sched_getaffinity(0, sizeof before, &before)) return -1;
    int rc = sched_setaffinity(0, sizeof *cpus, cpus);
    sched_setaffinity(0, sizeof before, &before);
    return rc;
}

static struct {
    pthread_mutex_t lock; /* the scraper's thread waits for children, too */
    struct na_reaped sum;
    pid_t aside;
    /* the last children, in a ring: commands from their start on, adopted ones when they have ended */
    struct { pid_t pid; int status; } ends[N_ENDS];
    int n_ends;
} reaper = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The newest child of this pid: its place in the ring, -1. */
static int find_end(pid_t pid) {
    for (int i = reaper.n_ends - 1; i >= 0 && i >= reaper.n_ends - N_ENDS; i--)
        if (reaper.ends[i % N_ENDS].pid == pid) return i % N_ENDS;
    return -1;
}

static void note_child(pid_t pid, int status) {
    /* the place of one that runs is kept: scrapes come and go beside an agent */
    for (int i = 0;
         i < N_ENDS && reaper.n_ends >= N_ENDS && reaper.ends[reaper.n_ends % N_ENDS].status == RUNS; i++)
        reaper.n_ends++;
    reaper.ends[reaper.n_ends % N_ENDS].pid = pid;
    reaper.ends[reaper.n_ends++ % N_ENDS].status = status;
}

int na_command_start(const struct na_command *c, int out_fd, const cpu_set_t *cpus, pid_t *pid, char *reason,
                     int reason_size) {
    char *shell[] = {"/bin/sh", "-c", (char *)c->text, NULL};
    cpu_set_t before;
    /* posix_spawn has no word for affinity: the child inherits ours */
    int is_moved = cpus && sched_getaffinity(0, sizeof before, &before) == 0;
    if (is_moved && sched_setaffinity(0, sizeof *cpus, cpus))
        return nl_say(reason, reason_size, "its CPUs are refused: %s", strerror(errno));
    /* nobody waits for it before it is known */
    pthread_mutex_lock(&reaper.lock);
    int error = nl_spawn(c->is_shell ? shell : c->words, out_fd, -1, pid);
    if (!error) note_child(*pid, RUNS);
    pthread_mutex_unlock(&reaper.lock);
    if (is_moved) sched_setaffinity(0, sizeof before, &before);
    if (!error) return 0;
    return nl_say(reason, reason_size, "'%s' does not start: %s", c->text, strerror(error));
}

int na_command_run(const struct na_command *c, int out_fd, int64_t timeout_ns, const _Atomic uint32_t *stop,
                   struct na_process *running, char *reason, int reason_size) {
    pid_t pid;
    char how[64];
    int64_t deadline_ns = nl_mono_ns() + timeout_ns;
    if (na_command_start(c, out_fd, NULL, &pid, reason, reason_size)) return -1;
    if (running) *running = na_process_of(pid);
    struct pollfd end = {.fd = nl_pidfd(pid), .events = POLLIN};
    int is_stopped = 0, is_late = 0;
    while (!na_reap(pid)) {
        is_stopped = stop && atomic_load(stop);
        is_late = nl_mono_ns() > deadline_ns;
        if (is_stopped || is_late) {
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
        }
        poll(&end, 1, LOOK_MS); /* without a pidfd: just a pause */
        /* an agent's off command may wait until its daemon is gone: ours by now, and there until we have
         * waited for it */
        na_reap_all();
    }
    if (end.fd >= 0) close(end.fd);
    if (running) *running = (struct na_process){0};
    int status = na_status_of(pid);
    if (status == 0) return 0;
    na_status_say(status, how, sizeof how);
    if (is_late) snprintf(how, sizeof how, "it took longer than --agent-timeout");
    return nl_say(reason, reason_size, "'%s' failed: %s", c->text, is_stopped ? "interrupted" : how);
}

/* ---- children ---- */

static int64_t used_ns(const struct rusage *r) {
    return (r->ru_utime.tv_sec + r->ru_stime.tv_sec) * INT64_C(1000000000) +
           (r->ru_utime.tv_usec + r->ru_stime.tv_usec) * INT64_C(1000);
}

static pid_t wait_for(pid_t pid) {
    struct rusage usage;
    int status;
    pid_t ended = wait4(pid, &status, WNOHANG | __WALL, &usage);
    if (ended <= 0) return ended;
    int place = find_end(ended);
    if (place >= 0 && reaper.ends[place].status == RUNS) reaper.ends[place].status = status;
    else note_child(ended, status);
    if (ended == reaper.aside) {
        reaper.sum.aside_cpu_ns += used_ns(&usage);
        if (status) reaper.sum.last_aside_failure = status;
    } else {
        reaper.sum.cpu_ns += used_ns(&usage);
    }
    return ended;
}

int na_reap(pid_t pid) {
    NL_LOCKED(&reaper.lock);
    return wait_for(pid) != 0;
}

void na_reap_all(void) {
    NL_LOCKED(&reaper.lock);
    while (wait_for(-1) > 0) {}
}

int na_status_of(pid_t pid) {
    NL_LOCKED(&reaper.lock);
    int i = find_end(pid);
    return i < 0 ? RUNS : reaper.ends[i].status;
}

int na_was_reaped(pid_t pid) { return na_status_of(pid) != RUNS; }

void na_status_say(int status, char *text, int size) {
    if (status < 0) nl_say(text, size, "it is gone");
    else if (WIFSIGNALED(status))
        nl_say(text, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else nl_say(text, size, "status %d", WEXITSTATUS(status));
}

struct na_reaped na_reaped(void) {
    NL_LOCKED(&reaper.lock);
    return reaper.sum;
}

void na_reap_aside(pid_t pid) {
    NL_LOCKED(&reaper.lock);
    reaper.aside = pid;
}

#include "detector/treatment/child.h"

enum { PATH_BYTES = PATH_MAX + 64 };

static const struct timespec look_pause = {.tv_nsec = 1000000};

void nd_child_program(const char *name, const char *path, char *out, size_t size) {
    char own[PATH_MAX];
    snprintf(out, size, "%s/%s", nl_own_folder(own), name);
    if (path || !own[0] || access(out, X_OK) != 0) snprintf(out, size, "%s", path ? path : name);
}

static void become(const struct nd_child_kind *kind, const char *program, const char *const *words, int fd) {
    char fd_text[16];
    const char *argv[ND_CHILD_MAX_WORDS + 4] = {program, "--control-fd", fd_text};
    for (int i = 0; i < ND_CHILD_MAX_WORDS && words[i]; i++)
        argv[3 + i] = words[i];
    snprintf(fd_text, sizeof fd_text, "%d", fd);
    /* dies with us even if the exec has not happened yet; the child repeats this for itself */
    if (kind->dies_with_owner)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    else
        setsid();
    /* a Ctrl-C reaches the whole process group; the owner decides when the treatment ends and must still get
     * the certificate */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    execvp(program, (char *const *)argv);
    nl_error("%s: cannot run '%s': %s", kind->option, program, strerror(errno));
    _exit(127);
}

int nd_child_is_gone(const struct nd_child *c) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Whether it ended with a usage error: it has then said itself what is wrong. */
static int has_explained(const struct nd_child *c) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_code == CLD_EXITED && info.si_status == NL_EXIT_USAGE;
}

static int await_ready(const struct nd_child *c, const _Atomic int32_t *ready, int64_t timeout_ns) {
    int64_t deadline_ns = nl_mono_ns() + timeout_ns;
    while (atomic_load(ready) == 0) {
        if (nd_child_is_gone(c) || nl_mono_ns() > deadline_ns) return -1;
        nanosleep(&look_pause, NULL);
    }
    return 0;
}

int nd_child_start(struct nd_child *c, const struct nd_child_kind *kind, const char *path,
                   const char *const *words, int fd, const _Atomic int32_t *ready, int64_t timeout_ns) {
    char program[PATH_BYTES];
    *c = (struct nd_child){.kind = kind};
    nd_child_program(kind->program, path, program, sizeof program);
    pid_t pid = fork();
    if (pid == 0) become(kind, program, words, fd);
    close(fd);
    if (pid < 0) return nl_error("cannot start %s: %s", kind->called, strerror(errno));
    c->pid = pid;
    if (await_ready(c, ready, timeout_ns) == 0) return 0;
    if (!has_explained(c)) nl_error("%s '%s' did not become ready", kind->called, program);
    return -1;
}

int nd_child_check(const struct nd_child_kind *kind, const char *path, const char *const *words) {
    char program[PATH_BYTES];
    const char *asking[ND_CHILD_MAX_WORDS + 1] = {"--dry-run"};
    int status = 0;
    for (int i = 0; i < ND_CHILD_MAX_WORDS - 1 && words[i]; i++)
        asking[i + 1] = words[i];
    nd_child_program(kind->program, path, program, sizeof program);
    pid_t pid = fork();
    if (pid == 0) become(kind, program, asking, 0);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (pid < 0) nl_error("cannot start %s: %s", kind->called, strerror(errno));
    return -1;
}

static void stop_watching(struct nd_child *c) {
    for (int i = 0; i < c->n_stats; i++)
        close(c->stat_fds[i]);
    free(c->stat_fds);
    c->stat_fds = NULL;
    c->n_stats = 0;
}

int nd_child_watch(struct nd_child *c, const int32_t *tids, int n) {
    char path[64];
    stop_watching(c);
    c->stat_fds = calloc((size_t)n, sizeof *c->stat_fds);
    if (!c->stat_fds) return -1;
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)c->pid, (long)tids[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return -1;
        c->stat_fds[c->n_stats++] = fd;
    }
    return 0;
}

/* Whether all watched threads sleep, by the state in /proc: "pid (name) S ...". */
static int is_asleep(const struct nd_child *c) {
    for (int i = 0; i < c->n_stats; i++) {
        char text[64];
        ssize_t n = pread(c->stat_fds[i], text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        const char *state = strrchr(text, ')');
        if (state && state[1] == ' ' && state[2] != 'S') return 0;
    }
    return 1;
}

void nd_child_await_sleep(const struct nd_child *c, int64_t most_ns) {
    int64_t deadline_ns = nl_mono_ns() + most_ns;
    while (!is_asleep(c) && nl_mono_ns() < deadline_ns)
        sched_yield();
}

void nd_child_end(struct nd_child *c, int64_t patience_ns) {
    int64_t deadline_ns = nl_mono_ns() + patience_ns;
    stop_watching(c);
    if (c->pid <= 0) return;
    while (!nd_child_is_gone(c) && nl_mono_ns() < deadline_ns)
        nanosleep(&look_pause, NULL);
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    c->pid = 0;
}

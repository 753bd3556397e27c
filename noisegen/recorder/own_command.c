#include "noisegen/recorder/own_command.h"

#include <spawn.h>

#include "common/base/nl_error.h"

extern char **environ;

enum { LOOK_MS = 10, MOST_CHILDREN = 1024, GUARD_PATIENCE_MS = 1000 };

/* A process that sleeps until our end of the pipe is closed, having been told the program's group, and ends that. It must not be a child of
 * ours: an orphan before we adopt any. @return our end, -1. */
static int start_guard(void) {
    int ends[2], status = 1;
    pid_t group = 0;
    char word;
    if (pipe2(ends, O_CLOEXEC)) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        pid_t guard = fork();
        if (guard != 0) _exit(guard < 0);
        setsid();
        prctl(PR_SET_NAME, "nl-guardian");
        for (int s = 1; s < NSIG; s++) signal(s, SIG_IGN);
        close(ends[1]);
        int null = open("/dev/null", O_RDWR);
        for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
        if (read(ends[0], &group, sizeof group) != sizeof group || read(ends[0], &word, 1) != 0) _exit(0);
        kill(-group, SIGTERM);
        poll(NULL, 0, GUARD_PATIENCE_MS);
        kill(-group, SIGKILL);
        _exit(0);
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR);
    if (pid > 0 && status == 0) return ends[1];
    close(ends[1]);
    return -1;
}

static void end_guard(struct nr_child *child) {
    if (child->guard_fd >= 0 && write(child->guard_fd, "q", 1) >= 0) close(child->guard_fd);
    child->guard_fd = -1;
}

int nr_child_start(struct nr_child *child, char *const *command) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t none, defaults;
    *child = (struct nr_child){.pidfd = -1, .guard_fd = start_guard(), .status = -1};
    /* a guard that was killed is no reason to end */
    signal(SIGPIPE, SIG_IGN);
    if (child->guard_fd < 0) nl_warn("'%s' would outlive this program if that was killed", command[0]);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0); /* the summary's place */
    int error = posix_spawnp(&child->pid, command[0], &files, &attributes, command, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error) {
        child->pid = 0;
        end_guard(child);
        nl_error("cannot start '%s': %s", command[0], strerror(error));
        return -1;
    }
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (child->guard_fd >= 0 && write(child->guard_fd, &child->pid, sizeof child->pid) < 0)
        nl_warn("'%s' would outlive this program", command[0]);
    return 0;
}

int nr_child_has_ended(struct nr_child *child) {
    pid_t pid;
    int status;
    if (child->pid <= 0) return 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != child->pid) continue;
        child->is_background = 1;
        child->status = status;
    }
    child->has_ended = pid < 0; /* no children at all */
    return child->has_ended;
}

int nr_child_pids(pid_t *pids, int max) {
    FILE *file = fopen("/proc/thread-self/children", "re");
    int n = 0;
    while (file && n < max && fscanf(file, "%d", &pids[n]) == 1) n++;
    if (file) fclose(file);
    return n;
}

/* Signals all children of ours: those whose parents end become it, so that nobody escapes for long. */
static void signal_children(const struct nr_child *child, int signal) {
    pid_t pids[MOST_CHILDREN];
    int n = nr_child_pids(pids, MOST_CHILDREN);
    if (!child->is_background) kill(-child->pid, signal);
    for (int i = 0; i < n; i++) kill(pids[i], signal);
}

/* Signals until nothing of it is left, or for patience_ns. */
static int end_with(struct nr_child *child, int signal, int64_t patience_ns) {
    for (int64_t waited_ns = 0; !nr_child_has_ended(child) && waited_ns < patience_ns; waited_ns += LOOK_MS * INT64_C(1000000)) {
        signal_children(child, signal);
        poll(NULL, 0, LOOK_MS);
    }
    return nr_child_has_ended(child);
}

int nr_child_end(struct nr_child *child, int64_t patience_ns) {
    int was_killed = 0;
    if (child->pid <= 0) return 0;
    if (!end_with(child, SIGTERM, patience_ns)) was_killed = end_with(child, SIGKILL, patience_ns);
    if (child->pidfd >= 0) close(child->pidfd);
    child->pidfd = -1;
    end_guard(child);
    return was_killed;
}

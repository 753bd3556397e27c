#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nl_error.h"

extern char **environ;

int nr_child_start(struct nr_child *child, char *const *command) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t none, defaults;
    *child = (struct nr_child){.pidfd = -1};
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
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
        nl_error("cannot start '%s': %s", command[0], strerror(error));
        return -1;
    }
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    return 0;
}

int nr_child_has_ended(struct nr_child *child) {
    if (child->pid > 0 && !child->has_ended) child->has_ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
    return child->has_ended;
}

/* Waits for its end. */
static int waits(struct nr_child *child, int64_t patience_ns) {
    struct pollfd fd = {.fd = child->pidfd, .events = POLLIN};
    for (int64_t waited_ns = 0; !nr_child_has_ended(child) && waited_ns < patience_ns; waited_ns += 10000000)
        poll(&fd, child->pidfd >= 0, 10);
    return nr_child_has_ended(child);
}

int nr_child_end(struct nr_child *child, int64_t patience_ns) {
    int was_killed = 0;
    if (child->pid <= 0) return 0;
    kill(-child->pid, SIGTERM); /* its children too, also when it has ended itself */
    if (!waits(child, patience_ns)) {
        kill(-child->pid, SIGKILL);
        waitpid(child->pid, &child->status, 0);
        child->has_ended = was_killed = 1;
    }
    if (child->pidfd >= 0) close(child->pidfd);
    child->pidfd = -1;
    return was_killed;
}

#include "common/sys/nl_guard.h"

#include <sys/socket.h>

#include "common/sys/nl_stat.h"

enum { FIRST_FD = 3, MOST_ENDS = 2 };

/* What is said to a guardian; any other number is what it is told. */
enum { ALL_IS_DONE = 0 };

static int close_from(int first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return 0;
#endif
    DIR *open_files = opendir("/proc/self/fd");
    if (!open_files) return -1;
    for (struct dirent *e; (e = readdir(open_files)) != NULL;) {
        int fd = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : -1;
        if (fd >= first && fd != dirfd(open_files)) close(fd);
    }
    closedir(open_files);
    return 0;
}

/* Closes all files but these, which get the numbers from FIRST_FD on: a lock, a pipe's end or a folder of the
 * program's must not stay open with the guardian. 0, -1: they cannot be kept. */
static int keep_only(int *fds, int n) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < n; i++) {
        fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FD + n);
        if (fds[i] < 0) return -1;
    }
    for (int i = 0; i < FIRST_FD; i++)
        if (null < 0 || dup2(null, i) < 0) close(i);
    for (int i = 0; i < n; i++) {
        if (dup3(fds[i], FIRST_FD + i, O_CLOEXEC) < 0) return -1;
        fds[i] = FIRST_FD + i;
    }
    return close_from(FIRST_FD + n);
}

static int become(const struct nl_guard_work *work, int *fds, int n) {
    prctl(PR_SET_NAME, work->name);
    /* what is sent to the program's group, or to a terminal that is closed, must not reach it */
    setsid();
    for (int s = 1; s < NSIG; s++)
        if (s != SIGCHLD) signal(s, SIG_IGN);
    if (keep_only(fds, n)) return -1;
    if (work->begin) work->begin(work->context);
    return 0;
}

/* Until the other end is closed. @return 1 with what was told, 0: there is nothing to do, or the end of the
 * program cannot be seen. */
static int wait_for_close(int fd, int64_t *told) {
    int64_t value;
    for (*told = 0;;) {
        ssize_t n = recv(fd, &value, sizeof value, MSG_WAITALL);
        if (n < 0 && errno == EINTR) continue;
        /* reset: it ended before it had read that we are ready */
        if (n < 0 && errno != ECONNRESET) return 0;
        if (n != (ssize_t)sizeof value) return 1;
        if (value == ALL_IS_DONE) return 0;
        *told = value;
    }
}

__attribute__((noreturn)) static void guard(const struct nl_guard_work *work, int fd) {
    int64_t told;
    if (become(work, &fd, 1) || send(fd, "r", 1, MSG_NOSIGNAL) != 1) _exit(1);
    if (wait_for_close(fd, &told)) work->act(work->context, told);
    _exit(0);
}

int nl_guard_start(struct nl_guard *g, const struct nl_guard_work *work) {
    int ends[2], error;
    char word;
    ssize_t n = -1;
    *g = (struct nl_guard){0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return -1;
    pid_t pid = fork();
    error = errno;
    if (pid == 0) {
        pid_t second = work->is_orphan ? fork() : 0;
        if (second != 0) _exit(second < 0);
        guard(work, ends[1]);
    }
    close(ends[1]);
    if (pid > 0) {
        /* it says that it is ready, or it ends */
        while ((n = recv(ends[0], &word, 1, 0)) < 0 && errno == EINTR)
            continue;
        error = ECHILD;
    }
    if (pid > 0 && (work->is_orphan || n != 1))
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    if (n == 1) {
        *g = (struct nl_guard){.pid = work->is_orphan ? 0 : pid, .is_up = 1, .fd = ends[0]};
        return 0;
    }
    close(ends[0]);
    errno = error;
    return -1;
}

int nl_guard_tell(struct nl_guard *g, int64_t value) {
    if (!g->is_up) return -1;
    return send(g->fd, &value, sizeof value, MSG_NOSIGNAL) == (ssize_t)sizeof value ? 0 : -1;
}

void nl_guard_end(struct nl_guard *g) {
    if (nl_guard_tell(g, ALL_IS_DONE) == 0 && g->pid > 0) waitpid(g->pid, NULL, 0);
    nl_guard_leave(g);
}

void nl_guard_leave(struct nl_guard *g) {
    if (g->is_up) close(g->fd);
    *g = (struct nl_guard){0};
}

__attribute__((noreturn)) static void watch(const struct nl_guard_work *work, const int pidfds[MOST_ENDS]) {
    struct pollfd ends[MOST_ENDS];
    int fds[MOST_ENDS] = {pidfds[0], pidfds[1]};
    if (become(work, fds, MOST_ENDS)) _exit(1);
    for (int i = 0; i < MOST_ENDS; i++)
        ends[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    while (poll(ends, MOST_ENDS, -1) < 0)
        if (errno != EINTR) _exit(1);
    /* anything else, such as POLLNVAL, says nothing about the owner */
    if (ends[0].revents & POLLIN) work->act(work->context, 0);
    _exit(0);
}

int nl_guard_watch(pid_t owner, const struct nl_guard_work *work) {
    int pidfds[MOST_ENDS] = {nl_pidfd(owner), nl_pidfd(getpid())};
    int can_see = pidfds[0] >= 0 && pidfds[1] >= 0;
    pid_t pid = can_see ? fork() : -1;
    int error = errno;
    if (pid == 0) watch(work, pidfds);
    for (int i = 0; i < MOST_ENDS; i++)
        if (pidfds[i] >= 0) close(pidfds[i]);
    errno = error;
    return pid < 0 ? -1 : 0;
}

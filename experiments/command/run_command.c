/* Runs a command and takes in what it prints. */
#include "experiments/command/doctor.h"

enum { TIME_IS_UP = 124, NOT_STARTED = 127 };

/* One of the two streams. */
struct stream { int fd; char *text; size_t size, used; };

static void become(const char *const *words, const int pipes[4]) {
    int null = open("/dev/null", O_RDWR);
    setpgid(0, 0);
    dup2(null, STDIN_FILENO);
    dup2(pipes[1], STDOUT_FILENO);
    dup2(pipes[3], STDERR_FILENO);
    for (int i = 0; i < 4; i++) close(pipes[i]);
    execvp(words[0], (char *const *)words);
    _exit(NOT_STARTED);
}

/* Takes in what has come; closes the stream at its end. */
static void take(struct stream *s) {
    char waste[4096];
    int has_room = s->text && s->used + 1 < s->size;
    ssize_t n = has_room ? read(s->fd, s->text + s->used, s->size - 1 - s->used) : read(s->fd, waste, sizeof waste);
    if (n < 0 && errno == EINTR) return;
    if (n > 0 && has_room) {
        s->used += (size_t)n;
        s->text[s->used] = '\0';
    }
    if (n > 0) return;
    close(s->fd);
    s->fd = -1; /* poll passes it over */
}

int nc_run(const char *const *words, int seconds, char *out, size_t out_size, char *err, size_t err_size) {
    int pipes[4], status = 0;
    int64_t end_ns = nl_mono_ns() + (int64_t)seconds * 1000000000, left_ns = 1;
    if (out) out[0] = '\0';
    if (err) err[0] = '\0';
    if (pipe(pipes)) return NOT_STARTED;
    if (pipe(pipes + 2)) {
        close(pipes[0]);
        close(pipes[1]);
        return NOT_STARTED;
    }
    pid_t pid = fork();
    if (pid == 0) become(words, pipes);
    if (pid > 0) setpgid(pid, pid); /* whoever of us comes first */
    close(pipes[1]);
    close(pipes[3]);
    struct stream streams[2] = {{pipes[0], out, out_size, 0}, {pipes[2], err, err_size, 0}};
    while (pid > 0 && left_ns > 0 && (streams[0].fd >= 0 || streams[1].fd >= 0)) {
        struct pollfd fds[2] = {{streams[0].fd, POLLIN, 0}, {streams[1].fd, POLLIN, 0}};
        left_ns = end_ns - nl_mono_ns();
        if (left_ns <= 0 || poll(fds, 2, (int)(left_ns / 1000000) + 1) <= 0) continue;
        for (int i = 0; i < 2; i++)
            if (fds[i].revents) take(&streams[i]);
    }
    for (int i = 0; i < 2; i++)
        if (streams[i].fd >= 0) close(streams[i].fd);
    if (pid < 0) return NOT_STARTED;
    if (left_ns <= 0) kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (left_ns <= 0) return TIME_IS_UP;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

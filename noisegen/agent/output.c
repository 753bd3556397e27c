#include "noisegen/agent/output.h"
#include "common/sys/nl_stat.h"

#include <sys/eventfd.h>

/* An agent that writes gigabytes must neither fill a disk nor be blocked, nor may taking it in cost much. The
 * pipe is as big as everybody may make it; a megabyte is kept, and what comes after that is spliced to
 * /dev/null, which copies nothing (but for the beginning of each start's output: why a program ended may
 * stand in it). Between two looks the thread sleeps: long after little, short after much. */
enum { PIPE_BYTES = 1 << 20, MUCH_BYTES = 1 << 16, MAX_ROUNDS = 64, BEGINNING_BYTES = 1 << 18 };
#define QUIET_NS INT64_C(100000000)
#define BUSY_NS INT64_C(1000000)

static void drop_lines(struct na_watch *w) {
    w->line[0] = '\0';
    w->n_growing = 0;
}

/* A line has ended; one of blanks and rules says nothing. */
static void keep_line(struct na_watch *w) {
    w->growing[w->n_growing] = '\0';
    w->n_growing = 0;
    if (w->growing[strcspn(w->growing, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")])
        strcpy(w->line, w->growing);
}

static void look_for_lines(struct na_watch *w, const char *text, ssize_t n) {
    for (ssize_t i = 0; i < n; i++) {
        if (text[i] == '\n') keep_line(w);
        else if (w->n_growing < NA_LINE_BYTES - 1)
            w->growing[w->n_growing++] = isprint((unsigned char)text[i]) ? text[i] : ' ';
    }
}

/* One piece; its length, 0: nothing there. */
static int64_t take(struct na_watch *w) {
    static char buffer[MUCH_BYTES];
    int64_t room = w->log_fd < 0 ? 0 : NA_LOG_BYTES - w->kept_bytes;
    if (room <= 0 && w->read_bytes >= BEGINNING_BYTES) {
        ssize_t n = splice(w->pipe[0], NULL, w->null_fd, NULL, PIPE_BYTES, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (n > 0) drop_lines(w);
        return n;
    }
    ssize_t n = read(w->pipe[0], buffer, sizeof buffer);
    if (n <= 0) return n;
    w->read_bytes += n;
    look_for_lines(w, buffer, n);
    ssize_t kept = room > 0 ? write(w->log_fd, buffer, n < room ? (size_t)n : (size_t)room) : 0;
    if (kept > 0) w->kept_bytes += kept; /* a full disk: the log is not worth a launch */
    return n;
}

static int64_t drain(struct na_watch *w) {
    int64_t sum = 0, n;
    NL_LOCKED(&w->output);
    for (int i = 0; i < MAX_ROUNDS && (n = take(w)) > 0; i++) sum += n;
    return sum;
}

void na_watch_listen(struct na_watch *w) {
    drain(w);
    NL_LOCKED(&w->output);
    drop_lines(w);
    w->read_bytes = 0;
}

void na_watch_last_line(struct na_watch *w, char *text, int size) {
    drain(w);
    NL_LOCKED(&w->output);
    if (w->n_growing > 0) keep_line(w);
    snprintf(text, (size_t)size, "%s", w->line);
}

/* A pause that the end interrupts. */
static void rest(struct na_watch *w, int64_t ns) {
    struct timespec pause = nl_timespec(ns);
    struct pollfd wake = {.fd = w->wake_fd, .events = POLLIN};
    ppoll(&wake, 1, &pause, NULL);
}

static void *live(void *argument) {
    struct na_watch *w = argument;
    enum { OWNER, PIPE, WAKE, N_OWN };
    struct pollfd fds[N_OWN + NA_WATCH_FDS];
    uint64_t ignored;
    fds[OWNER] = (struct pollfd){.fd = w->owner_fd, .events = POLLIN};
    fds[PIPE] = (struct pollfd){.fd = w->pipe[0], .events = POLLIN};
    fds[WAKE] = (struct pollfd){.fd = w->wake_fd, .events = POLLIN};
    while (!atomic_load(&w->is_ending)) {
        pthread_mutex_lock(w->lock);
        int n = w->n_extra;
        for (int i = 0; i < n; i++) fds[N_OWN + i] = w->extra[i];
        pthread_mutex_unlock(w->lock);
        if (poll(fds, (nfds_t)(N_OWN + n), -1) < 0 && errno != EINTR) break;
        if (fds[OWNER].revents) {
            nl_agent_close(w->page);
            fds[OWNER].fd = -1;
        }
        if (fds[WAKE].revents && read(w->wake_fd, &ignored, sizeof ignored) < 0) continue;
        int is_ready = 0;
        for (int i = 0; i < n; i++) is_ready |= fds[N_OWN + i].revents != 0;
        if (is_ready) w->extra_ready(w->context);
        if (fds[PIPE].revents) rest(w, drain(w) < MUCH_BYTES ? QUIET_NS : BUSY_NS);
    }
    drain(w);
    return NULL;
}

int na_watch_open(struct na_watch *w, struct nl_agent *page) {
    w->page = page;
    w->log_fd = -1;
    pthread_mutex_init(&w->output, NULL);
    w->owner_fd = nl_pidfd(page->owner_pid);
    w->wake_fd = eventfd(0, EFD_CLOEXEC);
    w->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (w->wake_fd < 0 || w->null_fd < 0 || pipe2(w->pipe, O_CLOEXEC)) return -1;
    /* only our end: a command's own end must block as any pipe does */
    fcntl(w->pipe[0], F_SETFL, O_NONBLOCK);
    fcntl(w->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
    w->is_up = pthread_create(&w->thread, NULL, live, w) == 0;
    return w->is_up ? 0 : -1;
}

int na_watch_log(struct na_watch *w, const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return -1;
    NL_LOCKED(&w->output);
    w->log_fd = fd;
    return 0;
}

void na_watch_again(struct na_watch *w) {
    uint64_t one = 1;
    /* the thread would sleep on for ever */
    for (int i = 0; i < 3 && write(w->wake_fd, &one, sizeof one) < 0; i++);
}

void na_watch_close(struct na_watch *w) {
    if (!w->is_up) return;
    atomic_store(&w->is_ending, 1);
    na_watch_again(w);
    pthread_join(w->thread, NULL);
    w->is_up = 0;
    if (w->log_fd >= 0) close(w->log_fd);
    close(w->pipe[0]);
    close(w->pipe[1]);
    close(w->wake_fd);
    close(w->null_fd);
    if (w->owner_fd >= 0) close(w->owner_fd);
}

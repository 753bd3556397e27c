#include "noisegen/ranks.h"

#include <pthread.h>

#include "common/base/nl_error.h"

/* Ranks may end a little before the owner says QUIT. */
static const struct timespec patience = {.tv_nsec = 500000000};

/* between two looks at ranks that have no descriptor: an old kernel, or too many open files */
enum { LOOK_MS = 100 };

/* Gone, or waiting for a parent to take note. */
static int has_ended(pid_t pid) {
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) return kill(pid, 0) && errno == ESRCH;
    const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end && (name_end[2] == 'Z' || name_end[2] == 'X');
}

/* Whether one of the ranks without a descriptor is gone. */
static int is_one_gone(const struct nl_control *page, const struct pollfd *fds, int n) {
    for (int i = 0; i < n; i++)
        if (fds[i].fd < 0 && has_ended(page->rank_pids[i])) return 1;
    return 0;
}

static void *watch(void *argument) {
    struct nl_control *page = argument;
    int n = page->n_ranks, is_gone = 0, n_without = 0;
    struct pollfd *fds = calloc((size_t)n, sizeof *fds);
    if (!fds) return NULL;
    for (int i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, page->rank_pids[i], 0), .events = POLLIN};
        is_gone |= fds[i].fd < 0 && errno == ESRCH;
        n_without += fds[i].fd < 0;
    }
    /* one that could not be opened is negative, and poll passes it over */
    while (!is_gone) {
        int rc = poll(fds, (nfds_t)n, n_without > 0 ? LOOK_MS : -1);
        is_gone = rc > 0 || (rc < 0 && errno != EINTR) || is_one_gone(page, fds, n);
    }
    nl_control_close(page);
    nanosleep(&patience, NULL);
    _exit(NL_EXIT_OK);
}

void ng_ranks_watch(struct nl_control *page) {
    static int is_watched;
    pthread_t thread;
    if (is_watched || page->n_ranks < 1 || page->n_ranks > NL_CONTROL_MAX_RANKS) return;
    is_watched = pthread_create(&thread, NULL, watch, page) == 0;
    if (is_watched) pthread_detach(thread);
}

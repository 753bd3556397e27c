#include "ranks.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nl_error.h"

/* Ranks may end a little before the owner says QUIT. */
static const struct timespec patience = {.tv_nsec = 500000000};

static void *watch(void *argument) {
    struct nl_control *page = argument;
    int n = page->n_ranks, is_gone = 0;
    struct pollfd *fds = calloc((size_t)n, sizeof *fds);
    if (!fds) return NULL;
    for (int i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, page->rank_pids[i], 0), .events = POLLIN};
        is_gone |= fds[i].fd < 0 && errno == ESRCH;
    }
    /* one that could not be opened is negative, and poll passes it over */
    while (!is_gone) is_gone = poll(fds, (nfds_t)n, -1) > 0 || errno != EINTR;
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

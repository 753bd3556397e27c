/* What has to be watched while the companion's main thread sleeps through a half: whether owner and guardian live, what the agent writes,
 * and whether the record of switches is half full. One thread, which sleeps in poll(). */
#pragma once

#include <pthread.h>

#include "common/page/nl_agent.h"

enum { NA_LOG_BYTES = 1 << 20, NA_WATCH_FDS = 1024, NA_LINE_BYTES = 200 };

struct na_watch {
    struct nl_agent *page; /* closed when the owner dies */
    int owner_fd;          /* pidfd; -1: the kernel has none, and the owner's death is seen with the next command only */
    int pipe[2];           /* the agent's output: [1] is handed to what is started */
    int guardian_fd;       /* pidfd; -1: nobody looks whether it lives */
    int (*guardian_ended)(void *context); /* returns that of the next one */
    int wake_fd;           /* eventfd: looks at everything anew */
    int log_fd;            /* -1: output is thrown away */
    _Atomic int64_t kept_bytes, dropped_bytes;
    int null_fd;
    /* the last line that says something, of what was started last; under `output` */
    pthread_mutex_t output;
    char line[NA_LINE_BYTES], growing[NA_LINE_BYTES]; /* whole; without its end so far */
    int n_growing;
    int64_t read_bytes; /* looked at since the start */
    /* descriptors of the record, and what is called when one is ready; under `lock` */
    pthread_mutex_t *lock;
    struct pollfd extra[NA_WATCH_FDS];
    int n_extra;
    void (*extra_ready)(void *context);
    void *context;
    pthread_t thread;
    int is_up;
    _Atomic uint32_t is_ending;
};

/* Opens the pipe and starts the thread; guardian_fd and what is called are the caller's. 0, -1 with errno. */
int na_watch_open(struct na_watch *w, struct nl_agent *page);

/* Keeps the output in this file from now on. 0, -1 with errno. */
int na_watch_log(struct na_watch *w, const char *path);

/* Takes in what was written until now; what comes next counts as said by another program. */
void na_watch_listen(struct na_watch *w);

/* The last line written since then, printable and at most NA_LINE_BYTES - 1 bytes of it; "" when there was none, or more output than is
 * looked at for it. */
void na_watch_last_line(struct na_watch *w, char *text, int size);

/* Makes the thread look at `extra` anew. */
void na_watch_again(struct na_watch *w);

/* Ends the thread, having taken in what was written. */
void na_watch_close(struct na_watch *w);

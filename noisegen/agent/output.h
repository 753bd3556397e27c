/* One thread, asleep in poll(): does the owner live, what does the agent write, is the record of switches
 * half full? */
#pragma once

#include <poll.h>

#include "common/base/nl_usual.h"
#include "common/page/nl_agent.h"

enum { NA_LOG_BYTES = 1 << 20, NA_WATCH_FDS = 1024, NA_LINE_BYTES = 200 };

struct na_watch {
    struct nl_agent *page; /* closed when the owner dies */
    int owner_fd; /* pidfd; -1: the kernel has none, and the owner's death is seen with the next command only
                   */
    int pipe[2];  /* the agent's output: [1] is handed to what is started */
    int wake_fd;  /* eventfd: looks at everything anew */
    int null_fd;
    /* under `output`: the log, and the last line that says something, of what was started last */
    pthread_mutex_t output;
    int log_fd; /* -1: output is thrown away */
    int64_t kept_bytes;
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

/* Opens the pipe and starts the thread; what is called is the caller's. 0, -1 with errno. */
int na_watch_open(struct na_watch *w, struct nl_agent *page);

/* Keeps the output in this file from now on. 0, -1 with errno. */
int na_watch_log(struct na_watch *w, const char *path);

/* Takes in what was written until now; what comes next counts as said by another program. */
void na_watch_listen(struct na_watch *w);

/* The last line written since then, printable; "" when there was none, or more output than is looked at for
 * it. */
void na_watch_last_line(struct na_watch *w, char *text, int size);

/* Makes the thread look at `extra` anew. */
void na_watch_again(struct na_watch *w);

/* Ends the thread, having taken in what was written. */
void na_watch_close(struct na_watch *w);

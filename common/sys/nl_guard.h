/* A guardian: a process that sleeps beside this one, and acts when that has ended, however it was ended. It
 * keeps no file of the program open, is in a session of its own, and no signal but SIGKILL ends it. */
#pragma once

#include "common/base/nl_usual.h"

struct nl_guard_work {
    const char *name; /* of the process, as ps shows it */
    int is_orphan;    /* 1: it is no child of the caller, who may adopt orphans later */
    void (*begin)(void *context); /* in the guardian, before it waits; NULL: nothing */
    /* In the guardian, when the other process has ended. `told`: what nl_guard_tell said last, 0 without. */
    void (*act)(void *context, int64_t told);
    void *context; /* as it was when the guardian was started; shared pages are as they are now */
};

/* All zero: there is none. */
struct nl_guard {
    pid_t pid;        /* 0: it is no child of ours */
    int is_up, fd;    /* our end: when it is closed, by us or by our end, the guardian acts */
};

/* Starts one that acts when this process ends without nl_guard_end. 0 when it stands ready, -1 with errno. */
int nl_guard_start(struct nl_guard *guard, const struct nl_guard_work *work);

/* Tells it a number other than 0. 0, -1: it is gone. */
int nl_guard_tell(struct nl_guard *guard, int64_t value);

/* There is nothing left to do: it ends without acting, and is waited for where it is a child. Fine without
 * one. */
void nl_guard_end(struct nl_guard *guard);

/* It acts now, while we go on. Fine without one. */
void nl_guard_leave(struct nl_guard *guard);

/* Starts one that acts when `owner` ends, and ends without acting when this process ends before it, whatever
 * program that has become. 0, -1 with errno (ENOSYS: the kernel has no pidfd, Linux before 5.3). */
int nl_guard_watch(pid_t owner, const struct nl_guard_work *work);

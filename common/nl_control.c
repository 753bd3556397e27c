#include "nl_control.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nl_clock.h"

static void *map_page(int fd) {
    void *p = mmap(NULL, sizeof(struct nl_control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

struct nl_control *nl_control_create(int *fd) {
    int f = memfd_create("noiselab-control", 0);
    if (f < 0) return NULL;
    struct nl_control *c = ftruncate(f, sizeof(struct nl_control)) == 0 ? map_page(f) : NULL;
    if (!c) {
        close(f);
        return NULL;
    }
    c->magic = NL_CONTROL_MAGIC;
    c->size_bytes = sizeof *c;
    c->owner_pid = (int32_t)getpid();
    *fd = f;
    return c;
}

struct nl_control *nl_control_attach(int fd) {
    struct stat st;
    if (fstat(fd, &st) || st.st_size != (off_t)sizeof(struct nl_control)) return NULL;
    struct nl_control *c = map_page(fd);
    if (c && (c->magic != NL_CONTROL_MAGIC || c->size_bytes != sizeof *c)) {
        nl_control_unmap(c);
        return NULL;
    }
    return c;
}

void nl_control_unmap(struct nl_control *c) {
    if (c) munmap(c, sizeof *c);
}

static void raise_command(struct nl_control *c) {
    atomic_fetch_add(&c->command_number, 1);
    syscall(SYS_futex, &c->command_number, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void nl_control_send(struct nl_control *c, enum nl_command command) {
    c->command = command;
    raise_command(c);
}

void nl_control_close(struct nl_control *c) {
    atomic_store(&c->is_closed, 1);
    /* the command field stays: a QUIT on its way must not turn into something else, and a RUN starts nothing any more */
    raise_command(c);
}

int nl_control_await(struct nl_control *c, int64_t timeout_ns) {
    uint32_t wanted = atomic_load(&c->command_number);
    int64_t deadline_ns = nl_mono_ns() + timeout_ns;
    /* a signal handler may have sent another command meanwhile, so a later answer is as good */
    while ((int32_t)(atomic_load(&c->answered_number) - wanted) < 0) {
        if (nl_mono_ns() > deadline_ns) return -2;
        sched_yield();
    }
    return atomic_load(&c->answer_status);
}

int nl_control_wait(struct nl_control *c, uint32_t seen, int64_t deadline_ns) {
    struct timespec deadline = nl_timespec(deadline_ns < 0 ? 0 : deadline_ns);
    while (atomic_load(&c->command_number) == seen) {
        /* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC deadline: clock_nanosleep that a command can end */
        long rc = syscall(SYS_futex, &c->command_number, FUTEX_WAIT_BITSET, seen, deadline_ns < 0 ? NULL : &deadline, NULL,
                          FUTEX_BITSET_MATCH_ANY);
        if (rc < 0 && errno == ETIMEDOUT) return atomic_load(&c->command_number) != seen;
    }
    return 1;
}

void nl_control_answer(struct nl_control *c, uint32_t number, int status) {
    atomic_store(&c->answer_status, status);
    atomic_store(&c->answered_number, number);
}

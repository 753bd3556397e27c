#include "common/page/nl_control.h"
#include "common/sys/nl_futex.h"

struct nl_control *nl_control_create(int *fd) {
    struct nl_control *c = nl_page_create("noiselab-control", NL_CONTROL_MAGIC, sizeof *c, fd);
    if (!c) return NULL;
    c->owner_pid = (int32_t)getpid();
    atomic_store(&c->n_workers, 1);
    return c;
}

struct nl_control *nl_control_attach(int fd) {
    return nl_page_attach(fd, NL_CONTROL_MAGIC, sizeof(struct nl_control));
}

static void raise_command(struct nl_control *c) {
    atomic_fetch_add(&c->command_number, 1);
    nl_futex_wake(&c->command_number);
}

void nl_control_send(struct nl_control *c, enum nl_command command) {
    c->command = command;
    atomic_store(&c->answer_status, 0);
    raise_command(c);
}

void nl_control_close(struct nl_control *c) {
    atomic_store(&c->is_closed, 1);
    /* the command field stays: a QUIT on its way must not turn into something else, and a RUN starts nothing
     * any more */
    raise_command(c);
}

static int has_answered(struct nl_control *c, uint32_t wanted) {
    int n = atomic_load(&c->n_workers);
    for (int i = 0; i < n; i++)
        /* a signal handler may have sent another command meanwhile, so a later answer is as good */
        if ((int32_t)(atomic_load(&c->workers[i].answered_number) - wanted) < 0) return 0;
    return 1;
}

int nl_control_await(struct nl_control *c, int64_t timeout_ns) {
    uint32_t wanted = atomic_load(&c->command_number);
    int64_t deadline_ns = nl_mono_ns() + timeout_ns;
    while (!has_answered(c, wanted)) {
        if (nl_mono_ns() > deadline_ns) return -2;
        sched_yield();
    }
    return atomic_load(&c->answer_status);
}

int nl_control_n_due(const struct nl_control *c) {
    int n = 0;
    for (int i = 0; i < atomic_load(&c->n_workers); i++)
        n += atomic_load(&c->workers[i].is_burst_due);
    return n;
}

/* The sum over the workers there are. */
#define SUM_OF(field)                                                                                        \
    int64_t nl_control_##field(const struct nl_control *c) {                                                 \
        int64_t sum = 0;                                                                                     \
        for (int i = 0; i < atomic_load(&c->n_workers); i++)                                                 \
            sum += atomic_load(&c->workers[i].field);                                                        \
        return sum;                                                                                          \
    }
SUM_OF(requested_ns)
SUM_OF(owed_ns)
SUM_OF(extra_cpu_ns)

int nl_control_wait(struct nl_control *c, uint32_t seen, int64_t deadline_ns) {
    return nl_futex_wait(&c->command_number, seen, deadline_ns);
}

void nl_control_answer(struct nl_control *c, int worker, uint32_t number) {
    atomic_store(&c->workers[worker].answered_number, number);
}

void nl_control_refuse(struct nl_control *c, const char *reason) {
    int32_t none = 0;
    /* the status last: who reads it finds the text complete */
    if (!atomic_compare_exchange_strong(&c->answer_status, &none, -2)) return;
    snprintf(c->text, sizeof c->text, "%s", reason);
    atomic_store(&c->answer_status, -1);
}

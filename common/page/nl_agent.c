#include "common/page/nl_agent.h"
#include "common/sys/nl_futex.h"

#define YIELD_NS                                                                                             \
    INT64_C(200000) /* most switches are answered within it, and a sleep would cost the owner its CPU's      \
                       warmth */

struct nl_agent *nl_agent_create(int *fd) {
    struct nl_agent *a = nl_page_create("noiselab-agent", NL_AGENT_MAGIC, sizeof *a, fd);
    if (a) a->owner_pid = (int32_t)getpid();
    return a;
}

void nl_agent_send(struct nl_agent *a, enum nl_agent_command command) {
    a->command = command;
    atomic_store(&a->answer_status, NL_AGENT_DONE);
    atomic_fetch_add(&a->command_number, 2);
    nl_futex_wake(&a->command_number);
}

static int is_answered(const struct nl_agent *a, uint32_t wanted) {
    return (atomic_load(&a->answered_number) | 1) == (wanted | 1);
}

int nl_agent_await(struct nl_agent *a, int64_t timeout_ns) {
    uint32_t wanted = atomic_load(&a->command_number);
    int64_t now_ns = nl_mono_ns(), yield_ns = now_ns + YIELD_NS, deadline_ns = now_ns + timeout_ns;
    while (!is_answered(a, wanted)) {
        uint32_t seen = atomic_load(&a->answered_number);
        now_ns = nl_mono_ns();
        if (now_ns > deadline_ns) return NL_AGENT_UNANSWERED;
        if (now_ns < yield_ns)
            sched_yield();
        else if (!is_answered(a, wanted))
            nl_futex_wait(&a->answered_number, seen, deadline_ns);
    }
    return atomic_load(&a->answer_status);
}

/* The lowest bit of the command number is the close: it wakes the companion without touching a command on its
 * way. */
void nl_agent_close(struct nl_agent *a) {
    atomic_store(&a->is_closed, 1);
    atomic_fetch_or(&a->command_number, 1);
    nl_futex_wake(&a->command_number);
}

void nl_agent_answer(struct nl_agent *a, uint32_t number, enum nl_agent_status status, const char *reason) {
    /* the status last but one: who sees the answer finds everything else complete */
    if (reason) snprintf(a->text, sizeof a->text, "%s", reason);
    atomic_store(&a->answer_status, status);
    atomic_store(&a->answered_number, number);
    nl_futex_wake(&a->answered_number);
}

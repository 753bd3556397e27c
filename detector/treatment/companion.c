#include "detector/treatment/companion.h"
#include "detector/treatment/child.h"

#define LOOK_NS   INT64_C(50000000)   /* how often a silent companion is checked for being dead */
#define MARGIN_NS INT64_C(5000000000) /* what the companion gets on top of the time that a switch may take   \
                                       */
#define SLEEP_NS                                                                                             \
    INT64_C(5000000) /* for going to sleep after BEGIN: bounded, because it may wait for our CPU */

static const struct nd_child_kind kind = {
    .program = "noiselab-agent", .option = "--agent", .called = "the agent's companion"};

struct nd_companion {
    struct nl_agent *page;
    struct nd_child child;
    int64_t timeout_ns;
    const volatile int *stop_asked;
    enum nd_companion_end last;
};

int nd_companion_start(struct nd_companion **companion, const char *const *words, int64_t timeout_ns,
                       const volatile int *stop_asked) {
    int fd = -1;
    struct nd_companion *c = calloc(1, sizeof *c);
    if (!c) return nl_error("no memory for the agent's page");
    c->timeout_ns = timeout_ns;
    c->stop_asked = stop_asked;
    c->page = nl_agent_create(&fd);
    if (!c->page) {
        nl_error("cannot make the agent's page: %s", strerror(errno));
        goto fail;
    }
    if (nd_child_start(&c->child, &kind, NULL, words, fd, &c->page->companion_pid, timeout_ns + MARGIN_NS))
        goto fail;
    int32_t tid = (int32_t)c->child.pid;
    if (nd_child_watch(&c->child, &tid, 1)) {
        nl_error("cannot read the state of the agent's companion in /proc");
        goto fail;
    }
    *companion = c;
    return 0;
fail:
    nd_companion_free(c);
    return -1;
}

int nd_companion_check(const char *const *words) { return nd_child_check(&kind, NULL, words); }

struct nl_agent *nd_companion_page(struct nd_companion *c) {
    return c->page;
}

static enum nd_companion_end end_of(int status) {
    return status == NL_AGENT_DONE   ? ND_COMPANION_DONE
           : status == NL_AGENT_DIED ? ND_COMPANION_DIED
                                     : ND_COMPANION_REFUSED;
}

/* Waits for the answer to the last command; `heeds_stop` 0: even when a signal asked to stop. */
static enum nd_companion_end await(struct nd_companion *c, int heeds_stop) {
    int64_t deadline_ns = nl_mono_ns() + c->timeout_ns + MARGIN_NS;
    while (nl_mono_ns() < deadline_ns) {
        int status = nl_agent_await(c->page, LOOK_NS);
        if (status != NL_AGENT_UNANSWERED) return end_of(status);
        if (nd_child_is_gone(&c->child)) break;
        if (heeds_stop && *c->stop_asked) return ND_COMPANION_STOPPED;
    }
    return ND_COMPANION_GONE;
}

enum nd_companion_end nd_companion_command(struct nd_companion *c, enum nl_agent_command command) {
    nl_agent_send(c->page, command);
    c->last = await(c, 1);
    if (c->last == ND_COMPANION_DONE && command == NL_AGENT_BEGIN) nd_child_await_sleep(&c->child, SLEEP_NS);
    return c->last;
}

const char *nd_companion_reason(const struct nd_companion *c) {
    static const char *const own[] = {[ND_COMPANION_STOPPED] = "a signal asked to stop",
                                      [ND_COMPANION_GONE] =
                                          "its companion noiselab-agent is gone or does not answer"};
    return c->last == ND_COMPANION_DONE ? "" : own[c->last] ? own[c->last] : c->page->text;
}

void nd_companion_close(struct nd_companion *c) { nl_agent_close(c->page); }

void nd_companion_stop(struct nd_companion *c, char *text, int text_size) {
    text[0] = '\0';
    nl_agent_send(c->page, NL_AGENT_QUIT);
    if (await(c, 0) == ND_COMPANION_DONE) snprintf(text, (size_t)text_size, "%s", c->page->text);
}

void nd_companion_free(struct nd_companion *c) {
    if (!c) return;
    /* an agent may still be frozen: killed is only who does not let go of it in the time that a switch may
     * take */
    if (c->page) nl_agent_close(c->page);
    if (c->child.pid > 0 && !nd_child_is_gone(&c->child)) nl_agent_send(c->page, NL_AGENT_QUIT);
    nd_child_end(&c->child, c->timeout_ns + MARGIN_NS);
    nl_page_unmap(c->page);
    free(c);
}

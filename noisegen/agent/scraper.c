#include "noisegen/agent/scraper.h"
#include "noisegen/agent/session.h"
#include "common/sys/nl_futex.h"

#define LOOK_NS  INT64_C(500000)
#define RETRY_NS INT64_C(20000000) /* a started agent needs a moment until it answers */

/* One scrape: 0 it succeeded. */
static int scrape(struct na_scraper *s, uint32_t order) {
    char ignored[256];
    pid_t pid = 0;
    pthread_mutex_lock(s->children);
    int rc = na_command_start(&s->command, -1, &s->cpus, &pid, ignored, sizeof ignored);
    if (rc == 0) {
        na_reap_aside(pid);
        *s->running = pid;
        if (s->started) s->started(s->context, pid);
    }
    pthread_mutex_unlock(s->children);
    struct pollfd end = {.fd = rc ? -1 : nl_pidfd(pid), .events = POLLIN};
    while (rc == 0 && !na_reap(pid)) {
        /* it ends when it ends; only a stop ends it early, and then it is killed by who stops it */
        poll(&end, 1, end.fd >= 0 ? 1000 : 1);
        if (atomic_load(&s->order) != order) kill(-pid, SIGKILL);
    }
    if (end.fd >= 0) close(end.fd);
    int is_cut = atomic_load(&s->order) != order, is_good = rc == 0 && na_status_of(pid) == 0;
    pthread_mutex_lock(s->children);
    *s->running = 0;
    pthread_mutex_unlock(s->children);
    if (!is_cut || is_good) {
        atomic_fetch_add(&s->n_scrapes, 1);
        if (!is_good) atomic_fetch_add(&s->n_failed, 1);
    }
    return is_good ? 0 : -1;
}

static void *live(void *argument) {
    struct na_scraper *s = argument;
    uint32_t order = 0;
    sched_setaffinity(0, sizeof s->cpus, &s->cpus);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    for (;;) {
        nl_futex_wait(&s->order, order, -1);
        order = atomic_load(&s->order);
        if (order == UINT32_MAX) return NULL;
        int64_t due_ns = nl_mono_ns() + s->left_ns;
        while (order & 1 && atomic_load(&s->order) == order) {
            nl_futex_wait(&s->order, order, due_ns);
            if (atomic_load(&s->order) != order || nl_mono_ns() < due_ns) continue;
            scrape(s, order);
            for (due_ns += s->period_ns; due_ns < nl_mono_ns(); due_ns += s->period_ns)
                atomic_fetch_add(&s->n_skipped, 1);
        }
        if (order & 1) s->left_ns = due_ns - nl_mono_ns();
        if (s->left_ns < 0) s->left_ns = 0;
    }
}

int na_scraper_open(struct na_scraper *s) {
    s->left_ns = s->period_ns / 2;
    s->is_up = pthread_create(&s->thread, NULL, live, s) == 0;
    return s->is_up ? 0 : -1;
}

static void raise_order(struct na_scraper *s) {
    atomic_fetch_add(&s->order, 1);
    nl_futex_wake(&s->order);
}

/* One scrape after the other, until one succeeds. */
static int try_out(struct na_scraper *s, int64_t deadline_ns, const _Atomic uint32_t *stop) {
    uint32_t order = atomic_load(&s->order);
    while (scrape(s, order)) {
        if (nl_mono_ns() > deadline_ns || (stop && atomic_load(stop))) return -1;
        nl_sleep_ns(RETRY_NS);
    }
    return 0;
}

int na_scraper_start(struct na_scraper *s, int until_success, int64_t timeout_ns,
                     const _Atomic uint32_t *stop, char *reason, int size) {
    char how[64];
    if (atomic_load(&s->order) & 1) return 0;
    if (until_success && try_out(s, nl_mono_ns() + timeout_ns, stop)) {
        na_status_say(na_reaped().last_aside_failure, how, sizeof how);
        return nl_say(reason, size, "--scrape: '%s' does not succeed: %s", s->command.text, how);
    }
    /* failures up to here were the agent's way to say that it is not ready */
    if (until_success) atomic_store(&s->n_failed, 0);
    raise_order(s);
    return 0;
}

/* And sends it a signal. */
static int is_running(struct na_scraper *s, int signal) {
    NL_LOCKED(s->children);
    return *s->running > 0 && kill(-*s->running, signal) <= 0;
}

void na_scraper_stop(struct na_scraper *s) {
    if (!(atomic_load(&s->order) & 1)) return;
    raise_order(s);
    is_running(s, SIGKILL);
    /* until its thread has waited for the killed one: nothing of it must reach into the next half */
    while (is_running(s, 0)) nl_sleep_ns(LOOK_NS);
}

void na_scraper_close(struct na_scraper *s) {
    if (s->is_up) {
        na_scraper_stop(s);
        atomic_store(&s->order, UINT32_MAX);
        nl_futex_wake(&s->order);
        pthread_join(s->thread, NULL);
        s->is_up = 0;
    }
    na_command_free(&s->command);
}

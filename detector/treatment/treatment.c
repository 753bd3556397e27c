#include "detector/treatment/treatment.h"
#include "detector/treatment/child.h"

#define READY_TIMEOUT_NS  INT64_C(10000000000)
#define ANSWER_TIMEOUT_NS INT64_C(5000000000)
#define SETTLE_NS         INT64_C(200000)
#define LOOK_NS           INT64_C(50000000) /* how often a silent generator is checked for being dead */

static const struct nd_child_kind generator = {
    .program = "noiselab-gen", .option = "NOISELAB_GEN", .called = "the generator", .dies_with_owner = 1};

struct nd_treatment {
    struct nl_control *control;
    struct nd_child child;
    clockid_t cpu_clock;
    struct nl_hist switch_times;
};

int nd_treatment_is_gone(const struct nd_treatment *t) { return nd_child_is_gone(&t->child); }

static int watch_workers(struct nd_treatment *t) {
    int32_t tids[NL_CONTROL_MAX_WORKERS];
    int n = atomic_load(&t->control->n_workers);
    for (int i = 0; i < n; i++)
        tids[i] = atomic_load(&t->control->workers[i].tid);
    return nd_child_watch(&t->child, tids, n);
}

int nd_treatment_start(struct nd_treatment **treatment, const char *path, const char *const *words) {
    int fd = -1;
    struct nd_treatment *t = calloc(1, sizeof *t);
    if (!t) return nl_error("no memory for the treatment");
    t->control = nl_control_create(&fd);
    if (!t->control) {
        nl_error("cannot make the control page: %s", strerror(errno));
        goto fail;
    }
    if (nd_child_start(&t->child, &generator, path, words, fd, &t->control->generator_pid, READY_TIMEOUT_NS))
        goto fail;
    if (clock_getcpuclockid(t->child.pid, &t->cpu_clock) || watch_workers(t)) {
        nl_error("cannot read the state of the generator's threads in /proc");
        goto fail;
    }
    *treatment = t;
    return 0;
fail:
    nd_treatment_free(t);
    return -1;
}

int nd_treatment_check(const char *path, const char *const *words) {
    return nd_child_check(&generator, path, words);
}

/* Sends the command that stands in the page; 0, -1 refused, -2 gone. */
static int command(struct nd_treatment *t, enum nl_command c) {
    int64_t sent_ns = nl_mono_ns();
    nl_control_send(t->control, c);
    while (nl_mono_ns() - sent_ns < ANSWER_TIMEOUT_NS) {
        int rc = nl_control_await(t->control, LOOK_NS);
        if (rc == 0) nl_hist_add(&t->switch_times, nl_mono_ns() - sent_ns);
        if (rc != -2) return rc;
        if (nd_treatment_is_gone(t)) return -2;
    }
    return -2;
}

int nd_treatment_place(struct nd_treatment *t, const int *cpus, int n_cpus, char *reason, int reason_size) {
    t->control->n_cpus = n_cpus;
    for (int i = 0; i < n_cpus && i < NL_CONTROL_MAX_WORKERS; i++)
        t->control->cpus[i] = cpus[i];
    int rc = command(t, NL_COMMAND_PLACE);
    /* the times of interest are those between arms */
    memset(&t->switch_times, 0, sizeof t->switch_times);
    if (rc == -1) snprintf(reason, (size_t)reason_size, "%s", t->control->text);
    if (rc == -2) snprintf(reason, (size_t)reason_size, "the generator is gone");
    if (rc == 0 && watch_workers(t)) {
        snprintf(reason, (size_t)reason_size, "cannot read the state of the generator's threads in /proc");
        rc = -1;
    }
    return rc ? -1 : 0;
}

int nd_treatment_switch(struct nd_treatment *t, const struct nl_dose *dose) {
    t->control->dose = *dose;
    int rc = command(t, NL_COMMAND_RUN);
    if (rc) return rc;
    /* After its answer the generator still has to arm its timer and go to sleep, and that must not fall into
     * the half about to start. (Its CPU clock cannot tell: seen from another process it stands still while
     * the generator runs.) Bounded: a generator that shares our CPU may be waiting for it. */
    nd_child_await_sleep(&t->child, SETTLE_NS);
    return 0;
}

int nd_treatment_idle(struct nd_treatment *t) { return command(t, NL_COMMAND_IDLE) ? -1 : 0; }

void nd_treatment_close(struct nd_treatment *t) { nl_control_close(t->control); }

int64_t nd_treatment_cpu_ns(const struct nd_treatment *t) {
    struct timespec now;
    if (clock_gettime(t->cpu_clock, &now)) return -1;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + nl_control_extra_cpu_ns(t->control);
}

struct nl_control *nd_treatment_page(const struct nd_treatment *t) {
    return t->control;
}

const struct nl_hist *nd_treatment_switch_times(const struct nd_treatment *t) { return &t->switch_times; }

void nd_treatment_stop(struct nd_treatment *t, char *text, int text_size) {
    text[0] = '\0';
    if (command(t, NL_COMMAND_QUIT) == 0) snprintf(text, (size_t)text_size, "%s", t->control->text);
}

void nd_treatment_free(struct nd_treatment *t) {
    if (!t) return;
    nd_child_end(&t->child, 0);
    nl_page_unmap(t->control);
    free(t);
}

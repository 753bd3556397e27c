/* How long it takes to freeze and to thaw an agent, by each freezer this machine allows, with 1 and with 16 threads that wake every
 * millisecond and work for 20 us, as agents do. Prints, one per line: name value unit. */
#include <pthread.h>

#include "noisegen/agent/freeze.h"
#include "common/base/nl_hist.h"

#define MS INT64_C(1000000)
enum { SWITCHES = 500 };

static void *work(void *nothing) {
    struct timespec pause = nl_timespec(MS);
    for (;;) {
        int64_t begin_ns = nl_mono_ns();
        while (nl_mono_ns() - begin_ns < MS / 50) {}
        nanosleep(&pause, NULL);
    }
    return nothing;
}

static pid_t start(int n_threads) {
    pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_t thread;
    for (int i = 1; i < n_threads; i++) pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    _exit(0);
}

static void print(const char *freezer, int n_threads, const char *what, const struct nl_hist *h) {
    printf("%s_%d_threads_%s_p50 %.1f us\n", freezer, n_threads, what, (double)nl_hist_quantile(h, 0.5) / 1e3);
    printf("%s_%d_threads_%s_p99 %.1f us\n", freezer, n_threads, what, (double)nl_hist_quantile(h, 0.99) / 1e3);
}

static int measure(const struct na_freezer *row, int n_threads) {
    static struct nl_hist off, on;
    char reason[512] = "", problem[512];
    struct na_set set = {0};
    struct na_undo *undo = na_undo_create();
    struct na_freeze f = {.row = row, .undo = undo, .set = &set, .timeout_ns = 1000 * MS};
    struct timespec pause = nl_timespec(2 * MS);
    pid_t pid = start(n_threads);
    int rc = -1;
    memset(&off, 0, sizeof off);
    memset(&on, 0, sizeof on);
    nanosleep(&(struct timespec){.tv_nsec = 50 * MS}, NULL);
    na_set_add(&set, pid);
    if (!undo || row->prepare(&f, row, 0, reason, sizeof reason)) {
        fprintf(stderr, "bench_freeze: %s is left out: %s\n", row->name, reason);
        rc = 0;
        goto out;
    }
    for (int i = 0; i < SWITCHES; i++) {
        int64_t begin_ns = nl_mono_ns();
        if (row->freeze(&f, reason, sizeof reason)) goto out;
        nl_hist_add(&off, nl_mono_ns() - begin_ns);
        nanosleep(&pause, NULL);
        begin_ns = nl_mono_ns();
        if (row->thaw(&f, reason, sizeof reason)) goto out;
        nl_hist_add(&on, nl_mono_ns() - begin_ns);
        nanosleep(&pause, NULL);
    }
    print(row->name, n_threads, "freeze", &off);
    print(row->name, n_threads, "thaw", &on);
    rc = 0;
out:
    if (rc) fprintf(stderr, "bench_freeze: %s: %s\n", row->name, reason);
    if (undo) na_undo_all(undo, problem, sizeof problem);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    na_set_free(&set);
    return rc;
}

int main(void) {
    int rc = 0;
    for (const struct na_freezer *const *row = na_freezers; *row; row++) rc |= measure(*row, 1) | measure(*row, 16);
    return rc ? 1 : 0;
}

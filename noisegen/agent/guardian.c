#include "noisegen/agent/guardian.h"
#include "noisegen/agent/session.h"
#include "common/sys/nl_cgroup.h"

enum { ATTEMPTS = 10 }; /* with pauses that double: some nine minutes */

/* The out-of-memory killer and the end of a job's cgroup take whole groups; each of these may be refused. */
static void step_aside(void) {
    static const char *const hierarchies[] = {"", "memory", "name=systemd"};
    char mount[PATH_MAX - 32], path[PATH_MAX], number[32];
    na_write("/proc/self/oom_score_adj", "-1000");
    if (geteuid() != 0) return;
    snprintf(number, sizeof number, "%d", (int)getpid());
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        if (nl_cgroup_mount("", hierarchies[i], mount, sizeof mount)) continue;
        snprintf(path, sizeof path, "%s/cgroup.procs", mount);
        na_write(path, number);
    }
}

static void begin(void *undo) {
    (void)undo;
    na_undo_let_go();
    step_aside();
}

static void act(void *undo, int64_t told) {
    char problem[256];
    (void)told;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < ATTEMPTS && na_undo_every(undo, problem, sizeof problem); i++)
        sleep(1U << i);
}

int na_guardian_start(struct nl_guard *g, struct na_undo *undo) {
    const struct nl_guard_work work = {.name = "nl-guardian", .begin = begin, .act = act, .context = undo};
    if (nl_guard_start(g, &work)) return -1;
    for (; undo; undo = undo->next)
        undo->guardian = na_process_of(g->pid);
    return 0;
}

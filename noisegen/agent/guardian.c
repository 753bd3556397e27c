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

/* What came from the companion must not be kept open by it; and a launcher that waits for our output's end is not to wait for the
 * guardian. */
static void close_others(int fd) {
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
#ifdef SYS_close_range
    if ((fd <= 3 || syscall(SYS_close_range, 3, fd - 1, 0) == 0) && syscall(SYS_close_range, fd + 1, ~0U, 0) == 0) return;
#endif
    for (int i = 3; i < 4096; i++)
        if (i != fd) close(i);
}

static void guard(struct na_undo *undo, int fd) {
    char word, problem[256];
    ssize_t n;
    prctl(PR_SET_NAME, "nl-guardian");
    /* what is left of a shot process group or a closed terminal must not reach it */
    setsid();
    for (int s = 1; s < NSIG; s++)
        if (s != SIGCHLD) signal(s, SIG_IGN);
    close_others(fd);
    na_undo_let_go();
    step_aside();
    do n = read(fd, &word, 1);
    while (n < 0 && errno == EINTR);
    if (n > 0) _exit(0); /* all is undone */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < ATTEMPTS && na_undo_every(undo, problem, sizeof problem); i++) sleep(1U << i);
    _exit(0);
}

int na_guardian_start(struct na_guardian *g, struct na_undo *undo) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        guard(undo, ends[0]);
    }
    close(ends[0]);
    if (pid < 0) return -1;
    *g = (struct na_guardian){pid, ends[1]};
    for (; undo; undo = undo->next) undo->guardian = na_process_of(pid);
    return 0;
}

void na_guardian_end(struct na_guardian *g) {
    if (g->pid <= 0) return;
    if (write(g->fd, "q", 1) == 1) waitpid(g->pid, NULL, 0);
    na_guardian_leave(g);
}

void na_guardian_leave(struct na_guardian *g) {
    if (g->pid > 0) close(g->fd);
    g->pid = 0;
}

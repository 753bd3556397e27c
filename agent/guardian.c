#include "guardian.h"

#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void guard(struct na_undo *undo, int fd) {
    char word, problem[256];
    ssize_t n;
    prctl(PR_SET_NAME, "nl-guardian");
    /* what is left of a shot process group or a closed terminal must not reach it */
    setsid();
    for (int s = 1; s < NSIG; s++)
        if (s != SIGCHLD) signal(s, SIG_IGN);
    /* a launcher that waits for our output's end is not to wait for the guardian */
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
    do n = read(fd, &word, 1);
    while (n < 0 && errno == EINTR);
    if (n == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        na_undo_all(undo, problem, sizeof problem);
    }
    _exit(0);
}

int na_guardian_start(struct na_guardian *g, struct na_undo *undo) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return -1;
    g->pid = fork();
    if (g->pid == 0) {
        close(ends[1]);
        guard(undo, ends[0]);
    }
    close(ends[0]);
    g->fd = ends[1];
    if (g->pid > 0) return 0;
    close(ends[1]);
    return -1;
}

void na_guardian_dismiss(struct na_guardian *g) {
    if (g->pid <= 0) return;
    if (write(g->fd, "q", 1) == 1) waitpid(g->pid, NULL, 0);
    close(g->fd);
    g->pid = 0;
}

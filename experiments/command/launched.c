#include "experiments/command/launched.h"

#include "common/base/nl_clock.h"
#include "common/base/nl_error.h"

#define SECOND_NS INT64_C(1000000000)

/* what is done to ranks that stay, and after how long; the last row is when to give up */
static const struct {
    int64_t after_ns;
    int signal;
} steps[] = {{5 * SECOND_NS, SIGTERM}, {10 * SECOND_NS, SIGKILL}, {20 * SECOND_NS, 0}};
enum { N_STEPS = sizeof steps / sizeof *steps };

/* names of ours as the kernel cuts them */
static const struct {
    const char *name;
    int is_rank;
} programs[] = {{"noiselab-detect", 1}, {"noiselab-accept", 1}, {"noiselab-gen", 0},
                {"noiselab-agent", 0},  {"noiselab-record", 0}, {"nl-guardian", 0}};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

/* The file of a process, 0-terminated. @return bytes, -1; the caller frees. */
static ssize_t read_of(pid_t pid, const char *name, char **text) {
    char path[64];
    size_t size = 0, n = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *text = NULL;
    if (fd < 0) return -1;
    for (ssize_t more = 1; more > 0; n += (size_t)more) {
        if (n + 1 >= size) {
            char *larger = realloc(*text, size = 2 * size + 4096);
            if (!larger) break;
            *text = larger;
        }
        more = read(fd, *text + n, size - n - 1);
        if (more < 0) break;
    }
    close(fd);
    if (*text) (*text)[n] = '\0';
    return *text ? (ssize_t)n : -1;
}

/* Whether it was started for that launch; what has ended and was not waited for has no environment any more. */
static int is_of(pid_t pid, const char *launch) {
    char *text, wanted[4096];
    snprintf(wanted, sizeof wanted, NC_LAUNCH_VARIABLE "=%s", launch);
    ssize_t n = read_of(pid, "environ", &text);
    int found = 0;
    for (ssize_t at = 0; at < n && !found; at += (ssize_t)strlen(text + at) + 1) found = strcmp(text + at, wanted) == 0;
    free(text);
    return found;
}

/* 1 a rank, 0 another program of ours, -1 neither. */
static int kind_of(pid_t pid) {
    char *name;
    int kind = -1;
    if (read_of(pid, "comm", &name) > 0)
        for (int i = 0; i < N_PROGRAMS && kind < 0; i++)
            if (strncmp(name, programs[i].name, strlen(programs[i].name)) == 0) kind = programs[i].is_rank;
    free(name);
    return kind;
}

/* Sends `signal` (0: none) to its ranks and the launcher. @return how many processes of the launch there are; the last one is in *left. */
static int look(const char *launch, pid_t launcher, int signal, pid_t *left) {
    int n = 0;
    struct stat st;
    DIR *folder = opendir("/proc");
    if (!folder) return 0;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        /* what others call theirs is not believed */
        if (pid <= 0 || pid == getpid() || fstatat(dirfd(folder), e->d_name, &st, 0) || st.st_uid != geteuid()) continue;
        int kind = pid == launcher ? 1 : kind_of(pid);
        if (kind < 0 || !is_of(pid, launch)) continue;
        n++;
        *left = pid;
        if (kind != 1 || signal == 0) continue;
        kill(pid, signal);
        /* one that is stopped ends when it goes on */
        kill(pid, SIGCONT);
    }
    closedir(folder);
    return n;
}

/* Closes all but the first two: whoever waits for the end of a pipe, or for a lock, must not wait for us. */
static void close_others(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        int other = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : -1;
        if (other > 1 && other != dirfd(folder)) close(other);
    }
    closedir(folder);
}

/* mpirun, told to end, lets a second pass before it tells the ranks, and their load goes on for as long. So a process beside it, which
 * sleeps until then, tells those on this host at once. Without a pidfd (Linux before 5.3) there is none. */
static void watch_for_ranks(pid_t owner, const char *launch) {
    struct pollfd ends[2] = {{.fd = (int)syscall(SYS_pidfd_open, owner, 0), .events = POLLIN},
                             {.fd = (int)syscall(SYS_pidfd_open, getpid(), 0), .events = POLLIN}};
    if (ends[0].fd >= 0 && ends[1].fd >= 0 && fork() == 0) {
        pid_t left;
        prctl(PR_SET_NAME, "nl-watch", 0UL, 0UL, 0UL);
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        if (dup2(ends[0].fd, 0) == 0 && dup2(ends[1].fd, 1) == 1) {
            ends[0].fd = 0;
            ends[1].fd = 1;
            close_others();
            while (poll(ends, 2, -1) < 0 && errno == EINTR) continue;
            if (ends[0].revents) look(launch, 0, SIGTERM, &left);
        }
        _exit(0);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i].fd >= 0) close(ends[i].fd);
}

int nc_launched_become(pid_t owner, const char *launch, char **command) {
    if (strcmp(launch, "-") != 0) setenv(NC_LAUNCH_VARIABLE, launch, 1);
    setpgid(0, 0);
    /* a terminal that stops background processes that write to it would stop the launch */
    signal(SIGTTOU, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0UL, 0UL, 0UL);
    if (kill(owner, 0) && errno == ESRCH) return NL_EXIT_USAGE;
    if (strcmp(launch, "-") != 0) watch_for_ranks(owner, launch);
    execvp(command[0], command);
    nl_error("cannot run '%s': %s", command[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

int nc_launched_end(const char *launch, pid_t launcher) {
    static const struct timespec pause = {.tv_nsec = 20000000};
    const int64_t began_ns = nl_mono_ns();
    pid_t left = 0;
    for (int step = 0;;) {
        int is_due = nl_mono_ns() - began_ns >= steps[step].after_ns;
        int n = look(launch, launcher, is_due ? steps[step].signal : 0, &left);
        if (n == 0) return NL_EXIT_OK;
        if (is_due && ++step == N_STEPS) {
            nl_error("%d process(es) of the launch do not end, such as %d", n, (int)left);
            return NL_EXIT_FAIL;
        }
        nanosleep(&pause, NULL);
    }
}

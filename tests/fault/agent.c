/* agent LIBRARY PROGRAM FOLDER [MOST [STEP]]: drives noiselab-agent as a detector would, once for every call of fault.c and every errno,
 * failing its 1st, 2nd, ... call until none is left (or MOST); with STEP only its 1st, 1 + STEPth, ... Whatever fails, afterwards its agent
 * runs, is in its own cgroup, and the companion is gone. Prints a line per call; exit status 1 if an agent was left frozen or a companion
 * hung. */
#include "noisegen/agent/proc.h"
#include "common/page/nl_agent.h"
#include "common/sys/nl_cgroup.h"

#define MS INT64_C(1000000)
#define PATIENCE_NS (10000 * MS)

static const char *const calls[] = {"open", "fopen", "write", "rename", "mkdir",  "rmdir", "fork",
                                    "kill", "pipe",  "mmap",  "pidfd",  "signal", "perf", "fsync", "malloc"};
enum { N_CALLS = sizeof calls / sizeof *calls };
static const int errors[] = {EMFILE, ENOSPC, EIO, ENOMEM};
enum { N_ERRORS = sizeof errors / sizeof *errors };

static pid_t make_agent(void) {
    pid_t pid = fork();
    if (pid > 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "nl-fault-agent");
    for (;;) {
        int64_t until_ns = nl_mono_ns() + MS;
        while (nl_mono_ns() < until_ns);
        nl_sleep_ns(1 * MS);
    }
}

static int64_t cpu_ns(pid_t pid) {
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) ? -1 : nl_now_ns(clock);
}

static int runs_within(pid_t pid, int64_t ns) {
    int64_t before_ns = cpu_ns(pid), deadline_ns = nl_mono_ns() + ns;
    while (cpu_ns(pid) <= before_ns) {
        if (nl_mono_ns() > deadline_ns) return 0;
        nl_sleep_ns(5 * MS);
    }
    return 1;
}

static int is_moved(pid_t pid) {
    char path[4096] = "";
    if (nl_cgroup_of("", pid, "freezer", path, sizeof path) && nl_cgroup_of("", pid, "", path, sizeof path)) return 0;
    return strstr(path, "noiselab-agent") != NULL;
}

static int has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

static int await_end(pid_t pid) {
    for (int64_t deadline_ns = nl_mono_ns() + PATIENCE_NS; !has_ended(pid);) {
        if (nl_mono_ns() > deadline_ns) return -1;
        nl_sleep_ns(2 * MS);
    }
    return 0;
}

static void tell(struct nl_agent *page, pid_t companion, enum nl_agent_command command) {
    if (has_ended(companion)) return;
    nl_agent_send(page, command);
    for (int64_t deadline_ns = nl_mono_ns() + PATIENCE_NS; nl_agent_await(page, 20 * MS) == NL_AGENT_UNANSWERED;)
        if (has_ended(companion) || nl_mono_ns() > deadline_ns) return;
}

struct outcome { int is_hit, is_hung, is_frozen, is_moved; };

/* One life of a companion; `is_killed`: by SIGKILL while its agent is frozen. */
static struct outcome live(char **argv, const char *call, int number, int error, int is_killed) {
    struct outcome o = {0};
    char text[64], hit[4096], word[32], control[32];
    int fd;
    pid_t agent = make_agent();
    struct nl_agent *page = nl_agent_create(&fd);
    snprintf(hit, sizeof hit, "%s/hit", argv[3]);
    unlink(hit);
    pid_t companion = fork();
    if (companion == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int i = 0; i < 3; i++) dup2(null, i);
        snprintf(text, sizeof text, "%s:%d:%d", call, number, error);
        snprintf(word, sizeof word, "%d", (int)agent);
        snprintf(control, sizeof control, "%d", fd);
        setenv("LD_PRELOAD", argv[1], 1);
        setenv("NL_FAULT", text, 1);
        setenv("NL_FAULT_HIT", hit, 1);
        execl(argv[2], argv[2], "--control-fd", control, "--agent-pid", word, (char *)NULL);
        _exit(127);
    }
    close(fd);
    for (int64_t deadline_ns = nl_mono_ns() + PATIENCE_NS;
         !atomic_load(&page->companion_pid) && !has_ended(companion) && nl_mono_ns() < deadline_ns;)
        nl_sleep_ns(1 * MS);
    page->n_arms = 2;
    page->n_ranks = 1;
    page->ranks[0] = (struct nl_agent_rank){getpid(), getpid(), 0};
    strcpy(page->arms[0].name, "off");
    strcpy(page->arms[1].name, "on");
    strcpy(page->host, "here");
    strcpy(page->launch, "test");
    snprintf(page->directory, sizeof page->directory, "%s", argv[3]);
    snprintf(text, sizeof text, "%s/agent.here.log", argv[3]);
    unlink(text);
    static const enum nl_agent_command life[] = {NL_AGENT_PLACE, NL_AGENT_ON, NL_AGENT_OFF, NL_AGENT_BEGIN, NL_AGENT_END, NL_AGENT_ON,
                                                 NL_AGENT_BEGIN, NL_AGENT_END, NL_AGENT_OFF, NL_AGENT_QUIT};
    int n = (int)(sizeof life / sizeof *life) - is_killed;
    for (int i = 0; i < n; i++) tell(page, companion, life[i]);
    if (is_killed) kill(companion, SIGKILL);
    o.is_hung = await_end(companion) != 0;
    if (o.is_hung) kill(companion, SIGKILL);
    waitpid(companion, NULL, 0);
    o.is_frozen = !runs_within(agent, PATIENCE_NS);
    for (int i = 0; i < 1000 && (o.is_moved = is_moved(agent)); i++) nl_sleep_ns(10 * MS);
    o.is_hit = access(hit, F_OK) == 0;
    nl_page_unmap(page);
    kill(agent, SIGKILL);
    waitpid(agent, NULL, 0);
    return o;
}

int main(int argc, char **argv) {
    int n_bad = 0, n_all = 0;
    if (argc < 4) {
        fprintf(stderr, "agent: wanted LIBRARY PROGRAM FOLDER [MOST [STEP]]\n");
        return 2;
    }
    int most = argc > 4 ? atoi(argv[4]) : 1000, step = argc > 5 ? atoi(argv[5]) : 1;
    if (step < 1) step = 1;
    signal(SIGPIPE, SIG_IGN);
    for (int c = 0; c < N_CALLS; c++) {
        int n_injected = 0, n_hung = 0, n_frozen = 0, n_moved = 0;
        for (int number = 1; number <= most; number += step) {
            int is_hit = 0;
            for (int is_killed = 0; is_killed < 2; is_killed++) {
                /* all errors in turn: which it is decides nothing but words, most of the time */
                struct outcome o = live(argv, calls[c], number, errors[number % N_ERRORS], is_killed);
                is_hit |= o.is_hit;
                n_injected += o.is_hit;
                n_hung += o.is_hung;
                n_frozen += o.is_frozen;
                n_moved += o.is_moved;
                if (o.is_hung || o.is_frozen || o.is_moved)
                    printf("  %s:%d:%d%s:%s%s%s\n", calls[c], number, errors[number % N_ERRORS], is_killed ? ", killed" : "",
                           o.is_hung ? " hung" : "", o.is_frozen ? " left frozen" : "", o.is_moved ? " left in a cgroup of ours" : "");
            }
            if (!is_hit) break;
        }
        printf("%-8s %4d faults injected, %d hung, %d left frozen, %d left in another cgroup\n", calls[c], n_injected, n_hung, n_frozen,
               n_moved);
        fflush(stdout);
        n_bad += n_hung + n_frozen + n_moved;
        n_all += n_injected;
    }
    printf("agent: %d faults injected, %d bad\n", n_all, n_bad);
    return n_bad > 0;
}

/* noiselab-sh: what noiselab run leaves to C: processes that end with it, which takes the process itself that
 * is started, and what other programs in C know, too: the word that was meant, words of commands, lists of
 * nodes, what is secret. Not a command for people. */
#include "experiments/command/doctor_probes.h"
#include "common/base/nl_hostlist.h"
#include "common/base/nl_words.h"
#include "common/base/nl_secret.h"
#include "common/sys/nl_guard.h"
#include "common/sys/nl_whole.h"
#include "experiments/command/run_command.h"
#include "common/base/nl_nearest.h"

/* Processes of a launch that a script has started: they end with the script, and a script can wait for them
 * all. */

/* what its processes have in their environment, whatever started them */
#define NC_LAUNCH_VARIABLE "NOISELAB_LAUNCH"

#define SECOND_NS INT64_C(1000000000)

/* what is done to ranks that stay, and after how long; the last row is when to give up */
static const struct {
    int64_t after_ns;
    int signal;
} steps[] = {{5 * SECOND_NS, SIGTERM}, {10 * SECOND_NS, SIGKILL}, {20 * SECOND_NS, 0}};
enum { N_STEPS = sizeof steps / sizeof *steps };

/* names of ours as the kernel cuts them, ranks first */
static const char *const programs[] = {"noiselab-detect", "noiselab-accept", "noiselab-gen",
                                       "noiselab-agent",  "noiselab-record", "nl-guardian"};
enum { N_RANKS = 2, N_PROGRAMS = sizeof programs / sizeof *programs };

/* Whether it was started for that launch; what has ended and was not waited for has no environment any more.
 */
static int is_of(pid_t pid, const char *launch) {
    char path[64], wanted[4096], *entry = NULL;
    size_t size = 0;
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    snprintf(wanted, sizeof wanted, NC_LAUNCH_VARIABLE "=%s", launch);
    FILE *f = fopen(path, "re");
    while (f && !found && getdelim(&entry, &size, '\0', f) > 0)
        found = strcmp(entry, wanted) == 0;
    if (f) fclose(f);
    free(entry);
    return found;
}

/* 1 a rank, 0 another program of ours, -1 neither. */
static int kind_of(pid_t pid) {
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    nl_read_line(path, name, sizeof name);
    for (int i = 0; i < N_PROGRAMS; i++)
        if (strncmp(name, programs[i], strlen(programs[i])) == 0) return i < N_RANKS;
    return -1;
}

/* Sends `signal` (0: none) to its ranks and the launcher. @return how many processes of the launch there are;
 * the last one is in *left. */
static int look(const char *launch, pid_t launcher, int signal, pid_t *left) {
    int n = 0;
    struct stat st;
    DIR *folder = opendir("/proc");
    if (!folder) return 0;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        /* what others call theirs is not believed */
        if (pid <= 0 || pid == getpid() || fstatat(dirfd(folder), e->d_name, &st, 0) ||
            st.st_uid != geteuid())
            continue;
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

static void end_ranks(void *launch, int64_t told) {
    pid_t left;
    (void)told;
    look(launch, 0, SIGTERM, &left);
}

/* mpirun, told to end, lets a second pass before it tells the ranks, and their load goes on for as long. So a
 * process beside it, which sleeps until then, tells those on this host at once. Without a pidfd (Linux
 * before 5.3) there is none. */
static void watch_for_ranks(pid_t owner, char *launch) {
    nl_guard_watch(owner,
                   &(struct nl_guard_work){.name = "nl-watch", .act = end_ranks, .context = launch});
}

/* Waits until nothing of the launch runs on this host; ranks, and `launcher`, that stay are told to end, and
 * then killed. The load and the agent's companion are only waited for: they give back what they hold. Returns
 * after some twenty seconds whatever stays.
 * @param launcher  0: none.
 * @return a status: 0 nothing is left, 1 something is, and is named on stderr. */
static int nc_launched_end(const char *launch, pid_t launcher) {
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

/* Becomes the command (words, the last one NULL), which gets a TERM when the process that started it dies,
 * however that dies. So do its ranks on this host, at once, not when the launcher comes to it. It is a
 * process group of its own: a Ctrl-C reaches the script, which says what is to end, once.
 * @param owner   the script: where it is gone by now nothing is started.
 * @param launch  for end(); "-": none.
 * @return only on failure, a status. */
static int nc_launched_become(pid_t owner, char *launch, char **command) {
    if (strcmp(launch, "-") != 0) setenv(NC_LAUNCH_VARIABLE, launch, 1);
    setpgid(0, 0);
    /* a terminal that stops background processes that write to it would stop the launch */
    signal(SIGTTOU, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0UL, 0UL, 0UL);
    if (kill(owner, 0) && errno == ESRCH) return NL_EXIT_USAGE;
    /* of an attempt whose script was killed something may still be on its way out */
    if (strcmp(launch, "-") != 0) {
        nc_launched_end(launch, 0);
        watch_for_ranks(owner, launch);
    }
    execvp(command[0], command);
    nl_error("cannot run '%s': %s", command[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

static int usage(void) {
    nl_error("usage: noiselab-sh split TEXT | nearest WORD < WORDS | "
             "owned PID LAUNCH COMMAND... | end LAUNCH [PID] | redact < LINES | nodes LIST | job-nodes");
    return NL_EXIT_USAGE;
}

/* The words are lines of stdin; the nearest one is printed. Status 1: none is near. */
static int nearest(const char *word) {
    static char best[256];
    char *line = NULL;
    size_t size = 0;
    struct nl_nearest n;
    nl_nearest_begin(&n, word);
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        nl_nearest_offer(&n, line);
        if (n.best != line) continue;
        snprintf(best, sizeof best, "%s", line);
        n.best = best;
    }
    free(line);
    if (!n.best) return NL_EXIT_FAIL;
    puts(best);
    return NL_EXIT_OK;
}

/* The words of a command, as programs here split it, each with a 0 at its end. */
static int split(const char *text) {
    char **words, reason[128];
    if (nl_words_split(text, &words, reason, sizeof reason) < 0) {
        nl_error("'%s': %s", text, reason);
        return NL_EXIT_USAGE;
    }
    for (char **word = words; *word; word++)
        fwrite(*word, 1, strlen(*word) + 1, stdout);
    free(words);
    return fflush(stdout) ? NL_EXIT_USAGE : NL_EXIT_OK;
}

/* Whether `scontrol` reads the list of the job as it was read here; where it is missing, or cannot be asked,
 * nothing speaks against it. */
static int check_by_scontrol(const char *text, const struct nl_hostlist *list) {
    enum { SECONDS = 3, BYTES = 1 << 23 };
    char *said = malloc(BYTES), *save = NULL;
    int i = 0, differs = 0;
    if (!said) return 0;
    if (nc_run((const char *const[]){"scontrol", "show", "hostnames", text, NULL}, SECONDS, said, BYTES, NULL,
               0))
        said[0] = '\0';
    for (char *line = strtok_r(said, "\n", &save); line && !differs; line = strtok_r(NULL, "\n", &save), i++)
        differs = i == list->n || strcmp(line, list->names[i]) != 0;
    if (i && (differs || i != list->n))
        nl_error("SLURM_JOB_NODELIST: scontrol makes other nodes of '%.200s'", text);
    free(said);
    return i && (differs || i != list->n) ? -1 : 0;
}

/* The nodes of a list, one on a line; NULL: of this job. */
static int nodes(const char *text) {
    struct nl_hostlist list;
    char reason[256];
    const char *of_job = text ? NULL : getenv("SLURM_JOB_NODELIST");
    if (!text && (!of_job || !*of_job)) {
        nl_error("SLURM_JOB_NODELIST is not set: its nodes are not known");
        return NL_EXIT_USAGE;
    }
    if (nl_hostlist_read(text ? text : of_job, NL_HOSTLIST_MOST, &list, reason, sizeof reason)) {
        nl_error("%s%s", text ? "" : "SLURM_JOB_NODELIST: ", reason);
        return NL_EXIT_USAGE;
    }
    int failed = of_job && check_by_scontrol(of_job, &list);
    for (int i = 0; i < list.n && !failed; i++)
        puts(list.names[i]);
    nl_hostlist_free(&list);
    return failed || fflush(stdout) ? NL_EXIT_USAGE : NL_EXIT_OK;
}

/* The lines of stdin with the secrets of their fields, which tabs divide, replaced. Status 1: there were
 * some. */
static int redact(void) {
    char *line = NULL, *out = NULL;
    size_t size = 0;
    int found = 0;
    while (getline(&line, &size, stdin) > 0) {
        char *larger = realloc(out, 4 * size + sizeof NL_SECRET_MARK), *end = NULL;
        if (!larger) break;
        out = larger;
        line[strcspn(line, "\n")] = '\0';
        const char *before = NULL;
        for (char *field = line; field; field = end) {
            end = strchr(field, '\t');
            if (end) *end++ = '\0';
            found |= nl_secret_redact(field, before, out, 4 * size);
            printf("%s%s", out, end ? "\t" : "\n");
            before = field;
        }
    }
    int failed = ferror(stdin) || !feof(stdin) || fflush(stdout);
    NL_FREE(line, out);
    if (failed) nl_error("redact: cannot read or write");
    return failed ? NL_EXIT_USAGE : found ? NL_EXIT_FAIL : NL_EXIT_OK;
}

int main(int argc, char **argv) {
    nl_set_program("noiselab-sh");
    if (argc == 3 && strcmp(argv[1], "split") == 0) return split(argv[2]);
    if (argc == 3 && strcmp(argv[1], "nearest") == 0) return nearest(argv[2]);
    if (argc == 2 && strcmp(argv[1], "redact") == 0) return redact();
    if (argc == 3 && strcmp(argv[1], "nodes") == 0) return nodes(argv[2]);
    if (argc == 2 && strcmp(argv[1], "job-nodes") == 0) return nodes(NULL);
    if (argc > 4 && strcmp(argv[1], "owned") == 0)
        return nc_launched_become((pid_t)atoi(argv[2]), argv[3], argv + 4);
    if (argc > 2 && strcmp(argv[1], "end") == 0)
        return nc_launched_end(argv[2], argc > 3 ? (pid_t)atoi(argv[3]) : 0);
    return usage();
}

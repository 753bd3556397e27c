#include "detector/acceptance/others.h"
#include "detector/acceptance/accept_run.h"
#include "common/base/nl_json.h"
#include "common/sys/nl_place.h"
#include "common/sys/nl_whole.h"
#include "detector/treatment/child.h"

enum { LIST_BYTES = 24576, MOST_BYTES = 1 << 20 };
#define GAP         "1ms" /* on the scale of a program's steps: what comes closer together is one hit */
#define PATIENCE_NS INT64_C(20000000000)

/* The CPUs that this node's processes may use, as "0-3,8"; their number, 0: unknown. */
static int list_cpus(char *list, size_t size) {
    struct nl_place *place;
    if (nl_place_open(&place)) return 0;
    int n = nl_place_count(place);
    nl_place_list(place, list, size);
    nl_place_close(place);
    return n;
}

static void become(int fd, const char *cpus, const char *own, const char *duration) {
    static char all_but_own[LIST_BYTES + 80];
    char program[PATH_MAX + 64];
    nd_child_program("noiselab-record", NULL, program, sizeof program);
    snprintf(all_but_own, sizeof all_but_own, "%s:except=%s", cpus, own);
    const char *const argv[] = {program,  "--json",    "--source",   "auto:group-gap=" GAP,
                                "--cpus", all_but_own, "--duration", duration,
                                NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0)
        _exit(127);
    execvp(program, (char *const *)(uintptr_t)argv);
    _exit(127);
}

void nx_others_start(struct nx_others *o, const struct nd_launcher *launcher, int64_t longest_ns) {
    static char cpus[LIST_BYTES];
    char own[64], duration[32];
    int ends[2];
    o->fd = -1;
    o->is_first = launcher->local_rank == 0;
    if (!o->is_first) return;
    o->n_cpus = list_cpus(cpus, sizeof cpus);
    if (o->n_cpus == 0 || pipe2(ends, O_CLOEXEC)) {
        snprintf(o->reason, sizeof o->reason, "%s",
                 o->n_cpus == 0 ? "the node's CPUs are not known" : strerror(errno));
        return;
    }
    /* without a launcher our parent is a shell, whose other children are not ours */
    if (strcmp(launcher->name, "none") == 0)
        snprintf(own, sizeof own, "%d", (int)getpid());
    else
        snprintf(own, sizeof own, "%d,%d", (int)getpid(), (int)getppid());
    snprintf(duration, sizeof duration, "%llds", (long long)(longest_ns / 1000000000 + 1));
    o->pid = fork();
    if (o->pid == 0) become(ends[1], cpus, own, duration);
    close(ends[1]);
    o->fd = ends[0];
    if (o->pid > 0) return;
    snprintf(o->reason, sizeof o->reason, "noiselab-record cannot be started: %s", strerror(errno));
    o->pid = 0;
}

/* What it says, NULL with a reason. */
static json_t *read_record(struct nx_others *o) {
    int status = 0;
    json_t *record = NULL;
    char *text = malloc(MOST_BYTES);
    kill(o->pid, SIGTERM);
    size_t n = text ? nl_read_fd(o->fd, text, MOST_BYTES, PATIENCE_NS) : 0;
    close(o->fd);
    kill(o->pid, SIGKILL);
    pid_t ended = waitpid(o->pid, &status, 0);
    o->pid = 0;
    if (n > 0 && !(record = json_loads(text, 0, NULL)))
        nl_say(o->reason, sizeof o->reason, "noiselab-record was cut short");
    else if (n == 0 && ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        nl_say(o->reason, sizeof o->reason, "noiselab-record cannot be run");
    else if (n == 0)
        nl_say(o->reason, sizeof o->reason, "noiselab-record said nothing (status %d)",
               ended > 0 ? status : -1);
    free(text);
    return record;
}

char *nx_others_stop(struct nx_others *o) {
    if (!o->is_first) return NULL;
    json_t *record = o->pid > 0 ? read_record(o) : NULL;
    json_t *json =
        json_pack("{s:i, s:o, s:o, s:I, s:b}", "n_cpus", o->n_cpus, "reason",
                  record ? json_null() : nl_json_text(o->reason), "record", record ? record : json_null(),
                  "waited_ns", (json_int_t)o->waited_ns, "was_quiet", o->was_quiet);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

/* fork: short-lived children, as collectors that are shell scripts make them. posix_spawn and not a bare
 * vfork: loading the program is most of the cost, and our signal handlers must not run in a child that still
 * shares our memory. The children inherit this thread's CPU, and their time is charged to the load by way of
 * extra_cpu_ns. They have no death signal, as they end by themselves within a millisecond, and no file of
 * ours but the first three. */
#include <spawn.h>

#include "noisegen/kinds/kinds.h"

struct fork_state {
    const char *program;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int64_t children_ns; /* CPU time of all children so far */
    int error;
};

static const char *find_program(void) {
    static const char *const places[] = {"/bin/true", "/usr/bin/true"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0) return places[i];
    return NULL;
}

static const char *supported(void) {
    return find_program() ? NULL : "there is neither /bin/true nor /usr/bin/true";
}

/* Children begin with no signal blocked or ignored, and without files of ours. */
static int set_up_children(struct fork_state *s) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int rc = posix_spawnattr_setsigdefault(&s->attributes, &all);
    if (!rc) rc = posix_spawnattr_setsigmask(&s->attributes, &none);
    if (!rc) rc = posix_spawnattr_setflags(&s->attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    if (!rc) rc = posix_spawn_file_actions_addclosefrom_np(&s->actions, 3);
#endif
#endif
    return rc;
}

/* A parent that ignores its children's end (and handed that down to us) would leave us without their CPU
 * time. */
static void do_not_ignore_children(void) {
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);
}

static void clean_up(void *state) {
    struct fork_state *s = state;
    posix_spawn_file_actions_destroy(&s->actions);
    posix_spawnattr_destroy(&s->attributes);
}

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    (void)options;
    struct fork_state *s = state;
    s->program = find_program();
    posix_spawnattr_init(&s->attributes);
    posix_spawn_file_actions_init(&s->actions);
    int error = s->program ? set_up_children(s) : ENOENT;
    if (error) return nl_say(reason, reason_size, "cannot run true: %s", strerror(error));
    do_not_ignore_children();
    return 0;
}

static int64_t time_ns(struct timeval t) {
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static int64_t work(void *state) {
    struct fork_state *s = state;
    char name[] = "true", *arguments[] = {name, NULL};
    char *environment[] = {NULL}; /* ours may preload a library, and its cost would be that library's */
    struct rusage usage;
    pid_t child, ended;
    s->error = posix_spawn(&child, s->program, &s->actions, &s->attributes, arguments, environment);
    if (s->error) return -1;
    do
        ended = wait4(child, NULL, 0, &usage);
    while (ended < 0 && errno == EINTR);
    if (ended < 0) {
        s->error = errno;
        return -1;
    }
    s->children_ns += time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
    return 1;
}

static const char *failure(const void *state, char *text, size_t size) {
    const struct fork_state *s = state;
    snprintf(text, size, "cannot run %s: %s", s->program, strerror(s->error));
    return text;
}

static int64_t extra_cpu_ns(const void *state) {
    const struct fork_state *s = state;
    return s->children_ns;
}

const struct ng_kind ng_kind_fork = {
    .name = "fork",
    .help = "short-lived child processes, as shell collectors make them",
    .unit = "children",
    .needs = "the program true",
    .period_ns = 1000000000,
    .supported = supported,
    .state_bytes = sizeof(struct fork_state),
    .prepare = prepare,
    .work = work,
    .failure = failure,
    .extra_cpu_ns = extra_cpu_ns,
    .clean_up = clean_up,
};

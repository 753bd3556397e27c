#include "noisegen/agent/proc.h"
#include "common/sys/nl_cgroup.h"

int na_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return n < 0 ? -1 : 0;
}

/* ---- one process ---- */

struct na_process na_process_of(pid_t pid) {
    struct nl_stat s;
    return nl_stat_read(pid, &s) ? (struct na_process){pid, 0} : (struct na_process){pid, s.start_ticks};
}

/* A zombie whose other threads go on is not gone: its first thread has ended, that is all. */
static int is_gone(const struct nl_stat *s) {
    return s->state == 'X' || (s->state == 'Z' && s->n_threads <= 1);
}

static int is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

int na_process_lives(struct na_process p) {
    struct nl_stat s;
    errno = 0;
    if (nl_stat_read(p.pid, &s)) return is_shortage(errno); /* what cannot be read is not gone */
    return s.start_ticks == p.start_ticks && !is_gone(&s);
}

int na_is_ancestor(pid_t pid) {
    struct nl_stat s;
    for (pid_t at = getpid(); at > 0; at = s.ppid) {
        if (at == pid) return 1;
        if (nl_stat_read(at, &s)) return 0;
    }
    return 0;
}

int na_process_signal(struct na_process p, int signal) {
    /* the descriptor holds on to one process: what is checked after it was opened is what gets the signal */
    int fd = nl_pidfd(p.pid);
    /* letting one run that was stopped must not fail for want of a descriptor; what runs already does not
     * mind */
    if (fd < 0 && errno != ENOSYS && !(signal == SIGCONT && is_shortage(errno))) return -1;
    int rc = -1, lives = na_process_lives(p);
    errno = ESRCH;
    if (lives) rc = fd < 0 ? kill(p.pid, signal) : (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return rc;
}

/* ---- sets ---- */

int na_set_has(const struct na_set *set, pid_t pid) {
    for (int i = 0; i < set->n; i++)
        if (set->p[i].pid == pid) return 1;
    return 0;
}

int na_set_add(struct na_set *set, pid_t pid) {
    struct nl_stat s;
    if (na_set_has(set, pid) || nl_stat_read(pid, &s) || is_gone(&s)) return 0;
    if (NL_GROW(set->p, set->n, set->room)) return -1;
    set->p[set->n++] = (struct na_process){pid, s.start_ticks};
    return 1;
}

struct adding { struct na_set *set; pid_t parent; };

static int add_one(void *context, pid_t pid) {
    struct adding *a = context;
    return na_set_add(a->set, pid) < 0 ? -2 : 0;
}

static int add_children_of_thread(void *context, pid_t tid) {
    struct adding *a = context;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)a->parent, (int)tid);
    return nl_each_line(path, add_one, a) == -2 ? -2 : 0;
}

static int add_if_child(void *context, pid_t pid) {
    struct adding *a = context;
    struct nl_stat s;
    return nl_stat_read(pid, &s) == 0 && s.ppid == a->parent && na_set_add(a->set, pid) < 0 ? -2 : 0;
}

int na_set_add_children(struct na_set *set, pid_t pid) {
    struct adding a = {set, pid};
    char path[64];
    int before = set->n;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    /* a kernel without CONFIG_PROC_CHILDREN: ask everybody who the parent is */
    int rc = access("/proc/thread-self/children", F_OK) ? nl_each_number("/proc", add_if_child, &a)
                                                        : nl_each_number(path, add_children_of_thread, &a);
    return rc == -2 ? -1 : set->n - before;
}

int na_set_add_descendants(struct na_set *set) {
    int before = set->n;
    /* those added are looked at, too; then all again, as new ones may have come meanwhile */
    for (int n_seen = -1; n_seen != set->n;) {
        n_seen = set->n;
        for (int i = 0; i < set->n; i++)
            if (na_set_add_children(set, set->p[i].pid) < 0) return -1;
    }
    return set->n - before;
}

int na_set_add_cgroup(struct na_set *set, const char *directory) {
    struct adding a = {set, 0};
    int before = set->n;
    return nl_cgroup_members(directory, add_one, &a) == -2 ? -1 : set->n - before;
}

int na_set_prune(struct na_set *set) {
    int n = 0;
    for (int i = 0; i < set->n; i++)
        if (na_process_lives(set->p[i])) set->p[n++] = set->p[i];
    return set->n = n;
}

void na_set_free(struct na_set *set) {
    free(set->p);
    *set = (struct na_set){0};
}

#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"

enum { ENTRIES_BYTES = 3072 /* of a directory, at once */ };

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h; part of what /proc/PID/stat promises */

int nl_stat_parse(const char *text, struct nl_stat *s) {
    unsigned long long dead_faults, start;
    long long user, system, dead_user, dead_system, rss;
    unsigned flags;
    int ppid;
    const char *open = strchr(text, '('),
               *close = strrchr(text, ')'); /* the name may hold anything, brackets too */
    if (!open || !close || close < open) return -1;
    snprintf(s->name, sizeof s->name, "%.*s", (int)(close - open - 1), open + 1);
    /* after the name: (3) state ppid ... (9) flags ... (14) utime stime ... (20) threads ... (22) start ...
     * (39) CPU ... (41) policy */
    if (sscanf(close + 1,
               " %c %d %*d %*d %*d %*d %u %*u %llu %*u %*u %lld %lld %lld %lld %*d %*d %d %*d %llu %*u %lld "
               "%*u %*u %*u %*u %*u %*u %*u %*u"
               " %*u %*u %*u %*u %*u %*d %d %*u %u",
               &s->state, &ppid, &flags, &dead_faults, &user, &system, &dead_user, &dead_system,
               &s->n_threads, &start, &rss, &s->cpu, &s->policy) != 13)
        return -1;
    s->ppid = ppid;
    s->is_kernel = (flags & PF_KTHREAD) != 0;
    s->dead_children_faults = dead_faults;
    s->ticks = user + system;
    s->dead_children_ticks = dead_user + dead_system;
    s->start_ticks = start;
    s->rss_kib = rss * (sysconf(_SC_PAGESIZE) / 1024);
    return 0;
}

static int read_stat(const char *path, struct nl_stat *s) {
    char text[1024];
    return nl_read(path, text, sizeof text) > 0 ? nl_stat_parse(text, s) : -1;
}

int nl_stat_read(pid_t pid, struct nl_stat *stat) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return read_stat(path, stat);
}

int nl_stat_read_thread(pid_t pid, pid_t tid, struct nl_stat *stat) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    return read_stat(path, stat);
}

/* The buffer of readdir() holds 1,365 processes, for which the kernel takes more than a millisecond without a
 * pause; that of this one some 130. */
long nl_next_numbers(int fd, int (*take)(void *, pid_t), void *context, int *rc) {
    _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
    long n_bytes = syscall(SYS_getdents64, fd, entries, sizeof entries);
    *rc = 0;
    for (long at = 0; *rc == 0 && at < n_bytes;) {
        const struct dirent64 *e = (const void *)(entries + at);
        char *end;
        long number = strtol(e->d_name, &end, 10);
        at += e->d_reclen;
        if (number > 0 && !*end) *rc = take(context, (pid_t)number);
    }
    return n_bytes;
}

int nl_each_number(const char *directory, int (*take)(void *, pid_t), void *context) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    if (fd < 0) return -1;
    while (nl_next_numbers(fd, take, context, &rc) > 0 && rc == 0)
        ;
    close(fd);
    return rc;
}

int nl_each_line(const char *file, int (*take)(void *, pid_t), void *context) {
    FILE *f = fopen(file, "re");
    int number, rc = 0;
    if (!f) return -1;
    while (rc == 0 && fscanf(f, "%d", &number) == 1)
        rc = take(context, (pid_t)number);
    fclose(f);
    return rc;
}

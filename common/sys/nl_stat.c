#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"

enum { ENTRIES_BYTES = 3072 /* of a directory, at once */ };

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h; part of what /proc/PID/stat promises */

/* The number at *p, which goes on behind it. 0, -1 where there is none. */
static int next_number(const char **p, uint64_t *number) {
    const char *at = *p + strspn(*p, " ");
    int is_negative = *at == '-';
    at += is_negative;
    if (*at < '0' || *at > '9') return -1;
    for (*number = 0; *at >= '0' && *at <= '9'; at++) *number = *number * 10 + (uint64_t)(*at - '0');
    if (is_negative) *number = -*number;
    *p = at;
    return 0;
}

/* Fields, by their numbers in proc(5). No sscanf, which takes ten times as long: who watches tasks reads
 * thousands of such lines. */
enum {
    FIRST_FIELD = 4,
    PPID = FIRST_FIELD,
    FLAGS = 9,
    DEAD_FAULTS = 11,
    USER = 14,
    SYSTEM,
    DEAD_USER,
    DEAD_SYSTEM,
    THREADS = 20,
    START = 22,
    RSS = 24,
    CPU = 39,
    POLICY = 41
};

int nl_stat_parse(const char *text, struct nl_stat *s) {
    uint64_t field[POLICY + 1];
    const char *open = strchr(text, '('),
               *close = strrchr(text, ')'); /* the name may hold anything, brackets too */
    if (!open || !close || close < open) return -1;
    const char *p = close + 1 + strspn(close + 1, " ");
    if (!*p) return -1;
    s->state = *p++;
    for (int i = FIRST_FIELD; i <= POLICY; i++)
        if (next_number(&p, &field[i])) return -1;
    snprintf(s->name, sizeof s->name, "%.*s", (int)(close - open - 1), open + 1);
    s->ppid = (pid_t)field[PPID];
    s->is_kernel = (field[FLAGS] & PF_KTHREAD) != 0;
    s->dead_children_faults = field[DEAD_FAULTS];
    s->ticks = (int64_t)(field[USER] + field[SYSTEM]);
    s->dead_children_ticks = (int64_t)(field[DEAD_USER] + field[DEAD_SYSTEM]);
    s->n_threads = (int)field[THREADS];
    s->start_ticks = field[START];
    s->rss_kib = (int64_t)field[RSS] * (sysconf(_SC_PAGESIZE) / 1024);
    s->cpu = (int)field[CPU];
    s->policy = (unsigned)field[POLICY];
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

/* Values of files and CPUs of tasks: read, written, read back, given back. */
#include "noisegen/agent/kept.h"
#include "noisegen/agent/spawn.h"
#include "noisegen/agent/undo.h"

#include <fnmatch.h>

#include "common/base/nl_units.h"

enum { CPU_WORDS = 1024 };
#define TICK_NS INT64_C(10000000)

/* ---- values of files ---- */

/* The word in brackets, where there is one; else the text as it is. In place. */
static char *chosen(char *text) {
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (!close) return text;
    *close = '\0';
    return open + 1;
}

int na_value_read(const char *path, char *value, size_t size) {
    char text[4096];
    struct stat st;
    if (stat(path, &st)) return -1;
    if (S_ISDIR(st.st_mode)) return errno = EISDIR, -1;
    int n = nl_read(path, text, sizeof text);
    if (n < 0) return -1;
    size_t length = strcspn(text, "\n");
    errno = EFBIG;
    if (n == (int)sizeof text - 1 || (text[length] && text[length + 1])) return -1;
    text[length] = '\0';
    const char *word = chosen(text);
    return snprintf(value, size, "%s", word) < (int)size ? 0 : -1;
}

int na_cpus_parse(const char *text, cpu_set_t *cpus) {
    static _Thread_local int numbers[CPU_WORDS];
    char list[NA_UNDO_VALUE_BYTES];
    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list) return -1;
    for (char *c = list; *c; c++)
        if (*c == '+') *c = ',';
    int n = nl_parse_list(list, 0, CPU_SETSIZE - 1, 1, numbers, CPU_WORDS);
    CPU_ZERO(cpus);
    for (int i = 0; i < n; i++)
        CPU_SET((size_t)numbers[i], cpus);
    return n > 0 ? 0 : -1;
}

/* Masks of CPUs come back with zeros and commas: ff as 00000000,000000ff. */
static int is_same_mask(const char *a, const char *b) {
    static const char digits[] = "0123456789abcdefABCDEF,";
    if (strspn(a, digits) != strlen(a) || strspn(b, digits) != strlen(b)) return 0;
    for (a += strspn(a, "0,"), b += strspn(b, "0,");; a++, b++) {
        while (*a == ',')
            a++;
        while (*b == ',')
            b++;
        if (!*a || !*b || tolower((unsigned char)*a) != tolower((unsigned char)*b)) return *a == *b;
    }
}

/* "1" is "1", and "0,1" of CPUs is "0-1". Numbers may come back in another form: 0x1 as 1, tabs as blanks. */
static int is_same_value(const char *a, const char *b, int is_cpu_list) {
    cpu_set_t of_a, of_b;
    char *end_a, *end_b;
    if (strcmp(a, b) == 0) return 1;
    if (is_cpu_list)
        return na_cpus_parse(a, &of_a) == 0 && na_cpus_parse(b, &of_b) == 0 && CPU_EQUAL(&of_a, &of_b);
    if (*a && *b && is_same_mask(a, b)) return 1;
    for (; *a && *b; a = end_a, b = end_b) {
        long long x = strtoll(a, &end_a, 0), y = strtoll(b, &end_b, 0);
        if (end_a == a || end_b == b || x != y) return 0;
    }
    return strspn(a, " \t") == strlen(a) && strspn(b, " \t") == strlen(b);
}

int na_value_write(const char *path, const char *value, int is_cpu_list, char *reason, int size) {
    char now[NA_UNDO_VALUE_BYTES], line[NA_UNDO_VALUE_BYTES + 1];
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC); /* a file of the kernel does not heed O_TRUNC */
    if (fd < 0) return nl_say(reason, size, "%s cannot be written: %s", path, strerror(errno));
    int length = snprintf(line, sizeof line, "%s\n", value);
    ssize_t n = write(fd, line, (size_t)length);
    int error = errno;
    close(fd);
    if (n != length)
        return nl_say(reason, size, "%s does not take '%s': %s", path, value,
                      n < 0 ? strerror(error) : "it was cut");
    if (na_value_read(path, now, sizeof now))
        return nl_say(reason, size, "%s cannot be read back: %s", path, strerror(errno));
    if (is_same_value(value, now, is_cpu_list)) return 0;
    return nl_say(reason, size, "%s took '%s' and now says '%s'", path, value, now);
}

/* ---- CPUs of tasks ---- */

struct sweep {
    struct na_undo *undo;
    int n;
    pid_t process;
    int (*take)(struct sweep *s, pid_t tid);
    const cpu_set_t *cpus;
};

static int each_task(void *context, pid_t tid) {
    struct sweep *s = context;
    return s->take(s, tid);
}

static int each_process(void *context, pid_t pid) {
    struct sweep *s = context;
    const struct na_undo *u = s->undo;
    char path[64], name[64];
    int is_spared = pid == u->companion.pid || pid == u->guardian.pid || pid == getpid();
    for (int i = 0; i < u->n_spared; i++)
        is_spared |= pid == u->spared[i];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (is_spared || fnmatch(u->confine_pattern, nl_read_line(path, name, sizeof name), 0) != 0) return 0;
    s->process = pid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    nl_each_number(path, each_task, s);
    return 0;
}

static int is_noted(const struct na_undo *u, struct na_process task) {
    for (int i = 0; i < atomic_load(&u->n_roamers); i++)
        if (na_is_same(u->roamers[i].task, task)) return 1;
    return 0;
}

static int is_confined(const struct na_undo *u, const cpu_set_t *cpus) {
    for (int i = 0; i < u->n_confines; i++)
        if (CPU_EQUAL(cpus, &u->confines[i])) return 1;
    return 0;
}

/* Notes where it may run, unless it is noted. A thread that the kernel keeps on its CPU cannot be moved, and
 * is not noted. */
static int note_task(struct sweep *s, pid_t tid) {
    struct na_undo *u = s->undo;
    struct na_roamer found = {.task = na_process_of(tid)};
    int32_t n = atomic_load(&u->n_roamers);
    if (found.task.start_ticks == 0 || is_noted(u, found.task) ||
        sched_getaffinity(tid, sizeof found.cpus, &found.cpus))
        return 0;
    /* the same set again: whether it may be moved at all */
    if (is_confined(u, &found.cpus) || sched_setaffinity(tid, sizeof found.cpus, &found.cpus)) return 0;
    if (n == NA_UNDO_TASKS) return s->n = -1;
    u->roamers[n] = found;
    atomic_store(&u->n_roamers, n + 1);
    return 0;
}

int na_confine(struct na_undo *u, const cpu_set_t *cpus, char *reason, int size) {
    struct sweep s = {.undo = u, .take = note_task};
    int before = atomic_load(&u->n_roamers), n = 0;
    if (before == 0) u->confined_ticks = (uint64_t)(nl_now_ns(CLOCK_BOOTTIME) / TICK_NS);
    nl_each_number("/proc", each_process, &s);
    if (s.n < 0) return nl_say(reason, size, "there are more than %d tasks", NA_UNDO_TASKS);
    atomic_store(&u->must_reset, 1);
    if (atomic_load(&u->n_roamers) != before && na_journal_note(u))
        return nl_say(reason, size, "the journal cannot be written: %s", strerror(errno));
    for (int i = 0; i < atomic_load(&u->n_roamers); i++) {
        const struct na_roamer *r = &u->roamers[i];
        if (!na_process_lives(r->task)) continue;
        if (sched_setaffinity(r->task.pid, sizeof *cpus, cpus) == 0)
            n++;
        else if (errno != ESRCH)
            return nl_say(reason, size, "task %d cannot be confined: %s", (int)r->task.pid, strerror(errno));
    }
    return n > 0 ? n : nl_say(reason, size, "no task that can be moved is called '%s'", u->confine_pattern);
}

/* One that was started meanwhile has what its parent had: it gets the parent's, or else may run anywhere. */
static int release_child(struct sweep *s, pid_t tid) {
    const struct na_undo *u = s->undo;
    struct na_process task = na_process_of(tid);
    struct nl_stat stat;
    cpu_set_t now, wanted;
    if (task.start_ticks < u->confined_ticks || is_noted(u, task) ||
        sched_getaffinity(tid, sizeof now, &now) || !is_confined(u, &now))
        return 0;
    memset(&wanted, 0xff, sizeof wanted);
    pid_t parent = tid != s->process ? s->process : nl_stat_read(tid, &stat) ? 0 : stat.ppid;
    for (int i = 0; i < atomic_load(&u->n_roamers); i++)
        if (u->roamers[i].task.pid == parent) wanted = u->roamers[i].cpus;
    sched_setaffinity(tid, sizeof wanted, &wanted);
    return 0;
}

int na_confine_end(struct na_undo *u) {
    struct sweep s = {.undo = u, .take = release_child};
    int error = 0;
    for (int i = 0; i < atomic_load(&u->n_roamers); i++) {
        const struct na_roamer *r = &u->roamers[i];
        if (!na_process_lives(r->task) || sched_setaffinity(r->task.pid, sizeof r->cpus, &r->cpus) == 0 ||
            errno == ESRCH)
            continue;
        error = errno;
    }
    if (atomic_load(&u->n_roamers) > 0) nl_each_number("/proc", each_process, &s);
    errno = error;
    return error ? -1 : 0;
}

int na_undo_settings(struct na_undo *u, char *problem, int size) {
    char now[NA_UNDO_VALUE_BYTES], why[512];
    int rc = 0;
    if (!atomic_load(&u->must_reset)) return 0;
    for (int i = 0; i < u->n_kept; i++) {
        const struct na_kept *k = &u->kept[i];
        if (access(k->path, F_OK) && errno == ENOENT)
            continue; /* a device or a module has gone, and its setting with it */
        if (na_value_read(k->path, now, sizeof now) == 0 && is_same_value(k->value, now, k->is_cpu_list))
            continue;
        if (na_value_write(k->path, k->value, k->is_cpu_list, why, sizeof why) && rc == 0)
            rc = nl_say(problem, size, "%s", why);
    }
    if (na_confine_end(u) && rc == 0)
        rc = nl_say(problem, size, "confined tasks cannot be let go: %s", strerror(errno));
    if (rc == 0) {
        atomic_store(&u->n_roamers, 0);
        atomic_store(&u->must_reset, 0);
    }
    return rc;
}

#include "common/sys/nl_cgroup.h"
#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"
#include "common/base/nl_units.h"

/* Whether a comma-separated list has the word. */
static int has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0) return 1;
    return 0;
}

int nl_cgroup_of(const char *root, pid_t pid, const char *controller, char *path, int size) {
    char name[PATH_MAX], line[PATH_MAX + 256];
    int found = 0;
    if (snprintf(name, sizeof name, "%s/proc/%d/cgroup", root, (int)pid) >= (int)sizeof name) return -1;
    FILE *f = fopen(name, "re");
    if (!f) return -1;
    while (!found && fgets(line, sizeof line, f)) {
        /* number:controllers:path */
        char *controllers = strchr(line, ':'), *where = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!where) continue;
        *where++ = '\0';
        where[strcspn(where, "\n")] = '\0';
        if (*controller ? !has_word(controllers + 1, controller) : controllers[1] != '\0') continue;
        found = snprintf(path, (size_t)size, "%s", where) < size ? 1 : -1;
    }
    fclose(f);
    return found == 1 ? 0 : -1;
}

/* The first mount of a hierarchy, and what of the hierarchy is seen there ("/", or in a container a part). 0,
 * -1. */
static int find_mount(const char *root, const char *controller, char mount[PATH_MAX], char part[PATH_MAX]) {
    char name[PATH_MAX], line[3 * PATH_MAX], type[64], options[1024];
    int found = 0;
    if (snprintf(name, sizeof name, "%s/proc/self/mountinfo", root) >= (int)sizeof name) return -1;
    FILE *f = fopen(name, "re");
    if (!f) return -1;
    while (!found && fgets(line, sizeof line, f)) {
        /* number parent device part mount options... - type source options */
        char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", part, mount) != 2) continue;
        if (sscanf(rest, " - %63s %*s %1023s", type, options) != 2) continue;
        found = *controller ? strcmp(type, "cgroup") == 0 && has_word(options, controller)
                            : strcmp(type, "cgroup2") == 0;
    }
    fclose(f);
    return found ? 0 : -1;
}

int nl_cgroup_mount(const char *root, const char *controller, char *path, int size) {
    char mount[PATH_MAX], part[PATH_MAX];
    return find_mount(root, controller, mount, part) == 0 &&
                   snprintf(path, (size_t)size, "%s%s", root, mount) < size
               ? 0
               : -1;
}

int nl_cgroup_find(const char *path, char *directory) {
    static const char *const hierarchies[] = {"freezer", "", "name=systemd", "cpu"};
    char mount[PATH_MAX], tried[2 * PATH_MAX];
    for (int i = path[0] == '/' ? -1 : 0; i < (int)(sizeof hierarchies / sizeof *hierarchies); i++) {
        mount[0] = '\0';
        if (i >= 0 && nl_cgroup_mount("", hierarchies[i], mount, sizeof mount)) continue;
        snprintf(tried, sizeof tried, "%s/%s/cgroup.procs", mount, path + strspn(path, "/"));
        if (access(tried, R_OK)) continue;
        *strrchr(tried, '/') = '\0';
        return realpath(tried, directory) ? 0 : -1;
    }
    return -1;
}

int nl_cgroup_each_up(const char *root, pid_t pid, const char *controller,
                      void (*visit)(void *context, const char *path, int depth), void *context) {
    char mount[PATH_MAX], part[PATH_MAX], own[PATH_MAX], folder[3 * PATH_MAX];
    if (find_mount(root, controller, mount, part) || nl_cgroup_of(root, pid, controller, own, sizeof own))
        return -1;
    size_t hidden = strcmp(part, "/") == 0 ? 0 : strlen(part);
    /* a path that is not of the part that is seen is of another name space: what is mounted is all there is
     */
    int is_seen = strncmp(own, part, hidden) == 0 && strcmp(own, "/") != 0 && !strstr(own, "/..") &&
                  (!hidden || own[hidden] == '/');
    int top = snprintf(folder, sizeof folder, "%s%s", root, mount);
    if (is_seen) snprintf(folder + top, sizeof folder - (size_t)top, "%s", own + hidden);
    for (int depth = 0;; depth++) {
        visit(context, folder, depth);
        char *slash = strrchr(folder + top, '/');
        if (!slash) return 0;
        *slash = '\0';
    }
}

int nl_cgroup_members(const char *directory, int (*take)(void *context, pid_t pid), void *context) {
    char path[PATH_MAX];
    DIR *d = opendir(directory);
    struct dirent *e;
    if (!d) return -1;
    int rc = snprintf(path, sizeof path, "%s/cgroup.procs", directory) < (int)sizeof path
                 ? nl_each_line(path, take, context)
                 : 0;
    for (rc = rc == -1 ? 0 : rc; rc == 0 && (e = readdir(d));) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", directory, e->d_name) >= (int)sizeof path) continue;
        rc = nl_cgroup_members(path, take, context);
        if (rc == -1) rc = 0; /* it has gone meanwhile */
    }
    closedir(d);
    return rc;
}

static const char *const controllers[] = {"cpu", ""};
enum { N_VERSIONS = sizeof controllers / sizeof *controllers, STAT_BYTES = 1024 };

/* The file of a folder as a string. Its length, -1. */
static int read_file(const char *folder, const char *name, char *text, size_t size) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return -1;
    return nl_read(path, text, size);
}

/* A group's own limit, microseconds. 0, -1 where it has none: "max", or -1. */
static int limit_of(const char *folder, int version, int64_t *quota_us, int64_t *period_us) {
    char text[64];
    *period_us = 100000;
    if (version == 2) {
        if (read_file(folder, "cpu.max", text, sizeof text) <= 0) return -1;
        return sscanf(text, "%" SCNd64 " %" SCNd64, quota_us, period_us) == 2 && *quota_us > 0 &&
                       *period_us > 0
                   ? 0
                   : -1;
    }
    if (read_file(folder, "cpu.cfs_quota_us", text, sizeof text) <= 0 ||
        sscanf(text, "%" SCNd64, quota_us) != 1)
        return -1;
    if (read_file(folder, "cpu.cfs_period_us", text, sizeof text) > 0) sscanf(text, "%" SCNd64, period_us);
    return *quota_us > 0 && *period_us > 0 ? 0 : -1;
}

static void look(void *context, const char *folder, int depth) {
    struct nl_quota *q = context;
    int64_t quota_us, period_us;
    char path[PATH_MAX];
    if (limit_of(folder, q->version, &quota_us, &period_us)) return;
    if (q->n_stats < NL_QUOTA_GROUPS &&
        snprintf(path, sizeof path, "%s/cpu.stat", folder) < (int)sizeof path) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) q->stats[q->n_stats++] = fd;
    }
    if (q->quota_ns > 0 && (double)q->quota_ns / (double)q->period_ns <= (double)quota_us / (double)period_us)
        return;
    size_t length = strlen(folder);
    q->quota_ns = 1000 * quota_us;
    q->period_ns = 1000 * period_us;
    q->depth = depth;
    snprintf(q->group, sizeof q->group, "%s",
             folder + (length >= sizeof q->group ? length - sizeof q->group + 1 : 0));
}

int nl_quota_open(struct nl_quota *q, const char *root, pid_t pid) {
    memset(q, 0, sizeof *q);
    /* one hierarchy has the controller of the CPU */
    for (int i = 0; i < N_VERSIONS && q->quota_ns == 0; i++) {
        q->version = i + 1;
        nl_cgroup_each_up(root, pid, controllers[i], look, q);
    }
    return q->quota_ns > 0;
}

double nl_quota_cpus(const struct nl_quota *q) {
    return q->quota_ns > 0 ? (double)q->quota_ns / (double)q->period_ns : 0;
}

int64_t nl_quota_throttled_ns(const struct nl_quota *q) {
    static const struct {
        const char *word;
        int64_t ns;
    } rows[] = {{"throttled_time ", 1}, {"throttled_usec ", 1000}};
    char text[STAT_BYTES];
    int64_t sum = -1;
    for (int i = 0; i < q->n_stats; i++) {
        ssize_t n = pread(q->stats[i], text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        const char *at = strstr(text, rows[q->version - 1].word);
        if (at)
            sum = (sum < 0 ? 0 : sum) +
                  rows[q->version - 1].ns * strtoll(at + strlen(rows[q->version - 1].word), NULL, 10);
    }
    return sum;
}

const char *nl_quota_tell(const struct nl_quota *q, char *text, size_t size) {
    char quota[32], period[32];
    snprintf(text, size, "%.3g CPUs (%s of every %s, %s)", nl_quota_cpus(q),
             nl_format_duration(q->quota_ns, quota, sizeof quota),
             nl_format_duration(q->period_ns, period, sizeof period), q->group);
    return text;
}

void nl_quota_close(struct nl_quota *q) {
    while (q->n_stats > 0)
        close(q->stats[--q->n_stats]);
}

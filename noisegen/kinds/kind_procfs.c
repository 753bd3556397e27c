/* procfs: reads what monitoring agents read: the counters of the machine, the frequencies of its CPUs and the
 * state of every process. One file per quantum, opened anew each time as agents do. Reading a frequency may
 * interrupt the CPU that is asked for it, and the cost of a sweep grows with the number of CPUs and
 * processes: both belong to the effect. */
#include "noisegen/kinds/kinds.h"

/* In /proc. */
static const char *const files[] = {"stat", "meminfo", "loadavg", "vmstat", "diskstats", "net/dev"};

/* In /sys/devices/system/cpu, behind "cpuN/cpufreq/". */
static const char *const frequencies[] = {"scaling_cur_freq", "scaling_min_freq", "scaling_max_freq"};

enum { N_FILES = sizeof files / sizeof *files, N_FREQUENCIES = sizeof frequencies / sizeof *frequencies };

struct procfs_state {
    int proc;             /* open folders */
    int cpus;             /* -1: none, or no CPU tells a frequency */
    int n_cpus;           /* from CPU 0; 0: no CPU tells a frequency */
    int is_read[N_FILES]; /* 0: this machine does not have the file */
    int next;             /* files, then frequencies, then processes */
    int error;            /* of the file named in `lost`, after work returned -1 */
    const char *lost;
    size_t n_entries_bytes, entries_at; /* filled part of `entries`, and how much of it is done */
    char entries[32768] __attribute__((aligned(8)));
    char contents[65536];
};

static const char *supported(void) { return access("/proc/stat", R_OK) ? "/proc is not mounted" : NULL; }

static void clean_up(void *state) {
    struct procfs_state *s = state;
    if (s->proc >= 0) close(s->proc);
    if (s->cpus >= 0) close(s->cpus);
}

/* CPUs beyond the last with a frequency are not asked in `work`. */
static int count_cpus(int folder) {
    char path[64];
    int n_cpus = 0;
    for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
        snprintf(path, sizeof path, "cpu%d/cpufreq/%s", cpu, frequencies[0]);
        if (faccessat(folder, path, R_OK, 0) == 0) n_cpus = cpu + 1;
    }
    return n_cpus;
}

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    (void)options;
    struct procfs_state *s = state;
    s->cpus = -1;
    s->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n_found = 0;
    if (s->proc < 0) return nl_say(reason, reason_size, "cannot open /proc: %m");
    for (int i = 0; i < N_FILES; i++)
        n_found += s->is_read[i] = faccessat(s->proc, files[i], R_OK, 0) == 0;
    if (n_found == 0) return nl_say(reason, reason_size, "/proc is empty: is it mounted?");
    s->cpus = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->cpus >= 0) s->n_cpus = count_cpus(s->cpus);
    return 0;
}

/* Reads a file to its end; -1 when it cannot be opened. */
static int read_file(struct procfs_state *s, int folder, const char *path) {
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    while (read(fd, s->contents, sizeof s->contents) > 0)
        continue;
    close(fd);
    return 0;
}

static int64_t fail(struct procfs_state *s, const char *path) {
    s->error = errno;
    s->lost = path;
    return -1;
}

/* "cpu", the number, "/cpufreq/" and the name, put together without the C library's printing. */
static void read_frequency(struct procfs_state *s, int cpu, const char *name) {
    char digits[16], path[64];
    int n_digits = 0;
    do
        digits[n_digits++] = (char)('0' + cpu % 10);
    while ((cpu /= 10) > 0);
    char *p = stpcpy(path, "cpu");
    while (n_digits > 0)
        *p++ = digits[--n_digits];
    stpcpy(stpcpy(p, "/cpufreq/"), name);
    read_file(s, s->cpus, path); /* a CPU may be offline, and some drivers answer "busy" */
}

/* Goes to the next process and reads its state; 1 when there is none left, and the folder is at its beginning
 * again. */
static int64_t read_process(struct procfs_state *s) {
    for (;;) {
        if (s->entries_at >= s->n_entries_bytes) {
            long n = syscall(SYS_getdents64, s->proc, s->entries, sizeof s->entries);
            s->entries_at = s->n_entries_bytes = 0;
            if (n < 0) return fail(s, "");
            if (n == 0) return lseek(s->proc, 0, SEEK_SET) ? fail(s, "") : 1;
            s->n_entries_bytes = (size_t)n;
        }
        const struct dirent64 *entry = (const struct dirent64 *)(s->entries + s->entries_at);
        size_t length = strlen(entry->d_name);
        s->entries_at += entry->d_reclen;
        char path[32];
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || length > sizeof path - sizeof "/stat")
            continue;
        stpcpy(stpcpy(path, entry->d_name), "/stat");
        read_file(s, s->proc, path); /* it may have ended since, or not be ours to see */
        return 0;
    }
}

static int64_t work(void *state) {
    struct procfs_state *s = state;
    while (s->next < N_FILES) {
        int i = s->next++;
        if (!s->is_read[i]) continue;
        return read_file(s, s->proc, files[i]) ? fail(s, files[i]) : 0;
    }
    int i = s->next - N_FILES;
    if (i < s->n_cpus * N_FREQUENCIES) {
        s->next++;
        read_frequency(s, i / N_FREQUENCIES, frequencies[i % N_FREQUENCIES]);
        return 0;
    }
    int64_t n_sweeps = read_process(s);
    if (n_sweeps) s->next = 0;
    return n_sweeps;
}

static const char *failure(const void *state, char *text, size_t size) {
    const struct procfs_state *s = state;
    snprintf(text, size, "cannot read /proc/%s: %s", s->lost, strerror(s->error));
    return text;
}

const struct ng_kind ng_kind_procfs = {
    .name = "procfs",
    .help = "reads what agents read: /proc, all processes, CPU frequencies",
    .unit = "sweeps",
    .period_ns = 1000000000,
    .supported = supported,
    .state_bytes = sizeof(struct procfs_state),
    .prepare = prepare,
    .work = work,
    .failure = failure,
    .clean_up = clean_up,
};

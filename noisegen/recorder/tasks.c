#include "noisegen/recorder/tasks.h"

#include "common/sys/nl_cgroup.h"
#include "common/sys/nl_whole.h"

enum { SLOTS = 4 * NR_MAX_NAMES, KERNEL_PARENT = 2 /* kthreadd */ };

int nr_tasks_open(struct nr_tasks *t, const char *agent_name) {
    int64_t max_pid = nr_proc_number("/proc/sys/kernel/pid_max", 1 << 22);
    *t = (struct nr_tasks){.n_tasks = (uint32_t)max_pid, .agent_name = agent_name};
    /* the last one stands for tasks that are gone */
    t->tasks = calloc((size_t)max_pid + 1, sizeof *t->tasks);
    t->names = calloc(NR_MAX_NAMES, sizeof *t->names);
    t->slots = calloc(SLOTS, sizeof *t->slots);
    if (!t->tasks || !t->names || !t->slots) {
        nr_tasks_close(t);
        return -1;
    }
    nr_tasks_name(t, "?");
    nr_tasks_name(t, "(more names)");
    nr_tasks_name(t, "swapper");
    t->tasks[0] = (struct nr_task){.name = NR_IDLE_NAME, .group = NR_IDLE, .is_known = 1};
    t->tasks[t->n_tasks] = (struct nr_task){.group = NR_UNKNOWN};
    return 0;
}

void nr_tasks_close(struct nr_tasks *t) {
    NL_FREE(t->tasks, t->names, t->slots);
    *t = (struct nr_tasks){0};
}

struct nr_task *nr_tasks_at(const struct nr_tasks *t, uint32_t tid) {
    return &t->tasks[tid < t->n_tasks ? tid : t->n_tasks];
}

uint32_t nr_tasks_name(struct nr_tasks *t, const char *name) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *p = name; *p; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
    uint32_t slot = hash % SLOTS;
    for (; t->slots[slot]; slot = (slot + 1) % SLOTS)
        if (strcmp(t->names[t->slots[slot] - 1], name) == 0) return t->slots[slot] - 1u;
    if (t->n_names == NR_MAX_NAMES) return NR_MANY_NAMES;
    strncpy(t->names[t->n_names], name, sizeof t->names[0] - 1);
    t->slots[slot] = (uint16_t)(t->n_names + 1);
    return t->n_names++;
}

static int is_named(const struct nr_tasks *t, const char *name) {
    return t->agent_name && strncmp(name, t->agent_name, strlen(t->agent_name)) == 0;
}

/* Groups that somebody says, and that go over to children. */
static int is_said(enum nr_group group) { return group >= NR_AGENT && group <= NR_RANK; }

void nr_tasks_follow(struct nr_tasks *t, const struct nr_record *record) {
    struct nr_task *task = nr_tasks_at(t, record->tid);
    if (record->tid >= t->n_tasks || record->tid == 0) return;
    if (record->type == NR_RECORD_NAME) {
        task->name = nr_tasks_name(t, record->name);
        task->is_known = 1;
        if (is_named(t, record->name)) task->group = NR_AGENT;
        return;
    }
    if (record->type != NR_RECORD_BIRTH || (task->marked_ns >= record->time_ns && task->marked_ns > 0))
        return;
    const struct nr_task *parent = nr_tasks_at(t, record->parent_tid);
    if (!parent->is_known) parent = nr_tasks_at(t, record->parent_pid);
    int is_kernel = record->parent_pid == KERNEL_PARENT || parent->group == NR_KERNEL;
    *task = (struct nr_task){.pid = (int32_t)record->pid,
                             .name = parent->name,
                             .is_known = 1,
                             .group = is_kernel                ? NR_KERNEL
                                      : is_said(parent->group) ? parent->group
                                                               : NR_OTHER};
}

/* Takes in one task as /proc shows it. */
static void see(struct nr_tasks *t, const struct nr_proc_task *seen) {
    struct nr_task *task = nr_tasks_at(t, (uint32_t)seen->tid);
    if ((uint32_t)seen->tid >= t->n_tasks) return;
    /* the number has a new owner */
    if (task->start_ticks && task->start_ticks != seen->stat.start_ticks) *task = (struct nr_task){0};
    task->start_ticks = seen->stat.start_ticks;
    task->pid = seen->pid;
    task->name = nr_tasks_name(t, seen->stat.name);
    task->is_known = 1;
    if (seen->stat.is_kernel) task->group = NR_KERNEL;
    if (is_named(t, seen->stat.name)) task->group = NR_AGENT;
}

int nr_tasks_scan(struct nr_tasks *t, int64_t marked_ns) {
    struct nr_proc_task *seen;
    int n = nr_proc_tasks(0, &seen), n_joined;
    if (n < 0) return -1;
    for (int i = 0; i < n; i++) see(t, &seen[i]);
    do { /* children may stand before their parents */
        n_joined = 0;
        for (int i = 0; i < n; i++) {
            struct nr_task *task = nr_tasks_at(t, (uint32_t)seen[i].tid);
            const struct nr_task *from =
                nr_tasks_at(t, (uint32_t)(seen[i].tid == seen[i].pid ? seen[i].stat.ppid : seen[i].pid));
            if (task->group == from->group || !is_said(from->group)) continue;
            if (marked_ns >= 0 ? from->marked_ns != marked_ns || task->marked_ns == marked_ns
                               : task->group != NR_OTHER)
                continue;
            task->group = from->group;
            task->marked_ns = from->marked_ns;
            n_joined++;
        }
    } while (n_joined > 0);
    free(seen);
    return 0;
}

int nr_tasks_mark(struct nr_tasks *t, pid_t pid, enum nr_group group, int64_t now_ns) {
    struct nr_proc_task *seen;
    int n = nr_proc_tasks(pid, &seen);
    for (int i = 0; i < n; i++) {
        see(t, &seen[i]);
        struct nr_task *task = nr_tasks_at(t, (uint32_t)seen[i].tid);
        task->group = (uint8_t)group;
        task->marked_ns = now_ns;
    }
    if (n >= 0) free(seen);
    return n;
}

#define FIRST_PID_NAMESPACE 4026531836u /* inode of the machine's own one */

int64_t nr_proc_number(const char *path, int64_t otherwise) {
    char text[32];
    int64_t number;
    return nl_read(path, text, sizeof text) > 0 && sscanf(text, "%" SCNd64, &number) == 1 ? number
                                                                                          : otherwise;
}

int nr_proc_read_task(pid_t pid, pid_t tid, struct nr_proc_task *task) {
    struct nl_stat *s = &task->stat;
    task->pid = pid;
    task->tid = tid;
    if (nl_stat_read_thread(pid, tid, s)) return -1;
    /* names of kernel workers show what they work on just now ("kworker/0:1-events"): a name that changes is
     * none */
    if (s->is_kernel && strncmp(s->name, "kworker/", 8) == 0) s->name[strcspn(s->name, "-+")] = '\0';
    s->name[15] = '\0';
    return 0;
}

struct task_list { struct nr_proc_task *tasks; int n, capacity; pid_t pid; };

static int add_thread(void *context, pid_t tid) {
    struct task_list *list = context;
    if (NL_GROW(list->tasks, list->n, list->capacity)) return -2;
    list->n += nr_proc_read_task(list->pid, tid, &list->tasks[list->n]) == 0;
    return 0;
}

/* One that is gone has none. */
static int add_threads(void *context, pid_t pid) {
    struct task_list *list = context;
    char path[64];
    list->pid = pid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return nl_each_number(path, add_thread, list) == -2 ? -2 : 0;
}

int nr_proc_tasks(pid_t pid, struct nr_proc_task **tasks) {
    struct task_list list = {0};
    int status = pid > 0 ? add_threads(&list, pid) : nl_each_number("/proc", add_threads, &list);
    if (status) free(list.tasks);
    *tasks = status ? NULL : list.tasks;
    return status ? -1 : list.n;
}

/* ---- cgroups ---- */

struct pid_list { pid_t *pids; int n, room; };

static int add_pid(void *context, pid_t pid) {
    struct pid_list *list = context;
    if (NL_GROW(list->pids, list->n, list->room)) return -2;
    list->pids[list->n++] = pid;
    return 0;
}

int nr_proc_cgroup(const char *path, pid_t **pids, char *reason, size_t reason_size) {
    char found[PATH_MAX];
    if (nl_cgroup_find(path, found))
        return nl_say(reason, reason_size,
                      "no cgroup '%s': there is no file cgroup.procs in it, nor below /sys/fs/cgroup (try "
                      "what /proc/PID/cgroup shows)",
                      path);
    struct pid_list list = {0};
    if (nl_cgroup_members(found, add_pid, &list)) {
        free(list.pids);
        return nl_say(reason, reason_size, "cannot read the cgroup '%s': %s", found, strerror(errno));
    }
    *pids = list.pids;
    return list.n;
}

/* ---- accounts of tasks ---- */

int nr_proc_open_schedstat(pid_t pid, pid_t tid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int64_t nr_proc_run_ns(int fd) {
    char text[96];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0) return -1;
    text[n] = '\0';
    return (int64_t)strtoll(text, NULL, 10);
}

int64_t nr_proc_run_ns_of(pid_t pid, pid_t tid) {
    int fd = nr_proc_open_schedstat(pid, tid);
    int64_t ns = fd >= 0 ? nr_proc_run_ns(fd) : -1;
    if (fd >= 0) close(fd);
    return ns;
}

/* ---- CPUs ---- */

int nr_read_cpu_times(char *text, struct nr_cpu_times *times, int n_cpus) {
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    if (nl_read("/proc/stat", text, NR_STAT_BYTES(n_cpus)) <= 0) return -1;
    for (char *line = text; line && strncmp(line, "cpu", 3) == 0;
         line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (!isdigit((unsigned char)line[3])) continue;
        char *p;
        int64_t values[8] = {0}; /* user nice system idle iowait irq softirq steal */
        long cpu = strtol(line + 3, &p, 10);
        if (cpu >= n_cpus) continue;
        for (int i = 0; i < 8; i++) values[i] = (int64_t)strtoll(p, &p, 10) * tick_ns;
        times[cpu] =
            (struct nr_cpu_times){.irq_ns = values[5], .softirq_ns = values[6], .steal_ns = values[7]};
    }
    return 0;
}

int nr_knows_steal(const struct nr_cpu_times *times, int n_cpus) {
    char line[4096];
    int is_virtual = 0;
    for (int cpu = 0; cpu < n_cpus; cpu++)
        if (times[cpu].steal_ns > 0) return 1;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return 0;
    while (!is_virtual && fgets(line, sizeof line, file))
        is_virtual = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor") != NULL;
    fclose(file);
    return !is_virtual;
}

int nr_is_in_pid_namespace(void) {
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != FIRST_PID_NAMESPACE;
}

/* Which task has which name and belongs to which group: a table by the task's number, and names
 * written once. */
#pragma once

#include "common/sys/nl_stat.h"
#include "noisegen/recorder/recorder.h"
#include "noisegen/recorder/ring.h"

enum {
    NR_MAX_NAMES = 8192,
    NR_NO_NAME = 0 /* "?" */,
    NR_MANY_NAMES = 1 /* no room for more */,
    NR_IDLE_NAME = 2
};

struct nr_task {
    int64_t marked_ns;    /* when its group was said; births before it say nothing against it */
    uint64_t start_ticks; /* 0: not known */
    int32_t pid;          /* its process; 0: not known */
    uint32_t name;
    uint8_t group;
    uint8_t is_known;
    uint16_t waits_on; /* a rank: CPU + 1 where it was preempted and has not run since; 0: it does not wait */
};

struct nr_tasks {
    struct nr_task *tasks; /* by number; pages of numbers that are not in use take no memory */
    uint32_t n_tasks;
    char (*names)[16];
    uint32_t n_names;
    uint16_t *slots;        /* names by hash; 0: free, otherwise index + 1 */
    const char *agent_name; /* tasks with names that begin so are NR_AGENT; NULL: none */
};

int nr_tasks_open(struct nr_tasks *tasks, const char *agent_name);
void nr_tasks_close(struct nr_tasks *tasks);

/* The task of a number; one that stands for all that are gone where the number is out of range. */
struct nr_task *nr_tasks_at(const struct nr_tasks *tasks, uint32_t tid);

uint32_t nr_tasks_name(struct nr_tasks *tasks, const char *name);

/* A birth or a new name. No allocation. */
void nr_tasks_follow(struct nr_tasks *tasks, const struct nr_record *record);

/* Takes in what /proc shows now; new threads and children of tasks in groups join them. marked_ns >= 0: only
 * children of tasks marked at just this time do, over whatever group they had. @return 0, -1 without /proc or
 * memory. */
int nr_tasks_scan(struct nr_tasks *tasks, int64_t marked_ns);

/* Puts a process with its threads into a group, as of now_ns. @return number of tasks. */
int nr_tasks_mark(struct nr_tasks *tasks, pid_t pid, enum nr_group group, int64_t now_ns);

/* What /proc says of tasks and CPUs. */

struct nr_proc_task {
    pid_t pid, tid;
    struct nl_stat stat;
};

/* Reads one task; tid == pid for a process. @return 0, -1 when there is none. */
int nr_proc_read_task(pid_t pid, pid_t tid, struct nr_proc_task *task);

/* All tasks (pid 0) or those of one process, in an array for the caller to free.
 * @return their number, -1 without /proc or memory. */
int nr_proc_tasks(pid_t pid, struct nr_proc_task **tasks);

/* Processes of a cgroup (nl_cgroup_find) and of those below it, in an array for the caller to free. Their
 * number, -1 with a line in `reason`. */
int nr_proc_cgroup(const char *path, pid_t **pids, char *reason, size_t reason_size);

/* CPU time that a task has had so far by the scheduler's account, ns; -1 when it is gone or the kernel keeps
 * no such account. */
int64_t nr_proc_run_ns(int schedstat_fd);
int nr_proc_open_schedstat(pid_t pid, pid_t tid);
int64_t nr_proc_run_ns_of(pid_t pid, pid_t tid);

/* Interrupts and steal of one CPU so far, in ns of a resolution of one tick of USER_HZ (10 ms). */
struct nr_cpu_times { int64_t irq_ns, softirq_ns, steal_ns; };

#define NR_STAT_BYTES(n_cpus)                                                                                \
    (512 + 160 * (size_t)(n_cpus)) /* the lines of CPUs come first; a line is at most some 120 characters */

/* Times of all CPUs by number, those that are offline left as they are; text: working memory. 0, -1. No
 * allocation. */
int nr_read_cpu_times(char *text, struct nr_cpu_times *times, int n_cpus);

/* Whether steal is reported here: 1 on a machine of metal, where there is none, and on a virtual one that has
 * shown some. */
int nr_knows_steal(const struct nr_cpu_times *times, int n_cpus);

/* Whether tasks exist that this process cannot see since it lives in a PID namespace. */
int nr_is_in_pid_namespace(void);

/* A number from a file of one line; `otherwise` when it cannot be read. */
int64_t nr_proc_number(const char *path, int64_t otherwise);

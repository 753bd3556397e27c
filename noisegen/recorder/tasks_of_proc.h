/* What /proc says of tasks and CPUs. */
#ifndef NR_PROC_H
#define NR_PROC_H

#include "common/base/nl_usual.h"

struct nr_proc_task {
    pid_t pid, tid, parent;
    char name[16];
    uint64_t start_ticks; /* since the machine's start: tells a number's owners apart */
    int is_kernel;        /* a kernel thread */
    int cpu;              /* where it ran last */
    int is_ended;         /* a zombie */
};

/* Reads one task; tid == pid for a process. @return 0, -1 when there is none. */
int nr_proc_read_task(pid_t pid, pid_t tid, struct nr_proc_task *task);

/* All tasks (pid 0) or those of one process, in an array for the caller to free.
 * @return their number, -1 without /proc or memory. */
int nr_proc_tasks(pid_t pid, struct nr_proc_task **tasks);

/* Processes of a cgroup (v1 or v2) and of those below it, in an array for the caller to free.
 * @param path  absolute, or below a mounted hierarchy ("system.slice/collectd.service").
 * @return their number, -1: reason says why. */
int nr_proc_cgroup(const char *path, pid_t **pids, char *reason, size_t reason_size);

/* CPU time that a task has had so far by the scheduler's account, ns; -1 when it is gone or the kernel keeps no such account. */
int64_t nr_proc_run_ns(int schedstat_fd);
int nr_proc_open_schedstat(pid_t pid, pid_t tid);

/* How often it was switched out: because it waited, and although it could run on. @return 0, -1 when it is gone. */
int nr_proc_switches(pid_t pid, pid_t tid, int64_t *voluntary, int64_t *involuntary);

/* Interrupts and steal of one CPU so far, in ns of a resolution of one tick of USER_HZ (10 ms). */
struct nr_cpu_times {
    int64_t irq_ns, softirq_ns, steal_ns;
};

struct nr_cpu_stat {
    int fd;
    size_t size;
    char *buffer;
};

/* Opens /proc/stat with room for this many CPUs. @return 0, -1. */
int nr_cpu_stat_open(struct nr_cpu_stat *stat, int n_cpus);
void nr_cpu_stat_close(struct nr_cpu_stat *stat);

/* Times of all CPUs by number, those that are offline left as they are. No allocation. */
int nr_cpu_stat_read(const struct nr_cpu_stat *stat, struct nr_cpu_times *times, int n_cpus);

/* Whether steal is reported here: 1 on a machine of metal, where there is none, and on a virtual one that has shown some. */
int nr_knows_steal(const struct nr_cpu_times *times, int n_cpus);

/* Whether tasks exist that this process cannot see since it lives in a PID namespace. */
int nr_is_in_pid_namespace(void);

/* A number from a file of one line; `otherwise` when it cannot be read. */
int64_t nr_proc_number(const char *path, int64_t otherwise);

#endif

/* Which task has which name and belongs to which group: a table by the task's number, and names written once. */
#ifndef NR_TASKS_H
#define NR_TASKS_H

#include "noisegen/recorder/tasks_of_proc.h"
#include "noisegen/recorder/recorder.h"
#include "noisegen/recorder/ring.h"

enum { NR_MAX_NAMES = 8192, NR_NO_NAME = 0 /* "?" */, NR_MANY_NAMES = 1 /* no room for more */, NR_IDLE_NAME = 2 };

struct nr_task {
    int64_t marked_ns;    /* when its group was said; births before it say nothing against it */
    uint64_t start_ticks; /* 0: not known */
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

/* Takes in what /proc shows now; new threads and children of tasks in groups join them. marked_ns >= 0: only children of tasks marked at
 * just this time do, over whatever group they had. @return 0, -1 without /proc or memory. */
int nr_tasks_scan(struct nr_tasks *tasks, int64_t marked_ns);

/* Puts a process with its threads into a group, as of now_ns. @return number of tasks. */
int nr_tasks_mark(struct nr_tasks *tasks, pid_t pid, enum nr_group group, int64_t now_ns);

#endif

#include "noisegen/recorder/tasks.h"

enum { SLOTS = 4 * NR_MAX_NAMES, KERNEL_PARENT = 2 /* kthreadd */ };

int nr_tasks_open(struct nr_tasks *t, const char *agent_name) {
    int64_t max_pid = nr_proc_number("/proc/sys/kernel/pid_max", 1 << 22);
    *t = (struct nr_tasks){.n_tasks = (uint32_t)max_pid, .agent_name = agent_name};
    t->tasks = calloc((size_t)max_pid + 1, sizeof *t->tasks); /* the last one stands for tasks that are gone */
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
    free(t->tasks);
    free(t->names);
    free(t->slots);
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
static int is_said(enum nr_group group) {
    return group >= NR_AGENT && group <= NR_RANK;
}

void nr_tasks_follow(struct nr_tasks *t, const struct nr_record *record) {
    struct nr_task *task = nr_tasks_at(t, record->tid);
    if (record->tid >= t->n_tasks || record->tid == 0) return;
    if (record->type == NR_RECORD_NAME) {
        task->name = nr_tasks_name(t, record->name);
        task->is_known = 1;
        if (is_named(t, record->name)) task->group = NR_AGENT;
        return;
    }
    if (record->type != NR_RECORD_BIRTH || (task->marked_ns >= record->time_ns && task->marked_ns > 0)) return;
    const struct nr_task *parent = nr_tasks_at(t, record->parent_tid);
    if (!parent->is_known) parent = nr_tasks_at(t, record->parent_pid);
    int is_kernel = record->parent_pid == KERNEL_PARENT || parent->group == NR_KERNEL;
    *task = (struct nr_task){.name = parent->name,
                             .is_known = 1,
                             .group = is_kernel                ? NR_KERNEL
                                      : is_said(parent->group) ? parent->group
                                                               : NR_OTHER};
}

/* Takes in one task as /proc shows it. */
static void see(struct nr_tasks *t, const struct nr_proc_task *seen) {
    struct nr_task *task = nr_tasks_at(t, (uint32_t)seen->tid);
    if ((uint32_t)seen->tid >= t->n_tasks) return;
    if (task->start_ticks && task->start_ticks != seen->start_ticks) *task = (struct nr_task){0}; /* the number has a new owner */
    task->start_ticks = seen->start_ticks;
    task->name = nr_tasks_name(t, seen->name);
    task->is_known = 1;
    if (seen->is_kernel) task->group = NR_KERNEL;
    if (is_named(t, seen->name)) task->group = NR_AGENT;
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
            const struct nr_task *from = nr_tasks_at(t, (uint32_t)(seen[i].tid == seen[i].pid ? seen[i].parent : seen[i].pid));
            if (task->group == from->group || !is_said(from->group)) continue;
            if (marked_ns >= 0 ? from->marked_ns != marked_ns || task->marked_ns == marked_ns : task->group != NR_OTHER) continue;
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

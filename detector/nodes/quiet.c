#include "detector/nodes/quiet.h"

#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"

enum { STAT_BYTES = 1 << 20, N_FIELDS = 8 /* user nice system idle iowait irq softirq steal */ };
enum { IDLE = 3, IOWAIT = 4, STEAL = 7 };
enum { MOST_CPUS_TOLD = 4, POLICY_DEADLINE = 6 };

/* A thread, as far as one look can tell. */
struct task {
    int tid, pid, cpu;
    int64_t ticks; /* CPU time ever */
    int is_realtime;
    char name[ND_QUIET_NAME_BYTES];
};

struct tasks {
    struct task *all;
    int n, room;
};

struct nd_quiet {
    const char *proc;
    const unsigned char *cpu_used;
    int n_cpus;
    const pid_t *own;
    int n_own;
    char *text;                                      /* of /proc/stat */
    int64_t (*before)[N_FIELDS], (*after)[N_FIELDS]; /* by CPU */
    struct tasks tasks_before, tasks_after;
};

struct nd_quiet *nd_quiet_open(const char *proc, const unsigned char *cpu_used, int n_cpus, const pid_t *own,
                               int n_own) {
    struct nd_quiet *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    *q = (struct nd_quiet){.proc = proc, .cpu_used = cpu_used, .n_cpus = n_cpus, .own = own, .n_own = n_own};
    if (NL_NEW(q->text, STAT_BYTES) && NL_NEW(q->before, n_cpus) && NL_NEW(q->after, n_cpus)) return q;
    nd_quiet_close(q);
    return NULL;
}

void nd_quiet_close(struct nd_quiet *q) {
    if (!q) return;
    NL_FREE(q->text, q->before, q->after, q->tasks_before.all, q->tasks_after.all, q);
}

/* The next line of a CPU that is used: its number, and where its fields begin; -1: there is none. */
static int next_cpu(char **text, const unsigned char *cpu_used, int n_cpus, char **fields) {
    while (strncmp(*text, "cpu", 3) == 0) {
        char *line = *text;
        *text = line + strcspn(line, "\n");
        *text += **text == '\n';
        if (!isdigit((unsigned char)line[3])) continue; /* the sum over all CPUs */
        long cpu = strtol(line + 3, fields, 10);
        if (cpu >= 0 && cpu < n_cpus && cpu_used[cpu]) return (int)cpu;
    }
    return -1;
}

static void read_cpus(struct nd_quiet *q, int64_t (*fields)[N_FIELDS]) {
    char path[256], *text = q->text, *at;
    snprintf(path, sizeof path, "%s/stat", q->proc);
    memset(fields, 0, (size_t)q->n_cpus * sizeof *fields);
    nl_read(path, q->text, STAT_BYTES);
    for (int cpu; (cpu = next_cpu(&text, q->cpu_used, q->n_cpus, &at)) >= 0;)
        for (int i = 0; i < N_FIELDS; i++)
            fields[cpu][i] = strtoll(at, &at, 10);
}

static int is_own(const struct nd_quiet *q, int pid) {
    for (int i = 0; i < q->n_own; i++)
        if (q->own[i] == pid) return 1;
    return 0;
}

static int parse_task(const struct nd_quiet *q, const char *text, struct task *task) {
    struct nl_stat s;
    if (nl_stat_parse(text, &s)) return -1;
    snprintf(task->name, sizeof task->name, "%.*s", (int)sizeof task->name - 1, s.name);
    task->cpu = s.cpu;
    task->is_realtime = s.policy == SCHED_FIFO || s.policy == SCHED_RR || s.policy == POLICY_DEADLINE;
    task->ticks = s.ticks;
    return is_own(q, s.ppid) ? -1 : 0;
}

struct looking {
    const struct nd_quiet *q;
    struct tasks *t;
    pid_t pid;
};

static int look_at_thread(void *context, pid_t tid) {
    struct looking *l = context;
    struct task task = {.tid = tid, .pid = l->pid};
    char path[256], text[1024];
    snprintf(path, sizeof path, "%s/%d/task/%d/stat", l->q->proc, (int)l->pid, (int)tid);
    if (nl_read(path, text, sizeof text) <= 0 || parse_task(l->q, text, &task) ||
        NL_GROW(l->t->all, l->t->n, l->t->room))
        return 0;
    l->t->all[l->t->n++] = task;
    return 0;
}

static int look_at_process(void *context, pid_t pid) {
    struct looking *l = context;
    char path[256];
    if (is_own(l->q, pid)) return 0;
    l->pid = pid;
    snprintf(path, sizeof path, "%s/%d/task", l->q->proc, (int)pid);
    nl_each_number(path, look_at_thread, l);
    return 0;
}

NL_ORDER_BY(by_tid, struct task, tid)

static void read_tasks(const struct nd_quiet *q, struct tasks *t) {
    struct looking l = {q, t, 0};
    t->n = 0;
    nl_each_number(q->proc, look_at_process, &l);
    if (t->n) qsort(t->all, (size_t)t->n, sizeof *t->all, by_tid);
}

/* Looking at tasks takes time itself: the looks at the CPUs lie between. */
void nd_quiet_begin(struct nd_quiet *q) {
    read_tasks(q, &q->tasks_before);
    read_cpus(q, q->before);
}

/* Threads of a process together. */
static void list_task(struct nd_quiet_cpu *cpu, const struct task *task, double percent) {
    int i = 0;
    while (i < cpu->n_tasks && cpu->tasks[i].pid != task->pid)
        i++;
    if (i < cpu->n_tasks)
        cpu->tasks[i].percent += percent;
    else if (i < ND_QUIET_TASKS)
        cpu->n_tasks++;
    else if (cpu->tasks[--i].percent >= percent)
        return;
    if (cpu->tasks[i].pid != task->pid) {
        cpu->tasks[i] =
            (struct nd_quiet_task){.pid = task->pid, .percent = percent, .is_realtime = task->is_realtime};
        snprintf(cpu->tasks[i].name, sizeof cpu->tasks[i].name, "%s", task->name);
    }
    for (; i > 0 && cpu->tasks[i].percent > cpu->tasks[i - 1].percent; i--) {
        struct nd_quiet_task swapped = cpu->tasks[i];
        cpu->tasks[i] = cpu->tasks[i - 1];
        cpu->tasks[i - 1] = swapped;
    }
}

static void list_tasks(const struct nd_quiet *q, struct nd_quiet_cpu *cpu, double window_ticks) {
    for (int i = 0; i < q->tasks_after.n; i++) {
        const struct task *task = &q->tasks_after.all[i];
        if (task->cpu != cpu->cpu || q->tasks_before.n == 0) continue;
        const struct task *was =
            bsearch(task, q->tasks_before.all, (size_t)q->tasks_before.n, sizeof *task, by_tid);
        if (was && was->pid == task->pid && task->ticks > was->ticks)
            list_task(cpu, task, 100 * (double)(task->ticks - was->ticks) / window_ticks);
    }
}

static double lost(const struct nd_quiet_cpu *cpu) { return cpu->busy_percent + cpu->steal_percent; }

void nd_quiet_end(struct nd_quiet *q, struct nd_quiet_node *node) {
    double windows = 0;
    read_cpus(q, q->after);
    read_tasks(q, &q->tasks_after);
    memset(node, 0, sizeof *node);
    for (int c = 0; c < q->n_cpus; c++) {
        double total = 0;
        for (int i = 0; i < N_FIELDS; i++)
            total += (double)(q->after[c][i] - q->before[c][i]);
        if (!q->cpu_used[c] || total <= 0) continue;
        double idle =
            (double)(q->after[c][IDLE] - q->before[c][IDLE] + q->after[c][IOWAIT] - q->before[c][IOWAIT]);
        double steal = (double)(q->after[c][STEAL] - q->before[c][STEAL]);
        struct nd_quiet_cpu cpu = {.cpu = c,
                                   .busy_percent = 100 * (total - idle - steal) / total,
                                   .steal_percent = 100 * steal / total};
        node->n_cpus++;
        node->busy_percent += cpu.busy_percent;
        node->steal_percent += cpu.steal_percent;
        windows += total;
        int i = node->n_listed < ND_QUIET_CPUS ? node->n_listed++ : ND_QUIET_CPUS - 1;
        if (i == ND_QUIET_CPUS - 1 && node->n_cpus > ND_QUIET_CPUS && lost(&node->cpus[i]) >= lost(&cpu))
            continue;
        for (; i > 0 && lost(&node->cpus[i - 1]) < lost(&cpu); i--)
            node->cpus[i] = node->cpus[i - 1];
        node->cpus[i] = cpu;
    }
    if (node->n_cpus == 0) return;
    node->busy_percent /= node->n_cpus;
    node->steal_percent /= node->n_cpus;
    node->resolution_percent = 100 * node->n_cpus / windows;
    for (int i = 0; i < node->n_listed; i++)
        list_tasks(q, &node->cpus[i], windows / node->n_cpus);
}

/* A single tick more is chance. */
static int is_above(const struct nd_quiet_node *node, double percent, double limit_percent) {
    double least = 1.5 * node->resolution_percent;
    return percent > (limit_percent > least ? limit_percent : least);
}

int nd_quiet_is(const struct nd_quiet_node *nodes, int n_nodes, double limit_percent) {
    for (int n = 0; n < n_nodes; n++)
        for (int i = 0; i < nodes[n].n_listed; i++)
            if (is_above(&nodes[n], nodes[n].cpus[i].busy_percent, limit_percent) ||
                is_above(&nodes[n], nodes[n].cpus[i].steal_percent, limit_percent))
                return 0;
    return 1;
}

int nd_quiet_tell(const struct nd_quiet_node *nodes, int n_nodes, double limit_percent, char *line,
                  size_t size) {
    size_t at = 0;
    int n_told = 0;
    line[0] = '\0';
#define SAY(...) (at += at < size ? (size_t)snprintf(line + at, size - at, __VA_ARGS__) : 0)
    for (int n = 0; n < n_nodes; n++)
        for (int i = 0; i < nodes[n].n_listed; i++) {
            const struct nd_quiet_cpu *cpu = &nodes[n].cpus[i];
            int is_busy = is_above(&nodes[n], cpu->busy_percent, limit_percent),
                is_stolen = is_above(&nodes[n], cpu->steal_percent, limit_percent);
            if ((!is_busy && !is_stolen) || n_told++ >= MOST_CPUS_TOLD) continue;
            SAY("%sCPU %d", n_told > 1 ? "; " : "", cpu->cpu);
            if (n_nodes > 1) SAY(" of %s", nodes[n].host);
            if (is_busy) SAY(" is %.0f %% busy", cpu->busy_percent);
            for (int t = 0; is_busy && t < cpu->n_tasks; t++)
                SAY("%s%s %.0f %%%s%s", t ? ", " : " (", cpu->tasks[t].name, cpu->tasks[t].percent,
                    cpu->tasks[t].is_realtime ? ", real-time: before any rank" : "",
                    t + 1 < cpu->n_tasks ? "" : ")");
            if (is_stolen) SAY("%s%.0f %%", is_busy ? ", steal " : ": steal ", cpu->steal_percent);
        }
    if (n_told > MOST_CPUS_TOLD) SAY("; and %d more", n_told - MOST_CPUS_TOLD);
#undef SAY
    return n_told;
}

NL_ORDER(by_size, int64_t)

int nd_crowd_tell(const struct nd_binding *bindings, int n_ranks, const struct nd_host *hosts, char *line,
                  size_t size) {
    int n_crowded = 0, most = 0;
    int64_t last_node = -1,
            *places =
                calloc((size_t)n_ranks, sizeof *places); /* node and CPU of each; -1: it has several CPUs */
    line[0] = '\0';
    if (!places) return -1;
    for (int i = 0; i < n_ranks; i++)
        places[i] = bindings[i].cpu < 0 ? -1 : (int64_t)bindings[i].node << 32 | bindings[i].cpu;
    qsort(places, (size_t)n_ranks, sizeof *places, by_size);
    for (int i = 0, n; i < n_ranks; i += n) {
        int64_t node = places[i] >> 32;
        for (n = 1; i + n < n_ranks && places[i + n] == places[i]; n++)
            continue;
        if (n < 2 || places[i] < 0) continue;
        n_crowded += node != last_node;
        last_node = node;
        if (n_crowded > 1 || n <= most) continue;
        most = n;
        snprintf(line, size, "%d ranks of %s may use CPU %d only", n, hosts[node].host,
                 (int)(places[i] & INT32_MAX));
    }
    if (n_crowded > 1)
        snprintf(line + strlen(line), size - strlen(line), ", and so on %d other node(s)", n_crowded - 1);
    free(places);
    return n_crowded;
}

struct nd_steal {
    int fd;
    int n_cpus;
    const unsigned char *cpu_used; /* borrowed; n_cpus flags */
    int64_t tick_ns;
    char *buffer;
};

struct nd_steal *nd_steal_open(const unsigned char *cpu_used, int n_cpus, int64_t half_ns) {
    struct nd_steal *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->cpu_used = cpu_used;
    s->n_cpus = n_cpus;
    s->tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    s->fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    s->buffer = malloc(STAT_BYTES);
    if (s->fd < 0 || !s->buffer) goto refuse;
    int64_t before_ns = nl_mono_ns();
    for (int i = 0; i < 4; i++)
        if (nd_steal_read(s) < 0) goto refuse;
    if ((nl_mono_ns() - before_ns) / 4 > half_ns / 100) goto refuse;
    return s;
refuse:
    nd_steal_close(s);
    return NULL;
}

int64_t nd_steal_read(struct nd_steal *s) {
    ssize_t n = pread(s->fd, s->buffer, STAT_BYTES - 1, 0);
    if (n <= 0) return -1;
    s->buffer[n] = '\0';
    int64_t ticks = 0;
    char *text = s->buffer, *at;
    while (next_cpu(&text, s->cpu_used, s->n_cpus, &at) >= 0) {
        int64_t value = 0;
        for (int i = 0; i <= STEAL; i++) {
            char *begin = at;
            value = strtoll(begin, &at, 10);
            if (at == begin) return -1; /* a kernel that does not say */
        }
        ticks += value;
    }
    return ticks * s->tick_ns;
}

void nd_steal_close(struct nd_steal *s) {
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    NL_FREE(s->buffer, s);
}

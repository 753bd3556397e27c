#include "common/sys/nl_account.h"

#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"

enum {
    LINE_BYTES = 256 /* of a CPU in /proc/stat, more than any is */,
    MOST_ANCESTORS = 64,
    LOOKED_TICKS = 4,
    ENDED_TICKS = 2
};
#define FIRST_PID_NAMESPACE 4026531836u /* inode of the machine's own one */

/* What the kernel says of a CPU, in ticks since boot. */
struct times {
    int64_t idle, interrupts, steal;
    int is_there;
};

/* A thread at a look; of a process's first thread what the process as a whole says, too. */
struct seen {
    pid_t pid, tid, ppid;
    uint64_t start_ticks;
    int64_t run_ns;     /* on CPUs, ever */
    int64_t process_ns; /* of the process with threads that ended, in ticks; -1: not its first thread */
    int64_t dead_children_ns;
    int cpu;
    int64_t ended_ns, grown_ns; /* used at the end: time before the first look of descendants that ended, and
                                   of its threads since */
};

struct look {
    struct seen *all;
    int n, room;
    struct times *times;
    int64_t at_ns, took_ns;
    int has_times;
};

struct nl_account {
    const char *proc;
    const unsigned char *is_watched;
    int n_cpus;
    const pid_t *own;
    int n_own;
    int64_t (*clock_ns)(void);
    int64_t tick_ns;
    char *text; /* of /proc/stat */
    struct look before, after;
    int by_record;   /* somebody else records who runs: tasks are counted only */
    pid_t looked_at; /* the process whose threads are read */
};

struct nl_account *nl_account_open(const char *proc, const unsigned char *is_watched, int n_cpus,
                                   const pid_t *own, int n_own, int64_t (*clock_ns)(void)) {
    struct nl_account *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    *a = (struct nl_account){.proc = proc,
                             .is_watched = is_watched,
                             .n_cpus = n_cpus,
                             .own = own,
                             .n_own = n_own,
                             .clock_ns = clock_ns,
                             .tick_ns = 1000000000 / sysconf(_SC_CLK_TCK)};
    if (NL_NEW(a->text, (n_cpus + 2) * LINE_BYTES) && NL_NEW(a->before.times, n_cpus) &&
        NL_NEW(a->after.times, n_cpus))
        return a;
    nl_account_close(a);
    return NULL;
}

void nl_account_close(struct nl_account *a) {
    if (!a) return;
    NL_FREE(a->text, a->before.times, a->after.times, a->before.all, a->after.all, a);
}

/* ---- looking ---- */

static void read_times(struct nl_account *a, struct look *look) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/stat", a->proc);
    memset(look->times, 0, (size_t)a->n_cpus * sizeof *look->times);
    look->has_times = 0;
    look->at_ns = a->clock_ns();
    if (nl_read(path, a->text, (size_t)(a->n_cpus + 2) * LINE_BYTES) <= 0) return;
    for (char *line = a->text; line && strncmp(line, "cpu", 3) == 0;
         line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        int64_t v[8] = {0}; /* user nice system idle iowait irq softirq steal */
        char *at, *end = line + strcspn(line, "\n");
        if (!isdigit((unsigned char)line[3]) || !*end)
            continue; /* the sum over all CPUs; a line that was cut */
        long cpu = strtol(line + 3, &at, 10);
        for (int i = 0; i < 8 && at < end; i++)
            v[i] = strtoll(at, &at, 10);
        if (cpu < 0 || cpu >= a->n_cpus) continue;
        look->times[cpu] =
            (struct times){.idle = v[3] + v[4], .interrupts = v[5] + v[6], .steal = v[7], .is_there = 1};
        look->has_times = 1;
    }
}

/* CPU time of a thread by the scheduler, or where the kernel keeps no such account by ticks. */
static int64_t run_ns(const struct nl_account *a, pid_t pid, pid_t tid, const struct nl_stat *s) {
    char path[PATH_MAX], text[96];
    snprintf(path, sizeof path, "%s/%d/task/%d/schedstat", a->proc, (int)pid, (int)tid);
    return nl_read(path, text, sizeof text) > 0 ? (int64_t)strtoll(text, NULL, 10) : s->ticks * a->tick_ns;
}

static int read_stat(const struct nl_account *a, pid_t pid, pid_t tid, struct nl_stat *s) {
    char path[PATH_MAX], text[1024];
    if (tid > 0)
        snprintf(path, sizeof path, "%s/%d/task/%d/stat", a->proc, (int)pid, (int)tid);
    else
        snprintf(path, sizeof path, "%s/%d/stat", a->proc, (int)pid);
    return nl_read(path, text, sizeof text) > 0 ? nl_stat_parse(text, s) : -1;
}

static int see_thread(void *context, pid_t tid) {
    struct nl_account *a = context;
    struct look *look = &a->after;
    struct nl_stat s, whole;
    if (read_stat(a, a->looked_at, tid, &s) || NL_GROW(look->all, look->n, look->room)) return 0;
    struct seen *seen = &look->all[look->n++];
    *seen = (struct seen){.pid = a->looked_at,
                          .tid = tid,
                          .ppid = s.ppid,
                          .start_ticks = s.start_ticks,
                          .cpu = s.cpu,
                          .process_ns = -1,
                          .run_ns = run_ns(a, a->looked_at, tid, &s)};
    if (tid == a->looked_at && read_stat(a, tid, 0, &whole) == 0) {
        seen->process_ns = whole.ticks * a->tick_ns;
        seen->dead_children_ns = whole.dead_children_ticks * a->tick_ns;
    }
    return 0;
}

static int see_process(void *context, pid_t pid) {
    struct nl_account *a = context;
    char path[PATH_MAX];
    a->looked_at = pid;
    snprintf(path, sizeof path, "%s/%d/task", a->proc, (int)pid);
    nl_each_number(path, see_thread, a);
    return 0;
}

NL_ORDER_BY(by_tid, struct seen, tid)

static void see_tasks(struct nl_account *a) {
    int64_t begin_ns = a->clock_ns();
    a->after.n = 0;
    nl_each_number(a->proc, see_process, a);
    if (a->after.n > 0) qsort(a->after.all, (size_t)a->after.n, sizeof *a->after.all, by_tid);
    a->after.took_ns = a->clock_ns() - begin_ns;
}

void nl_account_begin(struct nl_account *a, int by_record) {
    struct look look = a->before;
    a->by_record = by_record;
    read_times(a, &a->after);
    if (!by_record) see_tasks(a);
    a->before = a->after;
    a->after = look;
}

/* ---- what came of it ---- */

static struct seen *find(const struct look *look, pid_t tid) {
    const struct seen key = {.tid = tid};
    return look->n > 0 ? bsearch(&key, look->all, (size_t)look->n, sizeof key, by_tid) : NULL;
}

/* The same thread at the other look; NULL: it was not there. */
static struct seen *same(const struct look *look, const struct seen *seen) {
    struct seen *other = find(look, seen->tid);
    return other && other->pid == seen->pid && other->start_ticks == seen->start_ticks ? other : NULL;
}

static int is_own(const struct nl_account *a, const struct seen *seen) {
    pid_t pid = seen->pid;
    for (int n = 0; pid > 1 && n < MOST_ANCESTORS; n++) {
        for (int i = 0; i < a->n_own; i++)
            if (a->own[i] == pid || (pid == seen->pid && a->own[i] == -pid)) return 1;
        const struct seen *process = find(&a->after, pid);
        if (!process) return 0;
        pid = process->ppid;
    }
    return 0;
}

static int is_watched(const struct nl_account *a, int cpu) {
    return cpu >= 0 && cpu < a->n_cpus && a->is_watched[cpu];
}

/* What tasks had between the looks: by CPU, on watched ones at both looks, and on all CPUs. */
struct had {
    struct nl_account_cpu *cpus;
    int64_t own_ns, tasks_ns, everywhere_ns;
};

static void take(const struct nl_account *a, struct had *had, const struct seen *seen, const struct seen *was,
                 int64_t ns) {
    int mine = is_own(a, seen), is_here = is_watched(a, seen->cpu);
    if (ns <= 0) return;
    had->everywhere_ns += ns;
    if (is_here) *(mine ? &had->cpus[seen->cpu].own_ns : &had->cpus[seen->cpu].tasks_ns) += ns;
    if (is_here && (!was || is_watched(a, was->cpu))) *(mine ? &had->own_ns : &had->tasks_ns) += ns;
}

/* Who waited for a process that is gone, or for the one that did: the first ancestor that is still there.
 * NULL: it is there itself. */
static struct seen *find_heir(const struct nl_account *a, const struct seen *gone) {
    const struct seen *at = gone;
    for (int n = 0; at && n < MOST_ANCESTORS; n++) {
        struct seen *there = same(&a->after, at);
        if (there) return n > 0 ? there : NULL;
        at = find(&a->before, at->ppid);
    }
    return NULL;
}

/* Threads, then what their processes say of threads and children that ended. Of the latter the process says
 * the time of all their life. */
static void take_tasks(struct nl_account *a, struct had *had) {
    for (int i = 0; i < a->before.n; i++) {
        const struct seen *gone = &a->before.all[i];
        struct seen *heir = gone->process_ns >= 0 ? find_heir(a, gone) : NULL;
        if (heir) heir->ended_ns += gone->process_ns + gone->dead_children_ns;
    }
    for (int i = 0; i < a->after.n; i++) {
        struct seen *now = &a->after.all[i], *process = find(&a->after, now->pid);
        const struct seen *was = same(&a->before, now);
        int64_t ns = now->run_ns - (was ? was->run_ns : 0);
        take(a, had, now, was, ns);
        if (process) process->grown_ns += ns > 0 ? ns : 0;
    }
    for (int i = 0; i < a->after.n; i++) {
        const struct seen *now = &a->after.all[i], *was = same(&a->before, now);
        if (now->process_ns < 0) continue;
        int64_t threads_ns =
            now->process_ns - (was && was->process_ns >= 0 ? was->process_ns : 0) - now->grown_ns;
        if (threads_ns > ENDED_TICKS * a->tick_ns) take(a, had, now, was, threads_ns);
        take(a, had, now, was, now->dead_children_ns - (was ? was->dead_children_ns : 0) - now->ended_ns);
    }
}

static int64_t at_least_0(int64_t ns) { return ns > 0 ? ns : 0; }

/* What the kernel says of a CPU; busy without what tasks had. */
static struct nl_account_cpu kernel_says(const struct nl_account *a, int cpu, int64_t span_ns) {
    const struct times *b = &a->before.times[cpu], *e = &a->after.times[cpu];
    return (struct nl_account_cpu){.cpu = cpu,
                                   .is_there = 1,
                                   .busy_ns = at_least_0(span_ns - (e->idle - b->idle) * a->tick_ns),
                                   .interrupts_ns = at_least_0(e->interrupts - b->interrupts) * a->tick_ns,
                                   .steal_ns = at_least_0(e->steal - b->steal) * a->tick_ns};
}

static int is_online(const struct nl_account *a, int cpu) {
    return a->before.times[cpu].is_there && a->after.times[cpu].is_there;
}

static int64_t left_ns(const struct nl_account_cpu *c, int has_steal) {
    return c->busy_ns - c->own_ns - c->tasks_ns - c->interrupts_ns - (has_steal ? 0 : c->steal_ns);
}

static void add(struct nl_account_cpu *to, const struct nl_account_cpu *c) {
    to->busy_ns += c->busy_ns;
    to->interrupts_ns += c->interrupts_ns;
    to->steal_ns += c->steal_ns;
}

/* Each CPU's own rest, never more than that of all, and the worst of them. */
static void settle(const struct nl_account *a, struct nl_account_sum *sum, struct nl_account_cpu *cpus,
                   int has_steal) {
    sum->worst = (struct nl_account_cpu){.cpu = -1};
    for (int cpu = 0; cpu < a->n_cpus; cpu++) {
        struct nl_account_cpu *c = &cpus[cpu];
        if (!is_watched(a, cpu) || !is_online(a, cpu)) continue;
        int64_t left = at_least_0(left_ns(c, has_steal));
        c->unaccounted_ns = left < sum->all.unaccounted_ns ? left : sum->all.unaccounted_ns;
        if (sum->worst.cpu < 0 || c->unaccounted_ns > sum->worst.unaccounted_ns) sum->worst = *c;
    }
}

static void count_tasks(const struct nl_account *a, struct nl_account_sum *sum) {
    char path[PATH_MAX], text[128];
    long long there;
    snprintf(path, sizeof path, "%s/loadavg", a->proc);
    int is_known = nl_read(path, text, sizeof text) > 0 && sscanf(text, "%*s %*s %*s %*d/%lld", &there) == 1;
    sum->n_seen = a->after.n;
    sum->n_there = is_known ? (int64_t)there : -1;
    if (nl_account_blindness(a->proc, sum->blind, sizeof sum->blind)) return;
    /* some begin and end while they are read */
    if (is_known && there - a->after.n > 5 + there / 20)
        snprintf(sum->blind, sizeof sum->blind, "%lld of %lld tasks of this machine cannot be seen",
                 there - a->after.n, there);
}

void nl_account_end(struct nl_account *a, struct nl_account_sum *sum, struct nl_account_cpu *cpus) {
    struct nl_account_cpu *own = cpus ? cpus : calloc((size_t)a->n_cpus, sizeof *own),
                          everywhere = {.cpu = -1};
    *sum = (struct nl_account_sum){.all = {.cpu = -1}, .worst = {.cpu = -1}, .n_there = -1, .n_seen = -1};
    if (a->by_record) read_times(a, &a->after);
    see_tasks(a);
    if (!a->by_record) read_times(a, &a->after);
    count_tasks(a, sum);
    int64_t span_ns = a->after.at_ns - a->before.at_ns;
    if (!own || span_ns <= 0 || !a->before.has_times || !a->after.has_times) {
        if (!cpus) free(own);
        return;
    }
    for (int cpu = 0; cpu < a->n_cpus; cpu++) {
        own[cpu] = (struct nl_account_cpu){.cpu = cpu};
        if (!is_online(a, cpu)) continue;
        struct nl_account_cpu c = kernel_says(a, cpu, span_ns);
        add(&everywhere, &c);
        if (!is_watched(a, cpu)) continue;
        own[cpu] = c;
        add(&sum->all, &c);
        sum->n_cpus++;
    }
    struct had had = {.cpus = own};
    if (!a->by_record) take_tasks(a, &had);
    everywhere.tasks_ns = had.everywhere_ns;
    sum->span_ns = sum->n_cpus > 0 ? span_ns : 0;
    sum->all.own_ns = had.own_ns;
    sum->all.tasks_ns = had.tasks_ns;
    int64_t here = left_ns(&sum->all, 0), all = at_least_0(left_ns(&everywhere, 0));
    if (here > 0) sum->all.unaccounted_ns = here < all ? here : all;
    sum->all.tasks_ns = at_least_0(sum->all.tasks_ns + here -
                                   sum->all.unaccounted_ns); /* those that moved here, or were elsewhere */
    int64_t took_ns = a->by_record ? 0 : a->before.took_ns + a->after.took_ns;
    sum->resolution_percent = 100 * (double)(LOOKED_TICKS * a->tick_ns + took_ns) / (double)span_ns;
    settle(a, sum, own, 0);
    if (!cpus) free(own);
}

void nl_account_by_record(struct nl_account *a, struct nl_account_sum *sum, struct nl_account_cpu *cpus,
                          int has_steal) {
    if (sum->span_ns == 0) return;
    sum->all.own_ns = sum->all.tasks_ns = 0;
    for (int cpu = 0; cpu < a->n_cpus; cpu++) {
        if (!is_watched(a, cpu) || !is_online(a, cpu)) continue;
        sum->all.own_ns += cpus[cpu].own_ns;
        sum->all.tasks_ns += cpus[cpu].tasks_ns;
    }
    sum->all.unaccounted_ns = at_least_0(left_ns(&sum->all, has_steal));
    settle(a, sum, cpus, has_steal);
}

double nl_account_unaccounted_percent(const struct nl_account_sum *sum) {
    if (sum->span_ns <= 0 || sum->n_cpus <= 0) return -1;
    return 100 * (double)sum->all.unaccounted_ns / ((double)sum->span_ns * sum->n_cpus);
}

double nl_account_percent_of_cpu(const struct nl_account_sum *sum, int64_t ns) {
    return sum->span_ns > 0 ? 100 * (double)ns / (double)sum->span_ns : 0;
}

int nl_account_is_blind(const struct nl_account_sum *sum, double limit_percent) {
    double percent = nl_account_unaccounted_percent(sum);
    return percent < 0 || (percent > limit_percent && percent > sum->resolution_percent);
}

int nl_account_blindness(const char *proc, char *reason, size_t size) {
    char path[PATH_MAX], text[1024];
    struct stat st;
    reason[0] = '\0';
    snprintf(path, sizeof path, "%s/1/stat", proc);
    if (nl_read(path, text, sizeof text) <= 0 && (kill(1, 0) == 0 || errno == EPERM))
        nl_say(reason, size,
               "/proc hides the tasks of other users here (hidepid); root sees them, and so does a group "
               "named by gid=");
    else if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != FIRST_PID_NAMESPACE)
        snprintf(reason, size, "this is a PID namespace: tasks outside of it cannot be seen");
    return reason[0] != '\0';
}

/* Source proc: the scheduler's account of every thread, /proc/PID/task/TID/schedstat: CPU time, and how often
 * it was put on a CPU. Where there are many threads, those that hardly ran when they were last looked at are
 * looked at in turn: what such a thread had since then is of the interval in which it is found. */
#include "common/sys/nl_whole.h"
#include "noisegen/top/watch.h"
#include "noisegen/top/processes.h"
#include "noisegen/top/tell.h"

enum {
    LOOKS = 3000 /* of quiet threads in one interval, some 4 us each */,
    RECENT = 4 /* looks after it ran for more than a moment, at which it is not quiet */,
    SPARE_DESCRIPTORS = 64,
    PORTION = 16 /* looks, some 70 us */
};

#define BRIEF_NS 200000 /* of CPU time since the last look */

struct account {
    int32_t process;
    pid_t pid, tid;
    int fd; /* its schedstat; -1: it is opened each time */
    int64_t run_ns, n_slices;
    uint32_t ran_at; /* the look at which it had run for more than a moment */
    int cpu;         /* where it was last; -1: not looked for yet */
};

struct state {
    struct account *accounts;
    int n, room;
    int n_fds, most_fds;
    uint32_t look;
    int n_quiet;
    uint8_t *is_seen; /* by process number: it has accounts */
    int is_stale; /* somebody has ended, or has other threads than before: /proc is looked through again */
    int64_t last_pid; /* the number that was given last, by /proc/loadavg; -1: not known */
};

/* Run time and slices so far; -1: it is gone. */
static int read_account(struct account *a, int64_t *run_ns, int64_t *n_slices) {
    char text[96];
    int fd = a->fd >= 0 ? a->fd : nr_proc_open_schedstat(a->pid, a->tid);
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    if (a->fd < 0 && fd >= 0) close(fd);
    if (n <= 0) return -1;
    text[n] = '\0';
    char *p;
    *run_ns = (int64_t)strtoll(text, &p, 10);
    strtoll(p, &p, 10); /* waited */
    *n_slices = (int64_t)strtoll(p, NULL, 10);
    return 0;
}

/* What the line of a process tells: its name once, whether it has other threads than before, and what
 * children of it used that have ended and were never seen. */
static void see(struct nt_watch *w, struct account *a, const struct nl_stat *stat, int cpu) {
    struct state *s = w->state;
    struct nt_process *p = &w->processes[a->process];
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK), dead_ns = stat->dead_children_ticks * tick_ns,
            more_ns = dead_ns - p->dead_ns;
    if (stat->n_threads != p->n_threads)
        s->is_seen[a->pid] = 0, s->is_stale = 1; /* its threads are looked for again */
    p->n_threads = stat->n_threads;
    p->dead_ns = dead_ns;
    int64_t seen_ns = more_ns < p->dead_seen_ns ? more_ns : p->dead_seen_ns;
    p->dead_seen_ns -= seen_ns;
    more_ns -= seen_ns;
    if (more_ns < tick_ns) return;
    nt_children_ran(w, a->process, cpu, more_ns);
}

/* It ran since the last look: where, by its last CPU. An account is not a stretch: it is added up as one that
 * ends now. */
static void take(struct nt_watch *w, struct account *a, int64_t run_ns, int64_t n_slices) {
    struct nr_proc_task task;
    int64_t more_ns = run_ns - a->run_ns;
    /* a moment is not worth the look that costs as much: it was where it had been before */
    int is_brief = more_ns < BRIEF_NS && a->cpu >= 0;
    int cpu = is_brief ? a->cpu : nr_proc_read_task(a->pid, a->tid, &task) == 0 ? task.stat.cpu : -1;
    a->cpu = cpu;
    if (cpu >= 0 && cpu < w->n_cpus && w->is_watched[cpu]) {
        nt_ran(w, a->process, cpu, w->end_ns - more_ns, w->end_ns);
        w->processes[a->process].n_bursts += n_slices - a->n_slices;
        w->processes[a->process].burst_ns += more_ns;
        if (!is_brief) see(w, a, &task.stat, cpu);
    }
    a->run_ns = run_ns;
    a->n_slices = n_slices;
    if (more_ns >= BRIEF_NS) a->ran_at = ((struct state *)w->state)->look;
}

struct meeting {
    struct nt_watch *w;
    pid_t pid;
    int is_first;
    int n_met;
};

/* A thread that is new. What it had before the first look of all is not of this interval; of one that was
 * born since, all of it is. */
static int meet_thread(void *context, pid_t tid) {
    struct meeting *m = context;
    struct state *s = m->w->state;
    struct nt_thread *known = nt_thread(m->w, (uint32_t)tid);
    int64_t run_ns, n_slices;
    if (!known || known->is_in_burst) return 0; /* it is: here this says that it has an account */
    if (NL_GROW(s->accounts, s->n, s->room)) return -2;
    struct account *a = &s->accounts[s->n];
    *a = (struct account){.process = nt_process(m->w, m->pid),
                          .pid = m->pid,
                          .tid = tid,
                          .fd = -1,
                          .cpu = -1,
                          .ran_at = m->is_first ? s->look - RECENT - 1 : s->look};
    if (a->process < 0) return 0;
    if (s->n_fds < s->most_fds && (a->fd = nr_proc_open_schedstat(a->pid, tid)) >= 0) s->n_fds++;
    if (read_account(a, &run_ns, &n_slices)) { /* it has gone already */
        if (a->fd >= 0) close(a->fd), s->n_fds--;
        return 0;
    }
    known->is_in_burst = 1;
    s->n++;
    if (m->is_first) a->run_ns = run_ns, a->n_slices = n_slices;
    else if (run_ns > 0) take(m->w, a, run_ns, n_slices);
    return 0;
}

static int meet_process(void *context, pid_t pid) {
    struct meeting *m = context;
    struct state *s = m->w->state;
    struct nl_stat stat;
    char path[64];
    if (++m->n_met % PORTION == 0) nt_breathe(m->w);
    if ((uint32_t)pid >= m->w->n_numbers || s->is_seen[pid]) return 0;
    int32_t place = nt_process(m->w, pid);
    if (place < 0 || nl_stat_read(pid, &stat)) return 0;
    struct nt_process *p = &m->w->processes[place];
    if (!p->is_named) p->dead_ns = stat.dead_children_ticks * (1000000000 / sysconf(_SC_CLK_TCK));
    p->n_threads = stat.n_threads;
    nt_find_name(m->w, place);
    s->is_seen[pid] = 1;
    m->pid = pid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    int status = nl_each_number(path, meet_thread, m) == -2 ? -2 : 0;
    nt_breathe(m->w);
    return status;
}

static void drop(struct nt_watch *w, struct state *s, int i) {
    struct account *a = &s->accounts[i];
    struct nt_thread *thread = nt_thread(w, (uint32_t)a->tid);
    if (a->fd >= 0) {
        close(a->fd);
        s->n_fds--;
    }
    if (thread) thread->is_in_burst = 0;
    if (a->tid == a->pid) {
        s->is_seen[a->pid] = 0;
        pid_t parent = w->processes[a->process].parent;
        int32_t by = parent > 0 && (uint32_t)parent < w->n_numbers ? w->process_of[parent] - 1 : -1;
        if (by >= 0)
            w->processes[by].dead_seen_ns += a->run_ns; /* its parent's account will have that, too */
        nt_ended(w, a->pid, 0);
    }
    s->accounts[i] = s->accounts[--s->n];
}

/* Whether anything was born since the last time: looking through /proc takes milliseconds where there are
 * thousands. */
static int has_new_tasks(struct state *s) {
    char text[128];
    long last_pid = -1;
    if (nl_read("/proc/loadavg", text, sizeof text) > 0) sscanf(text, "%*s %*s %*s %*s %ld", &last_pid);
    int has = s->is_stale || last_pid < 0 || last_pid != s->last_pid;
    s->last_pid = last_pid;
    s->is_stale = 0;
    return has;
}

static void look(struct nt_watch *w, int64_t until_ns) {
    struct state *s = w->state;
    struct meeting m = {.w = w, .is_first = s->look == 0};
    int n_quiet = 0, n_looked = 0, one_in = s->n_quiet / LOOKS + 1;
    (void)until_ns;
    s->look++;
    for (int i = s->n - 1; i >= 0; i--) {
        struct account *a = &s->accounts[i];
        int64_t run_ns, n_slices;
        if (s->look - a->ran_at > RECENT && ++n_quiet && ((uint32_t)i + s->look) % (uint32_t)one_in != 0)
            continue;
        /* those that are left out take no time worth a pause */
        if (++n_looked % PORTION == 0) nt_breathe(w);
        if (read_account(a, &run_ns, &n_slices)) drop(w, s, i);
        else if (run_ns > a->run_ns) take(w, a, run_ns, n_slices);
    }
    s->n_quiet = n_quiet;
    if (has_new_tasks(s)) nl_each_number("/proc", meet_process, &m);
    nt_breathe(w);
}

static int open_proc(struct nt_watch *w, char *why, size_t size) {
    struct state *s = w->state = calloc(1, sizeof *s);
    struct rlimit limit;
    if (s) s->last_pid = -1;
    if (!s || !NL_NEW(s->is_seen, w->n_numbers)) return nl_say(why, size, "no memory");
    if (nr_proc_run_ns_of(getpid(), getpid()) < 0)
        return nl_say(why, size, "this kernel keeps no /proc/PID/schedstat, or /proc is not mounted");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        s->most_fds = limit.rlim_cur > 1 << 20 ? 1 << 20 : (int)limit.rlim_cur - SPARE_DESCRIPTORS;
    }
    return 0;
}

static void close_proc(struct nt_watch *w) {
    struct state *s = w->state;
    if (!s) return;
    for (int i = 0; i < s->n; i++)
        if (s->accounts[i].fd >= 0) close(s->accounts[i].fd);
    NL_FREE(s->accounts, s->is_seen);
    free(s);
}

const struct nt_source nt_source_proc = {
    .name = "proc", .open = open_proc, .look = look, .close = close_proc};

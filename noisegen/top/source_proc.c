/* Source proc: the scheduler's account of every thread, /proc/PID/task/TID/schedstat: CPU time, and how often
 * it was put on a CPU. It is read of processes whose CPU clock has moved, which takes a third of the time.
 * Where there are many threads, those that hardly ran when they were last looked at are looked at in turn:
 * what such a thread had since then is of the interval in which it is found. */
#include "common/sys/nl_whole.h"
#include "noisegen/top/watch.h"
#include "noisegen/top/processes.h"
#include "noisegen/top/tell.h"

enum {
    LOOKS = 3000 /* of quiet threads in one interval, where no clock spares most of them */,
    MOST_TURNS = 2 /* with clocks: whoever wakes up is shown after so many intervals */,
    RECENT = 4 /* looks after it ran for more than a moment, at which it is not quiet */,
    SPARE_DESCRIPTORS = 64,
    MOST_DESCRIPTORS = 1 << 15 /* some 32 MB of the kernel's memory */,
    PORTION = 32 /* between two looks at the clock of this program, in CPU clocks, of 1 us each */,
    ACCOUNT_COSTS = 4, /* of these */
    MEETING_COSTS = 16,
    MOST_NUMBERS = 20000 /* of processes that are tried one by one, 0.1 us each where there is none */,
    UNDER_WAY =
        64 /* numbers before the last one that may have been given to a task that was not there yet */,
    SWEEP_EACH = 4 /* looks: a piece of /proc */
};

#define BRIEF_NS 200000 /* of CPU time since the last look */

struct account {
    int32_t process;
    pid_t pid, tid;
    int fd; /* its schedstat; -1: it is opened each time */
    int64_t run_ns, n_slices;
    uint32_t looked_at,
        ran_at; /* the look at which it was read; at which it had run for more than a moment */
    int cpu;    /* where it was last; -1: not looked for yet */
};

struct state {
    struct account *accounts;
    int n, room;
    int n_fds, most_fds;
    uint32_t look;
    int n_quiet;
    int n_portion;    /* done since the last look at the clock */
    int has_clocks;   /* CPU clocks of other processes can be read, by the numbers that /proc has */
    uint8_t *is_seen; /* by process number: it has accounts */
    int32_t *busy;    /* processes that ran for more than a moment since the last look */
    int n_busy, busy_room;
    int64_t last_pid; /* the number that was given last, by /proc/loadavg; -1: not known */
    int proc_fd;     /* /proc, of which a piece is read now and then */
};

/* ---- one thread ---- */

static void did(struct nt_watch *w, int costs) {
    struct state *s = w->state;
    if ((s->n_portion += costs) < PORTION) return;
    s->n_portion = 0;
    nt_breathe(w);
}

/* That of a process's first thread is its own: a shorter way. */
static int open_account(const struct state *s, const struct account *a) {
    char path[48];
    if (a->tid != a->pid || s->proc_fd < 0) return nr_proc_open_schedstat(a->pid, a->tid);
    snprintf(path, sizeof path, "%d/schedstat", (int)a->pid);
    return openat(s->proc_fd, path, O_RDONLY | O_CLOEXEC);
}

/* Run time and slices so far; -1: it is gone. */
static int read_account(struct state *s, struct account *a, int64_t *run_ns, int64_t *n_slices) {
    char text[96];
    int fd = a->fd >= 0 ? a->fd : open_account(s, a);
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    /* most of those that are met sleep for ever: half of the room is for those that ran since */
    int most = a->looked_at > 0 ? s->most_fds : s->most_fds / 2;
    if (a->fd < 0 && fd >= 0 && n > 0 && s->n_fds < most) a->fd = fd, s->n_fds++;
    else if (a->fd < 0 && fd >= 0) close(fd);
    if (n <= 0) return -1;
    text[n] = '\0';
    char *p;
    *run_ns = (int64_t)strtoll(text, &p, 10);
    strtoll(p, &p, 10); /* waited */
    *n_slices = (int64_t)strtoll(p, NULL, 10);
    a->looked_at = s->look;
    return *n_slices < a->n_slices ? -1 : 0; /* another one has its number */
}

/* The CPU time of a process with all its threads, by its clock: of CPUCLOCK_SCHED (clock_getcpuclockid(3),
 * which would ask the kernel twice). -1: there is no process of that number. */
static int64_t clock_of(pid_t pid) {
    struct timespec time;
    clockid_t id = (clockid_t)(~(unsigned)pid << 3 | 2u);
    return clock_gettime(id, &time) ? -1 : (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Its clock in this look, read once. */
static void read_clock(struct nt_watch *w, int32_t process) {
    struct state *s = w->state;
    struct nt_process *p = &w->processes[process];
    if (p->clock_look == s->look) return;
    p->clock_look = s->look;
    int64_t now_ns = s->has_clocks ? clock_of(p->pid) : 0, more_ns = now_ns - p->clock_ns;
    did(w, 1);
    if (s->has_clocks && more_ns == 0) return;
    p->moved_at = s->look;
    p->unseen_ns = more_ns;
    p->clock_ns = now_ns;
    if (more_ns >= BRIEF_NS && NL_GROW(s->busy, s->n_busy, s->busy_room) == 0) s->busy[s->n_busy++] = process;
}

/* What the line of a process tells: what children of it used that have ended and were never seen. */
static void see(struct nt_watch *w, const struct account *a, const struct nl_stat *stat, int cpu) {
    struct nt_process *p = &w->processes[a->process];
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK), dead_ns = stat->dead_children_ticks * tick_ns,
            more_ns = dead_ns - p->dead_ns;
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
    struct nt_process *p = &w->processes[a->process];
    int64_t more_ns = run_ns - a->run_ns, most_ns = w->end_ns - w->begin_ns;
    if (more_ns > most_ns) { /* an interval has no room for more: the rest is of the next one */
        more_ns = most_ns;
        run_ns = a->run_ns + more_ns;
        a->looked_at = p->moved_at - 1;
    }
    /* a moment is not worth the look that costs as much: it was where it had been before */
    int is_brief = more_ns < BRIEF_NS && a->cpu >= 0;
    int cpu = is_brief ? a->cpu : nr_proc_read_task(a->pid, a->tid, &task) == 0 ? task.stat.cpu : -1;
    a->cpu = cpu;
    p->unseen_ns -= more_ns;
    if (cpu >= 0 && cpu < w->n_cpus && w->is_watched[cpu]) {
        nt_ran(w, a->process, cpu, w->end_ns - more_ns, w->end_ns);
        p->n_bursts += n_slices - a->n_slices;
        p->burst_ns += more_ns;
        if (!is_brief) see(w, a, &task.stat, cpu);
    }
    a->run_ns = run_ns;
    a->n_slices = n_slices;
    if (more_ns >= BRIEF_NS) a->ran_at = ((struct state *)w->state)->look;
}

/* ---- who is new ---- */

struct meeting {
    struct nt_watch *w;
    pid_t pid;
    int is_first;
    int cpu; /* where its first thread was; -1: not known */
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
                          .cpu = tid == m->pid ? m->cpu : -1,
                          .ran_at = m->is_first ? s->look - RECENT - 1 : s->look};
    if (a->process < 0) return 0;
    if (read_account(s, a, &run_ns, &n_slices)) { /* it has gone already */
        if (a->fd >= 0) close(a->fd), s->n_fds--;
        return 0;
    }
    known->is_in_burst = 1;
    m->w->processes[a->process].n_threads++;
    s->n++;
    if (m->is_first)
        a->run_ns = run_ns, a->n_slices = n_slices;
    else if (run_ns > 0)
        take(m->w, a, run_ns, n_slices);
    did(m->w, MEETING_COSTS);
    return 0;
}

static int meet_threads(struct meeting *m, pid_t pid) {
    char path[64];
    m->pid = pid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return nl_each_number(path, meet_thread, m) == -2 ? -2 : 0;
}

static int meet_process(void *context, pid_t pid) {
    struct meeting *m = context;
    struct nt_watch *w = m->w;
    struct state *s = w->state;
    struct nr_proc_task task;
    did(w, 1);
    if ((uint32_t)pid >= w->n_numbers || s->is_seen[pid]) return 0;
    /* of one that has ended, and is yet to be told, the number may be another one's */
    if (w->process_of[pid] > 0 && w->processes[w->process_of[pid] - 1].has_ended) w->process_of[pid] = 0;
    int32_t place = nt_process(w, pid);
    if (place < 0) return 0;
    struct nt_process *p = &w->processes[place];
    p->clock_ns = s->has_clocks ? clock_of(pid) : 0;
    p->clock_look = p->moved_at = s->look;
    if (nr_proc_read_task(pid, pid, &task)) return 0;
    if (!p->is_named) p->dead_ns = task.stat.dead_children_ticks * (1000000000 / sysconf(_SC_CLK_TCK));
    nt_take_name(w, place, &task.stat);
    s->is_seen[pid] = 1;
    m->cpu = task.stat.cpu;
    did(w, MEETING_COSTS);
    if (task.stat.n_threads > 1) return meet_threads(m, pid);
    m->pid = pid;
    return meet_thread(m, pid) == -2 ? -2 : 0;
}

static void drop(struct nt_watch *w, struct state *s, int i) {
    struct account *a = &s->accounts[i];
    struct nt_thread *thread = nt_thread(w, (uint32_t)a->tid);
    struct nt_process *p = &w->processes[a->process];
    if (a->fd >= 0) {
        close(a->fd);
        s->n_fds--;
    }
    if (thread) thread->is_in_burst = 0;
    if (p->pid == a->pid) p->n_threads--;
    if (a->tid == a->pid && p->pid == a->pid) {
        s->is_seen[a->pid] = 0;
        pid_t parent = p->parent;
        int32_t by = parent > 0 && (uint32_t)parent < w->n_numbers ? w->process_of[parent] - 1 : -1;
        if (by >= 0)
            w->processes[by].dead_seen_ns += a->run_ns; /* its parent's account will have that, too */
        nt_ended(w, a->pid, 0);
    }
    s->accounts[i] = s->accounts[--s->n];
}

/* Looks through all of /proc, which takes milliseconds where there are thousands; */
static void meet_all(struct meeting *m) { nl_each_number("/proc", meet_process, m); }

/* or tries the numbers from..to, of which few are a process that is new. */
static void meet_numbers(struct meeting *m, int64_t from, int64_t to) {
    struct state *s = m->w->state;
    for (int64_t pid = from > 1 ? from : 1; pid <= to && pid < m->w->n_numbers; pid++) {
        if (s->is_seen[pid] || clock_of((pid_t)pid) < 0)
            s->n_portion += pid % 8 == 0;
        else
            meet_process(m, (pid_t)pid);
        did(m->w, 0);
    }
}

/* Whoever was born since the last look: their numbers lie between the last one that was given then and now. A
 * number that was given in another way is found by the sweep. */
static void meet_new(struct meeting *m) {
    struct state *s = m->w->state;
    char text[128];
    int64_t before = s->last_pid, top = m->w->n_numbers - 1;
    long last = -1;
    if (nl_read("/proc/loadavg", text, sizeof text) > 0) {
        char *last_blank = strrchr(text, ' ');
        last = last_blank ? strtol(last_blank, NULL, 10) : -1;
    }
    s->last_pid = last > 0 && last <= top ? last : -1;
    if (m->is_first || before < 0 || s->last_pid < 0)
        meet_all(m);
    else if (last == before)
        return;
    else if (!s->has_clocks || (last - before + top) % top > MOST_NUMBERS)
        meet_all(m);
    else if (last > before)
        meet_numbers(m, before - UNDER_WAY, last);
    else {
        meet_numbers(m, before - UNDER_WAY, top);
        meet_numbers(m, 1, last);
    }
}

/* Who used more than the threads of it that are known has others, which are looked for. */
static void meet_threads_of_busy(struct meeting *m) {
    struct nt_watch *w = m->w;
    struct state *s = w->state;
    for (int i = 0; i < s->n_busy; i++) {
        const struct nt_process *p = &w->processes[s->busy[i]];
        struct stat status;
        char path[64];
        if (p->has_ended || p->unseen_ns < BRIEF_NS) continue;
        snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
        did(w, ACCOUNT_COSTS);
        /* a link for each, and two */
        if (stat(path, &status) == 0 && (int64_t)status.st_nlink != p->n_threads + 2) meet_threads(m, p->pid);
    }
    s->n_busy = 0;
}

/* ---- a look ---- */

/* Looks at one account, where it may have moved. */
static void look_at(struct nt_watch *w, int i) {
    struct state *s = w->state;
    struct account *a = &s->accounts[i];
    const struct nt_process *p = &w->processes[a->process];
    int64_t run_ns, n_slices;
    if (p->pid != a->pid || p->has_ended) { /* its process has gone before it */
        drop(w, s, i);
        return;
    }
    read_clock(w, a->process);
    if (p->moved_at <= a->looked_at) return;
    did(w, ACCOUNT_COSTS);
    if (read_account(s, a, &run_ns, &n_slices))
        drop(w, s, i);
    else if (run_ns > a->run_ns)
        take(w, a, run_ns, n_slices);
}

static void look(struct nt_watch *w, int64_t until_ns) {
    struct state *s = w->state;
    struct meeting m = {.w = w, .is_first = s->look == 0, .cpu = -1};
    int n_quiet = 0, n_turns = s->n_quiet / LOOKS + 1;
    (void)until_ns;
    if (s->has_clocks && n_turns > MOST_TURNS) n_turns = MOST_TURNS;
    s->look++;
    for (int i = s->n - 1; i >= 0; i--) {
        const struct account *a = &s->accounts[i];
        int is_quiet = s->look - a->ran_at > RECENT;
        n_quiet += is_quiet;
        /* all threads of a process at once */
        if (!is_quiet || ((uint32_t)a->process + s->look) % (uint32_t)n_turns == 0) look_at(w, i);
    }
    s->n_quiet = n_quiet;
    w->n_turns = n_turns;
    w->n_in_turn = n_turns > 1 ? n_quiet : 0;
    meet_threads_of_busy(&m);
    meet_new(&m);
    if (s->look % SWEEP_EACH == 0 && s->proc_fd >= 0) {
        int rc;
        m.cpu = -1;
        if (nl_next_numbers(s->proc_fd, meet_process, &m, &rc) <= 0) lseek(s->proc_fd, 0, SEEK_SET);
    }
    nt_breathe(w);
}

/* Whether clocks by the numbers in /proc are those of its processes: not where it is that of another PID
 * namespace. */
static int has_clocks(void) {
    char self[32];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    if (n <= 0 || clock_of(getppid() > 0 ? getppid() : getpid()) < 0) return 0;
    self[n] = '\0';
    return strtol(self, NULL, 10) == getpid();
}

static int open_proc(struct nt_watch *w, char *why, size_t size) {
    struct state *s = w->state = calloc(1, sizeof *s);
    struct rlimit limit;
    if (s) s->last_pid = s->proc_fd = -1;
    if (!s || !NL_NEW(s->is_seen, w->n_numbers)) return nl_say(why, size, "no memory");
    if (nr_proc_run_ns_of(getpid(), getpid()) < 0)
        return nl_say(why, size, "this kernel keeps no /proc/PID/schedstat, or /proc is not mounted");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        s->most_fds =
            limit.rlim_cur > MOST_DESCRIPTORS ? MOST_DESCRIPTORS : (int)limit.rlim_cur - SPARE_DESCRIPTORS;
    }
    s->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s->has_clocks = has_clocks();
    return 0;
}

static void close_proc(struct nt_watch *w) {
    struct state *s = w->state;
    if (!s) return;
    for (int i = 0; i < s->n; i++)
        if (s->accounts[i].fd >= 0) close(s->accounts[i].fd);
    if (s->proc_fd >= 0) close(s->proc_fd);
    NL_FREE(s->accounts, s->is_seen, s->busy);
    free(s);
}

const struct nt_source nt_source_proc = {
    .name = "proc", .open = open_proc, .look = look, .close = close_proc};

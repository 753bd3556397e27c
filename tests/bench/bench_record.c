/* Records what a process does to CPUs: every stretch that it, its threads and its children spend on one, as a trace that a generator can
 * replay. Needs root: the kernel reports each context switch of a CPU through a perf dummy event (perf_event_open(2)) into a ring that is
 * read when it is half full or when the recording is over, so nothing of the recorder runs in between.
 *
 * A stretch lasts from the switch to a task to the switch away from it, in wall time: interrupts that come meanwhile are part of it. The
 * way to the switch is not (timer interrupt, wake-up, leaving the idle loop), while the kernel's own account of CPU time begins with the
 * wake-up. So that account is higher by a constant for each wake-up: microseconds on a busy CPU, tens of them on an idle virtual one. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nl_clock.h"
#include "nl_error.h"
#include "nl_units.h"

enum { MAX_PIDS = 64, MAX_NAME = 15 /* what the kernel keeps of a name */, MAX_TID = 1 << 22 /* PID_MAX_LIMIT of 64-bit kernels */ };
enum { RING_BYTES = 8 << 20 /* about 100000 context switches */, MAX_RECORD_BYTES = 256 };

struct options {
    int64_t duration_ns;
    int64_t merge_ns; /* 0: join nothing */
    int cpu;          /* -1: all */
    int is_all;       /* --all was given */
    int n_pids;
    pid_t pids[MAX_PIDS];
    char name[MAX_NAME + 1]; /* prefix; "": by pid only */
};

static volatile sig_atomic_t is_stopped;

static void stop(int signal_number) {
    (void)signal_number;
    is_stopped = 1;
}

/* ---- options ---- */

enum key { KEY_SECONDS = 0x100, KEY_CPU, KEY_ALL, KEY_PID, KEY_NAME, KEY_MERGE };

static const struct argp_option argp_options[] = {
    {"seconds", KEY_SECONDS, "S", 0, "how long to record; needed", 0},
    {"pid", KEY_PID, "PID[,PID...]", 0, "record these processes, their threads and their children", 0},
    {"name", KEY_NAME, "COMM-PREFIX", 0, "record processes and threads whose name begins like this, now or later, and their children", 0},
    {"cpu", KEY_CPU, "N", 0, "record this CPU only", 0},
    {"all", KEY_ALL, NULL, 0, "record all CPUs (the default)", 0},
    {"merge-ns", KEY_MERGE, "N", 0, "join stretches of one CPU that are closer than N ns (default 0: none)", 0},
    {0},
};

/* Each setter returns NULL, or what it would have liked. */
static const char *set_pids(struct options *o, char *text) {
    const char *parts[MAX_PIDS];
    o->n_pids = nl_split(text, parts, MAX_PIDS);
    if (o->n_pids < 1) return "a list of at most 64 process ids (try 1234,1240)";
    for (int i = 0; i < o->n_pids; i++) {
        int64_t pid;
        if (nl_parse_int(parts[i], 1, MAX_TID - 1, &pid)) return "a list of process ids (try 1234,1240)";
        o->pids[i] = (pid_t)pid;
    }
    return NULL;
}

static const char *set_option(struct options *o, int key, char *text) {
    int64_t cpu;
    switch ((enum key)key) {
    case KEY_SECONDS: return nl_parse_duration(text, &o->duration_ns) ? "a number of seconds (try 30)" : NULL;
    case KEY_PID: return set_pids(o, text);
    case KEY_NAME:
        if (text[0] == '\0' || strlen(text) > MAX_NAME) return "the beginning of a name, of at most 15 characters";
        strcpy(o->name, text);
        return NULL;
    case KEY_CPU:
        if (nl_parse_int(text, 0, CPU_SETSIZE - 1, &cpu)) return "the number of a CPU (try 0)";
        o->cpu = (int)cpu;
        return NULL;
    case KEY_ALL: o->is_all = 1; return NULL;
    case KEY_MERGE: return nl_parse_int(text, 0, INT64_C(1000000000), &o->merge_ns) ? "a number of ns, at most 1000000000" : NULL;
    }
    return NULL;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    struct options *o = state->input;
    for (const struct argp_option *row = argp_options; row->name; row++) {
        if (row->key != key) continue;
        char given[64]; /* the setter may take the text to pieces */
        snprintf(given, sizeof given, "%s", text ? text : "");
        const char *wanted = set_option(o, key, text);
        if (!wanted) return 0;
        nl_error("--%s: '%s' is not %s", row->name, given, wanted);
        exit(NL_EXIT_USAGE);
    }
    if (key == ARGP_KEY_ARG) argp_error(state, "'%s': unexpected argument", text);
    return ARGP_ERR_UNKNOWN;
}

static int parse_options(int argc, char **argv, struct options *o) {
    static const struct argp argp = {
        .options = argp_options,
        .parser = parse_option,
        .doc = "Records what processes do to CPUs, as lines start_ns<TAB>duration_ns<TAB>cpu on stdout. Needs root."
               "\vExample: bench_record --seconds 30 --name node_exporter > node_exporter.trace",
    };
    argp_err_exit_status = NL_EXIT_USAGE;
    *o = (struct options){.cpu = -1};
    if (argp_parse(&argp, argc, argv, 0, NULL, o)) return -1;
    if (o->duration_ns == 0)
        nl_error("--seconds is missing (try --seconds 30)");
    else if (o->n_pids == 0 && o->name[0] == '\0')
        nl_error("--pid or --name is missing: whose time on CPU is to be recorded?");
    else if (o->cpu >= 0 && o->is_all)
        nl_error("--cpu and --all: choose one");
    else
        return 0;
    return -1;
}

/* ---- which tasks are recorded ---- */

/* A bit for each task id. A task is recorded when its own bit or that of its process (its leader's) is set. Bits are not cleared at the
 * end of a task, which still runs a little after it said so, but when its number is given to another. */
struct choice {
    uint64_t bits[MAX_TID / 64];
    const char *name; /* prefix, "" for none */
};

static void choose(struct choice *c, uint32_t tid, int is_chosen) {
    if (tid >= MAX_TID) return; /* a task that is gone has the number -1 */
    uint64_t bit = UINT64_C(1) << tid % 64;
    c->bits[tid / 64] = is_chosen ? c->bits[tid / 64] | bit : c->bits[tid / 64] & ~bit;
}

static int is_set(const struct choice *c, uint32_t tid) { return tid < MAX_TID && c->bits[tid / 64] >> tid % 64 & 1; }

static int is_chosen(const struct choice *c, uint32_t pid, uint32_t tid) { return is_set(c, tid) || is_set(c, pid); }

static int is_named(const struct choice *c, const char *comm) { return c->name[0] && strncmp(comm, c->name, strlen(c->name)) == 0; }

/* Reads the name and the parent of a task from /proc/.../stat; -1 when it is gone. */
static int read_stat(const char *path, char *comm, size_t size, uint32_t *parent) {
    char line[512];
    FILE *f = fopen(path, "re");
    if (!f) return -1;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    char *left = strchr(line, '('), *right = strrchr(line, ')'); /* the name itself may hold both */
    if (!left || !right || sscanf(right + 1, " %*c %u", parent) != 1) return -1;
    *right = '\0';
    snprintf(comm, size, "%s", left + 1);
    return 0;
}

/* Chooses the threads of one process that have the right name. */
static void scan_threads(struct choice *c, const char *pid) {
    char path[64], comm[64];
    uint32_t parent;
    snprintf(path, sizeof path, "/proc/%.20s/task", pid);
    DIR *threads = opendir(path);
    if (!threads) return;
    for (struct dirent *t = readdir(threads); t; t = readdir(threads)) {
        if (t->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/stat", pid, t->d_name);
        if (read_stat(path, comm, sizeof comm, &parent) == 0 && is_named(c, comm)) choose(c, (uint32_t)atoi(t->d_name), 1);
    }
    closedir(threads);
}

/* Goes once through all processes: chooses by name and the children of those chosen. Returns how many it added, -1 without /proc. */
static int scan_once(struct choice *c) {
    char path[64], comm[64];
    uint32_t parent;
    int n_added = 0;
    DIR *proc = opendir("/proc");
    if (!proc) return -1;
    for (struct dirent *p = readdir(proc); p; p = readdir(proc)) {
        uint32_t pid = (uint32_t)atoi(p->d_name);
        if (pid == 0 || is_set(c, pid) || pid == (uint32_t)getpid()) continue;
        if (c->name[0]) scan_threads(c, p->d_name);
        snprintf(path, sizeof path, "/proc/%.20s/stat", p->d_name);
        if (!is_set(c, pid) && read_stat(path, comm, sizeof comm, &parent) == 0 && is_set(c, parent)) choose(c, pid, 1);
        n_added += is_set(c, pid);
    }
    closedir(proc);
    return n_added;
}

/* Chooses what runs already. Call after the events have begun, so that none is born unseen in between. */
static int choose_running(struct choice *c, const struct options *o) {
    c->name = o->name;
    for (int i = 0; i < o->n_pids; i++) {
        if (kill(o->pids[i], 0) && errno == ESRCH) {
            nl_error("--pid: no process has the number %d", (int)o->pids[i]);
            return -1;
        }
        choose(c, (uint32_t)o->pids[i], 1);
    }
    int n_added;
    do n_added = scan_once(c);
    while (n_added > 0); /* children may stand before their parents */
    if (n_added < 0) nl_error("cannot read /proc: %s", strerror(errno));
    return n_added;
}

/* ---- the kernel's events ---- */

struct watch {
    int cpu;
    int fd;
    struct perf_event_mmap_page *page; /* the ring follows it; NULL: not mapped */
    uint64_t last_head;                /* where reading ended */
};

static void watch_close(struct watch *w) {
    if (w->page) munmap(w->page, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
    if (w->fd >= 0) close(w->fd);
    *w = (struct watch){.cpu = w->cpu, .fd = -1};
}

/* Opens the events of one CPU, disabled: births and names always (a process may be born anywhere), switches where asked for.
 * @return 0, 1 when the CPU is offline, -1 after an error message. */
static int watch_open(struct watch *w, int cpu, int with_switches) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
        .disabled = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .task = 1,
        .comm = 1,
        .context_switch = (unsigned)with_switches,
        .watermark = 1,
        .wakeup_watermark = RING_BYTES / 2,
    };
    *w = (struct watch){.cpu = cpu, .fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)};
    if (w->fd < 0 && errno == ENODEV) return 1;
    if (w->fd < 0 && (errno == EACCES || errno == EPERM)) {
        nl_error("not allowed to watch CPU %d: needs root, the capability CAP_PERFMON, or kernel.perf_event_paranoid at most 0", cpu);
        return -1;
    }
    if (w->fd < 0) {
        nl_error("perf_event_open on CPU %d: %s", cpu, strerror(errno));
        return -1;
    }
    void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    if (page == MAP_FAILED) {
        nl_error("cannot map a ring of %d MiB for CPU %d: %s (see kernel.perf_event_mlock_kb)", RING_BYTES >> 20, cpu, strerror(errno));
        watch_close(w);
        return -1;
    }
    w->page = page;
    return 0;
}

/* What is kept of a kernel record until it is its turn. */
struct event {
    int64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t number; /* in the order of arrival, which is right within a CPU */
    enum { SWITCH_IN, SWITCH_OUT, BIRTH, NAME } type;
    int cpu;
    uint32_t pid, tid;               /* SWITCH, NAME: the task; BIRTH: the child */
    uint32_t parent_pid, parent_tid; /* BIRTH */
    int is_named;                    /* NAME: whether the new name is asked for */
};

struct events {
    struct event *a;
    size_t n, capacity;
    uint64_t n_seen;
    uint64_t n_lost;
};

static int events_push(struct events *e, struct event event) {
    if (e->n == e->capacity) {
        size_t capacity = e->capacity ? 2 * e->capacity : 4096;
        struct event *a = realloc(e->a, capacity * sizeof *a);
        if (!a) return -1;
        e->a = a;
        e->capacity = capacity;
    }
    event.number = e->n_seen++;
    e->a[e->n++] = event;
    return 0;
}

/* Layouts of perf_event_open(2); each record ends in a sample_id. */
struct sample_id {
    uint32_t pid, tid;
    uint64_t time;
    uint32_t cpu, reserved;
};

struct task_record {
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
};

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    char comm[];
};

struct lost_record {
    struct perf_event_header header;
    uint64_t id, lost;
};

static int take_record(struct events *events, const struct choice *c, const struct perf_event_header *header) {
    const struct sample_id *id = (const void *)((const char *)header + header->size - sizeof *id);
    struct event e = {.time_ns = (int64_t)id->time, .cpu = (int)id->cpu, .pid = id->pid, .tid = id->tid};
    const struct task_record *task = (const void *)header;
    const struct comm_record *comm = (const void *)header;
    switch (header->type) {
    case PERF_RECORD_SWITCH_CPU_WIDE: e.type = header->misc & PERF_RECORD_MISC_SWITCH_OUT ? SWITCH_OUT : SWITCH_IN; break;
    case PERF_RECORD_FORK:
        e.type = BIRTH;
        e.pid = task->pid;
        e.tid = task->tid;
        e.parent_pid = task->parent_pid;
        e.parent_tid = task->parent_tid;
        break;
    case PERF_RECORD_COMM:
        e.type = NAME;
        e.pid = comm->pid;
        e.tid = comm->tid;
        e.is_named = is_named(c, comm->comm);
        break;
    case PERF_RECORD_LOST: events->n_lost += ((const struct lost_record *)(const void *)header)->lost; return 0;
    default: return 0;
    }
    return events_push(events, e);
}

/* Empties one ring. */
static int drain(struct watch *w, struct events *events, const struct choice *c) {
    const char *ring = (const char *)w->page + w->page->data_offset;
    uint64_t head = __atomic_load_n(&w->page->data_head, __ATOMIC_ACQUIRE), tail = w->last_head;
    /* the kernel tells of a loss only with the next record that it can write: none may follow */
    if (head - tail + MAX_RECORD_BYTES > RING_BYTES) events->n_lost++;
    int status = 0;
    while (tail < head && status == 0) {
        _Alignas(8) char record[MAX_RECORD_BYTES];
        uint64_t at = tail % RING_BYTES, first = RING_BYTES - at;
        size_t size = ((const struct perf_event_header *)(const void *)(ring + at))->size; /* 8-byte aligned: never split */
        if (size > sizeof record) {
            nl_error("the kernel sent a record of %zu bytes, more than this program knows", size);
            return -1;
        }
        memcpy(record, ring + at, size < first ? size : first);
        if (size > first) memcpy(record + first, ring, size - first);
        status = take_record(events, c, (const void *)record);
        tail += size;
    }
    if (status) nl_error("out of memory after %llu events", (unsigned long long)events->n_seen);
    w->last_head = tail;
    __atomic_store_n(&w->page->data_tail, tail, __ATOMIC_RELEASE);
    return status;
}

/* ---- from events to stretches ---- */

struct stretch {
    int64_t start_ns, end_ns; /* from the begin of the recording */
    int cpu;
};

struct runner {
    uint32_t pid, tid; /* who is on the CPU; 0: nobody, or not known */
    int64_t since_ns;  /* when its stretch began; -1: it is not recorded */
};

struct recording {
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end: INT64_MAX until it is over */
    int n_cpus;
    struct runner *runners; /* by CPU */
    struct stretch *a;
    size_t n, capacity;
};

static int end_stretch(struct recording *r, int cpu, int64_t now_ns) {
    struct runner *runner = &r->runners[cpu];
    int64_t start_ns = runner->since_ns > r->begin_ns ? runner->since_ns : r->begin_ns;
    int64_t end_ns = now_ns < r->end_ns ? now_ns : r->end_ns;
    int was_recorded = runner->since_ns >= 0;
    runner->since_ns = -1;
    if (!was_recorded || end_ns <= start_ns) return 0;
    if (r->n == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 4096;
        struct stretch *a = realloc(r->a, capacity * sizeof *a);
        if (!a) {
            nl_error("out of memory after %zu stretches", r->n);
            return -1;
        }
        r->a = a;
        r->capacity = capacity;
    }
    r->a[r->n++] = (struct stretch){.start_ns = start_ns - r->begin_ns, .end_ns = end_ns - r->begin_ns, .cpu = cpu};
    return 0;
}

static int follow(struct recording *r, struct choice *c, const struct event *e) {
    if (e->cpu < 0 || e->cpu >= r->n_cpus) return 0;
    struct runner *runner = &r->runners[e->cpu];
    switch (e->type) {
    case SWITCH_IN:
        *runner = (struct runner){.pid = e->pid, .tid = e->tid, .since_ns = is_chosen(c, e->pid, e->tid) ? e->time_ns : -1};
        return 0;
    case SWITCH_OUT: return end_stretch(r, e->cpu, e->time_ns); /* whoever it is: a task that ended has lost its number by now */
    case BIRTH: choose(c, e->tid, is_chosen(c, e->parent_pid, e->parent_tid)); return 0;
    case NAME:
        if (!e->is_named) return 0;
        choose(c, e->tid, 1);
        if (runner->tid == e->tid && runner->since_ns < 0) runner->since_ns = e->time_ns;
        return 0;
    }
    return 0;
}

static int compare_events(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Follows, in order of time, the events older than `until_ns`, and keeps the rest. */
static int follow_until(struct recording *r, struct choice *c, struct events *events, int64_t until_ns) {
    size_t n_done = 0;
    if (events->n > 0) qsort(events->a, events->n, sizeof *events->a, compare_events);
    for (; n_done < events->n && events->a[n_done].time_ns < until_ns; n_done++)
        if (follow(r, c, &events->a[n_done])) return -1;
    events->n -= n_done;
    if (events->n > 0) memmove(events->a, events->a + n_done, events->n * sizeof *events->a);
    return 0;
}

/* ---- recording ---- */

struct session {
    struct options options;
    struct choice choice;
    struct events events;
    struct recording recording;
    struct watch *watches;
    int n_watches;
    int64_t cpu_time_ns; /* the kernel's account of the processes given by number, their threads included; -1: not known */
};

/* CPU time so far of the processes given by number; -1 when none is given or one is gone. */
static int64_t cpu_time_ns(const struct options *o) {
    int64_t sum_ns = o->n_pids > 0 ? 0 : -1;
    for (int i = 0; i < o->n_pids && sum_ns >= 0; i++) {
        clockid_t clock;
        struct timespec t;
        if (clock_getcpuclockid(o->pids[i], &clock) || clock_gettime(clock, &t)) return -1;
        sum_ns += (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    return sum_ns;
}

static int open_watches(struct session *s) {
    int n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    int n_switches = 0;
    s->watches = calloc((size_t)n_cpus, sizeof *s->watches);
    s->recording.runners = calloc((size_t)n_cpus, sizeof *s->recording.runners);
    if (!s->watches || !s->recording.runners) {
        nl_error("out of memory for %d CPUs", n_cpus);
        return -1;
    }
    s->recording.n_cpus = n_cpus;
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        int with_switches = s->options.cpu < 0 || s->options.cpu == cpu;
        s->recording.runners[cpu] = (struct runner){.since_ns = -1};
        int status = watch_open(&s->watches[s->n_watches], cpu, with_switches);
        if (status < 0) return -1;
        if (status > 0) continue; /* offline */
        s->n_watches++;
        n_switches += with_switches;
    }
    if (n_switches > 0) return 0;
    nl_error("--cpu: there is no CPU %d here, or it is offline", s->options.cpu);
    return -1;
}

/* Runs for a moment on every CPU: the switch to this program and back shows who was there, even when that task never sleeps. Then leaves
 * the CPU that is recorded, if there is another. */
static void visit_cpus(const struct session *s) {
    cpu_set_t before, one;
    if (sched_getaffinity(0, sizeof before, &before)) return;
    for (int i = 0; i < s->n_watches; i++) {
        CPU_ZERO(&one);
        CPU_SET(s->watches[i].cpu, &one);
        sched_setaffinity(0, sizeof one, &one); /* where it is refused, the first switch will tell */
    }
    if (s->options.cpu >= 0 && CPU_COUNT(&before) > 1) CPU_CLR(s->options.cpu, &before);
    sched_setaffinity(0, sizeof before, &before);
}

static int drain_all(struct session *s) {
    for (int i = 0; i < s->n_watches; i++)
        if (drain(&s->watches[i], &s->events, &s->choice)) return -1;
    return 0;
}

/* Sleeps until the time is over, a signal came or a ring is half full. */
static int sleep_until(const struct session *s, struct pollfd *fds, int64_t end_ns, const sigset_t *signals) {
    int64_t left_ns = end_ns - nl_mono_ns();
    struct timespec timeout = nl_timespec(left_ns > 0 ? left_ns : 0);
    if (ppoll(fds, (nfds_t)s->n_watches, &timeout, signals) >= 0 || errno == EINTR) return 0;
    nl_error("ppoll: %s", strerror(errno));
    return -1;
}

static int record(struct session *s) {
    struct recording *r = &s->recording;
    struct pollfd *fds = calloc((size_t)s->n_watches, sizeof *fds);
    sigset_t stops, before;
    int status = -1;
    if (!fds) {
        nl_error("out of memory for %d CPUs", s->n_watches);
        return -1;
    }
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, &before); /* they come only while this program sleeps, so that none is overlooked */
    for (int i = 0; i < s->n_watches; i++) {
        fds[i] = (struct pollfd){.fd = s->watches[i].fd, .events = POLLIN};
        if (ioctl(s->watches[i].fd, PERF_EVENT_IOC_ENABLE, 0)) {
            nl_error("cannot watch CPU %d: %s", s->watches[i].cpu, strerror(errno));
            goto done;
        }
    }
    if (choose_running(&s->choice, &s->options)) goto done;
    visit_cpus(s);
    int64_t cpu_time_before_ns = cpu_time_ns(&s->options);
    r->begin_ns = nl_mono_ns();
    r->end_ns = INT64_MAX;
    int64_t planned_end_ns = r->begin_ns + s->options.duration_ns, last_woken_ns = r->begin_ns;
    while (!is_stopped && nl_mono_ns() < planned_end_ns) {
        if (sleep_until(s, fds, planned_end_ns, &before)) goto done;
        int64_t woken_ns = nl_mono_ns();
        if (is_stopped || woken_ns >= planned_end_ns) break;
        /* what happened before the last wake-up is in the rings by now; newer events may still be on their way on other CPUs */
        if (drain_all(s) || follow_until(r, &s->choice, &s->events, last_woken_ns)) goto done;
        last_woken_ns = woken_ns;
    }
    int64_t now_ns = nl_mono_ns(), cpu_time_after_ns = cpu_time_ns(&s->options);
    s->cpu_time_ns = cpu_time_before_ns >= 0 && cpu_time_after_ns >= 0 ? cpu_time_after_ns - cpu_time_before_ns : -1;
    r->end_ns = now_ns < planned_end_ns ? now_ns : planned_end_ns;
    for (int i = 0; i < s->n_watches; i++) ioctl(s->watches[i].fd, PERF_EVENT_IOC_DISABLE, 0);
    if (drain_all(s) || follow_until(r, &s->choice, &s->events, INT64_MAX)) goto done;
    status = 0;
    for (int cpu = 0; cpu < r->n_cpus && status == 0; cpu++) status = end_stretch(r, cpu, r->end_ns);
done:
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(fds);
    return status;
}

/* ---- output ---- */

static int compare_by_cpu(const void *a, const void *b) {
    const struct stretch *x = a, *y = b;
    if (x->cpu != y->cpu) return x->cpu < y->cpu ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int compare_by_start(const void *a, const void *b) {
    const struct stretch *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Joins stretches of one CPU that are closer than merge_ns; returns the time in the gaps, which then counts as time on CPU. */
static int64_t merge(struct recording *r, int64_t merge_ns) {
    size_t n = 0;
    int64_t gaps_ns = 0;
    if (r->n == 0) return 0;
    qsort(r->a, r->n, sizeof *r->a, compare_by_cpu);
    for (size_t i = 1; i < r->n; i++) {
        int64_t gap_ns = r->a[i].start_ns - r->a[n].end_ns;
        if (r->a[i].cpu != r->a[n].cpu || gap_ns >= merge_ns) {
            r->a[++n] = r->a[i];
            continue;
        }
        r->a[n].end_ns = r->a[i].end_ns;
        gaps_ns += gap_ns;
    }
    r->n = n + 1;
    return gaps_ns;
}

static int print_trace(struct session *s) {
    const struct options *o = &s->options;
    struct recording *r = &s->recording;
    double seconds = (double)(r->end_ns - r->begin_ns) / 1e9;
    int64_t total_ns = 0, gaps_ns = merge(r, o->merge_ns);
    if (r->n > 0) qsort(r->a, r->n, sizeof *r->a, compare_by_start);
    for (size_t i = 0; i < r->n; i++) total_ns += r->a[i].end_ns - r->a[i].start_ns;
    printf("# time on CPU of");
    for (int i = 0; i < o->n_pids; i++) printf("%s %d", i == 0 ? " process" : ",", (int)o->pids[i]);
    if (o->name[0]) printf("%s tasks named %s*", o->n_pids > 0 ? " and" : "", o->name);
    printf(" with threads and children, switch-in to switch-out, on ");
    if (o->cpu >= 0)
        printf("CPU %d\n", o->cpu);
    else
        printf("%d CPUs\n", s->n_watches);
    printf("# seconds: %.6f\n# bursts: %zu\n# total_ns: %lld\n# percent of one CPU: %.6f\n# lost: %llu\n", seconds, r->n,
           (long long)total_ns, (double)total_ns / seconds / 1e7, (unsigned long long)s->events.n_lost);
    if (s->cpu_time_ns >= 0) printf("# cpu_time_ns: %lld (the kernel's account, without children)\n", (long long)s->cpu_time_ns);
    if (o->merge_ns > 0)
        printf("# stretches closer than %lld ns are joined; gaps in total_ns: %lld\n", (long long)o->merge_ns, (long long)gaps_ns);
    printf("# span_ns: %lld\n# start_ns\tduration_ns\tcpu\n", (long long)(r->end_ns - r->begin_ns)); /* span: a round of a looped replay */
    for (size_t i = 0; i < r->n; i++)
        printf("%lld\t%lld\t%d\n", (long long)r->a[i].start_ns, (long long)(r->a[i].end_ns - r->a[i].start_ns), r->a[i].cpu);
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    nl_error("cannot write the trace: %s", strerror(errno));
    return -1;
}

int main(int argc, char **argv) {
    static struct session s; /* half a MB of bits: not for the stack */
    int status = NL_EXIT_USAGE;
    nl_set_program("bench_record");
    if (parse_options(argc, argv, &s.options)) return NL_EXIT_USAGE;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = stop}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
    if (open_watches(&s) || record(&s)) goto done;
    if (s.events.n_lost > 0) {
        nl_error("lost %llu events: the rings were too small; nothing is printed, since a trace with holes looks like a quiet process",
                 (unsigned long long)s.events.n_lost);
        goto done;
    }
    if (s.recording.n == 0) nl_warn("none of what was asked for ran in this time");
    if (print_trace(&s) == 0) status = NL_EXIT_OK;
done:
    for (int i = 0; i < s.n_watches; i++) watch_close(&s.watches[i]);
    free(s.watches);
    free(s.events.a);
    free(s.recording.runners);
    free(s.recording.a);
    return status;
}

/* Source schedstat: the CPU time of each suspect's threads by /proc/PID/task/TID/schedstat, 1000 times a
 * second, by a thread of its own on a CPU that is not watched. The kernel brings a running task's account up
 * to date at its timer ticks and at switches, so bursts closer than a tick cannot be told apart: when a group
 * of them began, and their CPU time, are right; single bursts are not. */
#include "noisegen/recorder/source.h"

enum { SAMPLE_NS = 1000000, TICK_NS = 10000000 /* of the slowest kernel */, UPDATE_NS = 500000000 };

/* The tasks in groups that somebody said (agent, rank, ...), each with its account by the scheduler: what is
 * looked at. */

struct suspect {
    pid_t pid, tid;
    uint32_t name;
    uint8_t group;
    int fd;         /* of its schedstat; -1: it is gone */
    int64_t run_ns; /* at the last look */
    int cpu;
    int is_active;                       /* a burst lasts ... */
    int64_t start_ns, burst_ns,
        last_ns; /* ... since when, CPU time in it, and when it was last seen running */
};

enum { MAX_SUSPECTS = 512 };

struct suspects {
    struct suspect a[MAX_SUSPECTS];
    int n;
};

static int is_there(const struct suspects *s, pid_t tid) {
    for (int i = 0; i < s->n; i++)
        if (s->a[i].tid == tid && s->a[i].fd >= 0) return 1;
    return 0;
}

static void drop_gone(struct suspects *s) {
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->a[i].fd >= 0) s->a[n++] = s->a[i];
    s->n = n;
}

/* Looks for tasks that are new and forgets those that are gone. Allocates: between measured stretches, or in
 * the sampler's thread. */
static void update(struct suspects *s, struct nr_recorder *r) {
    struct nr_proc_task *seen;
    drop_gone(s);
    if (nr_tasks_scan(&r->tasks, -1)) return;
    int n_seen = nr_proc_tasks(0, &seen);
    for (int i = 0; i < n_seen; i++) {
        const struct nr_task *task = nr_tasks_at(&r->tasks, (uint32_t)seen[i].tid);
        if (task->group < NR_AGENT || task->group > NR_RANK || task->group == NR_NOISELAB ||
            is_there(s, seen[i].tid))
            continue;
        if (s->n == MAX_SUSPECTS) break;
        struct suspect *new = &s->a[s->n];
        *new = (struct suspect){.pid = seen[i].pid,
                                .tid = seen[i].tid,
                                .name = task->name,
                                .group = task->group,
                                .cpu = seen[i].stat.cpu};
        new->fd = nr_proc_open_schedstat(new->pid, new->tid);
        if (new->fd < 0) continue;
        new->run_ns = nr_proc_run_ns(new->fd);
        s->n++;
    }
    if (n_seen >= 0) free(seen);
}

static void close_all(struct suspects *s) {
    for (int i = 0; i < s->n; i++)
        if (s->a[i].fd >= 0) close(s->a[i].fd);
    s->n = 0;
}

struct state {
    struct suspects suspects;
    pthread_t sampler;
    int has_sampler, is_measuring, is_over; /* under the recorder's lock */
    pthread_cond_t changed;
    int64_t updated_ns;
};

static void finish(struct nr_recorder *r, struct suspect *s) {
    if (s->is_active) {
        struct nr_burst burst = {.start_ns = s->start_ns,
                                 .end_ns = s->start_ns + s->burst_ns,
                                 .cpu = s->cpu,
                                 .tid = s->tid,
                                 .name = s->name,
                                 .group = s->group};
        nr_take_burst(r, burst);
    }
    s->is_active = 0;
}

/* One look at all suspects. */
static void sample(struct nr_recorder *r, struct state *state, int64_t now_ns, int is_last) {
    for (int i = 0; i < state->suspects.n; i++) {
        struct suspect *s = &state->suspects.a[i];
        int64_t run_ns = s->fd >= 0 ? nr_proc_run_ns(s->fd) : -1;
        int64_t more_ns = run_ns > s->run_ns ? run_ns - s->run_ns : 0;
        if (more_ns > 0) {
            struct nr_proc_task task;
            if (!s->is_active) {
                *s = (struct suspect){.pid = s->pid,
                                      .tid = s->tid,
                                      .name = s->name,
                                      .group = s->group,
                                      .fd = s->fd,
                                      .cpu = s->cpu,
                                      .start_ns = now_ns - more_ns,
                                      .is_active = 1};
                if (nr_proc_read_task(s->pid, s->tid, &task) == 0) s->cpu = task.stat.cpu;
            }
            s->run_ns = run_ns;
            s->burst_ns += more_ns;
            s->last_ns = now_ns;
        }
        if (is_last || run_ns < 0 || now_ns - s->last_ns > TICK_NS) finish(r, s);
        if (run_ns < 0 && s->fd >= 0) {
            close(s->fd);
            s->fd = -1;
        }
    }
}

/* Binds the sampler to the CPUs that nobody watches, where there are some. */
static void bind_sampler(const struct nr_recorder *r) {
    size_t size = CPU_ALLOC_SIZE(r->n_cpus);
    cpu_set_t *set = CPU_ALLOC(r->n_cpus);
    if (!set) return;
    if (sched_getaffinity(0, size, set) == 0) {
        for (int cpu = 0; cpu < r->n_cpus; cpu++)
            if (r->is_watched[cpu]) CPU_CLR_S((size_t)cpu, size, set);
        if (CPU_COUNT_S(size, set) > 0) sched_setaffinity(0, size, set);
    }
    CPU_FREE(set);
}

static void *run_sampler(void *argument) {
    struct nr_recorder *r = argument;
    struct state *state = r->state;
    bind_sampler(r);
    pthread_mutex_lock(&r->lock);
    while (!state->is_over) {
        if (!state->is_measuring) {
            pthread_cond_wait(&state->changed, &r->lock);
            continue;
        }
        int64_t now_ns = nl_mono_ns();
        if (now_ns - state->updated_ns > UPDATE_NS) {
            update(&state->suspects, r);
            state->updated_ns = now_ns;
        }
        now_ns = nl_mono_ns();
        sample(r, state, now_ns, 0);
        pthread_mutex_unlock(&r->lock);
        struct timespec next = nl_timespec(now_ns + SAMPLE_NS);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int open_schedstat(struct nr_recorder *r, char *why, size_t size) {
    struct state *state = calloc(1, sizeof *state);
    r->state = state;
    if (!state || nr_proc_run_ns_of(getpid(), getpid()) < 0)
        return nl_say(why, size, state ? "this kernel keeps no /proc/PID/schedstat" : "no memory");
    pthread_cond_init(&state->changed, NULL);
    update(&state->suspects, r);
    int error = pthread_create(&state->sampler, NULL, run_sampler, r);
    state->has_sampler = error == 0;
    if (error) snprintf(why, size, "cannot start a thread: %s", strerror(error));
    return error ? -1 : 0;
}

static void begin(struct nr_recorder *r) {
    struct state *state = r->state;
    update(&state->suspects, r);
    state->updated_ns = nl_mono_ns();
    for (int i = 0; i < state->suspects.n; i++) {
        struct suspect *s = &state->suspects.a[i];
        if (s->fd >= 0) s->run_ns = nr_proc_run_ns(s->fd);
        s->is_active = 0;
    }
    state->is_measuring = 1;
    pthread_cond_signal(&state->changed);
}

static void end(struct nr_recorder *r) {
    struct state *state = r->state;
    state->is_measuring = 0;
    sample(r, state, r->end_ns, 1);
}

static void close_schedstat(struct nr_recorder *r) {
    struct state *state = r->state;
    if (!state) return;
    if (state->has_sampler) {
        pthread_mutex_lock(&r->lock);
        state->is_over = 1;
        pthread_cond_signal(&state->changed);
        pthread_mutex_unlock(&r->lock);
        pthread_join(state->sampler, NULL);
        pthread_cond_destroy(&state->changed);
    }
    close_all(&state->suspects);
    free(state);
    r->state = NULL;
}

const struct nr_source nr_source_schedstat = {
    .name = "schedstat",
    .what = "the scheduler's account of suspected threads, 1000 times a second from another CPU: groups of "
            "bursts and CPU time, not single "
            "bursts",
    .has_bursts = 1,
    .is_cpu_time = 1,
    .open = open_schedstat,
    .begin = begin,
    .end = end,
    .close = close_schedstat,
};

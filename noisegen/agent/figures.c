#include "noisegen/agent/figures.h"
#include "noisegen/agent/agent.h"

/* The number behind `key` in a text of "key: value" lines; -1 without it. */
static int64_t value_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) return -1;
    at += strlen(key);
    return strtoll(at + strspn(at, " \t:"), NULL, 10);
}

struct taking { struct na_moment *m; pid_t pid; };

static int take_thread(void *context, pid_t tid) {
    struct taking *t = context;
    struct na_moment *m = t->m;
    char path[64], text[8192];
    if (NL_GROW(m->threads, m->n_threads, m->room_threads)) return 1;
    struct na_thread *thread = &m->threads[m->n_threads];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)t->pid, (int)tid);
    if (nl_read(path, text, sizeof text) <= 0) return 0;
    *thread = (struct na_thread){.tid = tid,
                                 .voluntary = value_of(text, "\nvoluntary_ctxt_switches"),
                                 .involuntary = value_of(text, "nonvoluntary_ctxt_switches"),
                                 .runs = -1,
                                 .migrations = -1};
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)t->pid, (int)tid);
    if (nl_read(path, text, sizeof text) > 0) {
        long long runs;
        if (sscanf(text, "%*u %*u %lld", &runs) == 1) thread->runs = runs;
    }
    snprintf(path, sizeof path, "/proc/%d/task/%d/sched", (int)t->pid, (int)tid);
    if (nl_read(path, text, sizeof text) > 0) thread->migrations = value_of(text, "se.nr_migrations");
    m->n_threads++;
    return 0;
}

NL_ORDER(by_number, pid_t)

static void take_process(struct na_moment *m, pid_t pid) {
    struct taking t = {m, pid};
    struct nl_stat s;
    char path[64], text[1024];
    if (NL_GROW(m->processes, m->n_processes, m->room_processes) || nl_stat_read(pid, &s)) return;
    m->rss_kib += s.rss_kib;
    struct na_bytes *p = &m->processes[m->n_processes++];
    *p = (struct na_bytes){pid, s.dead_children_faults, -1, -1};
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    if (nl_read(path, text, sizeof text) > 0) {
        p->read_bytes = value_of(text, "rchar");
        p->written_bytes = value_of(text, "wchar");
    }
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    nl_each_number(path, take_thread, &t);
}

static void take(struct na_moment *m, const struct na_set *set) {
    m->n_threads = m->n_processes = 0;
    m->rss_kib = 0;
    for (int i = 0; i < set->n; i++) take_process(m, set->p[i].pid);
    /* both structures begin with their number */
    if (m->n_threads > 0) qsort(m->threads, (size_t)m->n_threads, sizeof *m->threads, by_number);
    if (m->n_processes > 0) qsort(m->processes, (size_t)m->n_processes, sizeof *m->processes, by_number);
}

void na_figures_begin(struct na_figures *f, const struct na_set *set) { take(&f->begin, set); }

/* Adds now - before to a sum that stays -1 once something is unknown; a number that was not there before
 * began at 0. */
static void add(int64_t *sum, int64_t now, int64_t before) {
    if (*sum < 0 || now < 0 || before < 0) *sum = -1;
    else *sum += now > before ? now - before : 0;
}

static void *find(const void *key, const void *array, int n, size_t size) {
    return n > 0 ? bsearch(key, array, (size_t)n, size, by_number) : NULL;
}

void na_figures_end(struct na_figures *f, const struct na_set *set, struct nl_agent_account *a) {
    int64_t runs = 0;
    take(&f->end, set);
    a->voluntary = a->involuntary = a->migrations = a->read_bytes = a->written_bytes = a->n_started = 0;
    for (int i = 0; i < f->end.n_threads; i++) {
        const struct na_thread *now = &f->end.threads[i], nothing = {0},
                               *before = find(now, f->begin.threads, f->begin.n_threads, sizeof nothing);
        if (!before) before = &nothing;
        add(&a->voluntary, now->voluntary, before->voluntary);
        add(&a->involuntary, now->involuntary, before->involuntary);
        add(&a->migrations, now->migrations, before->migrations);
        add(&runs, now->runs, before->runs);
    }
    for (int i = 0; i < f->end.n_processes; i++) {
        const struct na_bytes *now = &f->end.processes[i], nothing = {0},
                              *before = find(now, f->begin.processes, f->begin.n_processes, sizeof nothing);
        a->n_started += !before;
        if (!before || before->dead_children_faults != now->dead_children_faults) f->starts_processes = 1;
        if (!before) before = &nothing;
        add(&a->read_bytes, now->read_bytes, before->read_bytes);
        add(&a->written_bytes, now->written_bytes, before->written_bytes);
    }
    a->wakeups = runs < 0 || a->involuntary < 0 ? -1 : runs > a->involuntary ? runs - a->involuntary : 0;
    if (f->end.n_processes < f->begin.n_processes) f->starts_processes = 1;
    a->n_processes = f->end.n_processes;
    a->rss_kib = f->end.rss_kib;
}

void na_figures_free(struct na_figures *f) {
    NL_FREE(f->begin.threads, f->begin.processes, f->end.threads, f->end.processes);
    *f = (struct na_figures){0};
}

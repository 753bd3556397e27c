#include "noisegen/agent/who.h"
#include "noisegen/agent/session.h"
#include "common/sys/nl_whole.h"

#define SOME_BURSTS INT64_C(250000) /* 10 MB of trace */
#define MANY_BURSTS INT64_C(4000000)

/* The ranks' CPUs and threads; ranks that are not bound may be anywhere. */
static void collect(struct na_who *w) {
    int is_bound = 1;
    w->n_cpus = 0;
    for (int i = 0; i < w->page->n_ranks; i++) {
        int cpu = w->page->ranks[i].cpu, is_new = 1;
        is_bound &= cpu >= 0;
        for (int j = 0; j < w->n_cpus; j++) is_new &= w->cpus[j] != cpu;
        if (is_new) w->cpus[w->n_cpus++] = cpu;
        w->tids[i] = w->page->ranks[i].tid;
    }
    if (!is_bound) w->n_cpus = 0;
}

/* The detector's generator is a child of it as we are. */
static void mark_generators(struct na_who *w) {
    struct na_set children = {0};
    struct nl_stat s;
    na_set_add_children(&children, w->page->owner_pid);
    for (int i = 0; i < children.n; i++)
        if (nl_stat_read(children.p[i].pid, &s) == 0 && strcmp(s.name, "noiselab-gen") == 0)
            nr_mark(w->recorder, children.p[i].pid, NR_GENERATOR, 1);
    na_set_free(&children);
}

int na_who_open(struct na_who *w, const struct na_options *o, const struct nl_agent *page) {
    w->page = page;
    w->has_bursts = o->keep != NA_KEEP_NO;
    if (o->who == NA_WHO_NONE) return 0;
    collect(w);
    struct nr_config config = {.source = na_who_names[o->who],
                               .view = NR_VIEW_THREADS,
                               .cpus = w->cpus,
                               .n_cpus = w->n_cpus,
                               .tids = w->tids,
                               .n_tids = page->n_ranks,
                               .max_bursts = o->keep == NA_KEEP_YES  ? MANY_BURSTS
                                             : o->keep == NA_KEEP_NO ? 0
                                                                     : SOME_BURSTS,
                               .keep = 1u << NR_AGENT | 1u << NR_SCRAPER | 1u << NR_UNKNOWN |
                                       1u << NR_PREEMPTED | 1u << NR_YIELDED,
                               .beside = 1u << NR_OTHER | 1u << NR_KERNEL};
    if (nr_open(&w->recorder, &config)) {
        if (o->who != NA_WHO_AUTO) return -1;
        nl_warn("the agent is switched all the same, without a record of who took the CPUs (--who none asks "
                "for none)");
        return 0;
    }
    for (int i = 0; i < page->n_ranks; i++) nr_mark(w->recorder, page->ranks[i].pid, NR_RANK, 0);
    nr_mark(w->recorder, getpid(), NR_NOISELAB, 1);
    mark_generators(w);
    return 0;
}

void na_who_mark(struct na_who *w, pid_t pid, enum nr_group group) {
    NL_LOCKED(&w->lock);
    if (w->recorder) nr_mark(w->recorder, pid, group, 0);
}

void na_who_begin(struct na_who *w, int arm) {
    NL_LOCKED(&w->lock);
    if (w->recorder) nr_begin(w->recorder, arm);
}

void na_who_end(struct na_who *w, struct nl_agent_account *a) {
    struct nr_totals half;
    const int64_t *waited_ns = half.group_waited_ns;
    NL_LOCKED(&w->lock);
    if (!w->recorder || nr_end(w->recorder, &half)) return;
    a->lost_switches = half.lost;
    a->ins = half.ins;
    a->outs = half.outs;
    /* only a record of who runs on a CPU knows where the agent ran; without ranks bound to CPUs none of these
     * is theirs */
    if (strcmp(nr_source(w->recorder), "cpu") != 0 || w->n_cpus == 0) return;
    a->cpu_on_ranks_ns = half.group_ns[NR_AGENT];
    a->observer_on_ranks_ns = half.group_ns[NR_NOISELAB];
    a->waited_for_agent_ns = waited_ns[NR_AGENT];
    a->waited_for_others_ns = waited_ns[NR_OTHER];
    a->waited_for_kernel_ns = waited_ns[NR_KERNEL];
    a->waited_for_noiselab_ns =
        waited_ns[NR_NOISELAB] + waited_ns[NR_RANK] + waited_ns[NR_GENERATOR] + waited_ns[NR_SCRAPER];
    a->waited_unknown_ns = waited_ns[NR_UNKNOWN] + waited_ns[NR_IDLE];
    a->others_on_ranks_ns = 0;
    for (int group = 0; group <= NR_UNKNOWN; group++)
        if (group != NR_AGENT && group != NR_RANK && group != NR_IDLE)
            a->others_on_ranks_ns += half.group_ns[group];
}

enum who_file { TASKS, BURSTS, OTHERS };

/* A whole file in the launch's folder. */
static int write_file(const struct na_who *w, enum who_file which, char *reason, int size) {
    static const char *const names[][2] = {
        [TASKS] = {"tasks", "csv"}, [BURSTS] = {"bursts", "trace"}, [OTHERS] = {"others", "trace"}};
    char path[NL_WHOLE_BYTES];
    struct nl_whole whole;
    struct nr_arm_words arms[NL_AGENT_MAX_ARMS];
    const struct nl_agent *p = w->page;
    for (int i = 0; i < p->n_arms; i++)
        arms[i] = (struct nr_arm_words){p->arms[i].name, p->arms[i].kind, p->arms[i].level};
    snprintf(path, sizeof path, "%s/%s.%s.%s", p->directory, names[which][0], p->host, names[which][1]);
    int rc = nl_whole_open(&whole, path, 0666);
    if (rc == 0 && which == TASKS) rc = nr_write_tasks(w->recorder, whole.f, p->launch, p->host, arms);
    else if (rc == 0)
        rc = (which == BURSTS ? nr_write_bursts : nr_write_beside)(w->recorder, whole.f, p->host);
    if (whole.f) rc = nl_whole_close(&whole, rc);
    return rc ? nl_say(reason, size, "cannot write %s: %s", path, strerror(errno)) : 0;
}

int na_who_write(struct na_who *w, int all, char *reason, int size) {
    NL_LOCKED(&w->lock);
    if (!w->recorder || !w->page->directory[0]) return 0;
    w->written_ns = nl_mono_ns();
    if (write_file(w, TASKS, reason, size)) return -1;
    if (!all || !w->has_bursts) return 0;
    if (write_file(w, BURSTS, reason, size)) return -1;
    /* only who watches CPUs sees others there */
    return strcmp(nr_source(w->recorder), "cpu") == 0 && w->n_cpus > 0 ? write_file(w, OTHERS, reason, size)
                                                                       : 0;
}

void na_who_close(struct na_who *w) {
    if (w->recorder) nr_close(w->recorder);
    w->recorder = NULL;
}

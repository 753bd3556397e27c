/* Counters around each half: of the kernel on the ranks' CPUs, by the first rank of each node with a load,
 * and of the ranks themselves. */
#include "detector/counters_run.h"
#include "detector/run_state.h"
#include "detector/look_around.h"
#include "detector/record/counter_rows.h"

#define MOST_OF_A_HALF 0.05 /* what the two readings of a half may take of its length */

/* Of a node's first rank: the CPUs, the files, and how long a reading takes. 0, -1: there is no memory. */
static int open_kernel(struct nd_counters *c, const struct nd_run *r) {
    int n_cpus = 0;
    c->cpus = nd_run_choose_cpus(r, &n_cpus);
    if (!c->cpus) return nl_error("not enough memory for the counters of CPUs");
    for (int i = 0; i < n_cpus; i++)
        c->n_cpus += c->cpus[i];
    c->kernel = nl_kernel_open("/proc", c->cpus, n_cpus);
    if (!c->kernel) return nl_error("not enough memory for the counters of CPUs");
    c->reading_ns = nl_kernel_reading_ns(c->kernel);
    c->wake_ns = nl_kernel_wake_ns();
    return 0;
}

static void describe(struct nd_run *r, int is_read) {
    const struct nd_counters *c = &r->counters;
    char unknown[200];
    nl_kernel_problem(c->kernel, unknown, sizeof unknown);
    nd_launch_json_counters(r->root.launch, c->reading_ns, c->wake_ns, is_read, unknown,
                            c->probe ? nd_probe_problem(c->probe) : "");
    if (!is_read)
        nd_launch_json_warn(
            r->root.launch,
            "what the kernel counts on the ranks' CPUs is not read around halves: reading it takes %.3g ms, "
            "a half %.3g ms",
            1e-6 * (double)c->reading_ns, 1e-6 * (double)r->o->half_ns);
}

int nd_counters_open(struct nd_run *r) {
    struct nd_counters *c = &r->counters;
    int is_leader = r->team.node_rank == 0;
    if (!nd_options_has_agent(r->o) && !nd_options_has_generator(r->o)) return 0;
    if (nd_run_agree_failed(r, is_leader && open_kernel(c, r))) return -1;
    int64_t longest_ns[] = {c->reading_ns, c->wake_ns};
    MPI_Allreduce(MPI_IN_PLACE, longest_ns, 2, MPI_INT64_T, MPI_MAX, r->team.world);
    c->reading_ns = longest_ns[0];
    c->wake_ns = longest_ns[1];
    int is_read = r->o->half_ns <= 0 || 2. * (double)c->reading_ns <= MOST_OF_A_HALF * (double)r->o->half_ns;
    /* those of a program that is followed are not ours to try out */
    if (is_read && !r->program && !(c->probe = nd_probe_open()))
        nl_error("not enough memory for the counters of a rank");
    if (nd_run_agree_failed(r, is_read && !r->program && !c->probe)) return -1;
    if (r->root.launch) describe(r, is_read);
    if (!is_read || !(r->leader.treatment || r->agent.companion)) return 0;
    gethostname(c->host, sizeof c->host - 1);
    c->rows = nd_counter_rows_open(r->o, r->folder.path, r->folder.launch, r->team.node_index, c->host);
    /* a launch is good without, as it is without slices: folders may be those of the first node alone */
    if (!c->rows) nl_warn("what the kernel counts on this node is not kept");
    return 0;
}

void nd_counters_close(struct nd_run *r) {
    struct nd_counters *c = &r->counters;
    nd_node_rows_close(c->rows);
    nl_kernel_close(c->kernel);
    nd_probe_close(c->probe);
    free(c->cpus);
    *c = (struct nd_counters){0};
}

void nd_counters_begin(struct nd_run *r) {
    struct nd_counters *c = &r->counters;
    if (c->probe) nd_probe_begin(c->probe);
    if (!c->rows) return;
    c->begin_ns = nl_mono_ns();
    nl_kernel_read(c->kernel, c->before);
}

void nd_counters_end(struct nd_run *r, struct nd_sample *s) {
    struct nd_counters *c = &r->counters;
    s->probe = (struct nd_probe_sum){0};
    if (c->rows) {
        int64_t now[NL_N_KERNEL];
        c->half.span_ns = nl_mono_ns() - c->begin_ns;
        nl_kernel_read(c->kernel, now);
        nl_kernel_between(c->before, now, c->half.counts);
    }
    if (c->probe) nd_probe_end(c->probe, &s->probe);
}

void nd_counters_row(struct nd_run *r, const struct nd_step *step, const struct nd_half_sum *node) {
    struct nd_counters *c = &r->counters;
    if (!c->rows || r->flags & ND_FLAG_RECORD) return;
    c->half.step = *step;
    c->half.n_cpus = c->n_cpus;
    c->half.ranks = &node->probe;
    if (nd_counter_rows_add(c->rows, &c->half) == 0) return;
    nd_run_missed_rows(r);
}

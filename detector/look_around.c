/* Before anything is measured: how busy the ranks' CPUs are, and with what. */
#include "detector/look_around.h"
#include "common/base/nl_units.h"
#include "detector/run_state.h"

#define LOOK_NS          INT64_C(1000000000) /* length of a look ... */
#define SHORTEST_LOOK_NS INT64_C(100000000)
#define LOOK_SHARE                                                                                           \
    20 /* ... or this part of the measuring time, where that is less and nobody waits for quiet */
#define ASIDE_NS                                                                                             \
    INT64_C(40000000) /* the other ranks sleep so much longer, so that they are not seen waking up */
#define PAUSE_NS     INT64_C(2000000000) /* between two looks */
#define SAID_PERCENT 1                   /* CPUs above this are named */

unsigned char *nd_run_choose_cpus(const struct nd_run *r, int *n_cpus) {
    int is_known = 0;
    cpu_set_t mask;
    *n_cpus = CPU_SETSIZE;
    unsigned char *used = calloc(CPU_SETSIZE, 1);
    if (!used) return NULL;
    for (int i = 0; i < r->leader.n_cpu_used && i < CPU_SETSIZE; i++)
        is_known |= used[i] = r->leader.cpu_used[i];
    if (is_known || sched_getaffinity(0, sizeof mask, &mask)) return used;
    for (int i = 0; i < CPU_SETSIZE; i++)
        used[i] = CPU_ISSET((size_t)i, &mask) != 0;
    return used;
}

/* One look on all nodes; rank 0 gets what was seen. Collective. */
static int look(struct nd_run *r, const unsigned char *used, int n_cpus, const pid_t *own, int n_own,
                int64_t look_ns) {
    struct nd_quiet_node node = {.host = ""};
    struct nd_quiet *quiet = NULL;
    int is_leader = r->team.node_rank == 0;
    if (is_leader) quiet = nd_quiet_open("/proc", used, n_cpus, own, n_own);
    if (nd_run_agree_failed(r, is_leader && !quiet)) {
        nd_quiet_close(quiet);
        return -1;
    }
    if (!is_leader) {
        nl_sleep_ns(look_ns + ASIDE_NS);
        return 0;
    }
    nl_sleep_ns(ASIDE_NS / 2); /* the others are on their way to sleep */
    nd_quiet_begin(quiet);
    nl_sleep_ns(look_ns);
    nd_quiet_end(quiet, &node);
    nd_quiet_close(quiet);
    gethostname(node.host, sizeof node.host - 1);
    nd_team_gather(r->team.leaders, &node, sizeof node, r->root.before);
    return 0;
}

/* Whoever has used up a quota stands still; what runs beside the ranks in their cgroup uses it up with them.
 */
static void say_quotas(const struct nd_run *r) {
    for (int i = 0; i < r->team.n_nodes; i++) {
        const struct nd_host *host = &r->root.hosts[i];
        char text[256];
        if (host->quota.quota_ns == 0) continue;
        nl_warn("before measuring: a quota of %s%s holds for the %d rank(s) of %s: %s",
                nl_quota_tell(&host->quota, text, sizeof text),
                host->quota.depth > 0 ? ", set above their own cgroup," : "", host->n_ranks, host->host,
                nl_quota_cpus(&host->quota) < host->n_ranks
                    ? "they need more, and will be stopped in every period"
                    : "a load or an agent in the same cgroup counts, too");
    }
}

static void say_crowds(const struct nd_run *r) {
    char line[400];
    if (!r->o->oversubscribe &&
        nd_crowd_tell(r->root.bindings, r->team.n_ranks, r->root.hosts, line, sizeof line) > 0)
        nl_warn("before measuring: %s: they take turns and disturb each other (bind one to each core, as "
                "mpirun --bind-to core does, start "
                "fewer, or allow it with --oversubscribe)",
                line);
}

static void say_what_is(const struct nd_run *r, int is_quiet) {
    char line[600], time[32];
    say_quotas(r);
    say_crowds(r);
    if (nd_algorithms_foreign_rules(line, sizeof line)) nl_warn("before measuring: %s", line);
    if (nd_quiet_tell(r->root.before, r->team.n_nodes, SAID_PERCENT, line, sizeof line))
        nl_warn("before measuring: %s", line);
    if (!is_quiet && r->o->wait_quiet_ns)
        nl_warn("--wait-quiet: the CPUs are not quiet after %s; goes on",
                nl_format_duration(r->root.waited_ns, time, sizeof time));
}

int nd_run_look_around(struct nd_run *r) {
    const struct nd_options *o = r->o;
    int is_leader = r->team.node_rank == 0, n_cpus = 0, n_own = 0, is_stopped = 0, failed = 0;
    /* what started us sleeps, and without mpirun it is a shell whose other children are not ours */
    pid_t mine = nd_run_pid(r), *own = NULL;
    unsigned char *used = NULL;
    int64_t look_ns = o->measure_ns / LOOK_SHARE, begin_ns = nl_mono_ns();
    if (o->sync_only || r->program) return 0; /* a program that runs makes its CPUs busy */
    if (look_ns > LOOK_NS || o->wait_quiet_ns) look_ns = LOOK_NS;
    if (look_ns < SHORTEST_LOOK_NS) look_ns = SHORTEST_LOOK_NS;
    if (is_leader) {
        n_own = r->team.n_node_ranks;
        failed |= (own = calloc((size_t)n_own, sizeof *own)) == NULL;
        failed |= (used = nd_run_choose_cpus(r, &n_cpus)) == NULL;
    }
    if (r->team.rank == 0)
        failed |= (r->root.before = calloc((size_t)r->team.n_nodes, sizeof *r->root.before)) == NULL;
    failed = nd_run_agree_failed(r, failed);
    if (!failed) nd_team_gather(r->team.node, &mine, sizeof mine, own);
    for (int64_t pause_ns = failed ? -1 : 0; pause_ns >= 0;) {
        if (pause_ns > 0) nl_sleep_ns(pause_ns);
        failed = look(r, used, n_cpus, own, n_own, look_ns);
        is_stopped = nd_team_agree(&r->team, *r->stop_asked ? ND_FLAG_STOP : 0);
        r->root.n_looks++;
        r->root.look_ns = look_ns;
        r->root.waited_ns = nl_mono_ns() - begin_ns;
        int is_quiet =
            r->team.rank != 0 || nd_quiet_is(r->root.before, r->team.n_nodes, ND_QUIET_LIMIT_PERCENT);
        int64_t left_ns = o->wait_quiet_ns - r->root.waited_ns - look_ns - ASIDE_NS;
        pause_ns = failed || is_stopped || is_quiet || left_ns <= 0 ? -1
                   : left_ns < PAUSE_NS                             ? left_ns
                                                                    : PAUSE_NS;
        if (r->team.rank == 0 && pause_ns < 0 && !is_stopped && !failed) say_what_is(r, is_quiet);
        MPI_Bcast(&pause_ns, 1, MPI_INT64_T, 0, r->team.world);
    }
    NL_FREE(own, used);
    if (is_stopped && r->team.rank == 0) nl_error("interrupted before the first half: nothing was measured");
    return failed || is_stopped ? -1 : 0;
}

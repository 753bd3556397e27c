/* Before the first half: nodes, generators, clocks, operations, pilots, files. */
#include <linux/membarrier.h>

#include "detector/set_up.h"
#include "common/sys/nl_stat.h"
#include "common/sys/nl_place.h"
#include "common/base/nl_units.h"
#include "detector/run_state.h"
#include "common/sys/nl_memory.h"
#include "detector/account.h"
#include "detector/agent_run.h"
#include "detector/counters_run.h"
#include "detector/halves/pairs.h"
#include "detector/load_log.h"
#include "detector/look_around.h"
#include "detector/plan/noise_nodes.h"
#include "detector/plan/pilot.h"
#include "detector/plan/sequential.h"
#include "detector/record/progress.h"
#include "detector/record/raw.h"
#include "detector/record/markers.h"
#include "detector/ops/per_call.h"
#include "detector/starts/starter.h"

#define PHASE_STREAM                                                                                         \
    (UINT64_C(1) << 40) /* streams of the seed that draw the phase of the noise, one per node ... */
#define COMMON_PHASE_STREAM (PHASE_STREAM - 1) /* ... and one for all */
#define ALGORITHM_STREAM    (PHASE_STREAM - 2) /* in which order communicators are made */
#define SKIP_STREAM                                                                                          \
    (UINT64_C(1) << 41) /* where patterns that go on from half to half begin, one per node                   \
                         */

enum { STEPS_OF_A_HALF = 100 }; /* its length is then known to 1 % */
#define COARSEST_NS 1e5         /* of launches without halves */

int nd_run_allocate(struct nd_run *r) {
    const struct nd_options *o = r->o;
    struct nd_leader *leader = &r->leader;
    struct nd_root *root = &r->root;
    size_t n_configs = (size_t)o->n_configs, n_arms = (size_t)r->n_arms, n_ranks = (size_t)r->team.n_ranks;
    size_t n_nodes = (size_t)r->team.n_nodes, n_cells = n_configs * n_arms;
    int ok = NL_NEW(r->states, n_configs) && NL_NEW(r->algorithms, n_configs) &&
             NL_NEW(r->cells, n_configs) && NL_NEW(r->follow, n_configs) && NL_NEW(r->sums, n_arms) &&
             (r->pairs = nd_pairs_open(1, r->n_arms)) && NL_NEW(r->scratch, 1);
    for (size_t i = 0; r->algorithms && i < n_configs; i++)
        r->algorithms[i].comm = MPI_COMM_NULL;
    if (ok && o->start.mode->is_synchronised)
        ok = NL_NEW(r->starter, 1) && NL_NEW(r->plans, n_configs) && NL_NEW(r->overshoots, n_cells);
    if (ok && o->start.mode->is_synchronised && r->team.rank == 0)
        ok = NL_NEW(root->measures, n_cells * ND_N_MEASURES) && NL_NEW(root->start_ranks, n_ranks * n_arms) &&
             NL_NEW(root->reports, n_ranks);
    if (ok && nd_options_times_operations(o)) ok = NL_NEW(r->hists, n_cells) != NULL;
    if (ok && r->team.node_rank == 0)
        ok = NL_NEW(leader->node_end, 1) && NL_NEW(leader->node_sums, n_arms) &&
             (leader->node_pairs = nd_pairs_open(1, r->n_arms));
    if (ok && r->team.rank == 0)
        ok = NL_NEW(root->node_slowest, n_nodes * n_arms) && NL_NEW(root->times_slowest, n_ranks * n_arms) &&
             NL_NEW(root->bindings, n_ranks) && NL_NEW(root->hosts, n_nodes);
    if (!ok)
        nl_error("not enough memory for the histograms of %d operations x %d arms", o->n_configs, r->n_arms);
    return nd_run_agree_failed(r, !ok);
}

/* Whether children were started on nodes' first ranks, as the launcher's environment said; counts them.
 * Collective. */
static int check_started(struct nd_run *r, const struct nd_nodes *nodes, int is_wanted, int is_there,
                         const char *way_out, int *n) {
    char host[ND_HOST_BYTES] = "";
    gethostname(host, sizeof host - 1);
    if (nd_nodes_check(nodes, &r->team, host)) return -1;
    int expected = is_wanted && r->team.node_rank == 0 && nd_nodes_hold(nodes, host, r->team.rank == 0);
    int wrong = expected != is_there;
    if (wrong)
        nl_error("cannot tell a node's first rank before MPI_Init from this launcher's environment; start "
                 "with mpirun or srun (or %s)",
                 way_out);
    MPI_Allreduce(&is_there, n, 1, MPI_INT, MPI_SUM, r->team.world);
    return nd_run_agree_failed(r, wrong);
}

/* Generators and agents; numbers the nodes that have a generator. */
static int check_treatments(struct nd_run *r) {
    const struct nd_options *o = r->o;
    int mine = r->leader.treatment != NULL, is_leader = r->team.node_rank == 0;
    if (check_started(r, &o->noise_nodes, nd_options_has_generator(o), mine, "use --levels none",
                      &r->n_generators) ||
        check_started(r, &o->noise_nodes, nd_options_has_agent(o), r->agent.companion != NULL,
                      "leave the agent out", &r->agent.n_nodes))
        return -1;
    if (is_leader) MPI_Exscan(&mine, &r->leader.treated_index, 1, MPI_INT, MPI_SUM, r->team.leaders);
    if (r->team.node_index == 0) r->leader.treated_index = 0; /* MPI leaves the first one's undefined */
    r->is_treated = mine;
    MPI_Bcast(&r->is_treated, 1, MPI_INT, 0, r->team.node);
    return 0;
}

/* The node's CPUs of all places. Returns their number, -1 after a message. */
static int choose_noise_cpus(struct nd_run *r, const struct nd_binding *bindings, int *all) {
    const struct nd_options *o = r->o;
    char reason[512];
    int n_all = 0, n_ranks = r->team.n_node_ranks;
    int *rank_cpus = calloc((size_t)n_ranks, sizeof *rank_cpus);
    struct nl_place *place = NULL;
    if (!rank_cpus || nl_place_open(&place)) {
        nl_error("cannot read this machine's topology");
        free(rank_cpus);
        return -1;
    }
    for (int i = 0; i < n_ranks; i++)
        rank_cpus[i] = bindings[i].cpu >= 0 ? bindings[i].cpu : bindings[i].first_cpu;
    for (int p = 0; p < o->n_places && n_all >= 0; p++) {
        int cpus[NL_CONTROL_MAX_WORKERS];
        int n = nl_place_resolve(place, o->places[p], rank_cpus, n_ranks, cpus, NL_CONTROL_MAX_WORKERS,
                                 reason, sizeof reason);
        if (n < 0) nl_error("--on: %s", reason);
        for (int i = 0; i < n && n_all >= 0; i++) {
            int w = 0;
            while (w < n_all && all[w] != cpus[i])
                w++;
            if (w == n_all && w < NL_CONTROL_MAX_WORKERS) all[n_all++] = cpus[i];
            if (w == NL_CONTROL_MAX_WORKERS)
                n = nl_error("--on: the places mean more than %d CPUs", NL_CONTROL_MAX_WORKERS);
            else
                r->leader.is_active[p][w] = 1;
            for (int rank = 0; rank < n_ranks; rank++)
                if (rank_cpus[rank] == cpus[i]) r->n_hit[p] = 1;
        }
        r->n_place_cpus[p] = n;
        if (n < 0) n_all = -1;
    }
    nl_place_close(place);
    free(rank_cpus);
    return n_all;
}

static int place_noise(struct nd_run *r, const struct nd_binding *bindings) {
    char reason[512];
    int cpus[NL_CONTROL_MAX_WORKERS], n = r->leader.treatment ? choose_noise_cpus(r, bindings, cpus) : 0;
    if (n < 0 || !r->leader.treatment) return n;
    struct nl_control *page = nd_treatment_page(r->leader.treatment);
    for (int i = 0; i < r->team.n_node_ranks && i < NL_CONTROL_MAX_RANKS; i++)
        page->rank_pids[page->n_ranks++] = bindings[i].pid;
    if (nd_treatment_place(r->leader.treatment, cpus, n, reason, sizeof reason) == 0) return 0;
    return nl_error("the generator refuses: %s", reason);
}

static int mark_used_cpus(struct nd_run *r, const struct nd_binding *bindings) {
    r->leader.n_cpu_used = 1;
    for (int i = 0; i < r->team.n_node_ranks; i++)
        if (bindings[i].cpu >= r->leader.n_cpu_used) r->leader.n_cpu_used = bindings[i].cpu + 1;
    r->leader.cpu_used = calloc((size_t)r->leader.n_cpu_used, 1);
    if (!r->leader.cpu_used) return nl_error("not enough memory for %d CPUs", r->leader.n_cpu_used);
    for (int i = 0; i < r->team.n_node_ranks; i++)
        if (bindings[i].cpu >= 0) r->leader.cpu_used[bindings[i].cpu] = 1;
    return 0;
}

static int set_up_node(struct nd_run *r, const struct nd_binding *bindings, struct nd_host *host) {
    nd_host_read(host);
    host->n_ranks = r->team.n_node_ranks;
    host->has_agent = r->agent.companion != NULL;
    host->is_treated = r->leader.treatment != NULL || host->has_agent;
    if (host->n_allowed && r->team.n_node_ranks > host->n_allowed && !r->o->oversubscribe)
        return nl_error("%d ranks share the %d CPUs of %s and would disturb each other: start fewer, or "
                        "allow it with --oversubscribe",
                        r->team.n_node_ranks, host->n_allowed, host->host);
    if (mark_used_cpus(r, bindings)) return -1;
    int all_bound = 1;
    for (int i = 0; i < r->team.n_node_ranks; i++)
        all_bound &= bindings[i].cpu >= 0;
    /* without a fixed CPU per rank nobody can say whose steal time it is: unknown, not 0 */
    if (all_bound) r->leader.steal = nd_steal_open(r->leader.cpu_used, r->leader.n_cpu_used, r->o->half_ns);
    nl_quota_open(&r->leader.quota, "", getpid());
    return place_noise(r, bindings);
}

int nd_run_set_up_nodes(struct nd_run *r) {
    struct nd_binding mine, *node_bindings = NULL;
    struct nd_host host;
    int failed = 0;
    nd_binding_read(&mine, r->team.rank);
    mine.pid = nd_run_pid(r);
    mine.node = r->team.node_index;
    nd_team_gather(r->team.world, &mine, sizeof mine, r->root.bindings);
    int loose = mine.cpu < 0 && r->is_treated;
    MPI_Allreduce(&loose, &r->n_loose_ranks, 1, MPI_INT, MPI_SUM, r->team.world);
    if (r->team.node_rank == 0)
        failed = (node_bindings = calloc((size_t)r->team.n_node_ranks, sizeof *node_bindings)) == NULL;
    if (nd_run_agree_failed(r, failed)) return -1;
    nd_team_gather(r->team.node, &mine, sizeof mine, node_bindings);
    if (r->team.node_rank == 0) {
        failed = set_up_node(r, node_bindings, &host) != 0;
        nd_team_gather(r->team.leaders, &host, sizeof host, r->root.hosts);
    }
    free(node_bindings);
    r->n_allowed = r->team.node_rank == 0 ? host.n_allowed : 0;
    MPI_Bcast(&r->n_allowed, 1, MPI_INT, 0, r->team.node);
    MPI_Allreduce(r->n_place_cpus, r->n_loaded, ND_MAX_FACTOR, MPI_INT, MPI_SUM, r->team.world);
    MPI_Allreduce(MPI_IN_PLACE, r->n_hit, ND_MAX_FACTOR, MPI_INT, MPI_SUM, r->team.world);
    return nd_run_agree_failed(r, failed);
}

/* Lets the generator's kind ipi reach this rank where it may not open events on other programs' CPUs. */
static void accept_interrupts(const struct nd_options *o) {
    for (int i = 0; i < o->n_kinds; i++)
        if (strcmp(o->kinds[i], "ipi") == 0)
            syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

/* Of the operations that have an algorithm, in an order drawn by the seed: what it does is no algorithm's.
 * Collective. */
static int open_algorithms(struct nd_run *r) {
    const struct nd_options *o = r->o;
    struct nl_rng rng;
    int order[ND_MAX_CONFIGS];
    nl_rng_init(&rng, r->schedule.seed, ALGORITHM_STREAM);
    for (int i = 0; i < o->n_configs; i++) {
        int at = (int)(nl_rng_uniform(&rng) * (i + 1));
        order[i] = order[at];
        order[at] = i;
    }
    for (int k = 0; k < o->n_configs; k++) {
        const struct nd_config *c = &o->configs[order[k]];
        char reason[768];
        if (!c->algorithm[0]) continue;
        int failed = nd_algorithm_open(c->op, c->algorithm, r->team.world, &r->algorithms[order[k]], reason,
                                       sizeof reason) != 0;
        if (!failed && r->starter && r->algorithms[order[k]].per_call.n > 0) {
            failed = 1;
            snprintf(reason, sizeof reason,
                     "--starts: an algorithm of this MPI library holds for all calls, and so for those "
                     "between starts: leave one out");
        }
        if (failed && r->team.rank == 0) nl_error("%s", reason);
        if (failed) return -1;
    }
    return 0;
}

/* NULL: it cannot be called. Of a library that looks at each call it was tried (try_algorithm). */
static const char *algorithm_in_fact(const struct nd_run *r, int config) {
    const struct nd_config *c = &r->o->configs[config];
    const struct nd_algorithm *a = &r->algorithms[config];
    if (a->is_per_call) return a->per_call.n > 0 ? c->algorithm : "default";
    const struct nd_datatype *type = nd_op_datatype(c->op, &r->o->op);
    return nd_algorithm_in_fact(c->op->name, c->algorithm, type ? c->bytes / type->size_bytes : 0,
                                r->team.n_ranks);
}

/* Algorithms that a call of this kind does not suit: those that would fail end the launch before they do. */
static int check_algorithms(const struct nd_run *r) {
    for (int i = 0; i < r->o->n_configs; i++) {
        const struct nd_config *c = &r->o->configs[i];
        if (!c->algorithm[0] || algorithm_in_fact(r, i)) continue;
        if (r->team.rank == 0)
            nl_error("--op: %s does not work on %d ranks (leave it out)", c->name, r->team.n_ranks);
        return -1;
    }
    return 0;
}

/* What was asked for and what is run, in the launch's description. */
static void describe_algorithms(const struct nd_run *r) {
    json_t *rows = json_array();
    char line[400];
    size_t used = 0;
    for (int i = 0; i < r->o->n_configs; i++) {
        const struct nd_config *c = &r->o->configs[i];
        if (!c->algorithm[0]) continue;
        const char *in_fact = algorithm_in_fact(r, i);
        json_array_append_new(rows, json_pack("{s:s, s:I, s:s, s:i, s:s}", "operation", c->op->name, "bytes",
                                              (json_int_t)c->bytes, "algorithm", c->algorithm, "number",
                                              r->algorithms[i].number, "in_fact", in_fact));
        if (strcmp(in_fact, c->algorithm) == 0) continue;
        /* as many as have room; the rows have all */
        if (used < sizeof line)
            used +=
                (size_t)snprintf(line + used, sizeof line - used, "%s%s of %lld B as %s",
                                 used ? ", " : "the library runs ", c->name, (long long)c->bytes, in_fact);
    }
    if (used) nd_launch_json_say(r->root.launch, "%s", line);
    json_object_set_new(r->root.launch, "algorithms", rows);
}

/* Where it does not suit the algorithm the library would run its own choice in its place, and so do we.
 * Collective. */
static void try_algorithm(struct nd_run *r, int config) {
    struct nd_per_call *p = &r->algorithms[config].per_call;
    char name[ND_PER_CALL_NAME_BYTES];
    if (nd_per_call_acts(p, &r->states[config], name))
        r->states[config].per_call = p;
    else
        nd_per_call_close(p);
}

static int open_operations(struct nd_run *r) {
    const struct nd_options *o = r->o;
    if (open_algorithms(r) || check_algorithms(r)) return -1;
    for (int i = 0; i < o->n_configs; i++) {
        const struct nd_config *c = &o->configs[i];
        char reason[256];
        if (nd_op_problem(c->op, &o->op, c->bytes, r->team.n_ranks, reason, sizeof reason))
            return r->team.rank == 0 ? nl_error("%s", reason) : -1;
        /* ranks fill their buffers at once: memory that is not there would end in the kernel's out-of-memory
         * killer, not in an error */
        int64_t needed_bytes = nd_op_memory_bytes(c->op, &o->op, c->bytes, r->team.n_ranks),
                free_bytes = nl_memory_available();
        int failed = free_bytes >= 0 && needed_bytes > free_bytes / r->team.n_node_ranks;
        if (nd_team_agree(&r->team, failed ? ND_FLAG_SETUP : 0) == 0)
            failed = nd_op_open(c->op, &o->op, &r->states[i],
                                c->algorithm[0] ? r->algorithms[i].comm : r->team.world, c->bytes) != 0;
        if (failed)
            nl_error("--bytes: no memory for %s with %lld bytes on %d ranks (%lld bytes per rank)",
                     c->op->name, (long long)c->bytes, r->team.n_ranks, (long long)needed_bytes);
        if (nd_run_agree_failed(r, failed)) return -1;
        r->states[i].clock = r->starter ? &r->starter->clock : &r->clock;
        if (r->algorithms[i].per_call.n > 0) try_algorithm(r, i);
    }
    return 0;
}

/* Writes down how the clocks stand. On all ranks after every synchronisation. */
static void record_sync(void *context, const struct nd_starter *s, const char *reason) {
    struct nd_run *r = context;
    nd_team_gather(r->team.world, &s->sync.report, sizeof s->sync.report, r->root.reports);
    if (r->root.first_sync_ns == 0 && r->root.reports) r->root.first_sync_ns = r->root.reports[0].at_ns;
    if (!r->root.record) return; /* the first one comes before there is a folder */
    if (nd_record_clocks(r->root.record, s->sync.n_runs, reason, s->sync.options.method->name,
                         r->root.reports, r->root.bindings, r->root.first_sync_ns))
        r->flags |= ND_FLAG_RECORD;
}

int nd_run_open_clocks(struct nd_run *r) {
    const struct nd_options *o = r->o;
    char reason[256];
    int has_wait = 0;
    if (r->starter) {
        if (nd_starter_open(r->starter, &o->start, &r->team, r->n_allowed, record_sync, r)) return -1;
        r->starter->corrects = o->design->single_loop && !nd_options_compares_arms(o);
        return 0;
    }
    for (int i = 0; i < o->n_configs; i++)
        has_wait |= o->configs[i].op->is_self_test;
    if (!has_wait) return 0;
    int failed = nd_clock_open(&r->clock, o->start.clock, reason, sizeof reason) != 0;
    if (failed) nl_error("--starts: clock: %s", reason);
    return nd_run_agree_failed(r, failed);
}

void nd_run_report_clock_step(const struct nd_run *r) {
    const struct nd_starter *s = r->starter;
    if (s->jump_ns)
        nl_error(
            "--starts: clock: %s jumped by %.3g ms against the processor's time (try clock=monotonic-raw)",
            s->clock.kind->name, (double)s->jump_ns * 1e-6);
    else if (s->waited_long)
        nl_error("--starts: clock: waited seconds for a start that should have come long before: another "
                 "rank's clock jumped, or a rank "
                 "hangs");
}

static int plan_starts(struct nd_run *r, int config) {
    const struct nd_config *c = &r->o->configs[config];
    struct nd_loop loop = {.op = c->op,
                           .state = &r->states[config],
                           .n_operations = 1,
                           .chunk = 1,
                           .ticks = &r->ticks,
                           .detour_threshold_ns = INT64_MAX};
    if (!r->starter) return 0;
    loop.stop_asked = r->stop_asked;
    int failed = nd_starter_plan(r->starter, &loop, &r->plans[config], c->name, r->schedule.seed) != 0;
    if (r->starter->is_broken) nd_run_report_clock_step(r);
    r->cells[config].slot_ns = r->plans[config].slot_ns;
    if (r->plans[config].work_steps) r->cells[config].work_steps = r->plans[config].work_steps;
    if (nd_team_agree(&r->team, *r->stop_asked ? ND_FLAG_STOP : 0)) {
        if (r->team.rank == 0) nl_error("interrupted before the first half: nothing was measured");
        return -1;
    }
    return nd_run_agree_failed(r, failed);
}

/* Whether the time given holds an operation at all. */
static int check_one_fits(const struct nd_run *r, int config) {
    const struct nd_cell *cell = &r->cells[config];
    char one[32], half[32];
    if (!r->starter || cell->pilot_ns <= (double)r->o->half_ns) return 0;
    if (r->team.rank == 0)
        nl_error("%s: not one start of %s fits into %s: it takes %s",
                 r->o->design->is_paired     ? "--half-period"
                 : r->o->design->single_loop ? "--seconds"
                                             : "--block",
                 r->o->configs[config].name, nl_format_duration(r->o->half_ns, half, sizeof half),
                 nl_format_duration((int64_t)cell->pilot_ns, one, sizeof one));
    return -1;
}

/* In place of a pilot: the program has run for a while, and its beats are known. */
static void plan_beats(const struct nd_run *r, struct nd_cell *cell) {
    const struct nd_beat *beat = &r->beat;
    cell->pilot_ns = (double)beat->beat_ns;
    cell->typical_ns = beat->median_ns;
    cell->detour_threshold_ns = 2 * beat->median_ns;
    cell->n_operations = nd_whole_periods_of_beats(r->o->half_ns / beat->beat_ns, beat->period);
}

static int run_pilots(struct nd_run *r) {
    const struct nd_options *o = r->o;
    for (int i = 0; i < o->n_configs; i++) {
        if (plan_starts(r, i)) return -1;
        if (r->program)
            plan_beats(r, &r->cells[i]);
        else if (nd_pilot_run(&r->team, &r->together, o, i, &r->states[i], &r->ticks, r->scratch, r->starter,
                              r->starter ? &r->plans[i] : NULL, &r->cells[i])) {
            if (r->team.rank == 0)
                nl_error("%s returned wrong data: this MPI installation is broken", o->configs[i].op->name);
            return -1;
        }
        /* rank 0's pilot decides for all: equal numbers on all ranks are what keeps the loops together */
        MPI_Bcast(&r->cells[i], (int)sizeof *r->cells, MPI_BYTE, 0, r->team.world);
        if (nd_run_agree_failed(r, r->starter && r->starter->is_broken)) {
            nd_run_report_clock_step(r);
            return -1;
        }
        if (check_one_fits(r, i)) return -1;
        nd_follow_init(&r->follow[i], o->half_ns, r->cells[i].pilot_ns * (double)r->cells[i].n_operations);
    }
    memset(r->scratch, 0, sizeof *r->scratch);
    /* a number of our own was chosen to last a half; a pilot that a busy machine disturbed is no reason to
     * end */
    for (int i = 0; i < o->n_configs && o->count > 0 && nd_options_has_generator(o); i++) {
        if (r->cells[i].pilot_ns * (double)r->cells[i].n_operations >= 0.9 * (double)o->period_ns) continue;
        if (r->team.rank == 0)
            nl_error("--count: %lld operations of %s take %.3g ms, less than one noise period of %.3g ms: "
                     "raise it",
                     (long long)o->count, o->configs[i].op->name,
                     r->cells[i].pilot_ns * (double)r->cells[i].n_operations * 1e-6,
                     (double)o->period_ns * 1e-6);
        return -1;
    }
    return 0;
}

/* One line for all of them: a launch may have thousands. */
static void warn_of_loose_ranks(const struct nd_run *r) {
    int first = 0;
    while (r->root.bindings[first].cpu >= 0 || !r->root.hosts[r->root.bindings[first].node].is_treated)
        first++; /* there is one */
    const struct nd_binding *binding = &r->root.bindings[first];
    nd_launch_json_say(r->root.launch,
                       "%d ranks are not bound to one CPU each, the first is rank %d on CPUs %.40s: noise "
                       "meant for it goes to CPU %d and "
                       "may miss it (bind ranks: mpirun --bind-to core)",
                       r->n_loose_ranks, binding->rank, binding->cpus, binding->first_cpu);
}

/* The arm of late ranks, where there is one. Collective. */
static int open_late(struct nd_run *r) {
    int yields = r->n_allowed > 0 && r->team.n_node_ranks > r->n_allowed;
    if (!nd_options_is_late(r->o, r->o->n_arms - 1)) return 0;
    return nd_late_open(&r->late, &r->o->start, &r->team, &r->ticks, yields, r->schedule.seed);
}

/* Counters that were asked for by LIKWID's environment, and cannot be had: said once. Collective. */
static void describe_markers(struct nd_run *r) {
    const char *problem = nd_markers_problem(r->markers);
    int is_bad = problem[0] != 0, n_bad = 0;
    MPI_Reduce(&is_bad, &n_bad, 1, MPI_INT, MPI_SUM, 0, r->team.world);
    if (!r->root.launch) return;
    if (!is_bad) problem = "it cannot be used on other ranks";
    nd_launch_json_likwid(r->root.launch, r->markers != NULL, n_bad ? problem : NULL);
    if (n_bad == 0) return;
    nd_launch_json_say(r->root.launch,
                       "LIKWID asks for counters, and they cannot be had on %d of %d ranks (%s): these ranks "
                       "are without; the launch "
                       "goes on",
                       n_bad, r->team.n_ranks, problem);
}

/* The raw file: a plain name is in the launch's folder. Collective. */
static int open_raw(struct nd_run *r) {
    const char *name = r->o->start.raw;
    char path[2 * PATH_MAX] = "";
    if (!r->starter || !name) return 0;
    json_t *header = NULL;
    if (r->root.record) {
        if (strchr(name, '/'))
            snprintf(path, sizeof path, "%s", name);
        else
            snprintf(path, sizeof path, "%s/%s", r->root.record->files.folder, name);
        header = nd_launch_json_raw_header(r->root.launch, r->o, r->starter);
    }
    int failed = nd_raw_open(&r->starter->raw, &r->team, path, header);
    json_decref(header);
    return failed;
}

/* What is to be known of the launch before its first half: warnings of rank 0. */
static void warn(const struct nd_run *r) {
    const struct nd_root *root = &r->root;
    const struct nd_starter *s = r->starter;
    char what[760];
    if (nd_unlike_describe(root->hosts, r->team.n_nodes, what, sizeof what))
        nd_launch_json_say(root->launch, "nodes are not alike: %s", what);
    if (s && s->clock.is_slow_source)
        nd_launch_json_say(root->launch,
                           "the kernel's clock source is %s, not the processor's own counter: clock readings "
                           "may cost microseconds",
                           s->clock.source);
    if (s && s->clock_note[0]) nd_launch_json_warn(root->launch, "%s", s->clock_note);
    for (int i = 0; s && i < r->o->n_configs; i++) /* although a slot was looked for */
        if (r->plans[i].late_share > r->o->start.eps)
            nd_launch_json_say(root->launch,
                               "%s: %.0f %% of the starts were late with every slot tried: do ranks share "
                               "CPUs, or is the machine busy? "
                               "They are flagged, and kept",
                               r->o->configs[i].name, 100 * r->plans[i].late_share);
    if (!r->leader.steal)
        nd_launch_json_warn(root->launch, "steal time of the hypervisor is not known: ranks are not bound, "
                                          "or /proc/stat is absent or too slow to read");
    if (r->n_loose_ranks) warn_of_loose_ranks(r);
}

/* The launch's folder and description, on rank 0. */
static int make_record(struct nd_run *r) {
    const struct nd_options *o = r->o;
    struct nd_root *root = &r->root;
    if (nd_record_open(&root->record, o, r->team.n_ranks)) return -1;
    const struct nd_launch l = {root->record->files.launch,
                                o->argc,
                                o->argv,
                                r->schedule.seed,
                                &r->team,
                                &r->ticks,
                                root->hosts,
                                root->bindings};
    root->launch = nd_launch_json_new(&l, o, &r->preempted, r->cells,
                                      r->schedule.n_rounds * nd_schedule_round_pairs(&r->schedule),
                                      r->n_generators, r->agent.n_nodes);
    nd_launch_json_start(root->launch, o, r->starter);
    nd_launch_json_program(root->launch, o, r->program ? nd_program_path(r->program) : NULL, &r->beat);
    nd_launch_json_before(root->launch, root->before, r->team.n_nodes, root->look_ns, root->n_looks,
                          root->waited_ns);
    describe_algorithms(r);
    warn(r);
    int failed =
        r->starter && nd_record_clocks(root->record, 1, "first", r->starter->sync.options.method->name,
                                       root->reports, root->bindings, root->first_sync_ns);
    failed |= nd_files_launch_json(&root->record->files, root->launch) != 0;
    root->progress = nd_progress_open(o, nd_options_n_halves(o));
    if (!o->sequential.stops || (root->sequential = nd_sequential_open(o))) return failed;
    return nl_error("--stop-when: not enough memory");
}

static int open_record(struct nd_run *r) {
    if (nd_run_agree_failed(r, r->team.rank == 0 && make_record(r))) return -1;
    describe_markers(r);
    return open_raw(r);
}

static int open_preempted(struct nd_run *r) {
    int failed = nl_preempted_open(&r->preempted, r->o->preempted_by) != 0;
    if (failed)
        nl_error("--preempted-by: the kernel of this node does not say how long threads wait for a CPU (try "
                 "clocks)");
    if (nd_run_agree_failed(r, failed)) return -1;
    int is_scheduler = nl_preempted_source(&r->preempted) == NL_PREEMPTED_SCHEDULER, is_everywhere;
    MPI_Allreduce(&is_scheduler, &is_everywhere, 1, MPI_INT, MPI_MIN, r->team.world);
    if (!is_everywhere) nl_preempted_close(&r->preempted); /* clocks, then */
    return 0;
}

/* A half is as long as its first and last reading say, and those are a step of the clock off. */
static int check_ticks(struct nd_run *r) {
    const double most_ns = r->o->half_ns > 0 ? (double)r->o->half_ns / STEPS_OF_A_HALF : COARSEST_NS;
    char source[32];
    nl_clocksource(source, sizeof source);
    nl_ticks_calibrate(&r->ticks);
    int failed = !(r->ticks.resolution_ns <= most_ns); /* infinite where it stands still */
    if (failed && r->team.node_rank == 0)
        nl_error("the clock (%s, %s) moves in steps of %.4g ms, measured; what is timed here wants %.4g ms "
                 "at most: take another clock "
                 "source, or longer halves (--half-period, --block)",
                 r->ticks.name, source, 1e-6 * r->ticks.resolution_ns, 1e-6 * most_ns);
    return nd_run_agree_failed(r, failed);
}

int nd_run_set_up(struct nd_run *r) {
    if (nd_run_allocate(r) || check_treatments(r) || nd_run_set_up_nodes(r) || open_preempted(r) ||
        nd_run_look_around(r) || check_ticks(r))
        return -1;
    r->schedule = nd_options_schedule(r->o);
    MPI_Bcast(&r->schedule.seed, 1, MPI_UINT64_T, 0, r->team.world);
    nl_rng_init(&r->phase_rng, r->schedule.seed, PHASE_STREAM + (uint64_t)r->team.node_index);
    nl_rng_init(&r->common_phase_rng, r->schedule.seed, COMMON_PHASE_STREAM);
    struct nl_rng skip_rng;
    nl_rng_init(&skip_rng, r->schedule.seed, SKIP_STREAM + (uint64_t)r->team.node_index);
    r->skip = nl_rng_uniform(&skip_rng);
    accept_interrupts(r->o);
    nd_together_open(&r->together, &r->team);
    if (nd_run_open_clocks(r) || open_operations(r) || open_late(r) || run_pilots(r)) return -1;
    return open_record(r) || nd_load_log_open(r) || nd_agent_place(r) || nd_counters_open(r) ? -1 : 0;
}

void nd_run_tear_down(struct nd_run *r) {
    for (int i = 0; r->states && i < r->o->n_configs; i++)
        nd_op_close(&r->states[i]);
    for (int i = 0; r->algorithms && i < r->o->n_configs; i++)
        nd_algorithm_close(&r->algorithms[i]);
    for (int i = 0; r->plans && i < r->o->n_configs; i++)
        free(r->plans[i].delays);
    if (r->starter) nd_starter_close(r->starter);
    NL_FREE(r->starter, r->plans, r->overshoots, r->root.measures, r->root.start_ranks, r->root.reports);
    nd_node_rows_close(r->agent.rows);
    nd_counters_close(r);
    nd_load_log_close(r);
    nd_steal_close(r->leader.steal);
    nd_run_account_close(r);
    nl_quota_close(&r->leader.quota);
    nd_program_close(r->program);
    nl_preempted_close(&r->preempted);
    nd_progress_close(r->root.progress);
    nd_sequential_close(r->root.sequential);
    nd_record_close(r->root.record);
    json_decref(r->root.launch);
    NL_FREE(r->states, r->algorithms, r->cells, r->follow, r->hists, r->scratch, r->sums, r->leader.node_end,
            r->leader.cpu_used);
    nd_pairs_close(r->pairs);
    free(r->leader.node_sums);
    nd_pairs_close(r->leader.node_pairs);
    NL_FREE(r->root.node_slowest, r->root.times_slowest, r->root.bindings, r->root.hosts, r->root.before);
    nd_late_close(&r->late);
    nd_together_close(&r->together);
    nd_team_close(&r->team);
}

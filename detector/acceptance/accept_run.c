#include "detector/nodes/quiet.h"
#include "detector/acceptance/accept_run.h"
#include "detector/record/launch_json.h"
#include "common/base/nl_json.h"
#include "common/sys/nl_stat.h"
#include "detector/ops/algorithms.h"
#include "common/sys/nl_whole.h"
#include "common/sys/nl_memory.h"
#include "detector/acceptance/launch.h"
#include "detector/acceptance/others.h"
#include "detector/starts/starter.h"

enum { TAG_COLLECT = 11, TAG_ASK = 12 };

/* ---- what checks call ---- */

struct nx_row nx_row(const char *variant) {
    struct nx_row row = {.sd = NAN,
                         .min = NAN,
                         .max = NAN,
                         .median = NAN,
                         .n = -1,
                         .bytes = -1,
                         .n_ranks = -1,
                         .n_nodes = -1,
                         .node = -1,
                         .rank = -1,
                         .peer_rank = -1,
                         .cpu = -1};
    snprintf(row.variant, sizeof row.variant, "%s", variant);
    return row;
}

NL_ORDER(compare, double)

void nx_row_sum_up(struct nx_row *row, double *values, int64_t n) {
    double sum = 0, squares = 0;
    row->n = n;
    row->value = row->sd = row->min = row->max = row->median = NAN;
    if (n < 1) return;
    qsort(values, (size_t)n, sizeof *values, compare);
    for (int64_t i = 0; i < n; i++)
        sum += values[i];
    row->value = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (values[i] - row->value) * (values[i] - row->value);
    if (n > 1) row->sd = sqrt(squares / (double)(n - 1));
    row->min = values[0];
    row->max = values[n - 1];
    row->median = (values[(n - 1) / 2] + values[n / 2]) / 2;
}

void nx_put(struct nx_run *r, const struct nx_row *base, const char *metric, const char *unit, double value,
            int64_t n) {
    if (NL_GROW(r->rows, r->n_rows, r->n_room)) {
        r->has_no_memory = 1;
        return;
    }
    struct nx_row *row = &r->rows[r->n_rows++];
    *row = *base;
    snprintf(row->metric, sizeof row->metric, "%s", metric);
    snprintf(row->unit, sizeof row->unit, "%s", unit);
    row->value = value;
    row->n = n;
}

struct nl_hist *nx_hist(struct nx_run *r, const char *metric, const char *variant, int cpu, int64_t bytes) {
    const char *check = r->task->check->name;
    for (int i = 0; i < r->n_hists; i++) {
        struct nx_hist_name *n = &r->hists[i]->name;
        if (n->cpu == cpu && n->bytes == bytes && !strcmp(n->check, check) && !strcmp(n->metric, metric) &&
            !strcmp(n->variant, variant))
            return &r->hists[i]->hist;
    }
    struct nx_hist *h;
    if (NL_GROW(r->hists, r->n_hists, r->n_hist_room) || !NL_NEW(h, 1)) return NULL;
    h->name.cpu = cpu;
    h->name.bytes = bytes;
    snprintf(h->name.check, sizeof h->name.check, "%s", check);
    snprintf(h->name.metric, sizeof h->name.metric, "%s", metric);
    snprintf(h->name.variant, sizeof h->name.variant, "%s", variant);
    r->hists[r->n_hists++] = h;
    return &h->hist;
}

int nx_agree(struct nx_run *r, int is_true, char reason[NX_REASON_BYTES], const char *format, ...) {
    char text[NX_REASON_BYTES];
    int first = is_true ? r->team.rank : r->team.n_ranks;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, r->team.world);
    if (first == r->team.n_ranks) return 0;
    MPI_Bcast(text, NX_REASON_BYTES, MPI_CHAR, first, r->team.world);
    memcpy(reason, text, sizeof text);
    return 1;
}

int nx_is_out_of_memory(struct nx_run *r, struct nx_task *t, int is_short) {
    return nx_agree(r, is_short, t->reason, "not enough memory");
}

int nx_buffers_lack(struct nx_run *r, struct nx_task *t, struct nx_buffers *b, int64_t bytes, int n_peers) {
    *b = (struct nx_buffers){.send = malloc((size_t)bytes), .receive = malloc((size_t)bytes)};
    if (nx_is_out_of_memory(
            r, t, !NL_NEW(b->peers, n_peers) || !NL_NEW(b->requests, 2 * n_peers) || !b->send || !b->receive))
        return 1;
    memset(b->send, 1, (size_t)bytes);
    memset(b->receive, 0, (size_t)bytes);
    return 0;
}

void nx_buffers_close(struct nx_buffers *b) { NL_FREE(b->send, b->receive, b->peers, b->requests); }

/* Rank after rank: the next one sends when it is asked to, so that nothing piles up at rank 0. */
void nx_collect(struct nx_run *r, const void *mine, int64_t bytes,
                void (*take)(struct nx_run *, int, const void *, int64_t)) {
    MPI_Comm world = r->team.world;
    if (r->team.rank != 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_ASK, world, MPI_STATUS_IGNORE);
        MPI_Send(&bytes, 1, MPI_INT64_T, 0, TAG_COLLECT, world);
        if (bytes > 0) MPI_Send(mine, (int)bytes, MPI_BYTE, 0, TAG_COLLECT, world);
        return;
    }
    if (bytes > 0) take(r, 0, mine, bytes);
    for (int rank = 1; rank < r->team.n_ranks; rank++) {
        int64_t n = 0;
        MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_ASK, world);
        MPI_Recv(&n, 1, MPI_INT64_T, rank, TAG_COLLECT, world, MPI_STATUS_IGNORE);
        if (n <= 0) continue;
        void *data = malloc((size_t)n);
        if (!data) MPI_Abort(world, 2); /* some KiB: nothing can be saved without them */
        MPI_Recv(data, (int)n, MPI_BYTE, rank, TAG_COLLECT, world, MPI_STATUS_IGNORE);
        take(r, rank, data, n);
        free(data);
    }
}

int nx_lacks_memory(struct nx_run *r, int64_t bytes, char reason[NX_REASON_BYTES]) {
    int64_t free_bytes = nl_memory_available();
    return nx_agree(r, free_bytes >= 0 && bytes > free_bytes / r->team.n_node_ranks, reason,
                    "%lld MiB for each of %d ranks are more than the memory free on the node of rank %d",
                    (long long)(bytes >> 20), r->team.n_node_ranks, r->team.rank);
}

/* ---- files ---- */

static int node_of(const struct nx_run *r, int rank) { return rank < 0 ? -1 : r->node_of[rank]; }
static const char *host_of(const struct nx_run *r, int node) { return node < 0 ? NULL : r->hosts[node].host; }

static void take_rows(struct nx_run *r, int rank, const void *data, int64_t bytes) {
    const struct nx_row *rows = data;
    (void)rank;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof *rows; i++) {
        const struct nx_row *row = &rows[i];
        struct nx_row_context c = r->context;
        c.node = row->node >= 0 ? row->node : node_of(r, row->rank);
        c.peer_node = node_of(r, row->peer_rank);
        c.host = host_of(r, c.node);
        c.peer_host = host_of(r, c.peer_node);
        c.cpu = row->cpu >= 0 || row->rank < 0 ? row->cpu : r->bindings[row->rank].cpu;
        c.n_ranks = row->n_ranks >= 0 ? row->n_ranks : r->team.n_ranks;
        c.n_nodes = row->n_nodes >= 0 ? row->n_nodes : r->team.n_nodes;
        nx_record_row(r->record, row, &c); /* a failure stays in the record */
    }
}

/* Brings the figures of all ranks into accept.csv, as those of a check. Collective. */
static void write_rows(struct nx_run *r, const char *check, int repetition, int64_t start_ns,
                       int64_t wall_ns) {
    r->context = (struct nx_row_context){.check = check,
                                         .repetition = repetition,
                                         .order = r->order,
                                         .start_ns = start_ns,
                                         .wall_ns = wall_ns};
    nx_collect(r, r->rows, r->n_rows * (int64_t)sizeof *r->rows, take_rows);
    r->n_rows = 0;
}

static void take_hists(struct nx_run *r, int rank, const void *data, int64_t bytes) {
    const struct nx_hist *hists = data;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof *hists; i++)
        for (int bin = 0; bin < NL_HIST_BINS; bin++)
            if (hists[i].hist.bins[bin])
                nx_record_hist_bin(r->record, &hists[i].name, rank, r->node_of[rank],
                                   r->hosts[r->node_of[rank]].host, bin, hists[i].hist.bins[bin]);
}

static void write_hists(struct nx_run *r) {
    struct nx_hist *all = calloc((size_t)r->n_hists + 1, sizeof *all);
    if (!all) r->has_no_memory = 1;
    for (int i = 0; all && i < r->n_hists; i++)
        all[i] = *r->hists[i];
    if (r->record) nx_record_hists_begin(r->record);
    nx_collect(r, all, all ? r->n_hists * (int64_t)sizeof *all : 0, take_hists);
    if (r->record) nx_record_hists_end(r->record);
    free(all);
}

static int write_launch(struct nx_run *r) {
    if (!r->record) return 0;
    nx_launch_update(r);
    return nd_files_launch_json(&r->record->files, r->launch);
}

/* ---- setting up ---- */

enum { BOOT_ID_BYTES = 40 };
static int compare_boot_ids(const void *a, const void *b) { return strncmp(a, b, BOOT_ID_BYTES); }

/* Whether nodes are parts of one machine: containers, or namespaces of a test cluster. Their kernels were
 * booted at once. Collective; -1 without memory. */
static int has_common_kernel(struct nx_run *r) {
    char mine[BOOT_ID_BYTES] = "", *all = NULL;
    int is_common = 0;
    if (r->team.rank == 0 && !(all = calloc((size_t)r->team.n_nodes, sizeof mine)))
        nl_error("not enough memory for %d nodes", r->team.n_nodes);
    if (nd_team_agree(&r->team, r->team.rank == 0 && !all)) return -1;
    if (r->team.node_rank == 0) {
        nl_read_line("/proc/sys/kernel/random/boot_id", mine, sizeof mine);
        nd_team_gather(r->team.leaders, mine, sizeof mine, all);
    }
    if (all)
        qsort(all, (size_t)r->team.n_nodes, BOOT_ID_BYTES,
              compare_boot_ids); /* equal ones are neighbours then */
    for (int i = 1; all && i < r->team.n_nodes; i++) {
        const char *id = all + (size_t)i * BOOT_ID_BYTES;
        is_common |= *id && compare_boot_ids(id, id - BOOT_ID_BYTES) == 0;
    }
    free(all);
    MPI_Bcast(&is_common, 1, MPI_INT, 0, r->team.world);
    return is_common;
}

static int allocate(struct nx_run *r) {
    int n_ranks = r->team.n_ranks, n_nodes = r->team.n_nodes;
    int ok = NL_NEW(r->node_of, n_ranks) && NL_NEW(r->node_first, n_nodes) && NL_NEW(r->node_last, n_nodes);
    ok = ok && NL_NEW(r->node_ranks, n_nodes);
    if (r->team.rank == 0) ok = ok && NL_NEW(r->bindings, n_ranks) && NL_NEW(r->hosts, n_nodes);
    if (!ok) nl_error("not enough memory for %d ranks", r->team.n_ranks);
    return nd_team_agree(&r->team, !ok) ? -1 : 0;
}

static int find_nodes(struct nx_run *r) {
    struct nd_binding binding;
    struct nd_host host = {0};
    nd_binding_read(&binding, r->team.rank);
    binding.node = r->team.node_index;
    nd_team_gather(r->team.world, &binding, sizeof binding, r->bindings);
    MPI_Allgather(&r->team.node_index, 1, MPI_INT, r->node_of, 1, MPI_INT, r->team.world);
    for (int rank = 0; rank < r->team.n_ranks; rank++) {
        int node = r->node_of[rank];
        if (r->node_ranks[node]++ == 0) r->node_first[node] = rank;
        r->node_last[node] = rank;
    }
    if (r->team.node_rank == 0) {
        nd_host_read(&host);
        host.n_ranks = r->team.n_node_ranks;
        nd_team_gather(r->team.leaders, &host, sizeof host, r->hosts);
        r->n_allowed = host.n_allowed;
    }
    MPI_Bcast(&r->n_allowed, 1, MPI_INT, 0, r->team.node);
    r->shares_kernel = has_common_kernel(r);
    return r->shares_kernel < 0 ? -1 : 0;
}

static void warn_of_nodes(struct nx_run *r) {
    char what[760];
    if (nd_unlike_describe(r->hosts, r->team.n_nodes, what, sizeof what))
        nd_launch_json_say(r->launch, "nodes are not alike: %s", what);
    for (int i = 0; i < r->team.n_nodes; i++) {
        const struct nd_host *host = &r->hosts[i];
        if (host->quota.quota_ns == 0) continue;
        nd_launch_json_say(r->launch, "a quota of %s holds for the %d rank(s) of %s: %s",
                           nl_quota_tell(&host->quota, what, sizeof what), host->n_ranks, host->host,
                           nl_quota_cpus(&host->quota) < host->n_ranks
                               ? "they are stopped in every period, and what is measured is the quota"
                               : "what else runs in the same cgroup uses it up with them");
    }
    if (nd_crowd_tell(r->bindings, r->team.n_ranks, r->hosts, what, sizeof what) > 0)
        nd_launch_json_say(r->launch, "%s: they take turns and disturb each other", what);
    if (nd_algorithms_foreign_rules(what, sizeof what)) nd_launch_json_say(r->launch, "%s", what);
    if (r->shares_kernel)
        nd_launch_json_say(
            r->launch,
            "several nodes share one kernel: they are parts of one machine, and disturb each other");
    if (r->o->fault.is_given)
        nd_launch_json_say(r->launch, "--checks: inject-fault: data are made wrong on purpose, the launch "
                                      "says nothing about the machine's own");
}

static int check_fault(const struct nx_run *r) {
    const struct nx_fault *f = &r->o->fault;
    int highest = f->sender > f->receiver ? f->sender : f->receiver;
    if (!f->is_given || highest < r->team.n_ranks) return 0;
    if (r->team.rank == 0)
        nl_error("--checks: inject-fault: there is no rank %d among %d ranks", highest, r->team.n_ranks);
    return -1;
}

static int set_up(struct nx_run *r) {
    if (allocate(r) || check_fault(r) || find_nodes(r)) return -1;
    nl_ticks_calibrate(&r->ticks);
    int is_coarse = !(r->ticks.resolution_ns <= (double)r->o->detour_threshold_ns);
    if (is_coarse && r->team.node_rank == 0)
        nl_error("the clock (%s) moves in steps of %.0f ns, measured, and detours from %lld ns on are looked "
                 "for (detour-threshold): "
                 "take another clock source",
                 r->ticks.name, r->ticks.resolution_ns, (long long)r->o->detour_threshold_ns);
    if (nd_team_agree(&r->team, is_coarse)) return -1;
    r->seed = r->o->seed;
    MPI_Bcast(&r->seed, 1, MPI_UINT64_T, 0, r->team.world);
    nl_rng_init(&r->rng, r->seed, 0);
    for (int i = 0; nx_checks[i]; i++)
        if (r->o->is_chosen[i])
            r->tasks[r->n_tasks++] = (struct nx_task){
                .check = nx_checks[i], .index = i, .planned_ns = nx_options_budget_ns(r->o, i)};
    int failed = 0;
    if (r->team.rank == 0) {
        failed = nx_record_open(&r->record, r->o->out, r->o->launch_id);
        if (!failed) {
            r->launch = nx_launch_new(r);
            warn_of_nodes(r);
            failed = write_launch(r);
        }
    }
    return nd_team_agree(&r->team, failed ? ND_FLAG_RECORD : 0) ? -1 : 0;
}

/* ---- running ---- */

static void say_status(struct nx_run *r, const struct nx_task *t) {
    if (r->launch)
        nd_launch_json_say(r->launch, "%s %s: %s", t->check->name, nx_status_names[t->status], t->reason);
}

static void open_task(struct nx_run *r, struct nx_task *t) {
    const struct nx_check *c = t->check;
    r->task = t;
    if (nx_check_problem(c, r->team.n_ranks, r->team.n_nodes, t->reason))
        t->status = NX_SKIPPED;
    else if (nx_is_out_of_memory(r, t, c->state_bytes && !(t->state = calloc(1, c->state_bytes))))
        t->status = NX_FAILED;
    else if (c->open) {
        int rc = c->open(r, t);
        t->status = rc == 0 ? NX_PLANNED : rc > 0 ? NX_SKIPPED : NX_FAILED;
    }
    if (t->status != NX_PLANNED) say_status(r, t);
}

/* Whether the launch goes on; flags of all ranks. Collective. */
static int agree(struct nx_run *r) {
    int flags = *r->stop_asked || getppid() != r->parent_pid ? ND_FLAG_STOP : 0;
    if (r->record && nx_record_flush(r->record)) flags |= ND_FLAG_RECORD;
    if (r->has_no_memory) flags |= ND_FLAG_SETUP;
    return nd_team_agree(&r->team, flags);
}

/* What is measured next, where a line is due. */
static void show_progress(struct nx_run *r, const struct nx_task *t, int n_done, int n_all) {
    char text[160];
    double share = (double)n_done / n_all;
    int64_t now_ns = nl_mono_ns();
    if (r->team.rank != 0 || !nl_progress_is_due(&r->progress, now_ns, share)) return;
    int n = nl_progress_tell(&r->progress, now_ns, share, "", text, sizeof text);
    snprintf(text + n, sizeof text - (size_t)n, "; %s", t->check->name);
    nl_progress_show(&r->progress, now_ns, share, "noiselab-accept", text);
}

/* How long this rank was ready to run and did not, by the scheduler's own account of it, which nobody has to
 * be allowed to read, and from which no task can hide. */
static void add_waits(struct nx_run *r, int64_t waited_ns, int64_t wall_ns) {
    struct nx_row row = nx_row("");
    row.rank = r->team.rank;
    if (nl_preempted_source(&r->waits) == NL_PREEMPTED_SCHEDULER && wall_ns > 0)
        nx_put(r, &row, "waited", "percent", 100. * (double)waited_ns / (double)wall_ns, -1);
}

/* One check, once. */
static void measure(struct nx_run *r, struct nx_task *t) {
    r->task = t;
    MPI_Barrier(r->team.world);
    int64_t start_ns = nl_mono_ns(), waited_ns = -nl_preempted_ns(&r->waits);
    if (t->check->measure(r, t)) t->status = NX_FAILED;
    int64_t wall_ns = nl_mono_ns() - start_ns;
    waited_ns += nl_preempted_ns(&r->waits);
    t->took_ns += wall_ns;
    t->n_repetitions++;
    write_rows(r, t->check->name, r->repetition, start_ns - r->start_ns, wall_ns);
    add_waits(r, waited_ns, wall_ns);
    write_rows(r, "others", r->repetition, start_ns - r->start_ns, wall_ns);
    if (t->status == NX_FAILED) say_status(r, t);
}

/* Whether another repetition would make the launch longer than twice what was planned. A machine that is
 * busy, or has more ranks than CPUs, makes everything slow; then fewer repetitions are better than a launch
 * that does not end. Rank 0's clock counts. Collective. */
static int is_too_slow(struct nx_run *r) {
    int64_t now_ns = nl_mono_ns(), repetition_ns = now_ns - r->repetition_ns, most_ns = 2 * r->o->measure_ns;
    int is = r->repetition >= NX_LEAST_REPETITIONS && r->repetition < r->o->n_repetitions &&
             now_ns - r->begun_ns + repetition_ns > most_ns;
    MPI_Bcast(&is, 1, MPI_INT, 0, r->team.world);
    if (is && r->launch)
        nd_launch_json_say(r->launch,
                           "%d of %d repetitions: another one of %.0f s would make the launch longer than "
                           "twice the %.0f s planned",
                           r->repetition, r->o->n_repetitions, (double)repetition_ns * 1e-9,
                           (double)r->o->measure_ns * 1e-9);
    return is;
}

/* All checks, repetition by repetition, in an order drawn for each: what drifts hits all of them alike.
 * Returns the flags of the end. */
static int run_repetitions(struct nx_run *r) {
    int order[NX_MAX_CHECKS], flags = agree(r), n_done = 0;
    r->start_ns = nl_mono_ns();
    nl_progress_open(&r->progress, r->o->progress);
    nl_progress_begin(&r->progress, r->start_ns);
    for (r->repetition = 1; r->repetition <= r->o->n_repetitions && !flags; r->repetition++) {
        r->repetition_ns = nl_mono_ns();
        for (int i = 0; i < r->n_tasks; i++)
            order[i] = i;
        nl_rng_shuffle(&r->rng, order, r->n_tasks);
        for (int i = 0; i < r->n_tasks && !flags; i++) {
            struct nx_task *t = &r->tasks[order[i]];
            r->order = i + 1;
            n_done++;
            if (t->status != NX_PLANNED) continue;
            t->budget_ns = nx_task_budget_ns(t, r->repetition, r->o->n_repetitions);
            MPI_Bcast(&t->budget_ns, 1, MPI_INT64_T, 0, r->team.world); /* rank 0's clock counts */
            if (t->budget_ns == 0) continue;
            show_progress(r, t, n_done - 1, r->n_tasks * r->o->n_repetitions);
            measure(r, t);
            flags = agree(r);
        }
        if (!flags) r->n_made = r->repetition;
        write_hists(r);
        write_launch(r);
        if (is_too_slow(r)) break;
    }
    nl_progress_close(&r->progress);
    return flags;
}

/* A check that made fewer repetitions than the launch says so, besides what it has to say itself. */
static void say_left_out(const struct nx_run *r, struct nx_task *t) {
    size_t used = strlen(t->reason);
    if (t->n_repetitions >= r->n_made) return;
    snprintf(t->reason + used, sizeof t->reason - used,
             "%s%d of %d repetitions, of %.2f s each where %.2f s were planned", used ? "; " : "",
             t->n_repetitions, r->n_made, (double)t->took_ns * 1e-9 / t->n_repetitions,
             (double)t->planned_ns * 1e-9);
}

static void finish_tasks(struct nx_run *r) {
    r->repetition = 0;
    for (int i = 0; i < r->n_tasks; i++) {
        struct nx_task *t = r->task = &r->tasks[i];
        if (t->status == NX_PLANNED && t->n_repetitions > 0) {
            t->status = NX_RAN;
            say_left_out(r, t);
            if (t->check->finish) t->check->finish(r, t);
            write_rows(r, t->check->name, 0, -1, -1);
        } else if (t->status == NX_PLANNED) {
            t->status = NX_SKIPPED;
            snprintf(t->reason, sizeof t->reason, "the launch ended before");
        }
    }
}

static void take_others(struct nx_run *r, int rank, const void *data, int64_t bytes) {
    json_t *json = json_loadb(data, (size_t)bytes, 0, NULL);
    if (!json) return;
    json_object_set_new(json, "host", nl_json_text(r->hosts[r->node_of[rank]].host));
    json_array_append_new(json_object_get(r->launch, "others"), json);
}

/* The record of who else ran is of the checks: it ends with them. Collective. */
static void collect_others(struct nx_run *r) {
    char *text = nx_others_stop(r->others);
    if (r->others->is_first && !text) r->has_no_memory = 1;
    nx_collect(r, text, text ? (int64_t)strlen(text) : 0, take_others);
    free(text);
}

static enum nx_end finish(struct nx_run *r, int flags) {
    collect_others(r);
    finish_tasks(r);
    flags |= agree(r);
    int is_wrong = r->n_wrong > 0, failed = 0;
    int64_t peak_kib = nd_peak_memory_kib();
    MPI_Allreduce(MPI_IN_PLACE, &peak_kib, 1, MPI_INT64_T, MPI_MAX, r->team.world);
    MPI_Bcast(&is_wrong, 1, MPI_INT, 0, r->team.world);
    const char *ended = flags & ND_FLAG_RECORD  ? "failed: could not write"
                        : flags & ND_FLAG_SETUP ? "failed: not enough memory for the figures"
                        : flags & ND_FLAG_STOP  ? "interrupted"
                                                : "complete";
    if (r->record) {
        if (is_wrong)
            nd_launch_json_say(
                r->launch,
                "%lld data errors: see mismatches.csv and the rows with metric mismatches or wrong",
                (long long)r->n_wrong);
        nd_launch_json_end(r->launch, ended, r->record->files.n_rows, peak_kib);
        failed = write_launch(r);
        if (flags & (ND_FLAG_STOP | ND_FLAG_SETUP))
            nl_warn("%s: %lld rows are in '%s'", ended, (long long)r->record->files.n_rows,
                    r->record->files.folder);
        if (!failed && !(flags & ND_FLAG_RECORD)) printf("%s\n", r->record->files.folder);
    }
    if (nd_team_agree(&r->team, failed) || flags & (ND_FLAG_RECORD | ND_FLAG_SETUP)) return NX_END_FAILED;
    if (flags & ND_FLAG_STOP) return NX_END_INTERRUPTED;
    return is_wrong ? NX_END_WRONG_DATA : NX_END_COMPLETE;
}

static void tear_down(struct nx_run *r, int is_open) {
    for (int i = 0; i < r->n_tasks && is_open; i++) {
        struct nx_task *t = &r->tasks[i];
        if (t->state && t->check->close) t->check->close(t->state);
        free(t->state);
    }
    if (r->starter) nd_starter_close(r->starter);
    for (int i = 0; i < r->n_hists; i++)
        free(r->hists[i]);
    nx_record_close(r->record);
    json_decref(r->launch);
    NL_FREE(r->starter, r->hists, r->rows, r->cores, r->bindings, r->hosts, r->node_of, r->node_first,
            r->node_last, r->node_ranks);
    nd_team_close(&r->team);
}

enum nx_end nx_run(const struct nx_options *o, int has_failed, struct nx_others *others,
                   const volatile int *stop_asked) {
    struct nx_run r = {.o = o,
                       .others = others,
                       .stop_asked = stop_asked,
                       .parent_pid = getppid(),
                       .begun_ns = nl_mono_ns()};
    enum nx_end end = NX_END_FAILED;
    nd_team_open(&r.team);
    int is_open = !nd_team_agree(&r.team, has_failed ? ND_FLAG_SETUP : 0) && set_up(&r) == 0;
    nl_preempted_open(&r.waits, NL_PREEMPTED_AUTO);
    if (is_open) {
        for (int i = 0; i < r.n_tasks; i++)
            open_task(&r, &r.tasks[i]);
        end = finish(&r, run_repetitions(&r));
    }
    free(nx_others_stop(others)); /* where nothing was run */
    nl_preempted_close(&r.waits);
    tear_down(&r, is_open);
    return end;
}

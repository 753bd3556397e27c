/* The agent's part of a launch: placing its companion, switching, the marks of a half, and giving its arm up.
 */
#include "detector/agent_run.h"
#include "detector/run_state.h"
#include "detector/nodes/tree.h"
#include "detector/record/agent_rows.h"

enum { LEASE_STRETCHES = 3 };

static void fill_arms(const struct nd_options *o, struct nl_agent *page) {
    page->n_arms = o->n_arms + 1;
    for (int i = 0; i < page->n_arms; i++) {
        struct nd_arm_words words;
        struct nl_agent_arm *arm = &page->arms[i];
        nd_arm_tell(o, i - 1, &words);
        snprintf(arm->name, sizeof arm->name, "%s", i == 0 ? "off" : "on");
        snprintf(arm->kind, sizeof arm->kind, "%.*s", (int)sizeof arm->kind - 1, words.kind);
        if (words.has_level) snprintf(arm->level, sizeof arm->level, "%.10g", words.level_percent);
    }
}

/* Sends PLACE to this node's companion. `ranks`: of this node, in the order of their node rank. */
static int place(struct nd_run *r, const struct nl_agent_rank *ranks) {
    struct nd_agent_state *a = &r->agent;
    struct nl_agent *page = nd_companion_page(a->companion);
    gethostname(a->host, sizeof a->host - 1);
    a->rows = nd_agent_rows_open(r->o, r->folder.path, r->folder.launch, r->team.node_index, a->host);
    if (!a->rows) return -1;
    page->n_ranks = r->team.n_node_ranks < NL_AGENT_MAX_RANKS ? r->team.n_node_ranks : NL_AGENT_MAX_RANKS;
    for (int i = 0; i < page->n_ranks; i++)
        page->ranks[i] = ranks[i];
    snprintf(page->host, sizeof page->host, "%s", a->host);
    snprintf(page->launch, sizeof page->launch, "%s", r->folder.launch);
    snprintf(page->directory, sizeof page->directory, "%s", r->folder.path);
    fill_arms(r->o, page);
    /* a few stretches, and what may come between them: a switch, and whatever other nodes wait for */
    page->lease_ns = LEASE_STRETCHES * (r->o->half_ns + nd_options_long_ns(r->o) + r->o->agent.settle_ns) +
                     r->o->agent.timeout_ns;
    enum nd_companion_end end = nd_companion_command(a->companion, NL_AGENT_PLACE);
    if (end != ND_COMPANION_DONE)
        nl_error("the agent %s: %s", r->o->agent.name, nd_companion_reason(a->companion));
    return end == ND_COMPANION_DONE ? 0 : -1;
}

int nd_agent_place(struct nd_run *r) {
    struct nd_binding binding;
    struct nl_agent_rank mine = {.pid = nd_run_pid(r),
                                 .tid = r->program ? nd_program_tid(r->program) : gettid()},
                         *ranks = NULL;
    int failed = 0;
    if (!nd_options_has_agent(r->o)) return 0;
    nd_binding_read(&binding, r->team.rank);
    mine.cpu = binding.cpu;
    if (r->team.node_rank == 0 && !(ranks = calloc((size_t)r->team.n_node_ranks, sizeof *ranks))) {
        nl_error("not enough memory for %d ranks", r->team.n_node_ranks);
        failed = 1;
    }
    if (nd_run_agree_failed(r, failed)) {
        free(ranks);
        return -1;
    }
    nd_team_gather(r->team.node, &mine, sizeof mine, ranks);
    if (r->agent.companion) failed = place(r, ranks);
    free(ranks);
    if (!nd_run_agree_failed(r, failed)) return 0;
    if (r->root.record) {
        nd_launch_json_end(r->root.launch, "failed: the agent cannot be switched", 0, nd_peak_memory_kib());
        nd_files_launch_json(&r->root.record->files, r->root.launch);
    }
    return -1;
}

/* What went wrong, in a line, and that the others are to know of it. A stop is no failure. */
static void note_failure(struct nd_run *r, enum nd_companion_end end, const char *when) {
    if (end == ND_COMPANION_DONE || end == ND_COMPANION_STOPPED) return;
    nl_error("the agent %s, %s: %s", r->o->agent.name, when, nd_companion_reason(r->agent.companion));
    r->flags |= ND_FLAG_AGENT;
}

void nd_agent_switch(struct nd_run *r, const struct nd_step *step) {
    struct nd_agent_state *a = &r->agent;
    int is_on = nd_is_agents(r->o, step->level);
    if (!a->companion) return;
    nd_companion_page(a->companion)->arm = step->level + 1;
    enum nd_companion_end end = nd_companion_command(a->companion, is_on ? NL_AGENT_ON : NL_AGENT_OFF);
    a->half = (struct nd_agent_half){
        .step = *step,
        .switch_ns = end == ND_COMPANION_DONE ? nd_companion_page(a->companion)->switch_ns : -1};
    note_failure(r, end, is_on ? "switched on" : "switched off");
}

void nd_agent_begin(struct nd_run *r, const struct nd_step *step) {
    struct nd_agent_state *a = &r->agent;
    if (!a->companion || r->flags & ND_FLAG_AGENT) return;
    struct nl_agent *page = nd_companion_page(a->companion);
    page->arm = step->level + 1;
    page->half = a->n_begun++;
    note_failure(r, nd_companion_command(a->companion, NL_AGENT_BEGIN), "before a half");
}

void nd_agent_end(struct nd_run *r, const struct nd_step *step, struct nd_sample *s) {
    struct nd_agent_state *a = &r->agent;
    int is_on = nd_is_agents(r->o, step->level);
    if (is_on) s->delivered_ns = 0;
    if (!a->companion || r->flags & ND_FLAG_AGENT) return;
    note_failure(r, nd_companion_command(a->companion, NL_AGENT_END), "in a half");
    a->half.account = nd_companion_page(a->companion)->account;
    if (is_on) s->delivered_ns = a->half.account.cpu_ns;
}

void nd_agent_row(struct nd_run *r, const struct nd_half_sum *node) {
    struct nd_agent_state *a = &r->agent;
    if (!a->rows || r->flags & ND_FLAG_RECORD) return;
    a->half.ranks = node;
    if (nd_agent_rows_add(a->rows, &a->half)) nd_run_missed_rows(r);
}

static void take_end(void *run, int node, const void *end) {
    struct nd_run *r = run;
    (void)node;
    if (r->root.launch) nd_launch_json_agent(r->root.launch, end);
}

void nd_agent_collect(struct nd_run *r) {
    struct nd_agent_end end = {.host = ""};
    if (!nd_options_has_agent(r->o) || r->team.node_rank != 0) return;
    gethostname(end.host, sizeof end.host - 1);
    end.has_agent = r->agent.companion != NULL;
    if (r->agent.companion) nd_companion_stop(r->agent.companion, end.certificate, sizeof end.certificate);
    nd_tree_gather(r->team.leaders, &end, sizeof end, take_end, r);
}

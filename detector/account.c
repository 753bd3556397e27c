/* Where the time of the ranks' CPUs went while halves ran: whether what is said of other tasks is all there
 * was. */
#include "detector/account.h"
#include "common/sys/nl_account.h"
#include "detector/nodes/quiet.h"
#include "detector/run_state.h"
#include "detector/look_around.h"
#include "detector/nodes/tree.h"

int nd_run_account_begin(struct nd_run *r) {
    struct nd_leader *l = &r->leader;
    int is_leader = r->team.node_rank == 0, n_cpus = 0, failed = 0;
    pid_t mine = nd_run_pid(r);
    if (is_leader) {
        failed = (l->account_own = calloc((size_t)r->team.n_node_ranks, sizeof *l->account_own)) == NULL;
        failed |= (l->account_cpus = nd_run_choose_cpus(r, &n_cpus)) == NULL;
    }
    if (nd_run_agree_failed(r, failed)) return -1;
    nd_team_gather(r->team.node, &mine, sizeof mine, l->account_own);
    if (is_leader)
        l->account = nl_account_open("/proc", l->account_cpus, n_cpus, l->account_own, r->team.n_node_ranks,
                                     nl_mono_ns);
    if (nd_run_agree_failed(r, is_leader && !l->account)) {
        nl_account_close(l->account);
        l->account = NULL;
        return -1;
    }
    if (l->account) nl_account_begin(l->account, 0);
    return 0;
}

static void take(void *run, int node, const void *sum) {
    struct nd_run *r = run;
    if (r->root.launch) nd_launch_json_account(r->root.launch, r->root.hosts[node].host, sum);
}

void nd_run_account_end(struct nd_run *r) {
    struct nl_account_sum sum;
    if (!r->leader.account) return;
    nl_account_end(r->leader.account, &sum, NULL);
    nd_tree_gather(r->team.leaders, &sum, sizeof sum, take, r);
}

void nd_run_account_close(struct nd_run *r) {
    nl_account_close(r->leader.account);
    NL_FREE(r->leader.account_own, r->leader.account_cpus);
}

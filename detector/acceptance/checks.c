#include "detector/acceptance/checks.h"

#define CHECK(name) extern const struct nx_check nx_check_##name;
#include "common/contract/checks.h"
#undef CHECK

#define CHECK(name) &nx_check_##name,
const struct nx_check *const nx_checks[] = {
#include "common/contract/checks.h"
    NULL,
};
#undef CHECK

const char *const nx_status_names[] = {
    [NX_PLANNED] = "planned", [NX_RAN] = "ran", [NX_SKIPPED] = "skipped", [NX_FAILED] = "failed"};

int nx_check_find(const char *name) {
    for (int i = 0; nx_checks[i]; i++)
        if (strcmp(nx_checks[i]->name, name) == 0) return i;
    return -1;
}

int64_t nx_task_budget_ns(const struct nx_task *t, int k, int n) {
    int64_t left_ns = t->planned_ns * n - t->took_ns, part_ns = left_ns / (n - k + 1),
            least_ns = t->planned_ns / 8 + 1;
    if (t->n_repetitions >= NX_LEAST_REPETITIONS && left_ns < t->took_ns / t->n_repetitions / 2) return 0;
    return part_ns > t->planned_ns ? t->planned_ns : part_ns < least_ns ? least_ns : part_ns;
}

const char *nx_check_problem(const struct nx_check *c, int n_ranks, int n_nodes,
                             char reason[NX_REASON_BYTES]) {
    if (n_ranks < c->least_ranks)
        snprintf(reason, NX_REASON_BYTES, "needs at least %d ranks, there is %d", c->least_ranks, n_ranks);
    else if (n_nodes < c->least_nodes)
        snprintf(reason, NX_REASON_BYTES, "needs at least %d nodes, there is %d", c->least_nodes, n_nodes);
    else
        return NULL;
    return reason;
}

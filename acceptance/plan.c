#include "plan.h"

#include <limits.h>
#include <stdio.h>

void nx_plan_print(const struct nx_options *o, int n_ranks) {
    double sum_s = 0;
    printf("%s, %d repetitions of all checks in turn, in random order, on %d rank%s\n", o->is_quick ? "quick" : "full", o->n_repetitions, n_ranks,
           n_ranks == 1 ? "" : "s");
    printf("%-13s %9s %14s  %s\n", "check", "seconds", "a repetition", "");
    for (int i = 0; nx_checks[i]; i++) {
        char reason[NX_REASON_BYTES];
        double repetition_s = (double)nx_options_budget_ns(o, i) * 1e-9;
        if (!o->is_chosen[i]) continue;
        /* how many nodes there are is not known before MPI is */
        const char *problem = nx_check_problem(nx_checks[i], n_ranks, INT_MAX, reason);
        printf("%-13s %9.1f %14.2f  %s%s\n", nx_checks[i]->name, repetition_s * o->n_repetitions, repetition_s, problem ? "skipped: " : "",
               problem ? problem : "");
        if (!problem) sum_s += repetition_s * o->n_repetitions;
    }
    printf("total %.1f s, and some seconds to start and to find the lengths of the operations\n", sum_s);
    printf("message sizes");
    for (int i = 0; i < o->n_sizes; i++) printf("%s %lld", i ? "," : "", (long long)o->sizes[i]);
    printf(" bytes\nseed %llu\ncampaign %s\n", (unsigned long long)o->seed, o->out);
}

#include "detector/acceptance/plan.h"

#include <jansson.h>

void nx_plan_print(const struct nx_options *o, int n_ranks) {
    double sum_s = 0;
    printf("%s, %d repetitions of all checks in turn, in random order, on %d rank%s\n", o->is_quick ? "quick" : "full", o->n_repetitions,
           n_ranks, n_ranks == 1 ? "" : "s");
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

int nx_plan_print_json(const struct nx_options *o, int n_ranks) {
    char seed[32];
    json_t *checks = json_array(), *sizes = json_array();
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    for (int i = 0; nx_checks[i]; i++) {
        char reason[NX_REASON_BYTES];
        if (!o->is_chosen[i]) continue;
        const char *problem = nx_check_problem(nx_checks[i], n_ranks, INT_MAX, reason);
        json_array_append_new(checks, json_pack("{s:s, s:I, s:s?}", "check", nx_checks[i]->name, "repetition_ns",
                                                (json_int_t)nx_options_budget_ns(o, i), "skipped", problem));
    }
    for (int i = 0; i < o->n_sizes; i++) json_array_append_new(sizes, json_integer(o->sizes[i]));
    json_t *json = json_pack("{s:i, s:s, s:s, s:i, s:i, s:I, s:o, s:o, s:s, s:s}", "schema", 1, "program", "noiselab-accept", "length",
                             o->is_quick ? "quick" : "full", "ranks", n_ranks, "repetitions", o->n_repetitions, "measuring_ns",
                             (json_int_t)o->measure_ns, "checks", checks, "sizes_bytes", sizes, "seed", seed, "campaign", o->out);
    int failed = !json || json_dumpf(json, stdout, JSON_COMPACT) || putchar('\n') == EOF || fflush(stdout);
    json_decref(json);
    return failed ? -1 : 0;
}

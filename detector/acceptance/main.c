#include <jansson.h>
#include <mpi.h>

#include "common/base/nl_json.h"
#include "detector/record/record.h"
#include "detector/nodes/launcher.h"
#include "common/sys/nl_place.h"
#include "detector/nodes/provenance.h"
#include "detector/acceptance/accept_run.h"
#include "detector/acceptance/others.h"
#include "detector/acceptance/wait_quiet.h"

/* How a launch spends its time: for people, or as one JSON object for programs (docs/reference/formats.md).
 */

/* Prints the plan: checks, repetitions, seconds. `n_ranks`: as the launcher says. Local. */
static void nx_plan_print(const struct nx_options *o, int n_ranks) {
    double sum_s = 0;
    printf("%s, %d repetitions of all checks in turn, in random order, on %d rank%s\n",
           o->is_quick ? "quick" : "full", o->n_repetitions, n_ranks, n_ranks == 1 ? "" : "s");
    printf("%-13s %9s %14s  %s\n", "check", "seconds", "a repetition", "");
    for (int i = 0; nx_checks[i]; i++) {
        char reason[NX_REASON_BYTES];
        double repetition_s = (double)nx_options_budget_ns(o, i) * 1e-9;
        if (!o->is_chosen[i]) continue;
        /* how many nodes there are is not known before MPI is */
        const char *problem = nx_check_problem(nx_checks[i], n_ranks, INT_MAX, reason);
        printf("%-13s %9.1f %14.2f  %s%s\n", nx_checks[i]->name, repetition_s * o->n_repetitions,
               repetition_s, problem ? "skipped: " : "", problem ? problem : "");
        if (!problem) sum_s += repetition_s * o->n_repetitions;
    }
    printf("total %.1f s, and some seconds to start and to find the lengths of the operations\n", sum_s);
    printf("message sizes");
    for (int i = 0; i < o->n_sizes; i++)
        printf("%s %lld", i ? "," : "", (long long)o->sizes[i]);
    printf(" bytes\nseed %llu\ncampaign %s\n", (unsigned long long)o->seed, o->out);
}

/* The same as JSON, one line. Returns 0, or -1 when memory is short or stdout is full. Local. */
static int nx_plan_print_json(const struct nx_options *o, int n_ranks) {
    char seed[32];
    json_t *checks = json_array(), *sizes = NL_JSON_LIST(i, o->n_sizes, json_integer(o->sizes[i]));
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    for (int i = 0; nx_checks[i]; i++) {
        char reason[NX_REASON_BYTES];
        if (!o->is_chosen[i]) continue;
        const char *problem = nx_check_problem(nx_checks[i], n_ranks, INT_MAX, reason);
        json_array_append_new(checks,
                              json_pack("{s:s, s:I, s:s?}", "check", nx_checks[i]->name, "repetition_ns",
                                        (json_int_t)nx_options_budget_ns(o, i), "skipped", problem));
    }
    json_t *json = json_pack("{s:i, s:s, s:s, s:i, s:i, s:I, s:o, s:o, s:s, s:s}", "schema", 1, "program",
                             "noiselab-accept", "length", o->is_quick ? "quick" : "full", "ranks", n_ranks,
                             "repetitions", o->n_repetitions, "measuring_ns", (json_int_t)o->measure_ns,
                             "checks", checks, "sizes_bytes", sizes, "seed", seed, "campaign", o->out);
    int failed = !json || json_dumpf(json, stdout, JSON_COMPACT) || putchar('\n') == EOF || fflush(stdout);
    json_decref(json);
    return failed ? -1 : 0;
}

#define SLACK_NS INT64_C(3600000000000) /* in which a launch that is slow ends */

static volatile int stop_asked;

static void ask_to_stop(int signal_number) {
    (void)signal_number;
    stop_asked = 1;
}

int main(int argc, char **argv) {
    static const int statuses[] = {[NX_END_COMPLETE] = NL_EXIT_OK,
                                   [NX_END_WRONG_DATA] = NL_EXIT_FAIL,
                                   [NX_END_INTERRUPTED] = NL_EXIT_USAGE,
                                   [NX_END_FAILED] = NL_EXIT_USAGE};
    struct nd_launcher launcher;
    static struct nx_options options;
    static char host[ND_HOST_BYTES];
    struct nx_others others = {.was_quiet = 1};
    const struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART};
    int n_ranks, provided;

    nl_set_program("noiselab-accept");
    nd_launcher_read(&launcher);
    nl_set_quiet(launcher.rank != 0); /* all see the same command line; one speaks about it */
    int go_on = nx_options_parse(argc, argv, launcher.rank == 0, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    int failed = launcher.rank == 0 && nd_record_check_campaign(options.out);
    int n_planned = options.planned_ranks ? options.planned_ranks : launcher.n_ranks;
    if (options.dry_run && launcher.rank == 0 && !failed && !options.is_json)
        nx_plan_print(&options, n_planned);
    if (options.is_json && launcher.rank == 0 && !failed && nx_plan_print_json(&options, n_planned)) {
        nl_error("--json: a name is not UTF-8, or the plan cannot be written");
        failed = 1;
    }
    if (options.dry_run || (failed && launcher.n_ranks == 1)) return failed ? NL_EXIT_USAGE : NL_EXIT_OK;
    nl_set_quiet(0);
    gethostname(host, sizeof host - 1);
    if (launcher.n_ranks > 1) nl_set_rank(launcher.rank, host);
    nl_narrow_to_one_thread();
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);

    nx_wait_quiet(&others, &launcher, options.wait_quiet_ns, &stop_asked);
    nx_others_start(&others, &launcher, 2 * options.measure_ns + SLACK_NS);
    /* scans run in threads of their own, which know nothing of MPI */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    failed = nd_launcher_check(&launcher, n_ranks) || failed;
    enum nx_end end = nx_run(&options, failed, &others, &stop_asked);
    MPI_Finalize();
    return statuses[end];
}

#include <mpi.h>

#include "detector/record/record.h"
#include "detector/nodes/launcher.h"
#include "common/base/nl_error.h"
#include "common/sys/nl_place.h"
#include "detector/acceptance/accept_options.h"
#include "detector/acceptance/plan.h"
#include "detector/nodes/provenance.h"
#include "detector/acceptance/accept_run.h"
#include "detector/acceptance/others.h"

#define SLACK_NS INT64_C(3600000000000) /* in which a launch that is slow ends */

static volatile int stop_asked;

static void ask_to_stop(int signal_number) {
    (void)signal_number;
    stop_asked = 1;
}

static int status_of(enum nx_end end) {
    static const int statuses[] = {[NX_END_COMPLETE] = NL_EXIT_OK,
                                   [NX_END_WRONG_DATA] = NL_EXIT_FAIL,
                                   [NX_END_INTERRUPTED] = NL_EXIT_USAGE,
                                   [NX_END_FAILED] = NL_EXIT_USAGE};
    return statuses[end];
}

int main(int argc, char **argv) {
    struct nd_launcher launcher;
    static struct nx_options options;
    static char host[ND_HOST_BYTES];
    struct nx_others others;
    const struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART};
    int n_ranks, provided;

    nl_set_program("noiselab-accept");
    nd_launcher_read(&launcher);
    nl_set_quiet(launcher.rank != 0); /* all see the same command line; one speaks about it */
    int go_on = nx_options_parse(argc, argv, launcher.rank == 0, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    int failed = launcher.rank == 0 && nd_record_check_campaign(options.out);
    int n_planned = options.planned_ranks ? options.planned_ranks : launcher.n_ranks;
    if (options.dry_run && launcher.rank == 0 && !failed && !options.is_json) nx_plan_print(&options, n_planned);
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

    nx_others_start(&others, &launcher, 2 * options.measure_ns + SLACK_NS);
    /* scans run in threads of their own, which know nothing of MPI */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    failed = nd_launcher_check(&launcher, n_ranks) || failed;
    enum nx_end end = nx_run(&options, failed, &others, &stop_asked);
    MPI_Finalize();
    return status_of(end);
}

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "launcher.h"
#include "nl_error.h"
#include "nl_place.h"
#include "nl_units.h"
#include "options.h"
#include "record.h"
#include "run.h"
#include "treatment.h"

static volatile int stop_asked;
static struct nd_treatment *volatile treatment; /* for the signal handler: the load ends at once, even if the other ranks are gone */

static void ask_to_stop(int signal_number) {
    (void)signal_number;
    stop_asked = 1;
    struct nd_treatment *t = treatment;
    if (t) nd_treatment_close(t);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void print_plan(const struct nd_options *o) {
    char half[32], period[32] = "-";
    if (o->n_levels) nl_format_duration(o->period_ns, period, sizeof period);
    printf("design %s: %lld rounds of %d halves of %s, noise period %s\n", o->design->name, (long long)o->n_rounds,
           o->design->round_steps(o->n_configs, o->n_levels), nl_format_duration(o->half_ns, half, sizeof half), period);
    for (int i = 0; i < o->n_configs; i++) printf("operation %s, %lld bytes\n", o->configs[i].op->name, (long long)o->configs[i].bytes);
    for (int i = 0; i < o->n_levels; i++) printf("level %g %%\n", o->levels_percent[i]);
    printf("seed %llu\ncampaign %s\n", (unsigned long long)o->seed, o->out);
}

/* The generator is started before MPI_Init, by the first rank of its node: an initialised MPI must not fork. */
static int start_treatment(const struct nd_options *o, const struct nd_launcher *launcher) {
    if (o->n_levels == 0 || launcher->local_rank != 0) return 0;
    if (!o->noise_on_all_nodes && launcher->rank != 0) return 0;
    struct nd_treatment *t;
    if (nd_treatment_start(&t, o->generator_path, o->kind)) return -1;
    treatment = t;
    return 0;
}

int main(int argc, char **argv) {
    struct nd_launcher launcher;
    static struct nd_options options;
    char host[64] = "";
    nl_set_program("noiselab-detect");
    nd_launcher_read(&launcher);
    /* all ranks see the same command line; one of them speaks about it */
    nl_set_quiet(launcher.rank != 0);
    int rc = nd_options_parse(argc, argv, launcher.rank == 0, &options);
    if (rc < 0) return NL_EXIT_USAGE;
    if (rc == 0) return NL_EXIT_OK;
    /* what only some ranks can find wrong is carried into the run, which all ranks then leave together: a rank that ended here would
     * leave the others waiting in MPI_Init under launchers that do not end them */
    int failed = launcher.rank == 0 && nd_record_check_campaign(options.out);
    if (failed && (launcher.n_ranks == 1 || options.dry_run)) return NL_EXIT_USAGE;
    if (options.dry_run) {
        if (launcher.rank == 0) print_plan(&options);
        return NL_EXIT_OK;
    }
    nl_set_quiet(0);
    gethostname(host, sizeof host - 1);
    if (launcher.n_ranks > 1) nl_set_rank(launcher.rank, host);
    nl_narrow_to_one_thread();
    failed = failed || start_treatment(&options, &launcher);
    if (failed && launcher.n_ranks == 1) return NL_EXIT_USAGE;
    catch_signals();

    MPI_Init(&argc, &argv);
    enum nd_end end = nd_run(&options, treatment, failed, &stop_asked);
    MPI_Finalize();
    struct nd_treatment *t = treatment;
    treatment = NULL;
    nd_treatment_free(t);
    return end == ND_END_COMPLETE ? NL_EXIT_OK : NL_EXIT_USAGE;
}

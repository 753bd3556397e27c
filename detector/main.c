#include <mpi.h>

#include "detector/nodes/launcher.h"
#include "common/sys/nl_place.h"
#include "detector/plan/plan.h"
#include "detector/run.h"
#include "detector/plan/noise_nodes.h"
#include "detector/record/rehearsal.h"
#include "detector/record/markers.h"

static volatile int stop_asked;
/* for the signal handler: the load ends and the agent is let go at once, even if the other ranks are gone */
static struct nd_treatment *volatile treatment;
static struct nd_companion *volatile companion;

static void ask_to_stop(int signal_number) {
    (void)signal_number;
    stop_asked = 1;
    struct nd_treatment *t = treatment;
    struct nd_companion *c = companion;
    if (t) nd_treatment_close(t);
    if (c) nd_companion_close(c);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

enum { LIST_BYTES = ND_MAX_FACTOR * 132 };

static const char *join(const char *const *names, int n, char *list) {
    list[0] = '\0';
    for (int i = 0; i < n; i++)
        strcat(strcat(list, i ? "," : ""), names[i]); /* at most 128 characters each */
    return list;
}

/* The generator's words: everything about the treatment but the levels, which it gets with each command. */
static void generator_words(const struct nd_options *o, const char *words[ND_MAX_PASSED + 5]) {
    static char kinds[LIST_BYTES], patterns[LIST_BYTES];
    const char *const fixed[] = {"--kind", join(o->kinds, o->n_kinds, kinds), "--pattern",
                                 join(o->patterns, o->n_patterns, patterns)};
    memcpy(words, fixed, sizeof fixed);
    for (int i = 0; i < o->n_passed; i++)
        words[4 + i] = o->passed[i];
    words[4 + o->n_passed] = NULL;
}

/* Children are started before MPI_Init, by the first rank of their node: an initialised MPI must not fork. */
static int start_children(const struct nd_options *o, const struct nd_launcher *launcher, const char *host) {
    struct nd_treatment *t = NULL;
    struct nd_companion *c = NULL;
    const char *words[ND_MAX_PASSED + 5];
    if (launcher->local_rank != 0 || !nd_nodes_hold(&o->noise_nodes, host, launcher->rank == 0)) return 0;
    generator_words(o, words);
    if (nd_options_has_generator(o) && nd_treatment_start(&t, o->generator_path, words)) return -1;
    treatment = t;
    if (nd_options_has_agent(o) && nd_companion_start(&c, o->agent.words, o->agent.timeout_ns, &stop_asked))
        return -1;
    companion = c;
    return 0;
}

/* What a dry run says: the plan, if the generator and the agent's companion would take it. */
static int rehearse(const struct nd_options *o, const struct nd_launcher *launcher) {
    const char *words[ND_MAX_PASSED + 5];
    generator_words(o, words);
    if (launcher->rank != 0) return NL_EXIT_OK;
    if (nd_options_has_generator(o) && nd_treatment_check(o->generator_path, words)) return NL_EXIT_USAGE;
    if (nd_options_has_agent(o) && nd_companion_check(o->agent.words)) return NL_EXIT_USAGE;
    if (!o->is_json) nd_rehearsal_print(o);
    if (!o->is_json || nd_rehearsal_print_json(o) == 0) return NL_EXIT_OK;
    nl_error("--json: a name is not UTF-8, or the plan cannot be written");
    return NL_EXIT_USAGE;
}

/* The signal handler must not find what is being freed. */
static void free_children(void) {
    struct nd_treatment *t = treatment;
    struct nd_companion *c = companion;
    treatment = NULL;
    companion = NULL;
    nd_treatment_free(t);
    nd_companion_free(c);
}

int main(int argc, char **argv) {
    struct nd_launcher launcher;
    static struct nd_options options;
    char host[ND_HOST_BYTES] = "";
    nl_set_program("noiselab-detect");
    nd_launcher_read(&launcher);
    /* all ranks see the same command line; one of them speaks about it */
    nl_set_quiet(launcher.rank != 0);
    int rc = nd_options_parse(argc, argv, launcher.rank == 0, &options);
    if (rc < 0) return NL_EXIT_USAGE;
    if (rc == 0) return NL_EXIT_OK;
    /* what only some ranks can find wrong is carried into the run, which all ranks then leave together: a
     * rank that ended here would leave the others waiting in MPI_Init under launchers that do not end them */
    int failed = launcher.rank == 0 && nd_record_check_campaign(options.out);
    if (failed && (launcher.n_ranks == 1 || options.dry_run)) return NL_EXIT_USAGE;
    if (options.dry_run) return rehearse(&options, &launcher);
    nl_set_quiet(0);
    gethostname(host, sizeof host - 1);
    if (launcher.n_ranks > 1) nl_set_rank(launcher.rank, host);
    nl_narrow_to_one_thread();
    catch_signals(); /* before the agent is touched */
    failed = failed || start_children(&options, &launcher, host);
    struct nd_markers *markers = failed ? NULL : nd_markers_open(&options);
    if (failed && launcher.n_ranks == 1) {
        free_children();
        return NL_EXIT_USAGE;
    }

    int n_ranks;
    for (int i = 0; i < options.n_configs; i++)
        if (options.configs[i].algorithm[0]) nd_algorithms_prepare();
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    failed = nd_launcher_check(&launcher, n_ranks) || failed;
    enum nd_end end = nd_run(&options, treatment, companion, markers, failed, &stop_asked);
    MPI_Finalize();
    nd_markers_close(markers);
    free_children();
    return end == ND_END_COMPLETE ? NL_EXIT_OK : end == ND_END_NO ? NL_EXIT_FAIL : NL_EXIT_USAGE;
}

/* Synchronises clocks whose truth is known, and prints what came out of it beside the truth, one line per
 * rank. The truth: all ranks are on one kernel, whose clocks are one, also across network namespaces; and
 * --fake-clock makes them wrong by known amounts. sync_probe [--clock NAME] [--fake-clock TEXT]
 * [--every-rank] [--method NAME] [--points N] [--span DURATION]
 *              [--runs N] [--gap DURATION] [--later DURATION] [--check]
 * The figures are those of the last of `runs` runs, `gap` apart. model_error_ns: how far the model is off
 * right after it, later_error_ns: after `later`. With --check, the residual is measured again then. */
#include <mpi.h>

#include "common/base/nl_options.h"
#include "detector/sync/sync.h"

struct options {
    struct nd_sync_options sync;
    const struct nd_clock_kind *kind;
    const char *fake; /* NULL: none */
    int64_t n_runs, gap_ns, later_ns;
    int is_checked;
};

struct row {
    int64_t true_offset_ns, run_ns;
    double true_drift_ppm, model_error_ns, later_error_ns;
    struct nd_sync_report report;
};

#define AT(type, member) NL_AT(type, struct options, member)

static const struct nl_option options[] = {
    {"clock", "NAME", "the clock to synchronise", 1, AT(ROW, kind), .table = nd_clock_kinds,
     .wanted = "a clock"},
    {"fake-clock", "TEXT", "OFFSET[,DRIFTppm[,JUMP@AFTER]], makes clocks wrong", 1, AT(TEXT, fake)},
    {"method", "NAME", "how clocks are compared", 1, AT(ROW, sync.method), .table = nd_sync_methods,
     .wanted = "a way to compare clocks"},
    {"every-rank", NULL, "compare the clocks of a node, too", 1, AT(FLAG, sync.every_rank)},
    {"points", "N", "offsets in a fit", 1, AT(INT, sync.n_points), 1, 1000000},
    {"span", "TIME", "over which they are taken", 1, AT(DURATION_OR_ZERO, sync.span_ns)},
    {"runs", "N", "how often", 1, AT(WHOLE, n_runs), 1, 1000000},
    {"gap", "TIME", "between runs", 1, AT(DURATION_OR_ZERO, gap_ns)},
    {"later", "TIME", "when the model is looked at again", 1, AT(DURATION_OR_ZERO, later_ns)},
    {"check", NULL, "measure the residual again then", 1, AT(FLAG, is_checked)},
};

/* How far the model is from the truth at this instant. Rank 0's clock is never a fake, so its time is the
 * true one. */
static double model_error_ns(const struct nd_sync *s) {
    int64_t true_ns = nd_clock_true_now(s->clock);
    int64_t local_ns = s->clock->is_fake ? nd_clock_fake(s->clock, true_ns) : true_ns;
    return (double)(nd_sync_to_global(&s->model, local_ns) - true_ns);
}

static int probe(const struct options *o, const struct nd_clock *clock, const struct nd_team *team,
                 struct row *row) {
    struct nd_sync s;
    if (nd_sync_open(&s, &o->sync, clock, team)) return -1;
    int failed = 0;
    for (int64_t i = 0; i < o->n_runs && !failed; i++) {
        if (i > 0) nl_sleep_ns(o->gap_ns);
        failed = nd_sync_run(&s);
    }
    if (!failed) {
        row->model_error_ns = model_error_ns(&s);
        int64_t local_ns = s.model.at_ns;
        /* the truth at the time for which the model says its offset; local - true = offset + drift (true -
         * at), solved for true */
        if (clock->is_fake) {
            double since_ns = (double)(local_ns - clock->fake_offset_ns - clock->fake_at_ns);
            row->true_offset_ns =
                clock->fake_offset_ns + llround(clock->fake_drift * since_ns / (1 + clock->fake_drift));
            /* per local second, as in the model: 1 - 1/(1 + drift) */
            row->true_drift_ppm = clock->fake_drift / (1 + clock->fake_drift) * 1e6;
        }
        if (o->later_ns) nl_sleep_ns(o->later_ns);
        row->later_error_ns = model_error_ns(&s);
        if (o->is_checked) failed = nd_sync_check(&s);
        row->report = s.report;
        row->run_ns = s.run_ns;
    }
    nd_sync_close(&s);
    return failed;
}

static void print(const struct row *rows, int n) {
    puts("rank,true_offset_ns,offset_ns,true_drift_ppm,drift_ppm,rtt_ns,residual_ns,model_error_ns,later_"
         "error_ns,exchanges,run_ns,"
         "is_measured,bound_ns");
    for (int i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        printf("%d,%" PRId64 ",%" PRId64 ",%.6f,%.6f,%" PRId64 ",%.0f,%.0f,%.0f,%" PRId64 ",%" PRId64
               ",%d,%.0f\n",
               i, r->true_offset_ns, r->report.offset_ns, r->true_drift_ppm, r->report.drift_ppm,
               r->report.rtt_ns, r->report.residual_ns, r->model_error_ns, r->later_error_ns,
               r->report.n_exchanges, rows[0].run_ns, r->report.is_measured, ceil(r->report.bound_ns));
    }
}

int main(int argc, char **argv) {
    struct options o = {.n_runs = 1, .kind = nl_find(nd_clock_kinds, "monotonic-raw")};
    struct nd_team team;
    struct nd_clock clock;
    struct row row = {0}, *rows = NULL;
    char reason[256] = "";
    nl_set_program("sync_probe");
    MPI_Init(&argc, &argv);
    nd_team_open(&team);
    nl_set_quiet(team.rank != 0);
    struct nl_command_line line = {.program = "sync_probe",
                                   .rows = options,
                                   .n_rows = sizeof options / sizeof *options,
                                   .target = &o,
                                   .doc = ""};
    int failed = nl_options_parse(&line, argc, argv, NULL);
    nl_set_quiet(0);
    if (!failed && (failed = nd_clock_open(&clock, o.kind, reason, sizeof reason))) nl_error("%s", reason);
    failed = nd_team_agree(&team, failed);
    if (!failed) nd_clock_share(&clock, team.node);
    if (!failed && o.fake && (failed = nd_clock_parse_fake(o.fake, team.rank, &clock)))
        nl_error("--fake-clock: '%s' is not OFFSET[,DRIFTppm[,JUMP@AFTER]]", o.fake);
    failed = nd_team_agree(&team, failed);
    if (!failed && !(failed = probe(&o, &clock, &team, &row))) {
        if (!(rows = calloc((size_t)team.n_ranks, sizeof row))) MPI_Abort(MPI_COMM_WORLD, NL_EXIT_USAGE);
        nd_team_gather(team.world, &row, (int)sizeof row, rows);
        if (team.rank == 0) print(rows, team.n_ranks);
        free(rows);
    }
    nd_team_close(&team);
    MPI_Finalize();
    return failed ? NL_EXIT_USAGE : NL_EXIT_OK;
}

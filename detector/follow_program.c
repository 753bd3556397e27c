/* Before the first half of a launch that follows a program: whose ranks are whose, what the beat is, and how
 * long halves must be. */
#include "detector/follow_program.h"
#include "common/base/nl_options.h"
#include "detector/run_state.h"

#define BEATS_OF_A_HALF 5

/* We sleep where the program runs: its CPU is then that of this rank in all that is said of it, and nobody
 * else is woken up on. */
static void go_to(const struct nd_program *p) {
    cpu_set_t mask;
    if (sched_getaffinity(nd_program_tid(p), sizeof mask, &mask) == 0)
        sched_setaffinity(0, sizeof mask, &mask);
}

/* Rank 0 looks for the beat, unless the user says it, and all measure their own. Collective; 0 or -1. */
static int agree_on_beat(struct nd_run *r) {
    char reason[256] = "";
    int failed = 0;
    if (r->o->beat)
        nd_beat_parse(r->o->beat, &r->beat);
    else if (r->team.rank == 0)
        failed = nd_program_find_beat(r->program, r->stop_asked, &r->beat, reason, sizeof reason);
    if (nd_run_agree_failed(r, failed)) {
        if (failed) nl_error("--app: %s", reason);
        return -1;
    }
    MPI_Bcast(&r->beat, sizeof r->beat, MPI_BYTE, 0, r->team.world);
    failed = nd_program_take_beat(r->program, r->stop_asked, &r->beat, reason, sizeof reason);
    if (failed) nl_error("--app: rank %d: %s", r->team.rank, reason);
    if (nd_run_agree_failed(r, failed)) return -1;
    /* the slowest rank's figures are all ranks' */
    r->beat.period = nd_team_max(&r->team, r->beat.period);
    r->beat.beat_ns = nd_team_max(&r->team, r->beat.beat_ns);
    r->beat.median_ns = nd_team_max(&r->team, r->beat.median_ns);
    return 0;
}

int nd_run_follow_program(struct nd_run *r, struct nd_options *o) {
    char reason[512] = "", name[64];
    if (!o->app) return 0;
    int failed = nd_program_open(&r->program, o->app, r->team.rank, r->team.n_ranks, r->stop_asked, reason,
                                 sizeof reason);
    if (failed) nl_error("--app: %s", reason);
    if (nd_run_agree_failed(r, failed) || agree_on_beat(r)) return -1;
    go_to(r->program);
    /* in files and answers the program is called what its executable is */
    const char *path = nd_program_path(r->program), *slash = strrchr(path, '/'),
               *last = slash ? slash + 1 : path;
    if (*last) snprintf(o->configs[0].name, sizeof o->configs[0].name, "%s", last);
    nl_make_plain(o->configs[0].name);
    MPI_Bcast(o->configs[0].name, sizeof o->configs[0].name, MPI_CHAR, 0, r->team.world);
    int64_t n = nd_whole_periods_of_beats(BEATS_OF_A_HALF, r->beat.period);
    failed = nd_options_hold_beats(o, n * r->beat.beat_ns, r->team.rank == 0);
    if (r->team.rank == 0 && !failed)
        fprintf(
            stderr,
            "noiselab-detect: follows %s on %d ranks; a beat is its %s, each %.3g ms, repeating after %lld\n",
            nd_program_path(r->program), r->team.n_ranks, nd_beat_tell(&r->beat, name, sizeof name),
            (double)r->beat.beat_ns * 1e-6, (long long)r->beat.period);
    return nd_run_agree_failed(r, failed);
}

/* Loops that get slow on the way, in all ways in which ranks end them: they end at the same number of
 * operations on all ranks, soon after their time, and those that are in time do all they are to. Started with
 * mpirun; status 1, and a line, for what is wrong. */
#include <mpi.h>

#include "detector/measure/measure.h"
#include "detector/measure/together.h"

enum { OPERATIONS = 5000, FAST = 300 };
#define MOST_NS INT64_C(60000000)

static int rank, n_ranks, is_meeting, n_done, n_late;
static int64_t begin_ns;
static struct nl_ticks ticks;
static int slow_from; /* operations from here on take some 0.4 ms on the last rank */

static int call(struct nd_op_state *s) {
    static const struct timespec slow = {.tv_nsec = 300000};
    int value = 0;
    if (n_done >= slow_from && rank == n_ranks - 1) nanosleep(&slow, NULL);
    if (is_meeting)
        MPI_Barrier(s->comm);
    else
        MPI_Bcast(&value, 1, MPI_INT, 0, s->comm);
    n_done++;
    n_late += nl_mono_ns() - begin_ns > MOST_NS;
    return 0;
}

/* How many operations were done; -1 after a message. */
static int64_t try(struct nd_together *t, const char *name, struct nl_hist *hist, int64_t n, int64_t most_ns,
                   int from) {
    static const struct nd_op rows[] = {{.name = "meets-nobody"}, {.name = "meets", .is_synchronising = 1}};
    struct nd_op_state state = {.comm = MPI_COMM_WORLD, .op = &rows[is_meeting], .call = call};
    struct nd_loop loop = {.op = &rows[is_meeting],
                           .state = &state,
                           .n_operations = n,
                           .chunk = n / 3,
                           .ticks = &ticks,
                           .hist = hist,
                           .detour_threshold_ns = 1000000,
                           .together = t,
                           .most_ns = most_ns,
                           .operation_ns = (double)most_ns / 2 / (double)n,
                           .look_every = n / 10};
    struct nd_loop_result r;
    slow_from = from;
    n_done = n_late = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    begin_ns = nl_mono_ns();
    nd_loop_run(&loop, &r);
    int64_t least = r.n_operations, most = r.n_operations, late = n_late;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &late, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s, %s%s: %lld operations, at most %lld after its time\n", name, rows[is_meeting].name,
               hist ? ", timed" : "", (long long)least, (long long)late);
    if (least == most && n_done == least) return least;
    if (rank == 0) printf("but %lld on another rank\n", (long long)most);
    return -1;
}

int main(int argc, char **argv) {
    static struct nl_hist hist;
    struct nd_team team;
    struct nd_together ways[2];
    int bad = 0;
    MPI_Init(&argc, &argv);
    nd_team_open(&team);
    nl_ticks_calibrate(&ticks);
    rank = team.rank, n_ranks = team.n_ranks;
    for (int i = 0; i < 2; i++)
        nd_together_open(&ways[i], &team);
    struct nd_together_page *page = ways[1].page;
    ways[1].page = NULL; /* as on several nodes */
    for (int way = 0; way < 2; way++)
        for (is_meeting = 0; is_meeting < 2; is_meeting++)
            for (int timed = 0; timed < 2; timed++) {
                const char *name = way == 0 ? "a page" : "messages";
                struct nl_hist *h = timed ? &hist : NULL;
                /* slow at once: where ranks have a page and meet, the end is that of the operation after the
                 * one that came too late */
                int64_t slow = try(&ways[way], name, h, OPERATIONS, MOST_NS, 0),
                        by_page = way == 0 && is_meeting;
                bad += slow < 1 || slow > 1000 || (by_page && timed && n_late > 3);
                /* slow from somewhere on */
                slow = try(&ways[way], name, h, OPERATIONS, MOST_NS, FAST);
                bad += slow < 1 || slow >= OPERATIONS || (by_page && timed && n_late > 3);
                bad += try(&ways[way], name, h, 50, 10000 * MOST_NS, INT32_MAX) != 50;
                if (rank == 0 && bad) printf("not right\n");
            }
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    ways[1].page = page;
    for (int i = 0; i < 2; i++)
        nd_together_close(&ways[i]);
    nd_team_close(&team);
    MPI_Finalize();
    return bad != 0;
}

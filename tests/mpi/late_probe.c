/* A program of which the profile is known: turns of work and then MPI_Allreduce. Rank r works (spins until a time, or sleeps) LATE[r] longer than the
 * others. Prints what it measured itself, by the clock that all ranks of a node share.
 * late_probe TURNS WORK_US [--sleep] [--hit-every N HIT_US] [--end abort|segv|exit|none] LATE_US... */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void work(long long ns, int sleeps) {
    long long end_ns = now_ns() + ns;
    if (sleeps) {
        nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
        return;
    }
    while (now_ns() < end_ns) continue;
}

static void end_by(const char *how, int rank) {
    if (!strcmp(how, "abort") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "segv") && rank == 0) raise(SIGSEGV);
    if (!strcmp(how, "exit")) _exit(5);
    if (!strcmp(how, "wait")) sleep(60);
}

int main(int argc, char **argv) {
    int rank, n_ranks, turns = atoi(argv[1]), sleeps = 0, hit_every = 0, at = 3, provided;
    long long work_ns = atoll(argv[2]) * 1000, hit_ns = 0, waited_ns = 0, spent_ns = 0;
    const char *how = "none";
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (!strcmp(argv[at], "--sleep")) sleeps = 1;
        if (!strcmp(argv[at], "--end")) how = argv[++at];
        if (!strcmp(argv[at], "--hit-every")) hit_every = atoi(argv[++at]), hit_ns = atoll(argv[++at]) * 1000;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    long long late_ns = at + rank < argc ? atoll(argv[at + rank]) * 1000 : 0;
    double value = rank, sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    long long start_ns = now_ns();
    for (int i = 0; i < turns; i++) {
        /* a hit comes at any time: while the rank works it takes longer by it */
        int is_hit = hit_every && i % hit_every == 0 && i / hit_every % n_ranks == rank;
        work(work_ns + late_ns + (is_hit ? hit_ns : 0), sleeps);
        long long arrived_ns = now_ns();
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        waited_ns += now_ns() - arrived_ns;
    }
    spent_ns = now_ns() - start_ns;
    if (sum != n_ranks * (n_ranks - 1) / 2.0) return 3;
    for (int i = 0; i < n_ranks; i++) {
        if (i == rank) printf("rank %d waited_us %.1f spent_us %.1f\n", rank, waited_ns / 1e3 / turns, spent_ns / 1e3 / turns);
        fflush(stdout);
    }
    end_by(how, rank);
    MPI_Finalize();
    return 0;
}

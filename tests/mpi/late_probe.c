/* A program of which the profile is known: turns of work, then MPI_Allreduce. Rank r works LATE[r] longer
 * than the others. Ranks may be interrupted, in turn and at any time, also within MPI: a signal's handler
 * takes HIT_US of the CPU every EVERY_MS. Prints what it measured itself, by the clock that all ranks of a
 * node share. --touch: each rank touches so many pages of new memory before its first turn. late_probe TURNS
 * WORK_US [--sleep] [--hit EVERY_MS HIT_US] [--touch PAGES] [--end abort|segv|exit|wait] LATE_US... */
#include <mpi.h>
#include <sys/time.h>

#include "common/base/nl_usual.h"

static volatile long long hit_ns, lost_ns;
static volatile int n_hits;
static long long hit_every_ns, between_ns, turn_ns;
static unsigned long long drawn;

/* Within the first half of its rank's next turn, at random: hits that come regularly may keep step with the
 * work that they move. */
static void expect_hit(void) {
    drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
    turn_ns += between_ns;
    long long us =
        (turn_ns + (long long)(drawn >> 40) * (hit_every_ns / 2) / (1LL << 24) - nl_mono_ns()) / 1000;
    if (us < 1) us = 1;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {us / 1000000, us % 1000000}}, NULL);
}

static void hit(int signal_number) {
    long long end_ns = nl_mono_ns() + hit_ns;
    (void)signal_number;
    while (nl_mono_ns() < end_ns)
        continue;
    lost_ns += hit_ns;
    n_hits++;
    expect_hit();
}

/* Every rank is hit every `every_ms` times the number of ranks, and they take turns. */
static void expect_hits(int every_ms, int rank, int n_ranks) {
    const struct sigaction action = {.sa_handler = hit, .sa_flags = SA_RESTART};
    hit_every_ns = 1000000LL * every_ms;
    between_ns = hit_every_ns * n_ranks;
    turn_ns = nl_mono_ns() + hit_every_ns * rank - between_ns;
    drawn = (unsigned long long)nl_mono_ns() + (unsigned long long)rank;
    sigaction(SIGALRM, &action, NULL);
    expect_hit();
}

static void touch(long pages) {
    const long page = sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, (size_t)(pages * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    /* each page by itself, whatever sizes the kernel prefers */
    madvise(memory, (size_t)(pages * page), MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        memory[i * page] = 1;
    munmap(memory, (size_t)(pages * page));
}

/* A hit makes it longer, as it does work. */
static void work(long long ns, int sleeps) {
    long long start_ns = nl_mono_ns(), lost_before_ns = lost_ns;
    if (sleeps)
        nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
    else
        while (nl_mono_ns() - start_ns - (lost_ns - lost_before_ns) < ns)
            continue;
}

/* Rank 0 prints the mean wait of a rank for the last of its turn, as the arrivals of all say. */
static void print_waits(long long *arrived_ns, int turns, int rank, int n_ranks) {
    long long *last_ns = malloc((size_t)turns * sizeof *last_ns), wait_ns = 0, sum_ns = 0;
    MPI_Allreduce(arrived_ns, last_ns, turns, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < turns; i++)
        wait_ns += last_ns[i] - arrived_ns[i];
    MPI_Reduce(&wait_ns, &sum_ns, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("wait_us %.2f\n", (double)sum_ns / 1e3 / turns / n_ranks);
    free(last_ns);
}

int main(int argc, char **argv) {
    int rank, n_ranks, turns = atoi(argv[1]), sleeps = 0, every_ms = 0, at = 3, provided, all_hits = 0;
    long pages = 0;
    long long work_ns = atoll(argv[2]) * 1000, waited_ns = 0,
              *arrived_ns = malloc((size_t)turns * sizeof *arrived_ns);
    const char *how = "";
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (!strcmp(argv[at], "--sleep")) sleeps = 1;
        if (!strcmp(argv[at], "--end")) how = argv[++at];
        if (!strcmp(argv[at], "--touch")) pages = atol(argv[++at]);
        if (!strcmp(argv[at], "--hit")) every_ms = atoi(argv[++at]), hit_ns = atoll(argv[++at]) * 1000;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    long long late_ns = at + rank < argc ? atoll(argv[at + rank]) * 1000 : 0;
    double value = rank, sum = 0;
    if (pages > 0) touch(pages);
    if (every_ms) expect_hits(every_ms, rank, n_ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    long long start_ns = nl_mono_ns();
    for (int i = 0; i < turns; i++) {
        work(work_ns + late_ns, sleeps);
        arrived_ns[i] = nl_mono_ns();
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        waited_ns += nl_mono_ns() - arrived_ns[i];
    }
    long long spent_ns = nl_mono_ns() - start_ns;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    if (sum != n_ranks * (n_ranks - 1) / 2.0) return 3;
    printf("rank %d inside_us %.2f\n", rank, (double)waited_ns / 1e3 / turns);
    fflush(stdout);
    if (!strcmp(how, "abort") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "segv") && rank == 0) raise(SIGSEGV);
    if (!strcmp(how, "exit")) _exit(5);
    if (!strcmp(how, "wait")) sleep(60);
    int own_hits = n_hits;
    MPI_Reduce(&own_hits, &all_hits, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    print_waits(arrived_ns, turns, rank, n_ranks);
    if (rank == 0) printf("spent_us %.2f\nhits %d\n", (double)spent_ns / 1e3, all_hits);
    free(arrived_ns);
    MPI_Finalize();
    return 0;
}

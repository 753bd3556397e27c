/* Latency, bandwidth and the completeness coefficient, by the acceptance room's functions and by loops
 * written plainly here, in turn on the same ranks: whatever else the machine does hits both. Prints one line
 * for each figure: its name, and the room's over the plain one. Of times the tenth part of the rounds is
 * taken that was disturbed least, up to its slowest; of the coefficient, whose error has two sides, the
 * median. accept_probe [ROUNDS] */
#include <mpi.h>

#include "detector/acceptance/transfer.h"

enum { MOST_ROUNDS = 1000, SMALL = 8, LARGE = 256 << 10, N_SMALL = 100, N_LARGE = 8, N_EXCHANGES = 8 };

static char *a, *b;
static int rank, n_ranks;

/* osu_latency's loop: half the mean round trip, s */
static double plain_half_round_trip(int bytes, int n) {
    double begin = MPI_Wtime();
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            if (k == rank)
                MPI_Send(a, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD);
            else
                MPI_Recv(b, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (MPI_Wtime() - begin) / (2 * n);
}

/* both at once, as osu_bibw does with a window of one: s per exchange */
static double plain_two_way(int bytes, int n) {
    MPI_Request requests[2];
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        MPI_Irecv(b, bytes, MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(a, bytes, MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return (MPI_Wtime() - begin) / n;
}

/* F_e as published, of two ranks: X / S / T_e */
static double plain_coefficient(void) {
    double slowest = 0, link_s;
    plain_half_round_trip(LARGE, 1);
    link_s = plain_half_round_trip(LARGE, N_EXCHANGES);
    MPI_Bcast(&link_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < N_EXCHANGES; i++) {
        double took = plain_two_way(LARGE, 1), all;
        MPI_Allreduce(&took, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        slowest += all;
    }
    return link_s / (slowest / N_EXCHANGES);
}

static double room_time(int is_two_way, int bytes, int n) {
    const struct nx_link l = {.comm = MPI_COMM_WORLD,
                              .peer = 1 - rank,
                              .is_first = rank == 0,
                              .send = a,
                              .receive = b,
                              .bytes = bytes};
    return (double)(is_two_way ? nx_two_way(&l, n) : nx_one_way(&l, n)) * 1e-9 / (is_two_way ? n : 2 * n);
}

static double room_coefficient(void) {
    struct nx_completeness c;
    int peer;
    MPI_Request requests[2];
    const struct nx_buffers buffers = {a, b, &peer, requests};
    nx_completeness_measure(MPI_COMM_WORLD, &buffers, LARGE, 4000000, &c);
    return c.coefficient;
}

NL_ORDER(compare, double)

enum { LATENCY, ONE_WAY, TWO_WAY, COEFFICIENT, N_FIGURES };
static const char *const names[] = {"latency", "one_way", "two_way", "coefficient"};

/* A figure by the room or plainly. */
static double take(int is_plain, int figure) {
    int bytes = figure == LATENCY ? SMALL : LARGE, n = figure == LATENCY ? N_SMALL : N_LARGE;
    MPI_Barrier(MPI_COMM_WORLD);
    if (figure == COEFFICIENT) return is_plain ? plain_coefficient() : room_coefficient();
    if (!is_plain) return room_time(figure == TWO_WAY, bytes, n);
    return figure == TWO_WAY ? plain_two_way(bytes, n) : plain_half_round_trip(bytes, n);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200;
    static double all[2][N_FIGURES][MOST_ROUNDS + 1]; /* the room's, plain; round 0 warms up */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    a = calloc(1, LARGE);
    b = calloc(1, LARGE);
    if (n_ranks != 2 || n < 1 || n > MOST_ROUNDS || !a || !b) {
        if (rank == 0) fprintf(stderr, "accept_probe: wants 2 ranks and 1 to %d rounds\n", MOST_ROUNDS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i <= n; i++) /* who is first changes from round to round */
        for (int turn = 0; turn < 2; turn++)
            for (int k = 0; k < N_FIGURES; k++)
                all[(turn + i) & 1][k][i] = take((turn + i) & 1, k);
    for (int k = 0; k < N_FIGURES && rank == 0; k++) {
        int at = 1 + (int)((k == COEFFICIENT ? 0.5 : 0.1) * (n - 1));
        for (int way = 0; way < 2; way++)
            qsort(all[way][k] + 1, (size_t)n, sizeof(double), compare);
        printf("%s %.4f\n", names[k], all[0][k][at] / all[1][k][at]);
    }
    free(a);
    free(b);
    MPI_Finalize();
    return 0;
}

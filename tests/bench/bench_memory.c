/* The peer for the detector's memory: a bare program that runs the same collectives. bench_memory [ROUNDS]
 * prints the most memory a rank held, KiB. With 0 rounds: the peer for what a launch costs, which starts,
 * meets and ends. */
#include <mpi.h>

#include "detector/nodes/provenance.h"

int main(int argc, char **argv) {
    static char send[65536], receive[65536];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = argc > 1 ? atoi(argv[1]) : 100000; i > 0; i--) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(send, receive, 256, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Alltoall(send, 2048, MPI_BYTE, receive, 2048, MPI_BYTE, MPI_COMM_WORLD);
    }
    int64_t peak_kib = nd_peak_memory_kib();
    MPI_Allreduce(MPI_IN_PLACE, &peak_kib, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%lld\n", (long long)peak_kib);
    MPI_Finalize();
    return 0;
}

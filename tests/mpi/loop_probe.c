/* loop_probe FILE [SLEEP_US]: a program to be followed, MPI_Allreduce over and over until the file is there,
 * and between two of them so much sleep. After five minutes it is ended by a signal. */
#include <mpi.h>

#include "common/base/nl_usual.h"

int main(int argc, char **argv) {
    int rank, goes_on = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2 && argc != 3) {
        fputs("loop_probe: wanted FILE [SLEEP_US]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long sleep_us = argc == 3 ? atol(argv[2]) : 0;
    alarm(300);
    while (goes_on) {
        goes_on = rank == 0 && access(argv[1], F_OK) != 0;
        if (sleep_us > 0) usleep((useconds_t)sleep_us);
        MPI_Allreduce(MPI_IN_PLACE, &goes_on, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

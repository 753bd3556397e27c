/* A program that waits in sends: halo_probe WORK_US STEPS. Rank 1 works 30 % longer than the others; each
 * step ranks meet their neighbours in MPI_Sendrecv, which takes up the wait, and then all in MPI_Allreduce.
 */
#include <mpi.h>
#include <stdlib.h>

enum { DOUBLES = 512 };

int main(int argc, char **argv) {
    double out[DOUBLES] = {0}, in[DOUBLES], one = 1, sum;
    int rank, n;
    if (argc != 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double work_s = atof(argv[1]) * 1e-6 * (rank == 1 ? 1.3 : 1);
    for (int i = 0; i < atoi(argv[2]); i++) {
        double end_s = MPI_Wtime() + work_s;
        while (MPI_Wtime() < end_s)
            continue;
        MPI_Sendrecv(out, DOUBLES, MPI_DOUBLE, (rank + 1) % n, 0, in, DOUBLES, MPI_DOUBLE, (rank + n - 1) % n,
                     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}

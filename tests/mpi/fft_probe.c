/* A program as FFTs of planes are: each rank transforms its rows, then MPI_Alltoall turns the plane round, over and over.
 * Forth and back: what comes out is what went in, or it ends with status 1.
 * fft_probe SIDE TURNS (SIDE a power of two, and at least the number of ranks) */
#include <complex.h>
#include <mpi.h>

#include "common/base/nl_usual.h"

/* In place, radix 2; `sign` -1 forth, 1 back. */
static void transform(double complex *x, int n, int sign) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        double complex kept = x[i];
        x[i] = x[j];
        x[j] = kept;
    }
    for (int length = 2; length <= n; length *= 2) {
        double complex step = cexp(sign * 2 * M_PI * I / length), w = 1;
        for (int k = 0; k < length / 2; k++, w *= step)
            for (int i = k; i < n; i += length) {
                double complex odd = x[i + length / 2] * w;
                x[i + length / 2] = x[i] - odd;
                x[i] += odd;
            }
    }
}

/* Rows of this rank to columns: blocks of rows x rows go to each rank. */
static void turn_round(const double complex *from, double complex *to, double complex *packed, int side, int rows, int n_ranks) {
    for (int r = 0; r < n_ranks; r++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++) packed[(r * rows + j) * rows + i] = from[i * side + r * rows + j];
    MPI_Alltoall(packed, rows * rows, MPI_C_DOUBLE_COMPLEX, to, rows * rows, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    for (int r = 0; r < n_ranks; r++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++) packed[i * side + r * rows + j] = to[(r * rows + i) * rows + j];
}

int main(int argc, char **argv) {
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int side = argc == 3 ? atoi(argv[1]) : 0, turns = argc == 3 ? atoi(argv[2]) : 0;
    if (side < n_ranks || side % n_ranks || (side & (side - 1)) || turns < 1) {
        if (rank == 0) fputs("usage: fft_probe SIDE TURNS\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rows = side / n_ranks;
    size_t n = (size_t)rows * (size_t)side;
    double complex *plane = malloc(n * sizeof *plane), *packed = malloc(n * sizeof *packed), *got = malloc(n * sizeof *got);
    if (!plane || !packed || !got) MPI_Abort(MPI_COMM_WORLD, 2);
    for (size_t i = 0; i < n; i++) plane[i] = (double)(rank + 1) / (double)(i + 1);
    for (int turn = 0; turn < 2 * turns; turn++)
        for (int axis = 0; axis < 2; axis++) {
            for (int i = 0; i < rows; i++) transform(plane + i * side, side, turn % 2 ? 1 : -1);
            turn_round(plane, got, packed, side, rows, n_ranks);
            for (size_t i = 0; i < n; i++) plane[i] = packed[i] / sqrt(side);
        }
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = fmax(worst, cabs(plane[i] - (double)(rank + 1) / (double)(i + 1)));
    int is_wrong = !(worst < 1e-9 * turns);
    MPI_Allreduce(MPI_IN_PLACE, &is_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return is_wrong;
}

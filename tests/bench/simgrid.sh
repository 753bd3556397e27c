#!/bin/bash
# simgrid.sh: steps of 1 ms, each followed by a barrier or an allreduce, over 16 to 256 hosts with a burst of
# 2.5 ms every 100 ms each, in SimGrid (Debian: libsimgrid-dev) and in noiselab's own simulation, with the
# same phases: docs/evidence/simgrid.csv. Status 1 where they differ by more than 2 %.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${NOISELAB_BUILD:-build}
command -v smpicc >/dev/null ||
    { echo "simgrid.sh: no smpicc here (Debian: libsimgrid-dev): nothing is compared"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/loop.c" <<'C'
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OPERATION STEPS WORK OVERHEAD (s): mean time of the last three quarters of the steps; rounds of messages as
 * `--pattern` has them */
int main(int argc, char **argv)
{
    int rank, n;
    char sent = 0, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int doubling = !strcmp(argv[1], "allreduce"), steps = atoi(argv[2]);
    double work = atof(argv[3]), overhead = atof(argv[4]), begin = 0;
    for (int step = 0; step < steps; step++) {
        if (step == steps / 4) begin = MPI_Wtime();
        smpi_execute_flops(work * 1e9);
        for (int far = 1; far < n; far *= 2) {
            int to = doubling ? rank ^ far : (rank + far) % n, from = doubling ? to : (rank - far + n) % n;
            MPI_Request request;
            smpi_execute_flops(overhead * 1e9);
            MPI_Isend(&sent, 1, MPI_CHAR, to, step & 1, MPI_COMM_WORLD, &request);
            MPI_Recv(&got, 1, MPI_CHAR, from, step & 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            smpi_execute_flops(overhead * 1e9);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    double span = MPI_Wtime() - begin, longest;
    MPI_Reduce(&span, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", longest / (steps - steps / 4));
    MPI_Finalize();
}
C
smpicc -O1 "$work/loop.c" -o "$work/loop"
printf '# tests/bench/simgrid.sh: seconds of a step, in SimGrid and in the simulation of %s\n%s\n' \
    'noiselab project --pattern' \
    operation,ranks,simgrid_s,noiselab_s,difference_percent,version,date >"$work/table"
as_of=$(git describe --always),$(date -u +%Y-%m-%dT%H:%M:%SZ)
for operation in barrier allreduce; do
    for n in 16 64 256; do
        "$build/bin/noiselab" project --burst 2.5ms --period 100ms --nodes "$n" --every 1ms \
            --pattern "$operation" --export simgrid \
            --out "$work/$operation.$n" >"$work/said"
        theirs=$(cd "$work/$operation.$n" && smpirun -np "$n" -platform platform.xml -hostfile hosts \
            --log=root.thres:critical \
            --cfg=network/model:CM02 --cfg=smpi/simulate-computation:no --cfg=network/TCP-gamma:0 \
            --cfg=network/crosstraffic:0 \
            "$work/loop" "$operation" 300 1e-3 1.5e-6 2>"$work/said" | tail -n 1)
        ours=$(R_LIBS=$build/lib/noiselab/R Rscript --vanilla -e 'of <- commandArgs(TRUE)
            pattern <- list(name = of[1], bytes = 1, latency_s = 2.5e-6, overhead_s = 1.5e-6, per_byte_s = 0)
            ends <- noiselab:::simulated_ends(pattern, as.numeric(of[2]), 1e-3, c(75L, 300L), c(0.1, 0.1, 10),
                                              0.0025, 1, 1)
            cat(sprintf("%.9f", diff(ends[, 1]) / 225))' "$operation" "$n")
        awk -v a="$theirs" -v b="$ours" -v what="$operation,$n" -v as_of="$as_of" \
            'BEGIN { printf "%s,%s,%s,%.2f,%s\n", what, a, b, 100 * (b / a - 1), as_of }' >>"$work/table"
    done
done
tee docs/evidence/simgrid.csv <"$work/table"
awk -F , 'NR > 2 && ($5 > 2 || $5 < -2) { bad = 1 } END { exit bad }' "$work/table"

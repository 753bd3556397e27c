#!/usr/bin/env bats
# noiselab profile: programs of all kinds and ends, and what it says where there is nothing to profile.
# Whether its figures are right is the business of tests/truth/profile.bats.

setup() {
    at_home
    PROBE="$BUILD/tests-mpi/late_probe"
}

load ../mpirun
load ../helpers

# profile STATUS WORD...: of two ranks, into out; ends with that status
profile() {
    local crowd=()
    "$MPIRUN_COMMAND" --version 2>&1 | grep -q HYDRA || crowd=(--oversubscribe)
    rm -rf out
    run "-$1" --separate-stderr noiselab-profile --out out -- "$MPIRUN_COMMAND" "${crowd[@]}" -n 2 "${@:2}"
}

# calls OPERATION: how often all ranks together called it
calls() { awk -F , -v name="$1" '$3 == name { n += $9 } END { print n + 0 }' out/*/operations.csv; }

@test "a program's calls are counted, its result is its own, and the files say so" {
    profile 0 "$PROBE" 500 50
    [[ "$output" == *'rank 0 inside_us'* ]]
    [[ "$stderr" == *"2 ranks in '"* ]]
    [ "$(calls allreduce)" -eq 1002 ]
    [ "$(calls barrier)" -eq 2 ]
    jq -e '.program == "noiselab-profile" and .ended == "complete" and .ranks == 2 and .status == 0' \
        out/*/launch.json
    awk -F , '$3 == "allreduce" && $5 == 8 { if ($9 != 500 || $10 != 4000 || $6 != "world") exit 1;
        n++ } END { exit n != 2 }' out/*/operations.csv
    [ "$(find out -name 'rank.*' | wc -l)" -eq 0 ]
}

# counted PROGRAM: of awk, about the columns of each rank's counts
counted() { awk "$header $1" out/*/ranks.csv; }

@test "what the kernel counted is beside each rank: its page faults, and the interrupts of its CPUs" {
    allowed_cpus
    profile 0 "$PROBE" 2000 100
    counted '{ n++; if ($c["counted_ns"] > $c["wall_ns"] + 5e8 || $c["counted_ns"] < 1e8) exit 1
        if ($c["counted_cpus"] < 1 || $c["counted_cpus"] > '"${#cpus[@]}"') exit 1
        if ($c["rank_involuntary"] == "" || $c["major_faults"] > $c["faults"]) exit 1 } END { exit n != 2 }'
    # interrupts of a tick, or as few as a CPU without one has, and not those since the boot
    counted '$c["irq_timer"] != "" &&
        $c["irq_timer"] > 20000 * $c["counted_cpus"] * $c["counted_ns"] / 1e9 { exit 1 }'
    # a program that touches more memory has so many more page faults
    local -r less=$(counted '$c["rank"] == 0 { print $c["faults"] }')
    profile 0 "$PROBE" 2000 100 --touch 4096
    local -r more=$(counted '$c["rank"] == 0 { print $c["faults"] }')
    [ $((more - less)) -ge 4000 ] && [ $((more - less)) -le 5000 ]
    jq -e '[.counters[] | select(.counter == "page_faults" and .rank == 0)][0].count == '"$more" \
        <(noiselab-analyze profile --json out)
}

@test "a program that aborts, crashes or lacks MPI_Finalize has a profile up to there, and its own status" {
    for how in abort segv exit; do
        "$MPIRUN_COMMAND" -n 1 "$PROBE" 100 10 --end "$how" >/dev/null 2>&1 && false
        profile $? "$PROBE" 100 10 --end "$how"
        [ "$(calls allreduce)" -eq 200 ]
        [[ "$stderr" == *'2 did not come to MPI_Finalize'* ]]
        jq -e '.ended == "interrupted"' out/*/launch.json
        # of who aborts the kernel's counts are known; who dies leaves none
        [ "$(counted '$c["faults"] != "" { n++ } END { print n + 0 }')" -le 2 ]
        [ "$how" != abort ] || [ "$(counted '$c["faults"] != "" { n++ } END { print n + 0 }')" -ge 1 ]
        [ "$how" != segv ] || [ "$(counted '$c["faults"] != "" { n++ } END { print n + 0 }')" -eq 0 ]
    done
}

# says TEXT: in the one line on stderr
says() { [[ ${#stderr_lines[@]} -eq 1 && "$stderr" == "noiselab-profile: "*"$1"* ]]; }

# ranks that this test started
no_probes() { ! pgrep -f "^$PROBE " >/dev/null; }

both_said() { grep -q 'rank 0' said && grep -q 'rank 1' said; }

@test "whichever process is killed, nothing of the program goes on, and all it did is in its profile" {
    for victim in command launcher rank; do
        rm -rf out said
        noiselab-profile --out out -- "$MPIRUN_COMMAND" -n 2 "$PROBE" 1000 10 --end wait >said 2>&1 3>&- &
        command=$!
        wait_until 20 both_said
        case $victim in
        command) kill -9 "$command" ;;
        launcher) kill -9 "$(pgrep -P "$command")" ;;
        rank) kill -9 "$(pgrep -f "^$PROBE " | head -n 1)" ;;
        esac
        ! wait "$command" || false
        wait_until 20 no_probes
        # who did not come to write them can have the tables made
        [ "$victim" != command ] || noiselab-profile --tables out/*/
        [ "$(calls allreduce)" -eq 2000 ]
        awk -F , 'NR > 1 && $6 != "unfinished" { exit 1 }' out/*/ranks.csv
    done
}

# compiled NAME TEXT: the program of that source, in whose text \n ends lines
compiled() { printf "$2\n" >"$1.c" && "${CC:-cc}" -o "$1" "$1.c"; }

@test "what cannot be profiled is said in one line" {
    compiled nothing 'int main(void) { return 0; }'
    profile 2 ./nothing
    says "/nothing' is not an MPI program: it needs no MPI library, and had loaded none when it ended"
    [ ! -e out ]
    mkdir -p kept/one
    touch kept/one/file
    run -2 --separate-stderr noiselab-profile --out kept --launch-id one -- ./nothing
    says "/kept/one' exists; a run never writes over another one"
    run noiselab-profile --out kept -- ./nothing
    [ "$(find kept | sort | xargs)" = 'kept kept/one kept/one/file' ]
    compiled killed '#include <unistd.h>\nint main(void) { _exit(0); }'
    profile 2 ./killed
    says "/killed' began without an MPI library and was killed"
    if "${CC:-cc}" -static -o static nothing.c 2>/dev/null; then
        profile 2 ./static
        says "'./static' is a static binary"
    fi
    CC=mpicc compiled never '#include <mpi.h>\n
        int main(int n, char **v) { int is = n + !v; return MPI_Initialized(&is) != MPI_SUCCESS || is; }'
    profile 2 ./never
    says "/never' never called MPI_Init"
    # tasks of a launcher that MPI knows nothing of
    SLURM_NTASKS=4 SLURM_PROCID=2 run -2 --separate-stderr noiselab-profile --out lone -- "$PROBE" 10 10
    says 'Slurm started 4 tasks, MPI sees 1: srun --mpi=pmix'
    run -2 --separate-stderr noiselab-profile --out out -- ./nowhere
    says "cannot start './nowhere': No such file"
    [ ! -e out ]
    for words in '' '--tables nowhere' '--tables . -- true' '--out'; do
        run -2 --separate-stderr noiselab-profile $words
        says ''
    done
}

@test "an interpreter that loads MPI later is run, and judged by what happened" {
    command -v python3 || skip 'no python3'
    local open='import ctypes, ctypes.util, subprocess
mpi = ctypes.CDLL(ctypes.util.find_library("mpi"), ctypes.RTLD_GLOBAL)'
    profile 2 sh -c "python3 -c '$open; mpi.MPI_Init(None, None); subprocess.run([\"true\"]); \
mpi.MPI_Finalize()'; true"
    says "loaded the MPI library itself and looked its functions up there"
    [[ "$stderr" == *python3* ]]
    mpicc -shared -fPIC -o module.so -x c - <<<'#include <mpi.h>
int run(void) {
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}'
    profile 0 python3 -c 'import ctypes; ctypes.CDLL("./module.so").run()'
    [ "$(calls barrier)" -eq 10 ]
}

@test "a program of another MPI library is said to be one, and runs on" {
    # a library of the same entry points that calls itself otherwise
    "${CC:-cc}" -shared -fPIC -o libother.so -x c - <<<'#include <string.h>
int PMPI_Get_library_version(char *text, int *n) { strcpy(text, "Some other MPI v1"); *n = 17; return 0; }
int MPI_Get_library_version(char *text, int *n) { return PMPI_Get_library_version(text, n); }'
    LD_PRELOAD=$PWD/libother.so profile 2 "$PROBE" 10 10
    [[ "$output" == *'rank 1 inside_us'* ]]
    [[ "$stderr" == *"late_probe' uses another MPI library (Some other MPI v1) than noiselab was built \
with"* ]]
}

@test "Fortran programs are counted, by mpif.h's names and by those of mpi_f08" {
    printf 'program p\n  use mpi_f08\nend program\n' >f.f90
    mpif90 -o f f.f90 2>/dev/null || skip 'no Fortran compiler for mpi_f08 (gfortran)'
    for module in mpi mpi_f08; do
        error=', error'
        [ "$module" = mpi ] || error=''
        cat >f.f90 <<END
program p
  use $module
  real(8) :: a = 1, b
  integer :: i, error
  call MPI_Init(${error#, })
  do i = 1, 100
    call MPI_Allreduce(a, b, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD$error)
    call MPI_Bcast(b, 1, MPI_REAL8, mod(i, 2), MPI_COMM_WORLD$error)
  end do
  call MPI_Finalize(${error#, })
end program
END
        mpif90 -o f f.f90
        profile 0 ./f
        [ "$(calls allreduce)" -eq 200 ]
        awk -F , '$3 == "bcast" { if ($9 != 100 || $8 != "changing" || $5 != 8) exit 1; n++ } END {
            exit n != 2 }' out/*/operations.csv
    done
}

# bats test_tags=quick
@test "every function of the table is an entry point, in C and in Fortran" {
    nm -D --defined-only "$BUILD/lib/noiselab/libnoiselab-profile.so" | awk '{ print $3 }' >symbols
    grep -v '^#' "$BATS_TEST_DIRNAME/../../detector/profile/library/calls.table" | cut -d '|' -f 1 >names
    [ "$(wc -l <names)" -gt 40 ]
    while read -r name; do
        lower=$(echo "mpi_$name" | tr '[:upper:]' '[:lower:]')
        for symbol in "MPI_$name" "${lower}_" "${lower}_f08_"; do
            grep -qx "$symbol" symbols || { echo "$symbol"; false; }
        done
    done <names
    # and nothing else of ours is seen by the program
    run ! grep -vE '^(MPI|MPIX|mpi|mpix)_' symbols
}

@test "threads that call MPI at the same time lose no call" {
    cat >threads.c <<'END'
#include <mpi.h>
#include <pthread.h>
static void *calls(void *comm) {
    for (int i = 0; i < 2000; i++) MPI_Barrier(*(MPI_Comm *)comm);
    return NULL;
}
int main(int argc, char **argv) {
    int provided;
    MPI_Comm comms[3];
    pthread_t threads[3];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) return 77;
    for (int i = 0; i < 3; i++) MPI_Comm_split(MPI_COMM_WORLD, i, 0, &comms[i]);
    for (int i = 0; i < 3; i++) MPI_Comm_free(&comms[i]), MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, calls, &comms[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
END
    mpicc -pthread -o threads threads.c
    profile 0 ./threads
    [ "$(calls barrier)" -eq 12000 ]
    awk -F , 'NR > 1 && $5 != "multiple" { exit 1 }' out/*/ranks.csv
}

@test "the answer is printed when the program ends, where it is wanted, apart from the program's output" {
    profile 0 "$PROBE" 200 1000
    [[ "$stderr" == *'The program ran for '* && "$stderr" == *'sampled synchronising calls'* ]]
    [[ "$output" != *'The program ran for'* ]]
    run -0 --separate-stderr noiselab-profile --no-answer --out quiet -- "$MPIRUN_COMMAND" -n 1 "$PROBE" 10 10
    [[ "$stderr" != *'The program ran for'* && "$stderr" == *'noiselab analyze profile '* ]]
}

@test "what a rank loses inside other calls is no noise of its own work, beside many busy processes" {
    busy=()
    for _ in 1 2 3; do
        timeout 20 "$BUILD/bench/bench_busy" 900ms 1s 3>&- >/dev/null &
        busy+=($!)
    done
    profile 0 "$BUILD/tests-mpi/halo_probe" 1000 100
    kill "${busy[@]}" 2>/dev/null || true
    noiselab-analyze profile --json out >json
    jq -e '[.ranks[].own_ns] | min > 0' json
    # inside and outside together are no more than was lost
    awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["mpi_preempted_ns"] > $at["preempted_ns"] + 1000 { exit 1 }
        $at["mpi_preempted_ns"] > 0 { n++ }
        END { exit n < 10 }' out/*/arrivals.csv
}

@test "a loop of mpi4py is counted" {
    python=$(for p in python3 /usr/bin/python3; do "$p" -c 'import mpi4py' 2>/dev/null && echo "$p" &&
        break; done) || true
    [ -n "$python" ] || skip 'mpi4py is not installed'
    printf 'from mpi4py import MPI\nfor i in range(100): MPI.COMM_WORLD.Barrier()\n' >loop.py
    profile 0 "$python" loop.py
    [ "$(calls barrier)" -ge 200 ]
    # reductions of objects are sends and receives: the answer says which calls can be sampled
    printf 'from mpi4py import MPI\nfor i in range(100): MPI.COMM_WORLD.allreduce(i)\n' >loop.py
    profile 0 "$python" loop.py
    noiselab-analyze profile out | tr '\n' ' ' |
        grep -q 'those in upper case  *(comm.Allreduce), of arrays, can be sampled'
}

@test "LAMMPS has the same result with the profile, and its arrivals are a pattern for the detector" {
    long_only
    command -v lmp >/dev/null && [ -e /usr/share/lammps/examples/melt/in.melt ] ||
        skip 'LAMMPS is not installed (lammps, lammps-examples)'
    sed -e 's/^run.*/run 100/' -e 's/^thermo.*/thermo 1/' /usr/share/lammps/examples/melt/in.melt >in.melt
    # the table of energies, of which the rank's speed is no part
    energies() { awk 'NF == 6 && $1 ~ /^[0-9]+$/' <<<"$1"; }
    plain=$("$MPIRUN_COMMAND" -n 2 lmp -in in.melt -log none)
    [ "$(energies "$plain" | wc -l)" -gt 50 ]
    profile 0 lmp -in in.melt -log none
    [ "$(energies "$output")" = "$(energies "$plain")" ]
    noiselab analyze profile out >answer
    grep -q 'Ranks wait most in send ' answer
    grep -q 'An interruption of 1 ms of one rank costs the program' answer
    [ "$(wc -l <answer)" -le 24 ]
    noiselab analyze profile --write arrivals=trace out >/dev/null
    on_cores 2 noiselab-detect --op allreduce --starts round --arrival trace:file=trace --levels none \
        --design blocks --count 100 --out detected
    [ "$(jq -r .options.start.arrival detected/*/launch.json)" = trace ]
}

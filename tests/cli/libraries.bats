#!/usr/bin/env bats
# One short row of each MPI library that this machine has not itself, by the wheels of PyPI: a sensitivity
# run, a profile and an acceptance, with programs that are built for it (tests/matrix.sh, in a folder that
# stays). All other tests with them: make test-matrix.

load ../mpirun
load ../helpers

setup() {
    at_home
    ERR=$BATS_TEST_TMPDIR/stderr
    [ -z "${MATRIX_SAYS-}" ] || skip 'the matrix has the whole of this'
    [ "${NOISELAB_BUILD##*/}" != installed ] || skip 'these programs are built, not installed'
    needs_cpus 2
}

# of_library NAME SAYS: its mpirun in PATH, behind tests/in-turn where launches take turns; its programs in
# `bin`
of_library() {
    local status=0
    (cd "$BATS_TEST_DIRNAME/../.." && tests/matrix.sh --short "$1" 3>&-) >built 2>"$ERR" || status=$?
    [ "$status" != 3 ] || skip "$(tail -n 1 "$ERR")"
    [ "$status" = 0 ] || { cat "$ERR" && false; }
    IFS=$'\t' read -r mpirun bin <built
    PATH=${mpirun%/*}:$PATH
    [ -z "${NOISELAB_TURNS-}" ] || PATH=$BATS_TEST_DIRNAME/../in-turn:$PATH
    export NOISELAB_MPIRUN=mpirun NOISELAB_R_LIB=$BUILD/lib/noiselab/R
    [[ "$(mpirun --version 2>&1)" == *"$2"* ]]
}

# row VERSION: the three runs, each by the library of that version
row() {
    # two ranks that spin beside other tests' ranks
    take_turns
    # on a busy machine a run this short tells nothing (3), which is not asked here
    ends '0|3' "$bin/noiselab" run sensitivity --op barrier,allreduce --levels 50 --half-period 50ms \
        --ranks 2 --seconds 2 --warmup 0s --no-report \
        --out sensitivity >answer 2>"$ERR" || { cat answer "$ERR" && false; }
    jq -e --arg version "$1" \
        '.ended == "complete" and .ranks == 2 and .n_generators == 1 and
        (.mpi.version | startswith($version))' sensitivity/*/launch.json
    grep -q '50 %' answer
    local crowd=()
    [[ "$(mpirun --version 2>&1)" == *HYDRA* ]] || crowd=(--oversubscribe)
    "$bin/noiselab-profile" --out profile -- mpirun "${crowd[@]}" -n 2 "$bin/noiselab-detect" --op allreduce \
        --bytes 8 --levels none --design single --count 500 \
        --out profiled >answer 2>"$ERR" || { cat answer "$ERR" && false; }
    jq -e '.ended == "complete" and .ranks == 2 and .status == 0' profile/*/launch.json
    awk -F , '$3 == "allreduce" && $5 == 8 { n += $9 } END { exit n < 1000 }' profile/*/operations.csv
    ends '0|1|3' "$bin/noiselab" run acceptance --ranks 2 --checks latency,integrity,detour \
        --self-check none --seconds 2s --no-report --out acceptance --json >answer 2>"$ERR"
    jq -e '[.checks[] | select(.check == "latency" or .check == "integrity" or .check == "detour") |
        .status] == ["ran", "ran", "ran"]' answer || { cat "$ERR" && false; }
    jq -e --arg version "$1" \
        '.ended == "complete" and .ranks == 2 and (.mpi.version | startswith($version))' \
        acceptance/*/launch.json
}

@test "Open MPI 5: a sensitivity run, a profile and an acceptance" {
    of_library openmpi5-gcc 'Open MPI) 5'
    row 'Open MPI v5'
}

@test "MPICH: a sensitivity run, a profile and an acceptance" {
    of_library mpich-gcc HYDRA
    row 'MPICH Version'
}

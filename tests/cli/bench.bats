#!/usr/bin/env bats
# make bench: its parts run, and give figures. Whether they are good is not asked here: each runs for a moment.

load ../helpers

setup_file() { cd "$BATS_TEST_DIRNAME/../.." || return; }

# in_short PART...: they run, and none of their figures is missing
in_short() {
    OMPI_MCA_mpi_yield_when_idle=1 QUICK=1 tests/bench/bench.sh "$@" >"$BATS_TEST_TMPDIR/figures" 2>"$BATS_TEST_TMPDIR/stderr" 3>&-
    [ "$(grep -cE '^  .* wanted ' "$BATS_TEST_TMPDIR/figures")" -ge $# ]
    ! grep -E '^  .{59} +wanted ' "$BATS_TEST_TMPDIR/figures"
}

@test "parts of the bench that launch ranks run, and give their figures" {
    needs_cpus 2
    local memory=memory
    [ "$NOISELAB_TESTS" = long ] || memory=''
    in_short harness $memory startup
}

@test "what the bench starts is there, and what it does not have or cannot run is refused" {
    local missing=''
    for name in $(grep -ohE 'build/(bench|tests-mpi|bin)/[a-z][a-z_-]*|tests/bench/[a-z-]+\.(sh|R)|analysis/bench/[a-z-]+\.R' tests/bench/*.sh | sort -u); do
        [ -e "${name/#build/${NOISELAB_BUILD:-build}}" ] || missing="$missing $name"
    done
    for part in $(sed -n "s/^all='\(.*\)'/\1/p" tests/bench/bench.sh); do
        grep -q "^$part() {" tests/bench/bench.sh || missing="$missing $part"
    done
    echo "missing:$missing"
    [ -z "$missing" ]
    run -2 tests/bench/bench.sh harness nothing
    [[ "$output" == "bench.sh: 'nothing' is not a part (harness, memory, "* ]]
    NOISELAB_MPIRUN=false run -2 tests/bench/bench.sh harness
    [[ "$output" == *'bench.sh: could not run: harness' ]]
}

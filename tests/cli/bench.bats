#!/usr/bin/env bats
# make bench: its parts run, and give figures. Whether they are good is not asked here: each runs for a
# moment.

load ../helpers

setup_file() { cd "$BATS_TEST_DIRNAME/../.." || return; }

# in_short PART...: they run, and none of their figures is missing
in_short() {
    OMPI_MCA_mpi_yield_when_idle=1 QUICK=1 tests/bench/bench.sh "$@" >"$BATS_TEST_TMPDIR/figures" \
        2>"$BATS_TEST_TMPDIR/stderr" 3>&-
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
    for name in $(grep -ohE -e 'build/(bench|tests-mpi|bin)/[a-z][a-z_-]*' \
        -e 'tests/bench/[a-z-]+\.(sh|R)|analysis/bench/[a-z-]+\.R' tests/bench/*.sh | sort -u); do
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

# bats test_tags=quick
@test "the questions are not asked without the programs that they measure beside" {
    local empty="$BATS_TEST_TMPDIR/build" file="$BATS_TEST_TMPDIR/screens"
    mkdir -p "$empty/bench"
    NOISELAB_BUILD=$empty run -2 tests/bench/questions.sh "$file"
    [ "$output" = "questions.sh: $empty/bench/bench_busy is not built (try make tests-built)" ]
    [ ! -e "$file" ]
    ln -s "$(type -P true)" "$empty/bench/bench_busy"
    NOISELAB_BUILD=$empty run -2 tests/bench/questions.sh "$file"
    [ "$output" = "questions.sh: $empty/tests-mpi/halo_probe is not built (try make tests-built)" ]
}

# bats test_tags=quick
@test "a prediction holds by both intervals together, each by the side at which the other lies" {
    local rows="$BATS_TEST_TMPDIR/rows.csv"
    # predicted and measured, each with its ends: the difference is 3; half widths that face each other are
    # 2.4 and 2 (root 3.12), or 2.4 and 1.7 (2.94)
    local columns=operation,level_percent,period_ms,predicted,predicted_low,predicted_high
    printf '%s\n' '# a head' "$columns,measured,measured_low,measured_high,holds" \
        barrier,1,10,10,1,12.4,13,11,13.1, barrier,1,10,10,1,12.4,13,11.3,20, \
        barrier,1,10,13,10.6,13.1,10,9.9,12, barrier,1,10,13,11.3,20,10,1,12.4, \
        barrier,1,10,10,9,11,10,9,11, barrier,1,10,10,9,,10,9,11, >"$rows"
    run awk -v each=yes -f tests/bench/predicted.awk "$rows"
    [ "$output" = $'2.23,yes\n2.37,no\n-2.23,yes\n-2.37,no\n0.00,yes' ]
    run awk -f tests/bench/predicted.awk "$rows"
    [ "$output" = '3 of 5 predictions hold; mean of z 0.00 +- 0.45' ]
    # those that are kept have their own answers
    run awk -v each=yes -f tests/bench/predicted.awk docs/evidence/projection.csv
    [ "$(cut -d , -f 2 <<<"$output")" = \
        "$(awk -F , '!/^#/ && $1 != "operation" && $10 != "" { print $10 }' docs/evidence/projection.csv)" ]
}

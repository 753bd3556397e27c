#!/usr/bin/env bats
# noiselab plan and project on the command line: they need no measurement.

setup() {
    BIN="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/bin"
    ERR="$BATS_TEST_TMPDIR/stderr"
}

plan() { "$BIN/noiselab" plan "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"; }

@test "a plan without a pilot says that it rests on an assumption, and ends with a command that the detector takes" {
    plan --detect 1% --op alltoall --bytes 2KiB --levels 0,1
    grep -q 'ASSUMED' "$BATS_TEST_TMPDIR/stdout"
    [ ! -s "$ERR" ]
    command=$(sed -n '/^command/,/^$/p' "$BATS_TEST_TMPDIR/stdout" | sed '1d; s/\\$//' | tr '\n' ' ' | sed 's/ *noiselab run sensitivity//')
    # the number of pairs that the detector makes of it is the one that was planned
    pairs=$(awk '$1 == "alltoall" { print $6 }' "$BATS_TEST_TMPDIR/stdout")
    "$BIN/noiselab-detect" --dry-run --out "$BATS_TEST_TMPDIR/campaign" $command >"$BATS_TEST_TMPDIR/dry"
    grep -qE "(^|[^0-9])$pairs([^0-9]|\$)" "$BATS_TEST_TMPDIR/dry"
}

project() { "$BIN/noiselab" project "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"; }

@test "bursts that are only assumed are projected, on one screen, whatever the number of threads" {
    project --burst 2.5ms --period 100ms --nodes 1,10,100 --every 1ms
    [ "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" -le 24 ]
    # the known answers: 2.564, 27.0 and 211.6 %
    awk '$1 == 1 && $2 == "ms" { found = $3 == 2.56 && $4 > 26.2 && $4 < 27.8 && $6 > 205 && $6 < 218 } END { exit !found }' "$BATS_TEST_TMPDIR/stdout"
    [ ! -s "$ERR" ]
    OMP_NUM_THREADS=1 project --burst 2.5ms --period 100ms --json && cp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/one"
    OMP_NUM_THREADS=3 project --burst 2.5ms --period 100ms --json
    cmp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/one"
}

#!/usr/bin/env bats
# noiselab plan on the command line: needs no measurement.

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
    # shellcheck disable=SC2086
    "$BIN/noiselab-detect" --dry-run --out "$BATS_TEST_TMPDIR/campaign" $command >"$BATS_TEST_TMPDIR/dry"
    cat "$BATS_TEST_TMPDIR/dry"
    grep -qE "(^|[^0-9])$pairs([^0-9]|\$)" "$BATS_TEST_TMPDIR/dry"
}

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

@test "a plan in JSON goes to stdout alone" {
    plan --detect 1 --op barrier --json
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/stdout")$(tail -n 1 "$BATS_TEST_TMPDIR/stdout")" = '{}' ]
    grep -q '"schema": 1' "$BATS_TEST_TMPDIR/stdout"
    [ "$(sed -n 's/.*"n_pairs": \([0-9]*\),/\1/p' "$BATS_TEST_TMPDIR/stdout")" -gt 100 ]
    [ ! -s "$ERR" ]
}

@test "an effect beyond reach of a day is status 3, a wrong option status 2, each with one line" {
    status=0
    plan --detect 0.001 --op barrier || status=$?
    [ "$status" -eq 3 ]
    [ "$(wc -l <"$ERR")" -eq 1 ]
    grep -q 'more than a day' "$ERR"
    status=0
    plan --detect some || status=$?
    [ "$status" -eq 2 ]
    grep -q "noiselab-plan: --detect: 'some' is not a percentage" "$ERR"
    [ ! -s "$BATS_TEST_TMPDIR/stdout" ]
}

@test "the dispatcher names the program" {
    "$BIN/noiselab" --help | grep -qE '^  plan '
    "$BIN/noiselab" plan --help | grep -q '^Usage: noiselab plan'
}

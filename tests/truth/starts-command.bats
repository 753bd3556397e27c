#!/usr/bin/env bats
# Synchronised starts on the command line, of which ranks that have their CPUs to themselves must be in time: what ends at a moment, or is judged.

load ../cli/detect

json() { jq -c "$1" "$OUT/one/launch.json"; }

@test "a loop that a jump cuts short is kept up to it" {
    status=0
    launch 2 --design single --levels none --launch-id one --op barrier --starts round:fake-clock=0s,0ppm,-50ms@3s --seconds 10 --warmup 0s || status=$?
    [ "$status" -eq 2 ]
    [ "$(column operations "$OUT/one/blocks.csv")" -gt 0 ]
    [ "$(json .start.starts)" -eq "$(column operations "$OUT/one/blocks.csv")" ]
}

@test "the self-test passes judgement, and a bound that none can keep fails" {
    status=0
    launch 2 --self-test --starts round --seconds 0.3 --launch-id round >"$BATS_TEST_TMPDIR/table" || status=$?
    cat "$BATS_TEST_TMPDIR/table"
    # a machine that is busy with something else may fail it, but then the table says why
    [ "$status" -eq 0 ] || { [ "$status" -eq 1 ] && grep -q '^not good: ' "$BATS_TEST_TMPDIR/table"; }
    [ "$(grep -cE '^(waitpattern-up|waitpattern-null|empty) ' "$BATS_TEST_TMPDIR/table")" -eq 3 ]
    fails_with 1 '' launch 2 --self-test --starts round:late-bound=1ns --op waitpattern-up --seconds 0.3 --launch-id strict
    grep -q 'of the starts were late' "$BATS_TEST_TMPDIR/stdout"
}

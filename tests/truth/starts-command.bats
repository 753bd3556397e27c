#!/usr/bin/env bats
# Synchronised starts on the command line, of which ranks that have their CPUs to themselves must be in time: what ends at a moment, or is judged.

load ../cli/detect

json() { jq -c "$1" "$OUT/one/launch.json"; }

@test "a loop that a jump cuts short is kept up to it" {
    status=0
    launch 2 --design single --levels none --launch-id one --op barrier --starts round:fake-clock=0s,0ppm,-50ms@6s --seconds 60 --warmup 0s || status=$?
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
    fails_with 1 '' launch 2 --self-test --starts round:late-bound=1ns --op waitpattern-up --seconds 1 --launch-id strict
    grep -q 'of the starts were late' "$BATS_TEST_TMPDIR/stdout"
}

@test "reproducibility is measured over launches and rank counts, and too few launches are no answer" {
    needs_cpus 2
    "$BIN/noiselab" run reproducibility --ranks 1,2 --launches 3 --op barrier --seconds 0.2 --seed 5 --out "$OUT" --no-report >"$BATS_TEST_TMPDIR/table" 2>"$ERR"
    cat "$BATS_TEST_TMPDIR/table"
    [ "$("$BIN/noiselab-analyze" reproducibility "$OUT" --csv | tail -n +2 | wc -l)" -eq 2 ]
    [ "$(jq -r .seed "$OUT"/*/launch.json | sort -n | paste -sd ,)" = 5,6,7,8,9,10 ]
    # the published report from the same raw files: every launch a row, with as many starts as were made
    "$BIN/noiselab-analyze" mpiperf "$OUT" --csv >"$BATS_TEST_TMPDIR/mpiperf"
    [ "$(tail -n +2 "$BATS_TEST_TMPDIR/mpiperf" | wc -l)" -eq 6 ]
    [ "$(column n_t "$BATS_TEST_TMPDIR/mpiperf" | sort -n | paste -sd ,)" = "$(jq .start.starts "$OUT"/*/launch.json | sort -n | paste -sd ,)" ]
    status=0
    "$BIN/noiselab-analyze" reproducibility "$OUT"/$(ls "$OUT" | head -n 1) >/dev/null 2>"$ERR" || status=$?
    [ "$status" -eq 3 ]
}

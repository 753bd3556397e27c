#!/usr/bin/env bats
# noiselab project on the command line: needs no measurement.

setup() {
    BIN="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/bin"
    OUT="$BATS_TEST_TMPDIR/stdout"
    ERR="$BATS_TEST_TMPDIR/stderr"
}

project() { "$BIN/noiselab" project "$@" >"$OUT" 2>"$ERR"; }

@test "bursts that are only assumed are projected, on one screen" {
    project --burst 2.5ms --period 100ms --nodes 1,10,100 --every 1ms
    [ "$(wc -l <"$OUT")" -le 24 ]
    # the known answers: 2.564, 27.0 and 211.6 %
    awk '$1 == 1 && $2 == "ms" { found = $3 == 2.56 && $4 > 26.2 && $4 < 27.8 && $6 > 205 && $6 < 218 } END { exit !found }' "$OUT"
    [ ! -s "$ERR" ]
}

@test "the answer does not depend on the number of threads" {
    OMP_NUM_THREADS=1 project --burst 2.5ms --period 100ms --json && cp "$OUT" "$OUT.1"
    OMP_NUM_THREADS=3 project --burst 2.5ms --period 100ms --json
    cmp "$OUT" "$OUT.1"
}

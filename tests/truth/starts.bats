#!/usr/bin/env bats
# Synchronised starts: what is written, and what is known beforehand of it.

load ../cli/detect

json() { jq -c "$1" "$OUT/one/launch.json"; }
single() {
    local ranks=$1
    shift
    launch "$ranks" --design single --levels none --launch-id one "$@"
}

@test "every start mode fills its columns, and loop leaves them empty" {
    for mode in loop barrier window round; do
        launch 2 --design lockin --levels 0 --op barrier,bcast --start "$mode" --seconds 0.4 --warmup 0s --launch-id "$mode"
        rows=$OUT/$mode/halves.csv
        # a start takes time, what is left of it after the last arrival is less, and their sum is the wall time's at most
        column global_ns "$rows" | awk -v mode="$mode" '{ if ((mode == "loop") != ($1 == "")) exit 1 }'
        [ "$mode" = loop ] && continue
        paste -d ' ' <(column global_ns "$rows") <(column after_last_ns "$rows") <(column wall_ns "$rows") |
            awk '!($1 > 0 && $2 > 0 && $2 <= $1) { exit 1 }'
        [ "$(jq .start.starts "$OUT/$mode/launch.json")" -eq "$(column operations "$rows" | awk '{ n += $1 } END { print n }')" ]
        # every start had one rank that was first, and one that was last
        for what in first_starts last_starts last_ends; do
            [ "$(column $what "$OUT/$mode/ranks.csv" | awk '{ n += $1 } END { print n }')" -eq "$(jq .start.starts "$OUT/$mode/launch.json")" ]
        done
        # the histogram holds every start once, and the overshoot of every rank
        [ "$(awk -F , '$5 == "global" { n += $8 } END { print n }' "$OUT/$mode/starts_hist.csv")" -eq "$(jq .start.starts "$OUT/$mode/launch.json")" ]
        [ "$(awk -F , '$5 == "overshoot" { n += $8 } END { print n }' "$OUT/$mode/starts_hist.csv")" -eq "$((2 * $(jq .start.starts "$OUT/$mode/launch.json")))" ]
        [ "$(awk -F , 'NR > 1 { n += $6 } END { print n }' "$OUT/$mode/lateness.csv")" -eq "$(jq .start.starts "$OUT/$mode/launch.json")" ]
    done
    [ "$(jq .start "$OUT/loop/launch.json")" = null ]
}

@test "a raw file is as long as its starts make it, and an old one is not written over" {
    single 2 --op barrier,empty --start round --count 500 --raw every.bin
    header=$(od -An -tu4 -j12 -N4 "$OUT/one/every.bin" | tr -d ' ')
    # per block 44 bytes, per start 8 for its time and 12 for each of two ranks
    n_wide=$((($(stat -c %s "$OUT/one/every.bin") - 16 - header - 2 * 44 - 2 * 500 * 32)))
    [ "$n_wide" -ge 0 ] && [ $((n_wide % 20)) -eq 0 ]
    [ "$(head -c 8 "$OUT/one/every.bin")" = NLSTARTS ]
    [ "$(tail -c +17 "$OUT/one/every.bin" | head -c "$header" | jq -r '.configs | map(.operation) | sort | join(",")')" = barrier,empty ]
    echo precious >"$BATS_TEST_TMPDIR/old"
    fails_with 2 "--raw: cannot make '$BATS_TEST_TMPDIR/old'" launch 1 --design single --levels none --op empty --start round --count 10 --raw "$BATS_TEST_TMPDIR/old"
    [ "$(cat "$BATS_TEST_TMPDIR/old")" = precious ]
}

# overshoot_is_small: half of the starts of each loop are late by less than 100 us
overshoot_is_small() { column overshoot_ns_p50 "$OUT/one/blocks.csv" | awk '$1 > 100000 { exit 1 }'; }

@test "a late rank is late by what was asked, and counted as the last to start" {
    single 2 --op barrier --start round --arrival late-one --arrival-amount 200us --count 500
    # the spread of arrivals is the delay or more, and the last rank is the late one nearly always
    column spread_ns "$OUT/one/blocks.csv" | awk '$1 < 500 * 199000 { exit 1 }'
    judge [ "$(awk -F , '$1 == 1 { print $18 }' "$OUT/one/ranks.csv")" -gt 400 ]
    # a delay that was asked for is no overshoot
    judge overshoot_is_small
}

@test "a trace of arrivals delays the ranks it names" {
    printf '# rank delays\n0 300000\n' >"$BATS_TEST_TMPDIR/trace"
    single 2 --op barrier --start round --arrival trace --arrival-trace "$BATS_TEST_TMPDIR/trace" --count 300
    judge [ "$(awk -F , '$1 == 0 { print $18 }' "$OUT/one/ranks.csv")" -gt 240 ]
    printf '0 x\n' >"$BATS_TEST_TMPDIR/bad"
    fails_with 2 "bad:1" launch 2 --design single --levels none --op barrier --start round --arrival trace --arrival-trace "$BATS_TEST_TMPDIR/bad" --count 300
}

@test "overlap times an operation alone, with work, and the work alone" {
    single 2 --op ibcast,barrier --bytes 64KiB --overlap 1.5 --seconds 0.8
    [ "$(column operation "$OUT/one/blocks.csv" | sort | paste -sd ' ')" = 'barrier ibcast ibcast+work work:ibcast' ]
    [ "$(json '[.cells[].work_steps | . == null]')" = '[true,false,false,true]' ]
    # work in an operation takes longer than the operation alone
    judge awk -F , 'NR > 1 { t[$2] = $11 / $12 } END { exit !(t["ibcast+work"] > t["ibcast"] && t["work:ibcast"] > 0) }' "$OUT/one/blocks.csv"
}

@test "a clock that jumps ends the run with a line, and what was taken stays" {
    status=0
    launch 2 --design lockin --levels 0 --op barrier --start round --seconds 60 --warmup 0s --half-period 5ms --period 5ms --fake-clock 0s,0ppm,-5ms@5s --sync-every 0s --launch-id one || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q 'rank 1 .*jumped by -5 ms' "$ERR"
    [ "$(json .ended)" = '"failed: a clock jumped or ran backwards"' ]
    [ "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" -ge 2 ]
    [ -s "$OUT/one/starts_hist.csv" ]
}

@test "a clock that jumps while slots are looked for ends the run on all ranks" {
    status=0
    launch 2 --design single --levels none --op barrier --start round --work 20ms --fake-clock 0s,0ppm,-500ms@700ms --sync linear --launch-id one || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q 'rank 1 .*jumped by -500 ms' "$ERR"
}

@test "a loop that a jump cuts short is kept up to it" {
    status=0
    single 2 --op barrier --start round --seconds 60 --fake-clock 0s,0ppm,-50ms@4s || status=$?
    [ "$status" -eq 2 ]
    judge [ "$(column operations "$OUT/one/blocks.csv")" -gt 1000 ]
    [ "$(json .start.starts)" -eq "$(column operations "$OUT/one/blocks.csv")" ]
}

@test "a single loop that is interrupted keeps the starts made by then" {
    needs_cpus 2
    exec_on_cores 2 "$DETECT" --out "$OUT" --design single --levels none --op barrier --start round \
        --work 5ms --seconds 300 --launch-id one >/dev/null 2>"$ERR" 3>&- &
    MPIRUN=$!
    wait_for [ -s "$OUT/one/launch.json" ]
    sleep 2
    kill -INT "$MPIRUN"
    wait "$MPIRUN" || true
    MPIRUN=''
    [ "$(json .ended)" = '"interrupted"' ]
    judge [ "$(column operations "$OUT/one/blocks.csv")" -gt 50 ]
}

@test "the load in a loop of starts is certified as delivered, also when clocks are compared meanwhile" {
    # comparing takes 0.8 s each time, and the load goes on: it must not count
    single 2 --levels 5 --op barrier --start round --seconds 5 --fake-clock 1ms --sync-every 1s
    jq -c '.start.sync, .generators[0].levels' "$OUT/one/launch.json"
    [ "$(json .start.sync.runs)" -ge 3 ]
    judge [ "$(json '.generators[0].levels[0].ratio < 1.2')" = true ]
}

@test "ranks that share CPUs are late, and the launch says so" {
    export OMPI_MCA_mpi_yield_when_idle=1
    single 6 --oversubscribe --op barrier --start round --count 300
    [ "$(json '.warnings | any(test("of the starts were late with every slot tried"))')" = true ]
    [ "$(json .start.late_starts)" -gt 75 ]
}

@test "clocks that are an hour and 50 ppm apart are brought together" {
    single 2 --op empty --start round --fake-clock 1h,50ppm --seconds 1
    row=$(awk -F , '$4 == 1 { print }' "$OUT/one/clocks.csv")
    echo "$row"
    judge awk -F , '{ exit !($7 == 1 && $8 > 3.599e12 && $8 < 3.601e12 && $9 > 45 && $9 < 55) }' <<<"$row"
    # the ranks start together to within what the synchronisation says of itself, and not an hour apart
    judge overshoot_is_small
    [ "$(json .start.clock.fake)" != null ]
}

@test "clocks that part are synchronised anew before it is time" {
    # offsets alone do not follow a drift of 50 us in every second
    single 2 --op empty --start round --sync linear --fake-clock 0s,50ppm --sync-every 2s --count 400000
    cut -d , -f 1-9 "$OUT/one/clocks.csv"
    [ "$(awk -F , '$2 == "residual"' "$OUT/one/clocks.csv" | wc -l)" -ge 2 ]
}

@test "the self-test passes judgement, and a bound that none can keep fails" {
    status=0
    launch 2 --self-test --start round --seconds 0.6 --launch-id round >"$BATS_TEST_TMPDIR/table" || status=$?
    cat "$BATS_TEST_TMPDIR/table"
    # a machine that is busy with something else may fail it, but then the table says why
    [ "$status" -eq 0 ] || { [ "$status" -eq 1 ] && grep -q '^not good: ' "$BATS_TEST_TMPDIR/table"; }
    [ "$(grep -cE '^(waitpattern-up|waitpattern-null|empty) ' "$BATS_TEST_TMPDIR/table")" -eq 3 ]
    fails_with 1 '' launch 2 --self-test --start round --op waitpattern-up --late-bound 1ns --seconds 0.2 --launch-id strict
    grep -q 'of the starts were late' "$BATS_TEST_TMPDIR/stdout"
}

@test "a stop rule ends a loop early" {
    single 2 --op barrier --start window --stop-rule count --seconds 5
    operations=$(column operations "$OUT/one/blocks.csv")
    [ "$operations" -ge 31 ] && [ "$operations" -le 108 ]
    [ "$(json .ended)" = '"complete"' ]
}

@test "every operation's data are checked on request" {
    single 2 --op allreduce,bcast,loadtest --start round --check every --count 300
    [ "$(json .data_errors)" = 0 ]
    # work without its operation leaves nothing to check
    launch 2 --design single --levels none --op iallreduce --overlap 1 --start round --check every --count 300 --launch-id overlap
    [ "$(jq .data_errors "$OUT/overlap/launch.json")" = 0 ]
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

@test "the analysis of starts agrees with the rows, from the raw file and without" {
    launch 2 --design lockin --levels 1 --op barrier --start round --seconds 1 --warmup 0s --raw starts.bin --launch-id one
    "$BIN/noiselab-analyze" starts "$OUT" --json >"$BATS_TEST_TMPDIR/starts.json"
    "$BIN/noiselab-analyze" starts "$OUT" --csv --table raw >"$BATS_TEST_TMPDIR/raw.csv"
    # two ranks' lines for each start
    [ "$(tail -n +2 "$BATS_TEST_TMPDIR/raw.csv" | wc -l)" -eq $((2 * $(json .start.starts))) ]
    [ "$(jq '[.starts[].starts] | add' "$BATS_TEST_TMPDIR/starts.json")" -eq "$(json .start.starts)" ]
    [ "$(jq '[.starts[].late_starts] | add' "$BATS_TEST_TMPDIR/starts.json")" -eq "$(json .start.late_starts)" ]
}

#!/usr/bin/env bats
# Synchronised starts on the command line: what is refused, what is written, what is known beforehand.

load detect

# bats test_tags=quick
@test "unknown names, numbers out of range, and options that a way to start does not use are refused" {
    refused "--starts: 'later' is not a way to start" --starts later
    refused "--starts: clock: 'sundial' is not a clock" --starts round:clock=sundial
    refused "--starts: sync-ranks: 'some' is not nodes or all" --starts round:sync-ranks=some
    refused "--arrival: 'never' is not a pattern" --starts round --arrival never
    for words in 'datatype complex' 'reduce mean' 'root -1' 'root 2147483647' 'buffer fresh' 'check twice'; do
        refused "--${words% *}: '${words#* }' is not" "--${words% *}" "${words#* }"
    done
    refused "--starts: slot: these starts have no such key" --starts loop:slot=5us
    refused "--check every: needs synchronised starts" --check every
    refused "--buffer flush: needs synchronised starts" --buffer flush
    refused "--starts: stop-rule: design lockin has a fixed length" --starts window:stop-rule=error
    refused "--arrival: trace needs its file" --starts round --arrival trace
    refused "--arrival: file: is for trace" --starts round --arrival ramp:file=x
    refused "--arrival: amount: 'much' is not a time" --starts round --arrival ramp:amount=much
    refused "--arrival: amount: with operations back to back how late has to be a time" --arrival late-any
    refused "--arrival: with operations back to back late ranks are an arm of design lockin (or" \
        --arrival late-any:amount=5us --design blocks
    refused "--arrival: with operations back to back late ranks are an arm of design lockin, and not beside \
--stop-when" \
        --arrival late-any:amount=5us --stop-when decided
    refused "--starts: 'gama' is not a key of it (clock, sync-ranks, sync, sync-every, slot, gamma, eps, \
stage, stage-0, late-bound, fake-clock, work, stop-rule, precision, raw): did you mean gamma?" \
    --starts window:gama=1.2
    refused "--starts: gamma: '1.2,eps' is not a number" --starts window:gamma=1.2,eps
    refused "--starts: 'gamma' is not NAME=VALUE" --starts window:gamma
    refused "'--gamma': no option by itself; use --starts ...:gamma=FACTOR" --starts window --gamma 1.2
    refused "--starts: stage: these starts have no such key" --starts round:stage=3
    refused "--starts: precision: is for the rule median" --starts window:precision=2
    refused "--arrival: amount: does not apply to this arrival" --starts round --arrival none:amount=5us
    refused "--starts: gamma: '3' is not a number from 1.01 to 2" --starts window:gamma=3
    refused "--starts: eps: '0' is not a percentage from 0.1 to 100" --starts window:gamma=1.2,eps=0
    refused "--starts: late-bound: 'x'" --starts window:late-bound=x
    for bad in gamma=nan stage=0; do refused "--starts: ${bad%=*}: '${bad#*=}'" --starts "window:$bad"; done
    refused "--starts: precision: '0'" --starts window:stop-rule=median,precision=0 --design single
}

# bats test_tags=quick
@test "lists name every start mode, clock and arrival" {
    [ "$("$DETECT" --list starts | awk '{ print $1 }' | paste -sd ,)" = loop,window,round ]
    [ "$("$DETECT" --list clocks | awk '{ print $1 }' | sort | paste -sd ,)" = \
        gettimeofday,monotonic,monotonic-raw,mpi-wtime,tsc ]
    [ "$("$DETECT" --list syncs | awk '{ print $1 }' | paste -sd ,)" = tree,linear,ring ]
    refused "--starts: sync: 'star' is not a way to compare clocks" --starts round:sync=star
    [ "$("$DETECT" --list arrivals | awk '{ print $1 }' | head -n 1)" = none ]
}

@test "a clock, a slot and a time that cannot be are refused with their reason" {
    local one=(launch 1 --design single --levels none --warmup 0s)
    fails_with 2 "fake-clock: 'bogus' is not" "${one[@]}" --op barrier --starts round:fake-clock=bogus
    [ "$(grep -c MPI_ERR "$ERR")" -eq 0 ]
    fails_with 2 "--starts: slot: 1 ns can never be met by barrier, which takes" "${one[@]}" --op barrier \
        --starts window:slot=1ns
    fails_with 2 "not one start of alltoall fits into 3 us" "${one[@]}" --op alltoall --bytes 1MiB \
        --starts round --seconds 3us
}

@test "a launch of one arm keeps its slot, whichever arm it has" {
    for arm in on off; do
        launch 1 --design single --arms "$arm:external=agent" --op barrier --starts window --seconds 0.3 \
            --warmup 0s --launch-id "$arm"
        jq -e --argjson slot "$(column slot_ns "$OUT/$arm/blocks.csv")" '.cells[0].slot_ns == $slot' \
            "$OUT/$arm/launch.json"
    done
}

@test "--sync-only prints every rank's clock and makes no campaign" {
    needs_cpus 2
    for method in tree linear ring; do
        run -0 on_cores 2 "$DETECT" --sync-only --starts "round:sync-ranks=all,sync=$method" --out "$OUT"
        [ "$(grep -cE '^ +[01] +[^ ]+ +-?[0-9]+ ' <<<"$output")" -eq 2 ]
        grep -qE "^clock .*; $method, took " <<<"$output"
        [ ! -e "$OUT" ]
    done
    # the table is that of known clocks: rank 1's is an hour ahead
    run -0 on_cores 2 "$DETECT" --sync-only --starts round:sync=linear,fake-clock=1h --out "$OUT"
    awk '$1 == 1 && $3 > 3599.9e9 && $3 < 3600.1e9 && $4 == 0 { found = 1 } END { exit !found }' <<<"$output"
}

@test "starts by clocks that linear or ring compared say so, and are within the bound of late ones" {
    for method in linear ring; do
        launch 2 --design single --levels none --op barrier --starts "window:sync=$method,fake-clock=3s" \
            --seconds 0.3 --warmup 0s --launch-id $method
        jq -e --arg method $method \
            '.options.start.sync == $method and .start.sync.method == $method and .start.starts > 0' \
            "$OUT/$method/launch.json"
        [ "$(column method "$OUT/$method/clocks.csv" | sort -u)" = $method ]
        [ "$(column drift_ppm "$OUT/$method/clocks.csv" | sort -u)" = 0 ]
    done
}

@test "synchronised starts fill their columns, loop leaves them empty, and the analysis agrees" {
    for mode in loop round; do
        launch "$([ "$mode" = loop ] && echo 1 || echo 2)" --design lockin --levels 1 --op bcast \
            --starts "${mode/round/round:raw=starts.bin}" --half-period 50ms --seconds 0.2 --warmup 0s \
            --launch-id "$mode"
        rows=$OUT/$mode/halves.csv
        # a start takes time, what is left of it after the last arrival is less, and their sum is the wall
        # time's at most
        column global_ns "$rows" | awk -v mode="$mode" '{ if ((mode == "loop") != ($1 == "")) exit 1 }'
        [ "$mode" = loop ] && continue
        paste -d ' ' <(column global_ns "$rows") <(column after_last_ns "$rows") <(column wall_ns "$rows") |
            awk '!($1 > 0 && $2 > 0 && $2 <= $1) { exit 1 }'
        starts=$(jq .start.starts "$OUT/$mode/launch.json")
        [ "$starts" -eq "$(column operations "$rows" | awk '{ n += $1 } END { print n }')" ]
        for what in first_starts last_starts last_ends; do
            [ "$(column $what "$OUT/$mode/ranks.csv" | awk '{ n += $1 } END { print n }')" -eq "$starts" ]
        done
        [ "$(awk -F , '$5 == "global" { n += $8 } END { print n }' "$OUT/$mode/starts_hist.csv")" \
            -eq "$starts" ]
        [ "$(awk -F , '$5 == "overshoot" { n += $8 } END { print n }' "$OUT/$mode/starts_hist.csv")" \
            -eq "$((2 * starts))" ]
    done
    [ "$(jq .start "$OUT/loop/launch.json")" = null ]
    "$BIN/noiselab-analyze" starts "$OUT/round" --json >"$BATS_TEST_TMPDIR/starts.json"
    for what in starts late_starts; do
        [ "$(jq "[.starts[].$what] | add" "$BATS_TEST_TMPDIR/starts.json")" \
            -eq "$(jq ".start.$what" "$OUT/round/launch.json")" ]
    done
}

@test "a raw file is as long as its starts make it, an old one stays, and data are checked on request" {
    single 2 --op barrier,allreduce,bcast,loadtest --starts round:raw=every.bin,stage-0=6 --check every \
        --count 100
    [ "$(json .data_errors)" = 0 ]
    header=$(od -An -tu4 -j12 -N4 "$OUT/one/every.bin" | tr -d ' ')
    # a loop that takes long has several blocks
    blocks=$(grep -ao BLCK "$OUT/one/every.bin" | wc -l)
    [ "$blocks" -ge 4 ]
    # per block 44 bytes, per start 8 for its time and 12 for each of two ranks
    n_wide=$((($(stat -c %s "$OUT/one/every.bin") - 16 - header - blocks * 44 - 4 * 100 * 32)))
    [ "$n_wide" -ge 0 ]
    jq -e '[.. | objects | .stage_0_operations // empty] == [6]' "$OUT/one/launch.json"
    [ $((n_wide % 20)) -eq 0 ]
    [ "$(head -c 8 "$OUT/one/every.bin")" = NLSTARTS ]
    [ "$(tail -c +17 "$OUT/one/every.bin" | head -c "$header" | jq -r '.configs | map(.operation) | sort |
        join(",")')" = allreduce,barrier,bcast,loadtest ]
    echo precious >"$BATS_TEST_TMPDIR/old"
    fails_with 2 "--starts: raw: cannot make '$BATS_TEST_TMPDIR/old'" launch 1 --design single --levels none \
        --op empty --starts "round:raw=$BATS_TEST_TMPDIR/old" --count 10
    [ "$(cat "$BATS_TEST_TMPDIR/old")" = precious ]
}

# jump_said MS: rank 1's clock jumped back by so many ms, to 2 %; or ran backwards by them less what passed
# meanwhile, where one read saw it
jump_said() {
    sed -nE 's/.*rank 1 .*(jumped by -|ran backwards by )([0-9.]+) (ms|us).*/\1 \2 \3/p' "$ERR" |
        awk -v ms="$1" '
        { v = $(NF - 1) / ($NF == "us" ? 1000 : 1); n++;
            exit !(v < 1.02 * ms && v > (/^jumped/ ? 0.98 : 0.5) * ms) } END { if (!n) exit 1 }'
}

@test "a clock that jumps ends the run with a line on all ranks, and what was taken stays" {
    fails_with 2 'rank 1' launch 2 --design lockin --levels 0 --op barrier \
        --starts round:fake-clock=0s,0ppm,-5ms@2.5s,sync-every=0s --seconds 10 --warmup 0s \
        --half-period 20ms --launch-id one
    jump_said 5
    [ "$(json .ended)" = '"failed: a clock jumped or ran backwards"' ]
    [ "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" -ge 2 ]
    [ -s "$OUT/one/starts_hist.csv" ]
    fails_with 2 'rank 1' launch 2 --design single --levels none --op barrier \
        --starts round:fake-clock=0s,0ppm,-500ms@1400ms,work=50ms --launch-id two
    jump_said 500
}

@test "a single loop that is interrupted keeps the starts made by then" {
    needs_cpus 2
    exec_on_cores 2 "$DETECT" --out "$OUT" --design single --levels none --op barrier --warmup 0s \
        --starts round:work=1ms \
        --seconds 300 --launch-id one >/dev/null 2>"$ERR" 3>&- &
    MPIRUN=$!
    wait_for [ -s "$OUT/one/launch.json" ]
    sleep 1
    kill -INT "$MPIRUN"
    wait "$MPIRUN" || true
    MPIRUN=''
    [ "$(json .ended)" = '"interrupted"' ]
    [ "$(column operations "$OUT/one/blocks.csv")" -gt 0 ]
}

@test "ranks that share CPUs are late, and the launch says so" {
    export OMPI_MCA_mpi_yield_when_idle=1
    single 6 --oversubscribe --op barrier --starts round --count 60
    [ "$(json '.warnings | any(test("of the starts were late with every slot tried"))')" = true ]
    [ "$(json .start.late_starts)" -gt 15 ]
}

@test "clocks that part are synchronised anew before it is time" {
    # a jump this small passes for another rate of the clock; looks at it come in every tenth of the time
    # between. Where the first synchronisation, on a busy machine, came after it, there was nothing to see,
    # and it comes later
    for s in 2 8; do
        rm -rf "$OUT"
        single 2 --op empty --starts "round:fake-clock=0s,0ppm,50us@${s}s,sync-every=$((2 * s))s" \
            --seconds "$s.4"
        [ "$(grep -c ',residual,' "$OUT/one/clocks.csv")" -lt 2 ] || return 0
    done
    false
}

@test "a stop rule ends a loop early" {
    single 2 --op barrier --starts window:stop-rule=count --seconds 5
    operations=$(column operations "$OUT/one/blocks.csv")
    [ "$operations" -ge 31 ]
    [ "$operations" -le 108 ]
    [ "$(json .ended)" = '"complete"' ]
}

@test "reproducibility is measured over launches and rank counts, and too few launches are no answer" {
    # two numbers of ranks in the long tests
    local ranks=1 n=1
    [ "$NOISELAB_TESTS" != long ] || ranks=1,2 n=2
    needs_cpus "$n"
    "$BIN/noiselab" run reproducibility --ranks "$ranks" --launches 3 --op alltoall --bytes 64KiB \
        --seconds 0.1 --warmup 0s --seed 5 --out "$OUT" --no-report >"$BATS_TEST_TMPDIR/table" 2>"$ERR"
    [ "$("$BIN/noiselab-analyze" reproducibility "$OUT" --csv | tail -n +2 | wc -l)" -eq "$n" ]
    [ "$(jq -r .seed "$OUT"/*/launch.json | sort -n | paste -sd ,)" = "$(seq -s , 5 $((3 * n + 4)))" ]
    "$BIN/noiselab-analyze" mpiperf "$OUT" --csv >"$BATS_TEST_TMPDIR/mpiperf"
    [ "$(tail -n +2 "$BATS_TEST_TMPDIR/mpiperf" | wc -l)" -eq $((3 * n)) ]
    [ "$(column n_t "$BATS_TEST_TMPDIR/mpiperf" | sort -n | paste -sd ,)" = \
        "$(jq .start.starts "$OUT"/*/launch.json | sort -n | paste -sd ,)" ]
    run -3 "$BIN/noiselab-analyze" reproducibility "$(dirname "$(find "$OUT" -name launch.json | head -n 1)")"
}

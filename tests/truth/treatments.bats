#!/usr/bin/env bats
# What treatments put into the halves of a launch, what the rows say of it, and that a heavy one is decided
# early. Nothing runs beside this suite.

load ../cli/detect

@test "a design crosses kinds, patterns, places and phases with the levels" {
    launch 2 --op barrier --kind spin,sum:array-bytes=64KiB --pattern periodic,poisson --on last \
        --on rank:0,rank:1 --phase random,aligned --levels 2,10 --seconds 2 \
        --launch-id one
    rows=$OUT/one/halves.csv
    awk -F , 'NR > 1 && $7 == "on" { print $8, $25, $26, $27, $28 }' "$rows" |
        sort -u >"$BATS_TEST_TMPDIR/arms"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/arms")" -eq 32 ]
    grep -q '^10 sum poisson rank:0+rank:1 aligned$' "$BATS_TEST_TMPDIR/arms"
    # off rows name no treatment and ask for nothing; on rows of a periodic load ask for level x wall time on
    # each CPU
    awk -F , 'NR > 1 && $7 == "off" && $25 $26 $27 $28 $29 != "0" { exit 1 }' "$rows"
    awk -F , 'NR > 1 && $26 == "periodic" { off = $29 - $8 / 100 * $11 * ($27 == "last" ? 1 : 2);
        if (off > 1 || off < -1) exit 1 }' "$rows"
    [ "$(jq '.generators[0].levels | length' "$OUT/one/launch.json")" -eq 32 ]
    [ "$(jq -c '.generators[0].cpus | length' "$OUT/one/launch.json")" \
        -eq "$(jq '[.placement[].cpu] | unique | length' "$OUT/one/launch.json")" ]
    [ "$(jq -c '[.options.kinds, .options.phases]' "$OUT/one/launch.json")" = \
        '[["spin","sum"],["random","aligned"]]' ]
    [ "$(head -n 1 "$OUT/one/hist.csv")" = \
        operation,bytes,arm,level_requested_percent,lo_ns,hi_ns,count,kind,pattern,placement,phase ]
    [[ "$(head -n 1 "$OUT/one/ranks.csv")" == *,times_slowest,kind,pattern,placement,phase,first_starts,* ]]
}

@test "patterns bring what falls into a half, and the generator says how much that was" {
    printf '%s\n' '# two bursts in 20 ms' $'0\t100000' $'5000000\t300000' '# span_ns: 20000000' \
        >"$BATS_TEST_TMPDIR/trace"
    launch 1 --op empty --pattern bursts,jittered,replay --gen "--replay $BATS_TEST_TMPDIR/trace" --levels 5 \
        --seconds 3 --launch-id one
    rows=$OUT/one/halves.csv
    for pattern in bursts jittered replay; do
        # 50 halves of 10 ms at 5 % are 25 ms; halves are cut out of the pattern where they happen to be
        judge awk -F , -v p="$pattern" \
            '$26 == p { n++; w += $11; asked += $29; got += $22; if ($29 == 0) zero++ }
            END { print p, n, asked / w, got / asked, zero;
                exit !(n == 50 && asked / w > 0.035 && asked / w < 0.065) }' "$rows"
    done
    # a quarter of all stretches of 10 ms of this trace holds nothing
    judge [ "$(awk -F , '$26 == "replay" && $29 == 0' "$rows" | wc -l)" -gt 2 ]
}

@test "the load sits on the CPU asked for, off halves carry none, and slow operations have their bursts" {
    launch 2 --op alltoall --bytes 4MiB --levels 10 --on rank:0 --seconds 1 --half-period 10ms --launch-id one
    [ "$(jq -r '.generators[0].cpu' "$OUT/one/launch.json")" = \
        "$(jq -r '.placement[0].cpu' "$OUT/one/launch.json")" ]
    judge awk -F , 'NR > 1 { n[$7]++; d[$7] += $22; with += $7 == "on" && $23 > 0 }
        END { print d["off"] / n["off"], d["on"] / n["on"], with, n["on"];
            exit !(d["off"] / n["off"] < 5e4 && d["on"] / n["on"] > 5e5 &&
                with > 0.8 * n["on"]) }' "$OUT/one/halves.csv"
}

# delivery FILE: by arm, CPU time delivered over the level's share of the on halves' wall time; fails where a
# row's request is not that share, or the halves of a pair differ in their number of operations although none
# of them ended by the clock
delivery() {
    awk "$header"'
        { n = $c["operations"]; pair = $c["pair"]; cut[pair] += $c["wall_ns"] > 1.99 * $c["planned_ns"] }
        (pair in operations) && operations[pair] != n && !cut[pair] {
            print "pair " pair ": " operations[pair] " and " n " operations"; exit bad = 1 }
        { operations[pair] = n }
        $c["arm"] == "on" && $c["level_requested_percent"] > 0 {
            level = $c["level_requested_percent"]; asked = $c["wall_ns"] * level / 100
            if (($c["requested_ns"] - asked) ^ 2 > 1) { print "asked " asked ": " $0; exit bad = 1 }
            delivered[level] += $c["delivered_ns"]; wall[level] += $c["wall_ns"]
        }
        END { if (bad) exit 1; for (level in wall) printf "%s %.4f\n", level,
            100 * delivered[level] / (level * wall[level]) }' "$1"
}

@test "doses and numbers of operations follow a machine that another process slows down for a while" {
    # half of the time the first rank has to share its CPU
    (while [ -d "$BATS_TEST_TMPDIR" ]; do "$BIN/noiselab-gen" --level 60 --period 2ms --on "cpu:$FIRST_CPU" \
        --duration 0.5s || true; sleep 0.5; done) >/dev/null 2>&1 3>&- &
    OWN_PIDS=$!
    launch 2 --op barrier --levels 1,5 --seconds 2 --half-period 10ms --launch-id one --warmup 0s || bad=$?
    pkill -P "$OWN_PIDS" || true # what it runs; then itself
    kill "$OWN_PIDS" || true
    [ -z "${bad-}" ]
    delivery "$OUT/one/halves.csv" >"$BATS_TEST_TMPDIR/delivery"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/delivery")" -eq 2 ]
    judge awk '$2 < 0.9 || $2 > 1.1 { exit 1 }' "$BATS_TEST_TMPDIR/delivery"
    jq -e '.operations_set >= 2 and .generators[0].period_ns == 10000000' "$OUT/one/launch.json"
    [ "$(column operations "$OUT/one/halves.csv" | sort -u | wc -l)" -ge 2 ]
    judge awk "$header"'$c["arm"] == "off" { n++; t += $c["wall_ns"] } END {
        print t / n; exit t / n > 14e6 }' "$OUT/one/halves.csv"
}

# that looks are what R computes: truth/sequential
@test "a heavy load is decided long before the planned end" {
    launch 2 --op barrier --levels 70 --seconds 8 --stop-when decided --margin 1 --launch-id one
    judge jq -e '.ended == "complete" and .sequential.decided and (.sequential.looks | length) < 5 and
        .sequential.looks[-1].cells[0].decision == "above"' "$OUT/one/launch.json"
}

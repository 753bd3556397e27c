#!/usr/bin/env bats
# What treatments put into the halves of a launch, what the rows say of it, and that a heavy one is decided early.

load ../cli/detect

@test "a design crosses kinds, patterns, places and phases with the levels" {
    launch 2 --op barrier --kind spin,sum:array-bytes=64KiB --pattern periodic,poisson --on last --on rank:0,rank:1 --phase random,aligned --levels 2,10 --seconds 2 \
        --launch-id one
    rows=$OUT/one/halves.csv
    awk -F , 'NR > 1 && $7 == "on" { print $8, $25, $26, $27, $28 }' "$rows" | sort -u >"$BATS_TEST_TMPDIR/arms"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/arms")" -eq 32 ]
    grep -q '^10 sum poisson rank:0+rank:1 aligned$' "$BATS_TEST_TMPDIR/arms"
    # off rows name no treatment and ask for nothing; on rows of a periodic load ask for level x wall time on each CPU
    awk -F , 'NR > 1 && $7 == "off" && $25 $26 $27 $28 $29 != "0" { exit 1 }' "$rows"
    awk -F , 'NR > 1 && $26 == "periodic" { off = $29 - $8 / 100 * $11 * ($27 == "last" ? 1 : 2); if (off > 1 || off < -1) exit 1 }' "$rows"
    [ "$(jq '.generators[0].levels | length' "$OUT/one/launch.json")" -eq 32 ]
    [ "$(jq -c '.generators[0].cpus | length' "$OUT/one/launch.json")" -eq "$(jq '[.placement[].cpu] | unique | length' "$OUT/one/launch.json")" ]
    [ "$(jq -c '[.options.kinds, .options.phases]' "$OUT/one/launch.json")" = '[["spin","sum"],["random","aligned"]]' ]
    [ "$(head -n 1 "$OUT/one/hist.csv")" = operation,bytes,arm,level_requested_percent,lo_ns,hi_ns,count,kind,pattern,placement,phase ]
    [[ "$(head -n 1 "$OUT/one/ranks.csv")" == *,times_slowest,kind,pattern,placement,phase,first_starts,* ]]
}

@test "patterns bring what falls into a half, and the generator says how much that was" {
    printf '# two bursts in 20 ms\n0\t100000\n5000000\t300000\n# span_ns: 20000000\n' >"$BATS_TEST_TMPDIR/trace"
    launch 1 --op empty --pattern bursts,jittered,replay --gen "--replay $BATS_TEST_TMPDIR/trace" --levels 5 --seconds 3 --launch-id one
    rows=$OUT/one/halves.csv
    for pattern in bursts jittered replay; do
        # 50 halves of 10 ms at 5 % are 25 ms; halves are cut out of the pattern where they happen to be
        judge awk -F , -v p="$pattern" '$26 == p { n++; w += $11; asked += $29; got += $22; if ($29 == 0) zero++ }
            END { print p, n, asked / w, got / asked, zero; exit !(n == 50 && asked / w > 0.035 && asked / w < 0.065) }' "$rows"
    done
    # a quarter of all stretches of 10 ms of this trace holds nothing
    judge [ "$(awk -F , '$26 == "replay" && $29 == 0' "$rows" | wc -l)" -gt 2 ]
}

@test "the load sits on the CPU asked for, off halves carry none, and an operation as slow as a half still has its bursts inside the loop" {
    launch 2 --op alltoall --bytes 4MiB --levels 10 --on rank:0 --seconds 1 --half-period 10ms --launch-id one
    [ "$(jq -r '.generators[0].cpu' "$OUT/one/launch.json")" = "$(jq -r '.placement[0].cpu' "$OUT/one/launch.json")" ]
    judge awk -F , 'NR > 1 { n[$7]++; d[$7] += $22; with += $7 == "on" && $23 > 0 }
        END { print d["off"] / n["off"], d["on"] / n["on"], with, n["on"]; exit !(d["off"] / n["off"] < 5e4 && d["on"] / n["on"] > 5e5 && with > 0.8 * n["on"]) }' "$OUT/one/halves.csv"
}

# here, as nothing runs beside this suite (that looks are what R computes: truth/sequential)
@test "a heavy load is decided long before the planned end" {
    launch 2 --op barrier --levels 70 --seconds 8 --stop-when decided --margin 1 --launch-id one
    judge jq -e '.ended == "complete" and .sequential.decided and (.sequential.looks | length) < 5 and .sequential.looks[-1].cells[0].decision == "above"' "$OUT/one/launch.json"
}

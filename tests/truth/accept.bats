#!/usr/bin/env bats
# What noiselab-accept finds against what is known: plain loops on the same ranks, bytes flipped on purpose,
# bursts of a certified dose. Two nodes are network namespaces of this machine.

load ../cli/detect
load two-nodes

# what is timed here for a few seconds has a real-time priority, where that may be had: whatever else the
# machine does stays out of it
CALM=(chrt -f 10)
"${CALM[@]}" true 2>/dev/null || CALM=()

# probe COMMAND...: runs the probe; all four ratios are there, and every one is within 5 percent. Whatever
# else takes CPUs, as a hypervisor does, takes more of one way of measuring than of the other.
probe() {
    local file="$BATS_TEST_TMPDIR/ratios"
    "$@" >"$file" 3>&-
    [ "$(grep -cE '^(latency|one_way|two_way|coefficient) [0-9.]+$' "$file")" -eq 4 ]
    judge awk '!($2 > 0.95 && $2 < 1.05) { exit 1 }' "$file"
}

@test "latency, bandwidth and completeness on one node are those of plain loops, within 5 percent" {
    needs_cpus 2
    probe on_cores 2 "${CALM[@]}" "$BIN/../tests-mpi/accept_probe" 100
}

@test "latency, bandwidth and completeness between two nodes are those of plain loops, within 5 percent" {
    left_out_or_go
    probe two_nodes_run "$WORK" 1 "${CALM[@]}" "$BIN/../tests-mpi/accept_probe" 60
}

@test "on two nodes a flipped byte is found in every launch with its two hosts, and pairs are named" {
    left_out_or_go
    for seed in 1 2 3; do
        ends 1 two_nodes_run "$WORK" 2 "$BIN/noiselab-accept" \
            --checks "integrity,latency:inject-fault=3:0:$((seed * 101))" --sizes 8 --seconds 0.3 \
            --repetitions 2 --seed "$seed" \
            --out "$OUT" --launch-id "$seed" >/dev/null 2>"$ERR" 3>&-
        # three sizes, two repetitions
        [ "$(grep -c "^$seed,[12],3,node2,0,node1,[0-9]*,$((seed * 101))," "$OUT/$seed/mismatches.csv")" \
            -eq 6 ]
        [ "$(wc -l <"$OUT/$seed/mismatches.csv")" -eq 7 ]
    done
    jq -e '.shared_kernel and ([.hosts[].host] == ["node1", "node2"])' "$OUT/1/launch.json"
    awk -F , '$2 == "latency" { print $3, $20, $21, $24, $25 }' "$OUT/1/accept.csv" |
        sort -u >"$BATS_TEST_TMPDIR/pairs"
    [ "$(cat "$BATS_TEST_TMPDIR/pairs")" = \
        "$(printf '%s\n' 'between node1 0 node2 2' 'within node1 0 node1 1' 'within node2 2 node2 3')" ]
}

# median METRIC: over all scans of the launch `scan`
median() {
    awk -F , -v metric="$1" '$2 == "detour" && $4 == metric && $12 != "" { print $6 }' \
        "$OUT/scan/accept.csv" | sort -g |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# The load is more urgent than the scan, and both than whatever else this machine does. What was delivered is
# the truth, whatever was asked for.
@test "bursts of 5 us and longer are recovered with their duty, within 5 percent; a turn takes 30 ns" {
    [ ${#CALM[@]} -gt 0 ] || skip "needs real-time priorities"
    for load in '0.5 1ms' '5 10ms'; do
        read -r level period <<<"$load"
        rm -rf "$OUT"
        chrt -f 20 "$BIN/noiselab-gen" --level "$level" --period "$period" --on "cpu:$FIRST_CPU" \
            --duration 5s --tolerance 100 --json \
            >"$BATS_TEST_TMPDIR/certificate" 3>&- &
        generator=$!
        sleep 0.5
        taskset -c "$FIRST_CPU" "${CALM[@]}" "$BIN/noiselab-accept" --checks detour:cpus=ranks --seconds 3 \
            --repetitions 15 --out "$OUT" \
            --launch-id scan 2>"$ERR"
        wait "$generator"
        delivered=$(jq .level_delivered_percent "$BATS_TEST_TMPDIR/certificate")
        judge awk -v b="$(median base)" 'BEGIN { exit !(b > 0 && b <= 30) }'
        # the time that others of this system took is the load's; gaps hold it, and what else the processor
        # lost
        judge awk -v d="$delivered" -v s="$(median preempted)" -v l="$(median lost)" \
            'BEGIN { exit !(d > 0 && s > 0.95 * d && s < 1.05 * d && l > 0.95 * d) }'
    done
}

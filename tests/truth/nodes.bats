#!/usr/bin/env bats
# Noise on several nodes, in the phase asked for. The nodes are network namespaces of this machine with names
# of their own, joined by a bridge; what the generators really did is recorded from outside, so this needs
# root and two CPUs.

load ../helpers
load two-nodes

setup_file() {
    export BUILD="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}" WORK="$BATS_FILE_TMPDIR"
    two_nodes_or_leave_out nodes "$WORK"
    [ -z "$LEFT_OUT" ] || return 0
    "$BUILD/bin/noiselab-record" --source cpu --duration 100ms -- yes >/dev/null 2>"$WORK/why" ||
        leave_out "cannot record context switches: $(cat "$WORK/why")"
}

setup() { left_out_or_go; }

# launch NAME OPTION...: one rank on each of the two nodes, recorded from outside into $WORK/NAME.trace, until
# it ends; once for all tests
launch() {
    local name=$1
    shift
    [ ! -s "$WORK/$name.trace" ] || return 0
    "$BUILD/bin/noiselab-record" --source cpu:group-gap=1ns --duration 30min --name noiselab-gen \
        --out "$WORK/$name.trace" 3>&- >"$WORK/$name.summary" &
    recorder=$!
    two_nodes_run "$WORK" 1 "$BUILD/bin/noiselab-detect" --op barrier --levels 10 --half-period 20ms \
        --period 20ms --seconds 2 --warmup 0s --out "$WORK/$name" "$@" 3>&-
    kill -INT "$recorder"
    wait "$recorder"
}

# apart NAME: median time from a burst on one node to the nearest one on the other, us
apart() {
    awk '
        /^#/ || $2 < 500000 { next }
        { at[$3, n[$3]++] = $1; seen[$3] = 1 }
        END {
            for (c in seen) cpu[k++] = c
            for (i = 0; i < n[cpu[0]]; i++) {
                best = 1e18
                for (j = 0; j < n[cpu[1]]; j++) {
                    d = at[cpu[0], i] - at[cpu[1], j]
                    if (d < 0) d = -d
                    if (d < best) best = d
                }
                print best / 1000
            }
        }' "$WORK/$1.trace" | sort -g | awk '{ v[NR] = $1 } END {
            print (NR > 30) ? v[int((NR + 1) / 2)] : "too-few" }'
}

@test "each node has its generator and its CPU; aligned noise alone hits both nodes at once" {
    launch random --phase random
    jq -e '.nodes == 2 and [.generators[].host] == ["node1", "node2"] and [.generators[].cpus[0]] == [0, 1]' \
        "$WORK"/random/*/launch.json
    launch aligned --phase aligned
    launch staggered --phase staggered
    random=$(apart random) aligned=$(apart aligned) staggered=$(apart staggered)
    judge awk -v a="$aligned" -v r="$random" -v s="$staggered" \
        'BEGIN { exit !(a + 0 == a && a < r / 5 && a < s / 5) }'
}

@test "aligned random patterns are the same on both nodes" {
    launch poisson --pattern poisson --phase aligned
    launch unrelated --pattern poisson --phase random
    together=$(apart poisson) unrelated=$(apart unrelated)
    judge awk -v a="$together" -v r="$unrelated" 'BEGIN { exit !(a + 0 == a && a < r / 5) }'
}

# Both nodes have one kernel: their clocks agree, and what the synchronisation says of them is its error.
@test "starts on two nodes are synchronised, and their clocks are what is said of them" {
    two_nodes_run "$WORK" 1 "$BUILD/bin/noiselab-detect" --op barrier,bcast \
        --starts round:sync-every=700ms,raw=starts.bin --levels none --design single --seconds 2 \
        --out "$WORK/starts" 3>&-
    launch="$WORK"/starts/*/launch.json
    jq -c .start $launch
    # one clock for each node: measured, with an offset no larger than half a round trip and the residual
    awk -F , 'NR > 1 && $4 == 1 && ($7 != 1 || ($8 < 0 ? -$8 : $8) > $10 / 2 + 1000) { print; bad = 1 } END {
        exit bad + 0 }' "$WORK"/starts/*/clocks.csv
    [ "$(jq .start.sync.runs $launch)" -ge 2 ]
    # ranks begin within the bound nearly always, though a barrier on this network takes far longer
    judge awk -v n="$(jq .start.starts $launch)" -v late="$(jq .start.late_starts $launch)" \
        'BEGIN { exit !(n > 1000 && late < 0.2 * n) }'
    judge [ "$(jq .start.overshoot_ns.p50 $launch)" -le "$(jq .start.late_bound_ns $launch)" ]
    # arrivals differ between nodes, and a node of one rank has nothing within it
    awk -F , 'NR > 1 && ($39 == "" || $38 + 0 > 1e-3 * ($39 + 1)) { print; exit 1 }' \
        "$WORK"/starts/*/blocks.csv
}

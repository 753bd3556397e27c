#!/usr/bin/env bats
# Noise on several nodes, in the phase asked for. The nodes are network namespaces of this machine with names of their own, joined by a bridge;
# what the generators really did is recorded from outside, so this needs root and two CPUs.

setup_file() {
    export BUILD="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}" WORK="$BATS_FILE_TMPDIR" REASON=''
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    TAG="nl$$"
    export TAG
    if [ "$(id -u)" != 0 ]; then REASON='needs root, to make network namespaces'
    elif ! mpirun --version 2>/dev/null | grep -q 'Open MPI) 4'; then REASON='written for Open MPI 4, whose launcher can be told how to reach a node'
    elif [ "$(nproc)" -lt 2 ]; then REASON='needs two CPUs'
    elif ! make_nodes 2>"$WORK/why"; then REASON="no network namespaces here: $(tail -n 1 "$WORK/why")"
    elif ! "$BUILD/bench/bench_record" --seconds 0.1 --pid $$ >/dev/null 2>"$WORK/why"; then REASON="cannot record context switches: $(cat "$WORK/why")"
    fi
}

make_nodes() {
    ip link add "$TAG" type bridge && ip link set "$TAG" up || return
    for n in 1 2; do
        ip netns add "$TAG-$n" && ip link add "$TAG-$n" type veth peer name eth0 netns "$TAG-$n" || return
        ip link set "$TAG-$n" master "$TAG" up && ip -n "$TAG-$n" addr add "10.211.77.$n/24" dev eth0 || return
        ip -n "$TAG-$n" link set eth0 up && ip -n "$TAG-$n" link set lo up || return
    done
    # how a command gets to a node, for mpirun: HOST is its address
    printf '#!/bin/sh\nhost=$1\nshift\nexec nsenter --net=/run/netns/%s-${host##*.} unshare --uts sh -c "hostname node${host##*.}; $*"\n' "$TAG" >"$WORK/agent"
    printf '#!/bin/sh\nexec taskset -c "$OMPI_COMM_WORLD_RANK" "$@"\n' >"$WORK/pinned"
    chmod +x "$WORK/agent" "$WORK/pinned"
}

teardown_file() {
    for n in 1 2; do
        ip netns del "$TAG-$n" 2>/dev/null || true
        ip link del "$TAG-$n" 2>/dev/null || true
    done
    ip link del "$TAG" 2>/dev/null || true
}

setup() { [ -z "$REASON" ] || skip "$REASON"; }

# launch NAME OPTION...: one rank on each of the two nodes, recorded from outside into $WORK/NAME.trace
launch() {
    local name=$1
    shift
    "$BUILD/bench/bench_record" --seconds 8 --name noiselab-gen >"$WORK/$name.trace" 3>&- &
    recorder=$!
    "$WORK/agent" 10.211.77.1 mpirun --host 10.211.77.1:1,10.211.77.2:1 --mca plm_rsh_agent "$WORK/agent" --mca btl_tcp_if_include 10.211.77.0/24 \
        --mca oob_tcp_if_include 10.211.77.0/24 --bind-to none -n 2 "$WORK/pinned" "$BUILD/bin/noiselab-detect" --op barrier --levels 10 \
        --half-period 20ms --period 20ms --seconds 4 --out "$WORK/$name" "$@" 3>&-
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
        }' "$WORK/$1.trace" | sort -g | awk '{ v[NR] = $1 } END { print (NR > 30) ? v[int((NR + 1) / 2)] : "too-few" }'
}

@test "each node has its generator, its CPU and its certificate" {
    launch random --phase random
    cat "$WORK"/random/*/launch.json | jq -c '[.nodes, [.hosts[].host], [.generators[] | [.host, .cpus, .levels[0].ok]]]'
    [ "$(jq .nodes "$WORK"/random/*/launch.json)" = 2 ]
    [ "$(jq -c '[.generators[].host]' "$WORK"/random/*/launch.json)" = '["node1","node2"]' ]
    [ "$(jq -c '[.generators[].cpus[0]]' "$WORK"/random/*/launch.json)" = '[0,1]' ]
}

@test "aligned noise hits both nodes at once, staggered and random noise does not" {
    launch aligned --phase aligned
    launch staggered --phase staggered
    random=$(apart random) aligned=$(apart aligned) staggered=$(apart staggered)
    echo "apart by us (medians): random $random, aligned $aligned, staggered $staggered"
    awk -v a="$aligned" -v r="$random" -v s="$staggered" 'BEGIN { exit !(a + 0 == a && a < r / 5 && a < s / 5) }'
}

@test "aligned random patterns are the same on both nodes" {
    launch poisson --pattern poisson --phase aligned
    launch unrelated --pattern poisson --phase random
    together=$(apart poisson) unrelated=$(apart unrelated)
    echo "apart by us (medians): aligned $together, random $unrelated"
    awk -v a="$together" -v r="$unrelated" 'BEGIN { exit !(a + 0 == a && a < r / 5) }'
}

#!/usr/bin/env bash
# How often the quick acceptance suite finds a load on one of three nodes, and how often it blames a node that has none: whole runs on the test
# cluster. bench-acceptance.sh [RUNS] [WORDS...]: so many runs (20), each with a seed of its own; further words for noiselab run acceptance. As root.
# The checks of a run have no load in them, and its self-check has one: each run counts for both. NO beside what misses its bound.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${NOISELAB_BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
runs=${1:-20}
[ $# = 0 ] || shift
case $runs in '' | *[!0-9]* | 0*)
    echo "bench-acceptance.sh: '$runs' is not a number of runs" >&2
    exit 2
    ;;
esac
cluster=tests/cluster/cluster.sh
reason=$("$cluster" why-not | head -n 1)
[ -z "$reason" ] || {
    echo "bench-acceptance.sh: no test cluster here: $reason" >&2
    exit 2
}
# a short path: sockets lie in it
work=$(mktemp -d /tmp/noiselab-bench.XXXXXX) || exit 2
trap '"$cluster" down "$work/c"; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"$cluster" up --nodes 3 --tag bench "$work/c" || exit 2

# ranks that share a CPU let each other run
export OMPI_MCA_mpi_yield_when_idle=1
localised=0 blamed=0 judged=0 longest_s=0
for seed in $(seq "$runs"); do
    out=$work/run$seed began=$SECONDS
    "$cluster" run "$work/c" salloc --quiet --nodes=3 "$build/bin/noiselab" run acceptance --quick --no-report --seed "$seed" --out "$out" "$@" \
        >"$work/said" 2>&1 </dev/null
    took_s=$((SECONDS - began))
    [ "$took_s" -le "$longest_s" ] || longest_s=$took_s
    # 1 and 3 are answers, and what is counted is in them
    if ! found=$(jq -r '
        [.self_check.verdict, .self_check.chosen, ([.nodes[] | select(.verdict == "fail") | .host] | join("+"))] |
            join("|")' "$out/verdict.json"); then
        cat "$work/said" >&2
        continue
    fi
    IFS='|' read -r self_check chosen nodes <<<"$found"
    # a launch was lost, or the self-check's: no answer to what is asked here
    if [ -z "$chosen" ] || grep -q 'planned launches are complete; go on with' "$work/said"; then
        echo "  seed $seed: broken off"
        sed 's/^/    /' "$work/said" >&2
        rm -rf "$out"
        continue
    fi
    judged=$((judged + 1))
    [ "$self_check" != pass ] || localised=$((localised + 1))
    [ -z "$nodes" ] || blamed=$((blamed + 1))
    printf '  seed %-3d load on %s: %-13s  nodes blamed: %-20s %4d s\n' "$seed" "$chosen" "$self_check" "${nodes:-none}" "$took_s"
    rm -rf "$out"
done

# line VALUE WANTED HOLDS NAME
line() { printf '  %-58s %12s   wanted %-11s %s\n' "$4" "$1" "$2" "$3"; }
line "$judged" "$runs" "$([ "$judged" = "$runs" ] && echo yes || echo NO)" 'runs that ended with a verdict'
line "$localised" "$runs" "$([ "$localised" = "$runs" ] && echo yes || echo NO)" 'runs that localised the load of the self-check'
line "$blamed" 0 "$([ "$blamed" = 0 ] && echo yes || echo NO)" 'runs that blamed a node without load'
line "$longest_s" '<= 120' "$([ "$longest_s" -le 120 ] && echo yes || echo NO)" 'longest run, s'
[ "$judged" -gt 0 ]

#!/bin/sh
# make bench: the numbers noiselab promises, each beside its bound. bench.sh [harness] [memory] [generator] [replay] [detection] [placebo] [analysis]
#   [starts] [sync] [nodes]
# Nothing else should run meanwhile. All parts take about 20 minutes; PLACEBO_RUNS (100) shortens the longest.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${NOISELAB_BUILD:-build}
NOISELAB_BIN=$PWD/$build/bin
NOISELAB_LIBEXEC=$PWD/$build/libexec/noiselab
export NOISELAB_BIN NOISELAB_LIBEXEC
# shellcheck source=experiments/lib.sh
. experiments/lib.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
missed=0

# verdict VALUE OPERATOR BOUND NAME: prints the figure, its bound and whether it holds
verdict() {
    if awk -v a="$1" -v b="$3" "BEGIN { exit !(a $2 b) }"; then holds=yes; else holds=NO missed=$((missed + 1)); fi
    printf '  %-58s %12s   wanted %s %-8s %s\n' "$4" "$1" "$2" "$3" "$holds"
}

harness() {
    echo 'Harness (2 ranks; medians of paired ratios in one run)'
    (run_mpi 2 "$build/bench/bench_loop") >"$work/loop" || return
    verdict "$(awk '$1 == "barrier_single_over_bare_loop" { print $2 }' "$work/loop")" '<=' 1.01 'barrier, design single / bare loop'
    verdict "$(awk '$1 == "barrier_timing_adds" { print $2 }' "$work/loop")" '<=' 25 'per-operation timing adds to barrier, ns'
    verdict "$(awk '$1 == "empty_timed" { t = $2 } $1 == "empty_plain" { p = $2 } END { print t - p }' "$work/loop")" '<=' 25 'per-operation timing adds to empty, ns'
    sed 's/^/  /' "$work/loop"
}

# detect NAME ARGUMENTS: a campaign of one launch
detect() {
    name=$1
    shift
    (run_detect 2 --out "$work/$name" "$@") >/dev/null
}

peak_kib() { jq -s 'map(.peak_memory_kib) | max' "$work/$1"/*/launch.json; }

memory() {
    echo 'Memory per rank (most held, VmHWM), beside a bare program with the same collectives'
    bare=$(run_mpi 2 "$build/bench/bench_memory")
    detect short --seconds 5 || return
    detect long --seconds 25 || return
    verdict "$(($(peak_kib short) - bare))" '<' 8192 'beyond the bare program, KiB, 5 s'
    verdict "$(($(peak_kib long) - bare))" '<' 8192 'beyond the bare program, KiB, 25 s'
}

generator() {
    echo 'Generator'
    tests/bench/bench-gen.sh | tee "$work/generator"
    n=$(grep -c ' NO' "$work/generator")
    missed=$((missed + n))
}

replay() {
    tests/bench/bench-replay.sh | tee "$work/replay"
    n=$(grep -c ' NO' "$work/replay")
    missed=$((missed + n))
}

# figure NAME CHANNEL LEVEL FIELD: of the analysis of a campaign
figure() {
    "$NOISELAB_BIN/noiselab-analyze" "$work/$1" --json |
        jq -r --arg c "$2" --argjson l "$3" '.verdicts[] | select(.channel == $c and .level_requested_percent == $l and .scope == "this launch") | .'"$4"
}

detection() {
    echo 'Detection (barrier, 2 ranks)'
    detect ten --op barrier --levels 1,0.1 --half-period 10ms --seconds 60 || return
    verdict "$(figure ten time 1 p_one_sided)" '<' 0.01 '1 % by time in 30 s, halves of 10 ms: p'
    verdict "$(figure ten stolen 0.1 p_one_sided)" '<' 0.001 '0.1 % by stolen in 30 s, halves of 10 ms: p'
    verdict "$(jq -s 'map(.switching.p50_ns) | max' "$work"/ten/*/launch.json)" '<' 100000 'switching, command to answer: p50, ns'
    printf '  switching p99 %s ns\n' "$(jq -s 'map(.switching.p99_ns) | max' "$work"/ten/*/launch.json)"
    detect twenty --op barrier --levels 0.01 --half-period 20ms --period 20ms --seconds 100 || return
    verdict "$(figure twenty stolen 0.01 p_one_sided)" '<' 0.001 '0.01 % by stolen in 100 s, halves of 20 ms: p'
    for f in ten:1 ten:0.1 twenty:0.01; do
        "$NOISELAB_BIN/noiselab-analyze" "$work/${f%:*}" --json |
            jq -r --argjson l "${f#*:}" '.verdicts[] | select(.channel == ("time", "stolen") and .level_requested_percent == $l) |
                "  \(.channel) \(.level_requested_percent) %: delivered \(.level_delivered_percent), effect \(.estimate), limit \(.detection_limit), p \(.p_one_sided)"'
    done
}

placebo() {
    runs=${PLACEBO_RUNS:-100}
    echo "False alarms in $runs placebo runs of 5 s (level 0), at alpha 0.01"
    i=0
    while [ "$i" -lt "$runs" ]; do
        i=$((i + 1))
        detect "placebo$i" --op barrier --levels 0 --seconds 5 || return
        "$NOISELAB_BIN/noiselab-analyze" "$work/placebo$i" --json | jq -r '.verdicts[] | "\(.channel) \(.p_one_sided)"' >>"$work/placebo"
    done
    # at most this many by a binomial with p = 0.01, except once in a hundred benches
    most=$(Rscript --vanilla -e "cat(qbinom(0.99, $runs, 0.01))")
    for channel in time stolen detour base; do
        verdict "$(awk -v c="$channel" '$1 == c && $2 != "null" && $2 <= 0.01 { n++ } END { print n + 0 }' "$work/placebo")" '<=' "$most" "false alarms by $channel"
    done
}

analysis() {
    echo 'Analysis of 10^6 rows'
    R_LIBS="$build/lib/noiselab/R" NOISELAB_R_LIB="$PWD/$build/lib/noiselab/R" Rscript --vanilla analysis/bench/bench-analyze.R
}

starts() {
    echo 'Synchronised starts (round, 2 ranks on one node; blocks without a context switch)'
    detect starts --design single --levels none --op barrier,waitpattern-up,waitpattern-null --start round --seconds 9 --raw starts.bin || return
    R_LIBS="$build/lib/noiselab/R" Rscript --vanilla tests/bench/quiet-starts.R "$work"/starts/* >"$work/quiet" || return
    quiet() { awk -v name="$1" '$1 == name { print $2 }' "$work/quiet"; }
    verdict "$(quiet barrier.p50)" '<=' 200 'start overshoot p50, barrier, ns'
    verdict "$(quiet barrier.p99)" '<=' 2000 'start overshoot p99, barrier, ns'
    # a start takes the harness itself some time, too: two readings of the clock and a call, which waitpattern-null shows
    net=$(($(quiet waitpattern-up.median) - $(quiet waitpattern-null.median)))
    verdict "$net" '<=' 2020 'waitpattern-up less waitpattern-null, medians, ns (2000)'
    verdict "$net" '>=' 1980 'the same'
    printf '  waitpattern-up as measured: %s ns\n' "$(quiet waitpattern-up.median)"
    verdict "$(quiet waitpattern-null.median)" '<=' 200 'waitpattern-null, median, ns'
    verdict "$(awk -F , '$2 == "barrier" { printf "%.0f", 1e9 * $12 / $11 }' "$work"/starts/*/blocks.csv)" '>=' 200000 'synchronised barriers per second'
    sed 's/^/  /' "$work/quiet"
    echo 'Memory of many starts (most held by a rank)'
    for n in 1000000 100000000; do
        detect "many$n" --design single --levels none --op empty --start window --count "$n" --seconds 600 || return
    done
    verdict "$(($(peak_kib many100000000) - $(peak_kib many1000000)))" '<' 1024 'KiB more for 10^8 starts than for 10^6'
}

sync() {
    tests/bench/bench-sync.sh | tee "$work/sync"
    n=$(grep -c ' NO' "$work/sync")
    missed=$((missed + n))
}

# more ranks than CPUs: those that wait have to let the others run. Only the ratio of two ways in one run means something then
nodes() {
    echo 'Telling rank 0 of a half: along trees / by the gather it replaces'
    for ranks in 2 16 32; do
        (OMPI_MCA_mpi_yield_when_idle=1 run_mpi "$ranks" --bind-to none --oversubscribe "$build/bench/bench_gather") >"$work/gather" || return
        verdict "$(awk '$1 == "tree_over_gather" { print $2 }' "$work/gather")" '<=' 1.1 "$ranks ranks: tree / gather"
        verdict "$(awk '$1 == "tree_adds_kib" { print $2 }' "$work/gather")" '<=' 512 "$ranks ranks: memory it adds on ranks other than 0, KiB"
    done
}

[ $# -gt 0 ] || set -- harness memory generator replay detection placebo analysis starts sync nodes
for part in "$@"; do
    case $part in
    harness | memory | generator | replay | detection | placebo | analysis | starts | sync | nodes) "$part" || missed=$((missed + 1)) ;;
    *) die 2 "bench: '$part' is not a part (harness, memory, generator, replay, detection, placebo, analysis, starts, sync, nodes)" ;;
    esac
done
[ "$missed" = 0 ] || echo "$missed figures missed their bound"

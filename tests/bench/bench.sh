#!/usr/bin/env bash
# make bench: the numbers noiselab promises, each beside its bound. bench.sh [harness] [memory] [generator] [replay] [detection] [placebo] [analysis]
#   [starts] [sync] [nodes] [startup] [record] [agents] [acceptance]
# Nothing else should run meanwhile. All parts take about an hour, of which acceptance takes half; PLACEBO_RUNS (100) shortens the longest. QUICK=1 takes seconds: every part runs
# as it would, for a time too short for its bounds. Exit status 2: a part could not run.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
quick=${QUICK:-}
missed=0

# brief FULL SHORT: a setting of the bench, or that of a trial of it
brief() { if [ -z "$quick" ]; then echo "$1"; else echo "$2"; fi; }

# verdict VALUE OPERATOR BOUND NAME: prints the figure, its bound and whether it holds
verdict() {
    if awk -v a="$1" -v b="$3" "BEGIN { exit !(a $2 b) }"; then holds=yes; else holds=NO missed=$((missed + 1)); fi
    printf '  %-58s %12s   wanted %s %-8s %s\n' "$4" "$1" "$2" "$3" "$holds"
}

harness() {
    echo 'Harness (2 ranks; medians of paired ratios in one run)'
    on_cores 2 "$build/bench/bench_loop" "$(brief 300 3)" >"$work/loop" || return
    verdict "$(awk '$1 == "barrier_single_over_bare_loop" { print $2 }' "$work/loop")" '<=' 1.01 'barrier, design single / bare loop'
    verdict "$(awk '$1 == "barrier_timing_adds" { print $2 }' "$work/loop")" '<=' 25 'per-operation timing adds to barrier, ns'
    verdict "$(awk '$1 == "empty_timed" { t = $2 } $1 == "empty_plain" { p = $2 } END { print t - p }' "$work/loop")" '<=' 25 'per-operation timing adds to empty, ns'
    sed 's/^/  /' "$work/loop"
}

peak_kib() { jq -s 'map(.peak_memory_kib) | max' "$work/$1"/*/launch.json; }

memory() {
    echo 'Memory per rank (most held, VmHWM), beside a bare program with the same collectives'
    bare=$(on_cores 2 "$build/bench/bench_memory") || return
    detect short --seconds "$(brief 5 0.5)" || return
    detect long --seconds "$(brief 25 1)" || return
    verdict "$(($(peak_kib short) - bare))" '<' 8192 'beyond the bare program, KiB, 5 s'
    verdict "$(($(peak_kib long) - bare))" '<' 8192 'beyond the bare program, KiB, 25 s'
}

# bench NAME COMMAND...: one that is a program of its own and says NO beside what misses its bound
bench() {
    local name=$1
    shift
    "$@" | tee "$work/$name"
    [ "${PIPESTATUS[0]}" = 0 ] || return
    missed=$((missed + $(awk '/ NO/ { n++ } END { print n + 0 }' "$work/$name")))
}

generator() {
    echo 'Generator'
    # shellcheck disable=SC2046 # words
    bench generator tests/bench/bench-gen.sh $(brief '' alone)
}

replay() {
    bench replay tests/bench/bench-replay.sh
}

# analyse NAME: a campaign's verdicts, into $work/NAME.json
analyse() { "$NOISELAB_BIN/noiselab-analyze" "$work/$1" --json >"$work/$1.json"; }

# figure NAME CHANNEL LEVEL FIELD: of the analysis of a campaign
figure() {
    jq -r --arg c "$2" --argjson l "$3" '.verdicts[] | select(.channel == $c and .level_requested_percent == $l and .scope == "this launch") | .'"$4" \
        "$work/$1.json"
}

detection() {
    echo 'Detection (barrier, 2 ranks)'
    detect ten --op barrier --levels 1,0.1 --half-period 10ms --seconds "$(brief 60 1)" && analyse ten || return
    verdict "$(figure ten time 1 p_one_sided)" '<' 0.01 '1 % by time in 30 s, halves of 10 ms: p'
    verdict "$(figure ten preempted 0.1 p_one_sided)" '<' 0.001 '0.1 % by preempted in 30 s, halves of 10 ms: p'
    verdict "$(jq -s 'map(.switching.p50_ns) | max' "$work"/ten/*/launch.json)" '<' 100000 'switching, command to answer: p50, ns'
    printf '  switching p99 %s ns\n' "$(jq -s 'map(.switching.p99_ns) | max' "$work"/ten/*/launch.json)"
    detect twenty --op barrier --levels 0.01 --half-period 20ms --period 20ms --seconds "$(brief 100 1)" && analyse twenty || return
    verdict "$(figure twenty preempted 0.01 p_one_sided)" '<' 0.001 '0.01 % by preempted in 100 s, halves of 20 ms: p'
    for f in ten:1 ten:0.1 twenty:0.01; do
        jq -r --argjson l "${f#*:}" '.verdicts[] | select(.channel == ("time", "preempted") and .level_requested_percent == $l) |
            "  \(.channel) \(.level_requested_percent) %: delivered \(.level_delivered_percent), effect \(.estimate), limit \(.detection_limit), p \(.p_one_sided)"' \
            "$work/${f%:*}.json"
    done
}

placebo() {
    local runs seconds i=0 most
    runs=${PLACEBO_RUNS:-$(brief 100 1)}
    seconds=$(brief 5 0.5)
    echo "False alarms in $runs placebo runs of $seconds s (level 0), at alpha 0.01"
    while [ "$i" -lt "$runs" ]; do
        i=$((i + 1))
        detect "placebo$i" --op barrier --levels 0 --seconds "$seconds" || return
        analyse "placebo$i" && jq -r '.verdicts[] | "\(.channel) \(.p_one_sided)"' "$work/placebo$i.json" >>"$work/placebo" || return
    done
    # at most this many by a binomial with p = 0.01, except once in a hundred benches
    most=$(Rscript --vanilla -e "cat(qbinom(0.99, $runs, 0.01))")
    for channel in time preempted detour base; do
        verdict "$(awk -v c="$channel" '$1 == c && $2 != "null" && $2 <= 0.01 { n++ } END { print n + 0 }' "$work/placebo")" '<=' "$most" "false alarms by $channel"
    done
}

analysis() {
    echo "Analysis of $(brief 10^6 3000) rows"
    R_LIBS="$build/lib/noiselab/R" NOISELAB_R_LIB="$build/lib/noiselab/R" Rscript --vanilla analysis/bench/bench-analyze.R "$(brief 1e6 3e3)"
}

starts() {
    echo 'Synchronised starts (round, 2 ranks on one node; blocks without a context switch)'
    detect starts --design single --levels none --op barrier,waitpattern-up,waitpattern-null --start round --seconds "$(brief 9 0.6)" --raw starts.bin || return
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
    local few most
    few=$(brief 1000000 100) most=$(brief 100000000 500)
    for n in "$few" "$most"; do
        detect "many$n" --design single --levels none --op empty --start window --count "$n" --seconds 600 || return
    done
    verdict "$(($(peak_kib "many$most") - $(peak_kib "many$few")))" '<' 1024 "KiB more for $most starts than for $few"
}

sync() {
    # shellcheck disable=SC2046 # words
    bench sync tests/bench/bench-sync.sh $(brief '' nodes)
}

# more ranks than CPUs: those that wait have to let the others run. Only the ratio of two ways in one run means something then
nodes() {
    echo 'Telling rank 0 of a half: along trees / by the gather it replaces'
    for ranks in 2 16 32; do
        (take_turns && on_cores "$ranks" "$build/bench/bench_gather" "$(brief 200 2)") >"$work/gather" || return
        verdict "$(awk '$1 == "tree_over_gather" { print $2 }' "$work/gather")" '<=' 1.1 "$ranks ranks: tree / gather"
        verdict "$(awk '$1 == "tree_adds_kib" { print $2 }' "$work/gather")" '<=' 512 "$ranks ranks: memory it adds on ranks other than 0, KiB"
    done
}

# took NAME COMMAND...: its wall time, ms, at the end of $work/NAME
took() {
    local name=$1 begin=$EPOCHREALTIME
    shift
    "$@" >/dev/null </dev/null || return
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f\n", 1000 * (b - a) }' >>"$work/$name"
}

middle() { sort -g "$work/$1" | awk '{ v[NR] = $1 } END { printf "%.0f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# run_launch CAMPAIGN: by noiselab run, the one launch of a campaign, without its answer, as a task of an array does it
run_launch() {
    rm -r "${1:?}"/*/ && "$NOISELAB_BIN/noiselab" run sensitivity --resume "$1" --only 1 2>"$work/said" && return
    cat "$work/said" >&2
    return 1
}

# what a launch costs beyond the MPI library's own start and the time asked for; the ways in turn, for the machine's speed wanders
startup() {
    local n i measured_ms=500 launch=(--design single --levels none --op barrier --seconds 0.5 --warmup 0s)
    n=$(brief 15 2)
    echo "Startup (2 ranks, medians of $n in turn, ms)"
    # a single arm has no answer, and the status says so
    "$NOISELAB_BIN/noiselab" run sensitivity --ranks 2 "${launch[@]}" --no-report --out "$work/start.campaign" >/dev/null 2>&1
    for i in $(seq "$n"); do
        took start.bare on_cores 2 "$build/bench/bench_hello" && took start.detect detect "start.$i" "${launch[@]}" &&
            took start.run run_launch "$work/start.campaign" || return
    done
    printf '  %-58s %12s\n' 'a bare MPI program, from start to end' "$(middle start.bare)"
    verdict "$(($(middle start.detect) - measured_ms - $(middle start.bare)))" '<=' 1000 'noiselab-detect adds'
    verdict "$(($(middle start.run) - measured_ms - $(middle start.bare)))" '<=' 1000 'noiselab run of one launch adds'
}

# shellcheck source=tests/bench/agents.bash
source tests/bench/agents.bash
record() { bench record tests/bench/bench-record.sh; }

acceptance() {
    echo 'Acceptance (quick suite on three nodes of the test cluster; 1 % of one CPU on one of them in the self-check)'
    # shellcheck disable=SC2046 # words
    bench acceptance tests/bench/bench-acceptance.sh $(brief 20 '1 --seconds 2s --checks integrity,detour --self-check-seconds 2s')
}

all='harness memory generator replay detection placebo analysis starts sync nodes startup record agents acceptance'
[ $# -gt 0 ] || read -ra parts <<<"$all"
[ $# = 0 ] || parts=("$@")
for part in "${parts[@]}"; do
    [[ " $all " == *" $part "* ]] || stop "'$part' is not a part (${all// /, })"
done
broken=''
for part in "${parts[@]}"; do "$part" || broken="$broken $part"; done
[ "$missed" = 0 ] || echo "$missed figures missed their bound"
[ -z "$broken" ] || stop "could not run:$broken"

#!/usr/bin/env bash
# make bench: the numbers noiselab promises, each beside its bound. bench.sh [harness] [memory] [generator] [replay] [detection] [analysis]
#   [starts] [sync] [startup] [record] [profile] [project]
# Nothing else should run meanwhile. All parts take about an hour; RUNS (10) shortens the longest. QUICK=1 takes seconds: every part runs
# as it would, for a time too short for its bounds. Exit status 2: a part could not run.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
quick=${QUICK:-}
missed=0

# brief FULL SHORT: a setting of the bench, or that of a trial of it
brief() { if [ -z "$quick" ]; then echo "$1"; else echo "$2"; fi; }

# verdict VALUE OPERATOR BOUND NAME: prints the figure, its bound and whether it holds; the row of it, where rows are kept
verdict() {
    if awk -v a="$1" -v b="$3" "BEGIN { exit !(a $2 b) }"; then holds=yes; else holds=NO missed=$((missed + 1)); fi
    printf '  %-58s %12s   wanted %s %-8s %s\n' "$4" "$1" "$2" "$3" "$holds"
    [ -n "$quick" ] || evidence_row bench 'make bench: figures and their bounds; busy: of the CPUs before the part' part,figure,value,operator,bound,holds,busy_percent \
        "$part" "${4//,/;}" "$1" "$2" "$3" "$holds" "$busy"
}

harness() {
    echo 'Harness (2 ranks; medians of paired ratios in one run)'
    # shellcheck disable=SC2046 # words
    on_cores 2 "$build/bench/bench_loop" $(brief 300 '1 100') >"$work/loop" || return
    verdict "$(awk '$1 == "barrier_single_over_bare_loop" { print $2 }' "$work/loop")" '<=' 1.003 'barrier, design single / bare loop'
    verdict "$(awk '$1 == "barrier_with_slices_over_bare_loop" { print $2 }' "$work/loop")" '<=' 1.003 'barrier with slices / bare loop'
    verdict "$(awk '$1 == "barrier_timing_adds" { print $2 }' "$work/loop")" '<=' 25 'per-operation timing adds to barrier, ns'
    verdict "$(awk '$1 == "empty_timed" { t = $2 } $1 == "empty_plain" { p = $2 } END { print t - p }' "$work/loop")" '<=' 25 'per-operation timing adds to empty, ns'
    sed 's/^/  /' "$work/loop"
}

peak_kib() { jq -s 'map(.peak_memory_kib) | max' "$work/$1"/*/launch.json; }

memory() {
    echo 'Memory per rank (most held, VmHWM), beside a bare program with the same collectives'
    bare=$(on_cores 2 "$build/bench/bench_memory" "$(brief 100000 100)") || return
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

# farthest LEVEL...: of the rows of these levels that have a bound, the ratio that is farthest from 1, in percent
farthest() {
    awk -v levels=" $* " '$NF ~ /^(yes|NO)$/ && index(levels, " " $2 " ") { d = 100 * ($7 - 1); if (d < 0) d = -d; if (d > most) most = d; n++ }
        END { if (n) printf "%.2f", most }' "$work/generator"
}

generator() {
    echo 'Generator'
    # shellcheck disable=SC2046 # words
    tests/bench/bench-gen.sh $(brief '' alone) | tee "$work/generator"
    [ "${PIPESTATUS[0]}" = 0 ] || return
    verdict "$(farthest 0.01)" '<=' 5 'certified from asked, 0.01 % at 20 ms, farthest, %'
    verdict "$(farthest 0.1 0.3 1 3 10)" '<=' 1 'certified from asked, 0.1 to 10 %, farthest, %'
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

# look NAME LEVEL: what a launch says of a level, and how disturbed it was, on one line; the shares and efficiencies go into
# $work/NAME.halves, and into $work/efficiency
look() {
    R_LIBS="$build/lib/noiselab/R" Rscript --vanilla tests/bench/halves.R "$work/$1" >"$work/$1.halves" || return
    sed 1d "$work/$1.halves" | sed "s/^/$(awk 'NR == 1 { print $1 }' "$work/$1.halves") /" >>"$work/efficiency"
    jq -r --argjson l "$2" --arg halves "$(awk 'NR == 1 { printf "steal %s %%, preempted by others %s %% of its off halves", $1, $2 }' "$work/$1.halves")" \
        '[.verdicts[] | select(.level_requested_percent == $l and .scope == "this launch")] |
        "  " + (map(select(.channel == ("time", "preempted")) | "\(.channel) \(.level_requested_percent) %: \(.estimate) (limit \(.detection_limit), p \(.p_one_sided))") | join("; ")) + "; " + $halves' \
        "$work/$1.json"
}

# often NAME LEVEL SECONDS BOUND SHARE: of runs of one level, how many find it by time with p below the bound; SHARE of ten are wanted
often() {
    local i=0 found=0 runs
    runs=${RUNS:-$(brief 10 1)}
    while [ "$i" -lt "$runs" ]; do
        i=$((i + 1))
        detect "$1$i" --op barrier --levels "$2" --half-period 10ms --seconds "$(brief "$3" 1)" && analyse "$1$i" && look "$1$i" "$2" || return
        if figure "$1$i" time "$2" p_one_sided | awk -v most="$4" '{ exit !($1 != "null" && $1 < most) }'; then found=$((found + 1)); fi
    done
    verdict "$found" '>=' $(((runs * $5 + 9) / 10)) "of $runs runs: $2 % by time in $3 s, p < $4"
}

# A disturbed machine shows in the shares beside each run. RUNS (10): of each level by time. 16 minutes
detection() {
    echo 'Detection (barrier, 2 ranks, halves of 10 ms unless said)'
    : >"$work/efficiency"
    often one 1 30 1e-12 9 && often third 0.3 60 1e-3 8 || return
    detect ten --op barrier --levels 0.1 --half-period 10ms --seconds "$(brief 10 1)" && analyse ten && look ten 0.1 || return
    verdict "$(figure ten preempted 0.1 p_one_sided)" '<' 0.001 '0.1 % by preempted in 10 s: p'
    detect twenty --op barrier --levels 0.01 --half-period 20ms --period 20ms --seconds "$(brief 60 1)" && analyse twenty && look twenty 0.01 || return
    verdict "$(figure twenty preempted 0.01 p_one_sided)" '<' 0.001 '0.01 % by preempted in 60 s, halves of 20 ms: p'
    verdict "$(jq -s 'map(.switching.p50_ns) | max' "$work"/one1/*/launch.json)" '<' 100000 'switching, command to answer: p50, ns'
    printf '  switching p99 %s ns\n' "$(jq -s 'map(.switching.p99_ns) | max' "$work"/one1/*/launch.json)"
    # the least over the runs of a kind, for each is asked to hold
    local kind least n
    for kind in stolen quiet; do
        n=$(awk -v k=$kind '($1 > 1) == (k == "stolen")' "$work/efficiency" | wc -l)
        least=$(awk -v k=$kind '($1 > 1) == (k == "stolen") && (least == "" || $3 < least) { least = $3 } END { print least }' "$work/efficiency")
        [ "$n" -gt 0 ] || continue
        if [ $kind = stolen ]; then
            verdict "$least" '>=' 4 "variance mean / typical, least of $n runs, steal > 1 %"
        else
            verdict "$least" '>=' 0.95 "variance mean / typical, least of $n runs, steal <= 1 %"
        fi
    done
    echo '  efficiencies (steal %, level %, typical shift, mean less steal):'
    sed 's/^/    /' "$work/efficiency"
}

analysis() {
    echo "Analysis of $(brief 10^6 3000) rows"
    R_LIBS="$build/lib/noiselab/R" NOISELAB_R_LIB="$build/lib/noiselab/R" Rscript --vanilla analysis/bench/bench-analyze.R "$(brief 1e6 3e3)"
}

starts() {
    echo 'Synchronised starts (round, 2 ranks on one node; blocks without a context switch)'
    detect starts --design single --levels none --op barrier,waitpattern-up,waitpattern-null --starts round:raw=starts.bin --seconds "$(brief 9 0.6)" || return
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
        detect "many$n" --design single --levels none --op empty --starts window --count "$n" --seconds 600 || return
    done
    verdict "$(($(peak_kib "many$most") - $(peak_kib "many$few")))" '<' 1024 "KiB more for $most starts than for $few"
}

sync() {
    # shellcheck disable=SC2046 # words
    bench sync tests/bench/bench-sync.sh $(brief '' nodes)
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
    n=$(brief 15 1)
    echo "Startup (2 ranks, medians of $n in turn, ms)"
    # a single arm has no answer, and the status says so
    "$NOISELAB_BIN/noiselab" run sensitivity --ranks 2 "${launch[@]}" --no-report --out "$work/start.campaign" >/dev/null 2>&1
    for i in $(seq "$n"); do
        took start.bare on_cores 2 "$build/bench/bench_memory" 0 && took start.detect detect "start.$i" "${launch[@]}" &&
            took start.run run_launch "$work/start.campaign" || return
    done
    printf '  %-58s %12s\n' 'a bare MPI program, from start to end' "$(middle start.bare)"
    verdict "$(($(middle start.detect) - measured_ms - $(middle start.bare)))" '<=' 1000 'noiselab-detect adds'
    verdict "$(($(middle start.run) - measured_ms - $(middle start.bare)))" '<=' 1000 'noiselab run of one launch adds'
}

record() { bench record tests/bench/bench-record.sh; }

profile() {
    echo 'Profile (MPI_X, which is counted, and PMPI_X, which is not, in turn; looks at arrivals have a budget of their own)'
    "$NOISELAB_BIN/noiselab-profile" --out "$work/profile" -- "$MPIRUN_COMMAND" -n 1 "$build/bench/bench_profile" "$(brief 2000 20)" \
        >"$work/profile.said" 2>/dev/null || return
    for call in allreduce iprobe test; do
        verdict "$(awk -v name="${call}_adds" '$1 == name { print $2 }' "$work/profile.said")" '<=' 60 "noiselab profile adds to $call, ns"
    done
}

project() {
    echo 'Projection to many nodes (recursive doubling over 2^20 ranks with noise; analytic, 10^6 ranks)'
    # shellcheck disable=SC2046 # words
    NOISELAB_R_LIB=$build/lib/noiselab/R Rscript --vanilla analysis/bench/bench-project.R $(brief '1048576 40' '4096 4') >"$work/project" || return
    verdict "$(awk '$1 == "minutes_of_1e6_ranks_1e4_steps" { print $2 }' "$work/project")" '<=' 10 '10^6 ranks x 10^4 allreduces of 20 rounds, min'
    verdict "$(awk '$1 == "peak_mib" { print $2 }' "$work/project")" '<=' 1024 'most memory, MiB'
    verdict "$(awk '$1 == "analytic_s_1e6_ranks" { print $2 }' "$work/project")" '<=' 1 'analytic, 10^6 ranks, s'
    sed 's/^/  /' "$work/project"
}

all='harness memory generator replay detection analysis starts sync startup record profile project'
[ $# -gt 0 ] || read -ra parts <<<"$all"
[ $# = 0 ] || parts=("$@")
for part in "${parts[@]}"; do
    [[ " $all " == *" $part "* ]] || stop "'$part' is not a part (${all// /, })"
done
broken=''
for part in "${parts[@]}"; do
    busy=$([ -z "${NOISELAB_EVIDENCE-}" ] || busy_percent)
    "$part" || broken="$broken $part"
done
[ "$missed" = 0 ] || echo "$missed figures missed their bound"
[ -z "$broken" ] || stop "could not run:$broken"

#!/usr/bin/env bash
# make bench: the numbers noiselab promises, each beside its bound. bench.sh [PART...]: some of them. Nothing
# else should run meanwhile. All parts take about an hour; RUNS (10) shortens the longest. QUICK=1 takes
# seconds: every part runs as it would, for a time too short for its bounds. BENCH_CPU: for what needs one CPU
# (default: the last allowed). Exit status 2: a part could not run.
# shellcheck disable=SC2016 # awk's
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
TESTS=$PWD/tests
# shellcheck source=tests/two-nodes.sh
source tests/two-nodes.sh
export LC_ALL=C.UTF-8
quick=${QUICK:-} missed=0
cpu=${BENCH_CPU:-$(taskset -cp $$ | sed 's/.*[^0-9]//')}

# brief FULL SHORT: a setting of the bench, or that of a trial of it
brief() { if [ -z "$quick" ]; then echo "$1"; else echo "$2"; fi; }

# verdict VALUE OPERATOR BOUND NAME: prints the figure, its bound and whether it holds; the row of it, where
# rows are kept
verdict() {
    if awk -v a="$1" -v b="$3" "BEGIN { exit !(a $2 b) }"; then
        holds=yes; else holds=NO missed=$((missed + 1))
    fi
    printf '  %-58s %12s   wanted %s %-8s %s\n' "$4" "$1" "$2" "$3" "$holds"
    [ -n "$quick" ] ||
        evidence_row bench 'make bench: figures and their bounds; busy: of the CPUs before the part' \
        part,figure,value,operator,bound,holds,busy_percent \
        "$part" "${4//,/;}" "$1" "$2" "$3" "$holds" "$busy"
}

# value NAME FILE: of a file of names and values
value() { awk -v name="$1" '$1 == name { print $2; exit }' "$2"; }

# quantile Q FILE: of the absolute values in it
quantile() {
    awk '{ print $1 < 0 ? -$1 : $1 }' "$2" | sort -g |
        awk -v q="$1" '{ v[NR] = $1 } END { i = int(q * NR + 0.9999); print NR ? v[i < 1 ? 1 : i] : "none" }'
}

# difference A B [SCALE]
difference() { awk -v a="$1" -v b="$2" -v scale="${3:-1}" 'BEGIN { print (a - b) / scale }'; }

harness() {
    echo 'Harness (2 ranks; medians of paired ratios in one run)'
    # shellcheck disable=SC2046 # words
    on_cores 2 "$build/bench/bench_loop" $(brief 300 '1 100') >"$work/loop" || return
    verdict "$(value barrier_single_over_bare_loop "$work/loop")" '<=' 1.003 \
        'barrier, design single / bare loop'
    verdict "$(value barrier_with_slices_over_bare_loop "$work/loop")" '<=' 1.003 \
        'barrier with slices / bare loop'
    verdict "$(value barrier_timing_adds "$work/loop")" '<=' 25 'per-operation timing adds to barrier, ns'
    verdict "$(difference "$(value empty_timed "$work/loop")" "$(value empty_plain "$work/loop")")" '<=' 25 \
        'per-operation timing adds to empty, ns'
    sed 's/^/  /' "$work/loop"
}

peak_kib() { jq -s 'map(.peak_memory_kib) | max' "$work/$1"/*/launch.json; }

memory() {
    echo 'Memory per rank (most held, VmHWM), beside a bare program with the same collectives'
    bare=$(on_cores 2 "$build/bench/bench_memory" "$(brief 100000 100)") || return
    detect short --seconds "$(brief 5 0.5)" && detect long --seconds "$(brief 25 1)" || return
    verdict "$(($(peak_kib short) - bare))" '<' 8192 'beyond the bare program, KiB, 5 s'
    verdict "$(($(peak_kib long) - bare))" '<' 8192 'beyond the bare program, KiB, 25 s'
}

# sample PID: its CPU time and the wall time, ns
sample() { echo "$(cut -d ' ' -f 1 "/proc/$1/schedstat") $(date +%s%N)"; }

# delivered NAME LEVEL PERIOD SECONDS [OPTIONS]: what the generator delivers against what it was asked for.
# certified: by its certificate; outside: the same from /proc/PID/schedstat, read twice while the load runs,
# so its precision is that of one burst in the stretch between. run/planned: bursts that were not merged into
# a later one.
delivered() {
    local seconds pid before after
    seconds=$(brief "$4" 1)
    "$NOISELAB_BIN/noiselab-gen" --level "$2" --period "$3" --duration "${seconds}s" --on "cpu:$cpu" \
        --json "${@:5}" >"$work/certificate" 2>/dev/null &
    pid=$!
    sleep 0.2
    before=$(sample $pid)
    sleep "$(difference "$seconds" 0.45)"
    after=$(sample $pid)
    wait $pid # status 1: outside of the tolerance; the ratio shows it
    jq -r '"\(.ratio) \(.bursts_run)/\(.bursts_planned) \(.lateness_ns.p99)"' "$work/certificate" |
        awk -v name="$1" -v level="$2" -v period="$3" -v of="$before $after" '
        { split(of, at, " "); outside = (at[3] - at[1]) / (at[4] - at[2]) / (level / 100)
          printf "  %-14s %8s %7s %10.4f %9.3f %11s %12.0f us\n", name, level " %", period, $1, outside, $2,
              $3 / 1000 }' | tee -a "$work/delivered"
}

# Levels, alone and beside a process that spins on the same CPU, and the published loop (kind seed), of which
# nothing is promised, beside it; patterns with the longer runs that random ones need
generator() {
    local level pattern spinner='' beside
    printf 'Generator\n  %-14s %8s %7s %10s %9s %11s %15s\n' load level period certified outside run/planned \
        'late p99'
    for beside in alone busy; do
        [ $beside = alone ] || { taskset -c "$cpu" sh -c 'while :; do :; done' & spinner=$!; }
        delivered $beside 0.01 20ms 10
        for level in 0.1 0.3 1 3 10; do delivered $beside "$level" 10ms 5; done
        [ -n "$quick" ] || for level in 0.01 1; do delivered "seed-$beside" $level 1s 5 --kind seed; done
        [ -z "$quick" ] || break
    done
    [ -z "$spinner" ] || { kill $spinner && wait $spinner; } 2>/dev/null
    [ -n "$quick" ] || for pattern in jittered poisson bursts; do delivered $pattern 1 10ms 10 \
        --pattern $pattern; done
    [ -n "$quick" ] || delivered sum 1 10ms 10 --kind sum
    verdict "$(farthest '$2 == 0.01')" '<=' 5 'certified from asked, 0.01 % at 20 ms, farthest, %'
    verdict "$(farthest '$2 > 0.01')" '<=' 1 'certified from asked, 0.1 to 10 %, farthest, %'
}

# farthest ROWS: of these the ratio that is farthest from 1, in percent
farthest() {
    awk "$1"' && !/seed/ { d = 100 * ($5 - 1); if (d < 0) d = -d; if (d > most) most = d; n++ } END {
        if (n) printf "%.2f", most }' "$work/delivered"
}

# replayed TRACE SECONDS OPTION...: records a replay from outside into $work/recorded, its certificate in
# $work/certificate
replayed() {
    "$NOISELAB_BIN/noiselab-record" --source cpu:group-gap=1ns --duration "$2s" --name noiselab-gen \
        --out "$work/recorded" --force >/dev/null &
    sleep 0.5
    "$NOISELAB_BIN/noiselab-gen" --replay "$1" --on "cpu:$cpu" --json "${@:3}" >"$work/certificate"
    wait $!
}

# held LINES: most memory a generator holds that replays a trace of so many lines, KiB
held() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%.0f\t1000\n", i * 1e5 }' >"$work/trace.long"
    "$NOISELAB_BIN/noiselab-gen" --replay "$work/trace.long" --pattern replay:loop=yes --duration 4s \
        --on "cpu:$cpu" >/dev/null 2>&1 &
    sleep 3
    sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$!/status"
    wait $!
}

# A trace on an otherwise idle CPU, recorded from outside (root: CPU-wide context-switch records): starts,
# durations and the total beside those of the trace. Then every recorded preset once: its total.
replay() {
    local preset trace
    [ "$(id -u)" = 0 ] || { echo '  replay: needs root, to record from outside what was replayed' >&2 &&
        return 0; }
    echo "Replay on CPU $cpu, recorded from outside"
    verdict "$(difference "$(held "$(brief 10000000 20000)")" "$(held 10000)")" '<' 1024 \
        'replay: memory, 10^7 lines against 10^4, KiB more'
    # 2000 bursts of 80 us to 2 ms at random distances
    awk -v n="$(brief 2000 300)" 'BEGIN { srand(5); t = 0; for (i = 0; i < n; i++) {
        d = int(exp(log(80000) + rand() * log(25))); printf "%.0f\t%d\n", t, d;
            t += d + int(1e6 + rand() * 8e6) } }' >"$work/trace"
    replayed "$work/trace" "$(brief 14 4)" && Rscript --vanilla tests/bench/replayed.R "$work/trace" \
        "$work/recorded" "$cpu" >"$work/replayed" || return
    verdict "$(value seen "$work/replayed")" '>=' 0.98 'replay: bursts seen again, of all'
    verdict "$(jq '.lateness_ns.p50 / 1000' "$work/certificate")" '<=' 20 \
        'replay: start error by the certificate, median, us'
    verdict "$(value start "$work/replayed")" '<=' 20 'replay: start error seen from outside, median, us'
    verdict "$(value duration "$work/replayed")" '<=' 1 'replay: duration error / max(2 us, 1 %), median'
    verdict "$(value total "$work/replayed")" '<=' 2 'replay: total recorded again, off that of the trace, %'
    [ -z "$quick" ] || return 0
    for preset in node_exporter collectd-1s sadc slurm-accounting; do
        trace=$build/share/noiselab/presets/$preset.trace
        # the first 20 s, from the first burst on
        awk '/^#/ { next } !n++ { first = $1 } $1 - first < 20e9 { printf "%.0f\t%s\n", $1 - first, $2 }' \
            "$trace" >"$work/preset"
        replayed "$work/preset" 22 --kind sum --phase 300ms || return
        # the program's start lies before the phase of 300 ms and its end is the last stretch; neither is load
        verdict "$(awk -v cpu="$cpu" '
            FNR == NR { if ($1 !~ /^#/ && NF) asked += $2; next }
            /^#/ || $3 != cpu { next }
            !n++ { begin = $1 }
            $1 - begin > 2e8 { seen += $2; last = $2 }
            END { r = 100 * ((seen - last) / asked - 1);
                printf "%.2f",
                    r < 0 ? -r : r }' "$work/preset" "$work/recorded")" \
                        '<=' 2 "preset $preset: total, off that of the trace, %"
    done
}

# figure NAME CHANNEL LEVEL FIELD: of the analysis of a campaign
figure() {
    jq -r --arg c "$2" \
        --argjson l "$3" '.verdicts[] | select(.channel == $c and .level_requested_percent == $l and
        .scope == "this launch") | .'"$4" \
        "$work/$1.json"
}

# look NAME LEVEL OPTIONS: a launch, what it says of a level, and how disturbed it was, on one line; the
# shares and efficiencies go into $work/NAME.halves, and into $work/efficiency
look() {
    detect "$1" --op barrier --levels "${@:2}" && analyse "$1" &&
        r tests/bench/halves.R "$work/$1" >"$work/$1.halves" || return
    sed 1d "$work/$1.halves" |
        sed "s/^/$(awk 'NR == 1 { print $1 }' "$work/$1.halves") /" >>"$work/efficiency"
    jq -r --argjson l "$2" \
        --arg halves "$(awk 'NR == 1 {
        printf "steal %s %%, preempted by others %s %% of its off halves", $1, $2 }' "$work/$1.halves")" \
        '[.verdicts[] | select(.level_requested_percent == $l and .scope == "this launch")] |
        "  " + (map(select(.channel == ("time", "preempted")) |
            "\(.channel) \(.level_requested_percent) %: \(.estimate) " +
            "(limit \(.detection_limit), p \(.p_one_sided))") | join("; ")) + "; " + $halves' \
        "$work/$1.json"
}

# often NAME LEVEL SECONDS BOUND SHARE: of runs of one level, how many find it by time with p below the bound;
# SHARE of ten are wanted
often() {
    local i found=0 runs
    runs=${RUNS:-$(brief 10 1)}
    for ((i = 1; i <= runs; i++)); do
        look "$1$i" "$2" --half-period 10ms --seconds "$(brief "$3" 1)" || return
        if figure "$1$i" time "$2" p_one_sided |
            awk -v most="$4" '{ exit !($1 != "null" && $1 < most) }'; then
            found=$((found + 1))
        fi
    done
    verdict "$found" '>=' $(((runs * $5 + 9) / 10)) "of $runs runs: $2 % by time in $3 s, p < $4"
}

# efficiency ROWS LEAST WHICH: the least over the runs of a kind, for each is asked to hold
efficiency() {
    local n least
    read -r n least < <(awk "$1"' { if (!n++ || $3 < least) least = $3 } END { print n + 0, least }' \
        "$work/efficiency")
    [ "$n" = 0 ] || verdict "$least" '>=' "$2" "variance mean / typical, least of $n runs, steal $3 1 %"
}

# A disturbed machine shows in the shares beside each run. RUNS (10): of each level by time. 16 minutes
detection() {
    echo 'Detection (barrier, 2 ranks, halves of 10 ms unless said)'
    : >"$work/efficiency"
    often one 1 30 1e-12 9 && often third 0.3 60 1e-3 8 || return
    look ten 0.1 --half-period 10ms --seconds "$(brief 10 1)" || return
    verdict "$(figure ten preempted 0.1 p_one_sided)" '<' 0.001 '0.1 % by preempted in 10 s: p'
    look twenty 0.01 --half-period 20ms --period 20ms --seconds "$(brief 60 1)" || return
    verdict "$(figure twenty preempted 0.01 p_one_sided)" '<' 0.001 \
        '0.01 % by preempted in 60 s, halves of 20 ms: p'
    verdict "$(jq -s 'map(.switching.p50_ns) | max' "$work"/one1/*/launch.json)" '<' 100000 \
        'switching, command to answer: p50, ns'
    printf '  switching p99 %s ns\n' "$(jq -s 'map(.switching.p99_ns) | max' "$work"/one1/*/launch.json)"
    efficiency '$1 > 1' 4 '>'
    efficiency '$1 <= 1' 0.95 '<='
    echo '  efficiencies (steal %, level %, typical shift, mean less steal):'
    sed 's/^/    /' "$work/efficiency"
}

analysis() {
    echo "Analysis of $(brief 10^6 3000) rows"
    r analysis/bench/bench-analyze.R "$(brief 1e6 3e3)"
}

starts() {
    local few most net n
    echo 'Synchronised starts (round, 2 ranks on one node; blocks without a context switch)'
    detect starts --design single --levels none --op barrier,waitpattern-up,waitpattern-null \
        --starts round:raw=starts.bin --seconds "$(brief 9 0.6)" || return
    r tests/bench/quiet-starts.R "$work"/starts/* >"$work/quiet" || return
    verdict "$(value barrier.p50 "$work/quiet")" '<=' 200 'start overshoot p50, barrier, ns'
    verdict "$(value barrier.p99 "$work/quiet")" '<=' 2000 'start overshoot p99, barrier, ns'
    # a start takes the harness itself some time, too: two readings of the clock and a call, which
    # waitpattern-null shows
    net=$(difference "$(value waitpattern-up.median "$work/quiet")" \
        "$(value waitpattern-null.median "$work/quiet")")
    verdict "$net" '<=' 2020 'waitpattern-up less waitpattern-null, medians, ns (2000)'
    verdict "$net" '>=' 1980 'the same'
    verdict "$(value waitpattern-null.median "$work/quiet")" '<=' 200 'waitpattern-null, median, ns'
    verdict "$(awk -F , '$2 == "barrier" { printf "%.0f", 1e9 * $12 / $11 }' "$work"/starts/*/blocks.csv)" \
        '>=' 200000 'synchronised barriers per second'
    sed 's/^/  /' "$work/quiet"
    echo 'Memory of many starts (most held by a rank)'
    few=$(brief 1000000 100) most=$(brief 100000000 500)
    for n in "$few" "$most"; do
        detect "many$n" --design single --levels none --op empty --starts window --count "$n" --seconds 600 ||
            return
    done
    verdict "$(($(peak_kib "many$most") - $(peak_kib "many$few")))" '<' 1024 \
        "KiB more for $most starts than for $few"
}

# probed FILE COMMAND...: figures of rank 1 in what the synchronisation's probe prints, a line more in each
# $work/FILE.KEY
probed() {
    "${@:2}" >"$work/rows" || return
    awk -F , -v to="$work/$1." '$1 == 1 {
        print $8 >>(to "now"); print $9 >>(to "later"); print $5 - $4 >>(to "drift");
            print $7 >>(to "residual"); print $6 >>(to "rtt"); print $11 / 1e6 >>(to "run") }' "$work/rows"
}

# Clock synchronisation: how right it is between two nodes (the truth: one kernel's clock), and how its time
# grows with the ranks
sync() {
    local probe=$build/tests-mpi/sync_probe launches few gap why status=0
    launches=$(brief 20 1) few=$(brief 5 1) gap=$(brief 5s 1s)
    why=$(two_nodes_why_not)
    if [ -n "$why" ]; then
        echo "  two nodes: $why"
    else
        two_nodes_make benchsync "$work" && trap 'two_nodes_remove "$work"; rm -rf "$work"' EXIT || return
        sync_nodes || status=$?
        two_nodes_remove "$work"
    fi
    [ "$status" = 0 ] && [ -z "$quick" ] || return $status
    echo "Growth with the ranks, all on this machine ($(nproc) CPUs), medians of $few launches: ms of a run"
    for ranks in 2 4 8 16 32 64; do
        for _ in $(seq "$few"); do
            "$MPIRUN_COMMAND" --oversubscribe --mca mpi_yield_when_idle 1 --bind-to none -n $ranks "$probe" \
                --every-rank --runs 2 >"$work/rows" || return
            awk -F , 'END { printf "%.3f\n", $11 / 1e6 }' "$work/rows" >>"$work/ms.$ranks"
        done
        printf '  %-58s %12s\n' "$ranks ranks" "$(quantile 0.5 "$work/ms.$ranks")"
    done
    # less than the 9 of one rank after the other
    verdict "$(awk -v a="$(quantile 0.5 "$work/ms.64")" -v b="$(quantile 0.5 "$work/ms.8")" 'BEGIN {
        printf "%.2f\n", a / b }')" '<=' 9 'time, 64 ranks / 8 ranks'
}

sync_nodes() {
    local drift key
    echo "Two network namespaces over TCP, tree, clocks off by 1 h and a drift, $launches launches each"
    for drift in 0 50; do
        for _ in $(seq "$launches"); do
            probed "$drift" two_nodes_run "$work" 1 "$probe" --fake-clock "1h,${drift}ppm" --later 2s ||
                return
        done
        verdict "$(quantile 0.5 "$work/$drift.now")" '<=' 2000 \
            "$drift ppm: error of the model right after, median, ns"
        verdict "$(quantile 1 "$work/$drift.now")" '<=' 2000 \
            "$drift ppm: error of the model right after, largest, ns"
        verdict "$(quantile 0.5 "$work/$drift.drift")" '<=' 1 "$drift ppm: error of the drift, median, ppm"
        verdict "$(quantile 1 "$work/$drift.drift")" '<=' 1 "$drift ppm: error of the drift, largest, ppm"
        verdict "$(quantile 0.5 "$work/$drift.run")" '<=' 1000 "$drift ppm: time of a run, median, ms"
        for key in rtt later residual; do
            printf '  %-58s %12s\n' "$drift ppm: $key, median and largest, ns" \
                "$(quantile 0.5 "$work/$drift.$key") $(quantile 1 "$work/$drift.$key")"
        done
    done
    for _ in $(seq "$few"); do
        probed second two_nodes_run "$work" 1 "$probe" --fake-clock 1h,50ppm --runs 2 --gap "$gap" || return
    done
    verdict "$(quantile 1 "$work/second.drift")" '<=' 1 \
        "a second run, $gap after the first: error of the drift, ppm"
}

# took NAME COMMAND...: its wall time, ms, at the end of $work/NAME
took() {
    local begin=$EPOCHREALTIME
    "${@:2}" >/dev/null </dev/null || return
    difference "$EPOCHREALTIME" "$begin" 0.001 >>"$work/$1"
}

# run_launch CAMPAIGN: by noiselab run, the one launch of a campaign, without its answer, as a task of an
# array does it
run_launch() {
    rm -r "${1:?}"/*/ && "$NOISELAB_BIN/noiselab" run sensitivity --resume "$1" --only 1 2>"$work/said" &&
        return
    cat "$work/said" >&2
    return 1
}

# what a launch costs beyond the MPI library's own start and the time asked for; the ways in turn, for the
# machine's speed wanders
startup() {
    local n i bare launch=(--design single --levels none --op barrier --seconds 0.5 --warmup 0s)
    n=$(brief 15 1)
    echo "Startup (2 ranks, medians of $n in turn, ms)"
    # a single arm has no answer, and the status says so
    "$NOISELAB_BIN/noiselab" run sensitivity --ranks 2 "${launch[@]}" --no-report \
        --out "$work/start.campaign" >/dev/null 2>&1
    for i in $(seq "$n"); do
        took start.bare on_cores 2 "$build/bench/bench_memory" 0 &&
            took start.detect detect "start.$i" "${launch[@]}" &&
            took start.run run_launch "$work/start.campaign" || return
    done
    bare=$(quantile 0.5 "$work/start.bare")
    printf '  %-58s %12s\n' 'a bare MPI program, from start to end' "$bare"
    verdict "$(difference "$(quantile 0.5 "$work/start.detect")" "$(difference "$bare" -500)")" '<=' 1000 \
        'noiselab-detect adds'
    verdict "$(difference "$(quantile 0.5 "$work/start.run")" "$(difference "$bare" -500)")" '<=' 1000 \
        'noiselab run of one launch adds'
}

# all of a switch's extra CPU time, as though all of it were taken from the rank; a wake-up is a switch away
# from it and one back
record() {
    echo 'Recording: what it adds to the preempted time of a rank on the recorded CPU, by the CPU time of a' \
        'switch'
    "$build/bench/bench_recording" "$(brief '' 10)" >"$work/recording" || return
    verdict "$(awk '$1 == "switch_adds_ns" { printf "%.5f", 100 * $2 * 2 * 100 / 1e9 }' "$work/recording")" \
        '<=' 0.02 'record: adds at 100 wake-ups/s, at most, %'
    verdict "$(value lost "$work/recording")" '<=' 0 'record: records lost'
}

counters() {
    echo 'Counters around a half, outside of what is timed (two readings and one look of each rank at' \
        'itself, a half)'
    "$build/bench/bench_counters" "$(brief 300 10)" >"$work/counters" || return
    verdict "$(value reading_us "$work/counters")" '<=' 300 "kernel's counters, $(nproc) CPUs, a reading, us"
    verdict "$(value reading_64_us "$work/counters")" '<=' 300 \
        'tables of 64 CPUs and 120 rows, reading them, us'
    verdict "$(value with_kernel_64_us "$work/counters")" '<=' 5000 \
        "the same of 64 CPUs with the kernel's own time, extrapolated from $(nproc) CPUs, at most, us"
    verdict "$(value reading_256_us "$work/counters")" '<=' 1200 \
        'tables of 256 CPUs and 120 rows, reading them, us'
    verdict "$(value probe_us "$work/counters")" '<=' 500 'a rank looks at itself, us'
}

profile() {
    echo 'Profile (MPI_X, which is counted, and PMPI_X, which is not, in turn; looks at arrivals have a' \
        'budget of their own)'
    "$NOISELAB_BIN/noiselab-profile" --out "$work/profile" -- "$MPIRUN_COMMAND" -n 1 \
        "$build/bench/bench_profile" "$(brief 2000 20)" \
        >"$work/profile.said" 2>/dev/null || return
    for call in allreduce iprobe test; do
        verdict "$(value "${call}_adds" "$work/profile.said")" '<=' 60 "noiselab profile adds to $call, ns"
    done
}

project() {
    echo 'Projection to many nodes (recursive doubling over 2^20 ranks with noise; analytic, 10^6 ranks;' \
        'long traces)'
    # shellcheck disable=SC2046 # words
    r analysis/bench/bench-project.R $(brief '1048576 40 1000000' '4096 4 2000') >"$work/project" || return
    verdict "$(value minutes_of_1e6_ranks_1e4_steps "$work/project")" '<=' 10 \
        '10^6 ranks x 10^4 allreduces of 20 rounds, min'
    verdict "$(value peak_mib "$work/project")" '<=' 1024 'most memory, MiB'
    verdict "$(value long_trace_s "$work/project")" '<=' 10 'a trace of 10^6 bursts, default sizes, s'
    verdict "$(value analytic_s_1e6_ranks "$work/project")" '<=' 1 'analytic, 10^6 ranks, s'
    sed 's/^/  /' "$work/project"
}

all='harness memory generator replay detection analysis starts sync startup record counters profile project'
parts=("$@")
[ $# -gt 0 ] || read -ra parts <<<"$all"
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

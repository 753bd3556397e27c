#!/usr/bin/env bash
# mechanisms.sh [CASE...] [RUNS] [SECONDSs]: what `noiselab run agent` names of an agent that disturbs by one
# known mechanism, until RUNS (10) rows of each CASE and this version are in docs/evidence/mechanisms.csv (the
# same command goes on). SECONDS: length of a run (60s). As root; nothing else should run meanwhile. Cases,
# with what is to be named (all but core, timers, busy and asleep run on a CPU without a rank):
#   calls    function_calls    it reads a counter of the rank's CPU over and over
#   tlb      tlb_shootdowns    it tells the kernel that the rank's memory is cold
#   cache    memory_latency    it writes through 96 MiB without end; nothing, where that slows memory by less
#                              than 4 % here (by bench_mechanism shared: a large shared cache, or one that a
#                              host divides), and either up to 16 %: 8 % is what is named
#   core     memory_latency    it writes through 8 MiB each 10 ms, on the rank's CPU; nothing or either, as
#                              for cache, by how much longer memory takes afterwards (bench_mechanism own)
#   smaps    memory_lock       it reads the rank's smaps without end
#   timers   timer_interrupts  a timer wakes it each 50 us, on the rank's CPU
#   writer   kernel_threads    it has the kernel's flushers write, two ranks; its disk's interrupts and what
#                              follows them may be named, too
#   busy     nothing           2.5 ms each 250 ms on the rank's CPU
#   asleep   nothing           a process that sleeps
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
NOISELAB_EVIDENCE=${NOISELAB_EVIDENCE:-docs/evidence}
noiselab=$NOISELAB_BIN/noiselab runs=10 seconds=60 cases=()
last=$(($(nproc) - 1)) program=$build/bench/bench_mechanism written=$build/mechanism.written
for word; do
    case $word in [1-9]*s) seconds=${word%s} ;; [1-9]*) runs=$word ;; *) cases+=("$word") ;; esac
done
[ ${#cases[@]} -gt 0 ] || cases=(calls tlb cache core smaps timers writer busy asleep)
[ "$(nproc)" -gt 1 ] || stop 'one CPU: the agent needs one without a rank'

# slower WAY CPU: sets what is to be named where the trial of memory takes so much longer here
slower() {
    local percent
    percent=$(taskset -c 0 "$program" "$1" "$2") || stop "bench_mechanism $1 ended with status $?"
    wanted=memory_latency
    awk "BEGIN { exit !($percent < 4) }" && wanted=nothing
    awk "BEGIN { exit !($percent >= 4 && $percent < 16) }" && wanted=nothing may=memory_latency
    return 0
}

# agent: the command of the case; sets wanted, ranks, may (what may be named besides, or not)
choose() {
    ranks=1 may=''
    local aside="taskset -c $last $program"
    case $case in
    calls) agent="$aside calls 0" wanted=function_calls ;;
    tlb) agent="$aside tlb noiselab-detect" wanted=tlb_shootdowns ;;
    cache)
        agent="$aside cache"
        slower shared "$last"
        ;;
    core)
        agent="taskset -c 0 $program core"
        slower own 0
        ;;
    smaps) agent="$aside smaps noiselab-detect" wanted=memory_lock ;;
    timers) agent="taskset -c 0 $program timers 50" wanted=timer_interrupts ;;
    writer)
        agent="$aside writer $written" wanted=kernel_threads may=device_interrupts,block_softirqs ranks=2
        ;;
    busy) agent="taskset -c 0 $build/bench/bench_busy 2.5ms 250ms" wanted=nothing ;;
    asleep) agent='sleep 100000' wanted=nothing ;;
    *) stop "'$case' is not a case (see $0)" ;;
    esac
}

for case in "${cases[@]}"; do
    choose
    for ((n = $(n_rows mechanisms "$case"); n < runs; n++)); do
        busy=$(busy_percent)
        "$noiselab" run agent --agent-cmd "$agent" --agent-name known --op barrier --ranks $ranks \
            --agent-period 100ms --launches 1 \
            --seconds "$seconds" --out "$work/one" >"$work/said" 2>"$work/errors" </dev/null
        status=$?
        rm -f "$written"
        # what is named, the surest first, and what it comes with
        figures=$("$noiselab" analyze agent --json "$work/one" 2>/dev/null | jq -r --arg wanted "$wanted" \
            --arg may "$may" '
            ([.behalf // [], .behalf_tasks // [] | .[] | select(.group == "kernel" and .p_holm <= 0.01)] |
                length > 0) as $kernel |
            (([.mechanisms // [] | .[] | select(.named)] | sort_by(-.z) | map(.counter)) +
                (if $kernel then ["kernel_threads"] else [] end)) as $named |
            (if ($named | length) == 0 then "nothing" else $named | join("+") end) as $words |
            ($named - ($may / ",") | . == [$wanted] or (. == [] and $wanted == "nothing")) as $right |
            [$words, (if $right then "yes" else "no" end),
             (.answers[0] | .case, .value, .low, .high)] | map(tostring) | join(",")')
        columns=case,status,seconds,wanted,named,right,case_of_rule,slowdown_percent
        evidence_row mechanisms \
            "tests/bench/mechanisms.sh: what noiselab run agent names of agents that disturb by one known \
mechanism" \
            "$columns,low_percent,high_percent,busy_percent" \
            "$case" "$status" "$seconds" "$wanted" "${figures:-,no,,,,}" "$busy"
        tail -n 1 "$NOISELAB_EVIDENCE/mechanisms.csv"
        rm -rf "${work:?}/one"
    done
done

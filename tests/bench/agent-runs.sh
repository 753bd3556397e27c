#!/bin/sh
# agent-runs.sh PART... [RUNS]: what `noiselab run agent` answers of an agent that is known, on this machine, until RUNS rows of 60 s of each part are
# in docs/evidence/agent-runs.csv (of this version; the same command goes on). Nothing else should run meanwhile.
#   bursts   2.5 ms each 250 ms on CPU 0: 1 % of the CPU that one rank has
#   placebo  a process that sleeps, frozen like any other
#   beside   bursts, while noiselab-gen takes 20 % of the last CPU
#   full     bursts, while other ranks spin on every CPU: ends in time, says who, and what it took
#   control  streams through the memory on a CPU without a rank: no bursts, and found by quick halves
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$PWD/${NOISELAB_BUILD:-build}
rows=docs/evidence/agent-runs.csv
seconds=${SECONDS_EACH:-60} # other than 60 for a try: no row
parts='' runs=10
for word in "$@"; do
    case $word in
    bursts | placebo | beside | full | control) parts="$parts $word" ;;
    [1-9] | [1-9][0-9] | [1-9][0-9][0-9]) runs=$word ;;
    *) parts='' && break ;;
    esac
done
[ -n "$parts" ] || { echo 'usage: tests/bench/agent-runs.sh bursts|placebo|beside|full|control... [RUNS]' >&2 && exit 2; }
version=$(git describe --always)
scratch=$(mktemp -d)
other=''
end_other() {
    [ -z "$other" ] || kill "$other" 2>/dev/null
    [ -z "$other" ] || wait "$other" 2>/dev/null
    other=''
}
trap 'end_other; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
[ -s "$rows" ] || printf '%s\n' '# tests/bench/agent-runs.sh PART RUNS: answers of noiselab run agent --seconds 60 about agents that are known (bursts: 1 % of the CPU of one rank; placebo: nothing; control: memory beside one rank)' \
    'case,status,took_s,outcome,case_of_rule,value_percent,low_percent,high_percent,beyond_most_percent,margin_percent,margin_verdict,version,date' >"$rows"

# run_once PART N: a campaign, its first lines, and its row
run_once() {
    margin=2
    set -- "$1" "$2" --op barrier
    agent="taskset -c 0 $build/bench/bench_busy 2.5ms 250ms"
    case $1 in
    placebo) agent='sleep 100000' margin=1 ;;
    beside) "$build/bin/noiselab-gen" --level 20 --period 10ms --on "cpu:$(($(nproc) - 1))" --duration 2h >/dev/null 2>&1 & other=$! ;;
    full)
        "${NOISELAB_MPIRUN:-mpirun}" --allow-run-as-root --oversubscribe -n "$(nproc)" sh -c 'while :; do :; done' >/dev/null 2>&1 &
        other=$!
        ;;
    control)
        agent="$build/bin/noiselab-gen --kind membw --level 90 --on cpu:$(($(nproc) - 1)) --duration 2h" margin=1
        set -- "$1" "$2" --op allreduce --bytes 16MiB --ranks 1 --agent-period 100ms
        ;;
    esac
    part=$1 out=$scratch/$1.$2
    shift 2
    began=$(date +%s)
    "$build/bin/noiselab" run agent --agent-cmd "$agent" --agent-name known "$@" --launches 1 --seconds "$seconds" --margin "$margin" \
        --out "$out" >"$scratch/said" 2>&1 </dev/null
    status=$?
    took=$(($(date +%s) - began))
    end_other
    grep -v '^noiselab-' "$scratch/said" | head -n 6
    [ "$part" != full ] || grep -A 2 -e 'CPU % of ranks' -e '^! the machine was busy' "$scratch/said"
    "$build/bin/noiselab" analyze agent --json "$out" 2>/dev/null | jq -r --arg case "$part" --arg status "$status" --arg took "$took" --arg margin "$margin" \
        --arg version "$version" --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        '.answers[0] | [$case, $status, $took, .outcome, .case, .value, .low, .high, .beyond_most, $margin, .margin_verdict, $version, $date] | @csv' |
        tr -d '"' >"$scratch/row"
    [ -s "$scratch/row" ] || echo "$part,$status,$took,none,,,,,,$margin,,$version,$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$scratch/row"
    cat "$scratch/row"
    [ "$seconds" != 60 ] || cat "$scratch/row" >>"$rows"
}

for part in $parts; do
    had=$(grep -c "^$part,.*,$version," "$rows")
    while [ "$had" -lt "$runs" ]; do
        had=$((had + 1))
        run_once "$part" "$had"
    done
done

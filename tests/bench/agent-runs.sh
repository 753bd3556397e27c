#!/bin/sh
# agent-runs.sh CASE RUNS: what `noiselab run agent` answers of an agent that is known, on this machine, RUNS times 60 s. A row each in
# docs/evidence/agent-runs.csv. Nothing else should run meanwhile.
#   bursts   2.5 ms each 250 ms on CPU 0: 1 % of the CPU that one rank has
#   placebo  a process that sleeps, frozen like any other
#   beside   bursts, while noiselab-gen takes 20 % of the last CPU
#   full     bursts, while two other ranks spin on every CPU
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$PWD/${NOISELAB_BUILD:-build}
rows=docs/evidence/agent-runs.csv
case=${1:-} runs=${2:-10}
busy=$build/bench/bench_busy
case $case in
bursts | beside | full) agent="taskset -c 0 $busy 2.5ms 250ms" margin=2 ;;
placebo) agent='sleep 100000' margin=1 ;;
*) echo 'usage: tests/bench/agent-runs.sh bursts|placebo|beside|full [RUNS]' >&2 && exit 2 ;;
esac
mkdir -p docs/evidence
[ -s "$rows" ] || printf '%s\n' '# tests/bench/agent-runs.sh CASE RUNS: answers of noiselab run agent --op barrier --seconds 60 about agents that are known (bursts: 1 % of the CPU of one rank)' \
    'case,status,took_s,outcome,case_of_rule,value_percent,low_percent,high_percent,beyond_most_percent,margin_percent,margin_verdict,version,date' >"$rows"
scratch=$(mktemp -d)
other=''
end() { [ -z "$other" ] || kill $other 2>/dev/null; rm -rf "$scratch"; }
trap end EXIT
trap 'exit 130' INT TERM
case $case in
beside) "$build/bin/noiselab-gen" --level 20 --period 10ms --on cpu:$(($(nproc) - 1)) --duration 2h >/dev/null 2>&1 & other=$! ;;
full) "${NOISELAB_MPIRUN:-mpirun}" --allow-run-as-root --oversubscribe -n "$(nproc)" sh -c 'while :; do :; done' >/dev/null 2>&1 & other=$! ;;
esac
for n in $(seq "$runs"); do
    began=$(date +%s)
    "$build/bin/noiselab" run agent --agent-cmd "$agent" --agent-name known --op barrier --launches 1 --seconds 60 --margin "$margin" \
        --out "$scratch/$n" >"$scratch/said" 2>&1 </dev/null
    status=$?
    took=$(($(date +%s) - began))
    head -n 6 "$scratch/said"
    "$build/bin/noiselab" analyze agent --json "$scratch/$n" 2>/dev/null | jq -r --arg case "$case" --arg status "$status" --arg took "$took" --arg margin "$margin" \
        --arg version "$(git describe --always)" --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        '.answers[0] | [$case, $status, $took, .outcome, .case, .value, .low, .high, .beyond_most, $margin, .margin_verdict, $version, $date] | @csv' |
        tr -d '"' >>"$rows"
    tail -n 1 "$rows"
done

# Part of the bench: agents whose cost is known. Sourced by bench.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154 # build and work are of launch.bash

last_cpu() { taskset -cp $$ | sed 's/.*[^0-9]//'; }

# run_agent NAME ARGUMENTS: a campaign of one launch of two ranks
run_agent() {
    local name=$1
    shift
    "$NOISELAB_BIN/noiselab" run agent --ranks 2 --launches 1 --op barrier --no-report --out "$work/$name" \
        "$@" >/dev/null 2>"$work/$name.log" || { cat "$work/$name.log" >&2 && return 1; }
    "$NOISELAB_BIN/noiselab-analyze" agent "$work/$name" --json >"$work/$name.json"
}

# agreement NAME WHAT: of the agent's own account and what the ranks lost, in parts of what is allowed
agreement() {
    verdict "$(jq '.accounts[0] | (.difference_us_per_s / .tolerance_us_per_s) | if . < 0 then -. else . end' "$work/$1.json")" '<=' 1 \
        "$2: preempted less others against its own account, of 5 % or 20 us/s"
    jq -r '.accounts[0] | "  preempted \(.preempted_us_per_s) us/s, own \(.agent_us_per_s), others \(.others_us_per_s); difference \(.difference_us_per_s) [\(.difference_low), \(.difference_high)]"' "$work/$1.json"
}

agents() {
    # two periods in a half: of one burst there is no period
    echo 'Agents (barrier, 2 ranks, agent on the CPU of the last one)'
    run_agent rare --agent-cpu "$(last_cpu)" --agent-cmd "$build/bench/bench_busy 1ms 1s" --agent-period 1s --design lockin --half-period "$(brief 2s 1s)" --seconds "$(brief 120 6)" || return
    local p busy
    p=$("$NOISELAB_BIN/noiselab-analyze" "$work/rare" --json |
        jq '[.verdicts[] | select(.channel == "preempted" and .scope == "this launch") | .p_one_sided][0]')
    verdict "$p" '<' 0.001 '1 ms in each second by preempted in 120 s: p'
    verdict "$(jq '.bursts[0].period_s' "$work/rare.json")" '<=' 1.01 'its period, s'
    verdict "$(jq '.bursts[0].period_s' "$work/rare.json")" '>=' 0.99 'the same'
    taskset -c "$(last_cpu)" "$build/bench/bench_busy" 1ms 100ms &
    busy=$!
    run_agent busy --agent-pid "$busy" --agent-period 100ms --seconds "$(brief 60 4)"
    kill "$busy"
    agreement busy 'busy for 1 %'
    if command -v stress-ng >/dev/null; then
        run_agent stress --agent-cpu "$(last_cpu)" --agent-cmd 'stress-ng --cpu 1 --cpu-load 1 --cpu-load-slice 2' --agent-period 1s --seconds "$(brief 60 4)" || return
        agreement stress 'stress-ng at 1 %'
    fi
}

#!/bin/bash
# top.sh [SECONDS [PART...]]: what noiselab top costs, measured by noiselab record from outside, SECONDS long
# for each (40): in a terminal and as an exporter; and what a refresh costs with 10,000 tasks. As root, on a
# machine with nothing else to do. PART: start (an exporter, four seconds from its start on), screen, batch,
# exporter, tasks, others (what the kernel's records of context switches take from those who switch, at 1,000
# switches per second), agent (the answer of noiselab run agent), instructions (of user space, by valgrind: a
# busy machine changes them least; no row).
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
build=$root/${NOISELAB_BUILD:-build}
# shellcheck source=tests/evidence-row.sh
. tests/evidence-row.sh
export PATH="$build/bin:$PATH" LC_ALL=C.UTF-8
seconds=${1:-40}
[ $# -eq 0 ] || shift
parts=${*:-start screen batch exporter tasks others}
folder=$(mktemp -d)
export TMUX_TMPDIR=$folder
started=''
# shellcheck disable=SC2317,SC2086 # the trap calls it; a list
end() {
    tmux -L bench kill-server 2>/dev/null || true
    [ -z "$started" ] || kill $started 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

# row PART INTERVAL_S CPU_PERCENT LONGEST_US BURSTS_PER_S SWITCHES_PER_S TASKS REFRESH_MS
row() {
    printf '%s\tevery %s s\t%s %% of a CPU\tlongest burst %s us\t%s bursts/s\t%s switches/s\t' \
        "$1" "$2" "$3" "$4" "$5" "$6"
    printf '%s tasks\trefresh %s ms\n' "$7" "$8"
    evidence_row top \
        'tests/bench/top.sh: what noiselab top costs, by noiselab record; refresh_ms: of its own account' \
        part,cpus,interval_s,cpu_percent,longest_us,bursts_per_s,switches_per_s,tasks,refresh_ms "$1" \
        "$(nproc)" "${@:2}"
}

switches() { awk '$1 == "ctxt" { print $2 }' /proc/stat; }

# outside PART INTERVAL SECONDS OPTION...: what the recorder sees of a process, each of its bursts by itself
outside() {
    local before
    before=$(switches)
    noiselab-record --source cpu:group-gap=1us --json "${@:4}" >"$folder/$1.json"
    row "$1" "$2" "$(jq -r '.percent_of_cpu * 10000 | round / 10000' "$folder/$1.json")" \
        "$(jq -r '[.tasks[] | select(.task == "noiselab-top") | .longest_ns] | max / 1000 |
        round' "$folder/$1.json")" \
        "$(jq -r '.bursts / (.span_ns / 1e9) * 100 | round / 100' "$folder/$1.json")" \
        "$((($(switches) - before) / $3))" "$(find /proc -maxdepth 1 -name '[0-9]*' | wc -l)" ''
}

for part in $parts; do
    case $part in
    start)
        outside start 2 4 -- noiselab-top --openmetrics "$folder/start.prom" --interval 2s --duration 4s
        ;;
    screen)
        tmux -L bench -f /dev/null new-session -d -x 80 -y 24 'exec noiselab-top'
        sleep 12
        outside screen 2 "$seconds" --duration "${seconds}s" --pid \
            "$(tmux -L bench display-message -p '#{pane_pid}')"
        tmux -L bench kill-server
        ;;
    batch | exporter)
        if [ "$part" = batch ]; then noiselab-top --batch >/dev/null & else noiselab-top \
            --openmetrics "$folder/noiselab.prom" --interval 15s & fi
        pid=$!
        started="$started $pid"
        sleep 16
        outside "$part" "$([ "$part" = batch ] && echo 2 || echo 15)" "$seconds" \
            --duration "${seconds}s" --pid "$pid"
        kill "$pid"
        ;;
    tasks)
        "$build/bench/bench_tasks" 10000 10000 >"$folder/ready" &
        started="$started $!"
        until grep -q ready "$folder/ready"; do sleep 0.2; done
        for source in cpu proc; do
            # without the first samples, in which names are looked for
            noiselab-top --json --interval 2s --duration 14s --source $source >"$folder/samples"
            jq -s -r '.[2:] | map(.own.cpu_percent * .interval_ns / 1e8) | add / length * 100 | round / 100 |
                tostring' "$folder/samples" >"$folder/refresh"
            row "tasks-$source" 2 \
                "$(jq -s -r '.[2:] | map(.own.cpu_percent) | add / length * 1000 |
                round / 1000' "$folder/samples")" \
                "$(jq -s -r '.[2:] | map(.own.longest_ns) | max / 1000 | round' "$folder/samples")" \
                "$(jq -s -r '.[2:] | map(.own.wakeups_per_second) | add / length * 100 |
                round / 100' "$folder/samples")" '' 10000 "$(cat "$folder/refresh")"
        done
        ;;
    others)
        # the same records, asked for in the same way; median over pairs of rounds with and without
        row others '' "$("$build/bench/bench_recording" 200 | awk '$1 == "switch_adds_ns" {
            printf "%.4f", $2 * 1000 / 1e9 * 100 }')" '' '' 1000 '' ''
        ;;
    agent)
        # the whole answer, of which the agent's CPU time is the row; its command writes nowhere
        noiselab run agent --agent-cmd 'noiselab-top --openmetrics noiselab.prom --interval 2s' \
            --agent-period 2s --op allreduce --launches 1 --seconds 100 \
            --margin 1 --no-report --out "$folder/agent" >"$folder/answer" || [ $? = 1 ] || [ $? = 3 ]
        cat "$folder/answer"
        row agent 2 "$(noiselab analyze "$folder/agent" --json | jq -r '[.estimates[] |
            select(.quantity == "agent_cpu_percent")][0].value * 10000 | round / 10000')" '' '' '' '' ''
        ;;
    instructions)
        for how in --batch "--openmetrics $folder/count.prom"; do
            before=$(switches)
            # shellcheck disable=SC2086 # an option with its value
            valgrind --tool=callgrind --callgrind-out-file="$folder/counts" \
                noiselab-top $how --interval 2s --duration "${seconds}s" >/dev/null 2>"$folder/said"
            after=$(switches)
            # inclusive: a line of each function, the number first, with commas
            callgrind_annotate --inclusive=yes --threshold=100 "$folder/counts" |
                awk -v how="${how%% *}" -v n_switches=$((after - before)) -v n=$((seconds / 2)) '
                    { number = $1; gsub(",", "", number) }
                    /:look \[/ { look = number }
                    /:nt_settle \[/ { settle = number }
                    /:nt_scale \[/ { scale = number }
                    /:(nt_tell|clear_interval|nt_forget_ended|nt_print_batch|nt_write_metrics) \[/ {
                        rest += number
                    }
                    END {
                        printf "%s\t%d switches a refresh\tinstructions: %d a switch, ", how, n_switches / n,
                            (look + settle) / n_switches
                        printf "%d a refresh for the rest, %d for projections in all\n",
                            (rest - settle - scale) / n, scale
                    }'
        done
        ;;
    *) echo "top.sh: no part '$part'" >&2 && exit 2 ;;
    esac
done

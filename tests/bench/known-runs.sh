#!/usr/bin/env bash
# known-runs.sh CASE... [RUNS]: what `noiselab run agent` and `noiselab run acceptance` answer of an agent, a
# machine or the test cluster of which is known what it is, until RUNS (10) rows of each CASE and this version
# are in docs/evidence (the same command goes on). Nothing else should run meanwhile. Rows of agent-runs.csv,
# 60 s each:
#   bursts   2.5 ms each 250 ms on CPU 0: 1 % of the CPU that one rank has
#   placebo  a process that sleeps, frozen like any other
#   beside   bursts, while noiselab-gen takes 20 % of the last CPU
#   full     bursts, while other ranks spin on every CPU: ends in time, says who, and what it took
#   control  streams through the memory on a CPU without a rank: no bursts, and found by quick halves
# Rows of acceptance-runs.csv, 60 s of measuring each; those against a reference as long as noiselab plan
# acceptance says:
#   quiet      this machine as it is, which nobody asked about: no verdict about noise
#   burst      noiselab-gen takes 20 ms each second of CPU 1
#   nobody     burst, by an account without privileges
#   reference  no row, 150 s: five launches of this machine as it is, kept in build/acceptance-reference for
#              the next three
#   against-quiet, against-burst   quiet and burst, held against it
#   against-small                  2 ms each second, held against it
#   crowd      burst, while 12 programs spin on the CPUs
#   cluster    three nodes that share the CPUs of this machine, as they are (as root)
#   node       noiselab-gen takes 10 % of a CPU of node2
#   link       what node1 and node2 send each other is held for 200 us
#   byte       a flipped byte between ranks 0 and 1
#   dead       node3 dies in the middle
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
NOISELAB_EVIDENCE=${NOISELAB_EVIDENCE:-docs/evidence}
noiselab=$NOISELAB_BIN/noiselab reference=$build/acceptance-reference seconds=60 runs=10 other='' \
    campaign='' cluster='' \
    cases=() crowd=()
for word; do
    case $word in [1-9]*) runs=$word ;; *) cases+=("$word") ;; esac
done
[ ${#cases[@]} -gt 0 ] || { sed -n '2,/^[^#]\|^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
chmod 755 "$work"

# end_tree PID: it and what it started: what runs within a node is a child's child
end_tree() {
    local child
    for child in $(pgrep -P "$1"); do end_tree "$child"; done
    kill "$1"
}
end_other() {
    [ ${#crowd[@]} -eq 0 ] || { kill "${crowd[@]}" && wait "${crowd[@]}"; } 2>/dev/null
    crowd=()
    [ -z "$other" ] || { end_tree "$other" && wait "$other"; } 2>/dev/null
    other=''
}
end() {
    [ -z "$campaign" ] || { kill "$campaign" && wait "$campaign"; } 2>/dev/null
    end_other
    [ -z "$cluster" ] || in_cluster down
    rm -rf "$work" ${cluster:+"$cluster"}
}
trap end EXIT

# in_cluster WORD ARGUMENTS
in_cluster() { tests/cluster/cluster.sh "$1" "$cluster" "${@:2}"; }

# load LEVEL PERIOD CPU [COMMAND...]: noiselab-gen in the background, by COMMAND
load() {
    "${@:4}" "$NOISELAB_BIN/noiselab-gen" --level "$1" --period "$2" --on "cpu:$3" --duration 2h >/dev/null \
        2>&1 &
    other=$!
}

# run COMMAND...: a campaign in the background, so that a signal ends this script at once, and the campaign
run() {
    local status
    "$@" </dev/null &
    campaign=$!
    wait "$campaign"
    status=$?
    campaign=''
    return "$status"
}

# a campaign of each kind, into $work/one; its status
agent() {
    local last=$(($(nproc) - 1)) words=(--op barrier) agent="taskset -c 0 $build/bench/bench_busy 2.5ms 250ms"
    margin=2
    case $case in
    placebo) agent='sleep 100000' margin=1 ;;
    beside) load 20 10ms "$last" ;;
    full)
        "$MPIRUN_COMMAND" --oversubscribe -n "$(nproc)" sh -c 'while :; do :; done' >/dev/null 2>&1 &
        other=$!
        ;;
    control)
        agent="$NOISELAB_BIN/noiselab-gen --kind membw --level 90 --on cpu:$last --duration 2h" margin=1
        words=(--op allreduce --bytes 16MiB --ranks 1 --agent-period 100ms)
        ;;
    esac
    run "$noiselab" run agent --agent-cmd "$agent" --agent-name known "${words[@]}" --launches 1 \
        --seconds $seconds --margin $margin --out "$work/one"
}

acceptance() {
    local status words=("$noiselab" run acceptance --no-report --out "$work/one")
    case $case in against-*) ;; *) words+=(--seconds "${seconds}s") ;; esac
    # shellcheck disable=SC2016 # for awk
    case $case in
    burst | against-burst | nobody) load 2 1s 1 ;;
    against-small) load 0.2 1s 1 ;;
    crowd)
        for ((i = 0; i < 12; i++)); do
            sh -c 'while :; do :; done' &
            crowd+=($!)
        done
        load 2 1s 1
        ;;
    node)
        load 10 10ms "$(in_cluster on node2 awk '/^Cpus_allowed_list/ {
            sub(/[-,].*/, "", $2); print $2 }' /proc/self/status)" in_cluster on node2
        ;;
    link) in_cluster relay node1 node2 >"$work/relay" && other=$(<"$work/relay") ;;
    byte) words+=(--checks default:inject-fault=0:1:100) ;;
    dead)
        { sleep $((seconds / 3 + 5)) && in_cluster fail node3; } &
        other=$!
        ;;
    esac
    case $case in
    against-*) words+=(--reference "$reference") ;;
    nobody)
        mkdir -m 777 "$work/home"
        chmod 777 "$work"
        words=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$work/home" "${words[@]}")
        ;;
    esac
    [ -z "$cluster" ] || words=(in_cluster run salloc --quiet --nodes=3 "${words[@]}")
    run "${words[@]}"
    status=$?
    [ "$case" = dead ] || return "$status"
    in_cluster mend node3
    "$noiselab" run acceptance --finish "$work/one"
}

# row_of KIND STATUS SECONDS: what the answer says. Of acceptance `named`: the five costliest tasks, of a dead
# node the last message; `failed`: who, and in what.
agent_row() {
    local figures
    figures=$("$noiselab" analyze agent --json "$work/one" 2>/dev/null |
        jq -r --arg margin "$margin" \
        '.answers[0] | [.outcome, .case, .value, .low, .high, .beyond_most, $margin, .margin_verdict] |
        @csv' | tr -d '"')
    local columns=case,status,took_s,outcome,case_of_rule,value_percent,low_percent,high_percent
    evidence_row agent-runs \
        "tests/bench/known-runs.sh CASE RUNS: answers of noiselab run agent --seconds 60 about agents \
that are known (bursts: 1 % of the CPU of one rank; placebo: nothing; control: memory beside one rank)" \
        "$columns,beyond_most_percent,margin_percent,margin_verdict" \
        "$case" "$1" "$2" "${figures:-none,,,,,,$margin,}"
}
acceptance_row() {
    local file=$work/one/verdict.json figures
    [ -s "$file" ] || { file=$work/none && echo '{}' >"$file"; }
    figures=$(jq -r --arg last "$([ "$case" != dead ] || tail -n 1 "$work/errors")" '
        def worst(check): [.figures // [] | .[] | select(.check == check and .metric != "waited")] |
            max_by(.value) // {};
        worst("others") as $others | worst("scale") as $scale |
        [.verdict, .judged, $others.value, $others.ci_low, $others.ci_high,
         ([.causes // [] | .[] | select(.burst_s != null) |
             "\(.task) \(.pid // "-") CPU \(.cpus) \(.burst_s) s \(.per_s)/s \(.duty_percent) %"][:5] |
             join("; ")) + $last, $scale.value, $scale.ci_low, $scale.ci_high,
         ([.judgements // [] | .[] | select(.kind == "scale") | .verdict][0]),
         ([.judgements // [] | .[] | select(.verdict == "fail") | "\(.check) \(.entity)"] | unique |
             join("; "))] |
        map(tostring | if . == "null" then "" else gsub(","; " ") end) | join(",")' "$file")
    local columns=case,status,took_s,verdict,judged,taken_percent,low_percent,high_percent,named
    evidence_row acceptance-runs \
        "tests/bench/known-runs.sh CASE RUNS: answers of noiselab run acceptance about machines of which is \
known what is wrong" \
        "$columns,at_scale_percent,scale_low_percent,scale_high_percent,scale_verdict,failed" \
        "$case" "$1" "$2" "$figures"
}

for case in "${cases[@]}"; do
    kind=acceptance
    case $case in
    bursts | placebo | beside | full | control) kind=agent ;;
    cluster | node | link | byte | dead)
        [ -n "$cluster" ] || { cluster=$(mktemp -d /tmp/noiselab-cluster.XXXXXX) &&
            tests/cluster/cluster.sh up --nodes 3 --tag "r$$" "$cluster" >&2; } || exit 2
        ;;
    reference)
        # the one that is there stays until this one is whole
        run "$noiselab" run acceptance --launches 5 --seconds $((seconds * 5 / 2))s --no-report --out \
            "$work/new" ||
            stop "the reference did not end well: status $?"
        rm -rf "$reference" && cp -r "$work/new" "$reference" && rm -rf "$work/new" || exit 2
        continue
        ;;
    against-*)
        [ -s "$reference/verdict.json" ] || stop "$case: there is no reference yet: $0 reference"
        ;;
    quiet | burst | crowd | nobody) ;;
    *) stop "'$case' is not a case (see $0)" ;;
    esac
    for ((n = $(n_rows $kind-runs "$case"); n < runs; n++)); do
        began=$EPOCHSECONDS
        $kind >"$work/said" 2>"$work/errors"
        status=$?
        took=$((EPOCHSECONDS - began))
        end_other
        head -n 6 "$work/said"
        ${kind}_row $status $took
        rm -rf "${work:?}"/{one,home}
    done
    # the next case may have none
    case $case in cluster | node | link | byte | dead) in_cluster down && rm -rf "$cluster" &&
        cluster='' ;; esac
done

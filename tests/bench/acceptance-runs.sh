#!/bin/sh
# acceptance-runs.sh CASE [RUNS]: what `noiselab run acceptance` answers of a machine, or of the test cluster, of which is known what is wrong.
# RUNS (10) rows in all in docs/evidence/acceptance-runs.csv: those of this CASE and version that are there count, so that what was stopped goes
# on. Nothing else should run meanwhile. SECONDS_EACH (60): of measuring.
#   quiet      this machine as it is
#   burst      noiselab-gen takes 20 ms each second of CPU 1
#   nobody     burst, by an account without privileges
#   reference  no row: five launches of this machine as it is, kept in build/acceptance-reference for the next two
#   against-quiet, against-burst   quiet and burst, held against it
#   cluster    three nodes that share the CPUs of this machine, as they are (as root)
#   node       noiselab-gen takes 10 % of a CPU of node2
#   link       what node1 and node2 send each other is held for 200 us
#   byte       a flipped byte between ranks 0 and 1
#   dead       node3 dies in the middle
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$PWD/${NOISELAB_BUILD:-build} rows=docs/evidence/acceptance-runs.csv reference=$PWD/${NOISELAB_BUILD:-build}/acceptance-reference
case=${1:-} runs=${2:-10} seconds=${SECONDS_EACH:-60} nodes='' version=$(git describe --always)
case $case in
quiet | burst | nobody | reference | against-quiet | against-burst) ;;
cluster | node | link | byte | dead) nodes=3 ;;
*) sed -n '2,15s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
scratch=$(mktemp -d /tmp/noiselab-runs.XXXXXX) other='' cluster=''
chmod 755 "$scratch"
end() {
    [ -z "$other" ] || kill "$other" 2>/dev/null
    [ -z "$cluster" ] || tests/cluster/cluster.sh down "$cluster"
    rm -rf "$scratch" ${cluster:+"$cluster"}
}
trap end EXIT
trap 'exit 130' INT TERM

# load LEVEL PERIOD CPU [COMMAND...]: noiselab-gen in the background, by COMMAND
load() {
    level=$1 period=$2 cpu=$3
    shift 3
    "$@" "$build/bin/noiselab-gen" --level "$level" --period "$period" --kind spin --on "cpu:$cpu" --duration 1h >/dev/null 2>&1 &
    other=$!
}

# One run into $scratch/$n; its status.
on_this_machine() {
    case $case in
    burst | nobody | against-burst) load 2 1s 1 ;;
    esac
    set -- "$build/bin/noiselab" run acceptance --seconds "${seconds}s" --no-report --out "$scratch/$n"
    case $case in
    against-*) set -- "$@" --reference "$reference" ;;
    nobody)
        mkdir -m 777 "$scratch/$n.of"
        set -- setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$scratch/$n.of" "$@"
        chmod 777 "$scratch"
        ;;
    esac
    "$@"
}

on_the_cluster() {
    on="tests/cluster/cluster.sh on $cluster"
    set -- "$build/bin/noiselab" run acceptance --seconds "${seconds}s" --no-report --out "$scratch/$n"
    # shellcheck disable=SC2086,SC2016 # words; for awk
    case $case in
    node) load 10 10ms "$($on node2 awk '/^Cpus_allowed_list/ { sub(/[-,].*/, "", $2); print $2 }' /proc/self/status)" $on node2 ;;
    link) tests/cluster/cluster.sh relay "$cluster" node1 node2 >"$scratch/relay" && other=$(cat "$scratch/relay") ;;
    byte) set -- "$@" --checks default:inject-fault=0:1:100 ;;
    dead) { sleep $((seconds / 3 + 5)) && tests/cluster/cluster.sh fail "$cluster" node3; } & other=$! ;;
    esac
    tests/cluster/cluster.sh run "$cluster" salloc --quiet --nodes="$nodes" "$@"
    status=$?
    [ "$case" = dead ] || return "$status"
    tests/cluster/cluster.sh mend "$cluster" node3
    "$build/bin/noiselab" run acceptance --finish "$scratch/$n"
}

# row STATUS SECONDS: what the answer says. `named`: tasks that the first lines name, of a dead node the last message; `failed`: who, and in what.
row() {
    [ -s "$rows" ] || printf '%s\n' '# tests/bench/acceptance-runs.sh CASE RUNS: answers of noiselab run acceptance about machines of which is known what is wrong' \
        'case,status,took_s,verdict,judged,taken_percent,low_percent,high_percent,named,at_scale_percent,scale_low_percent,scale_high_percent,scale_verdict,failed,version,date' >"$rows"
    [ -s "$scratch/$n/verdict.json" ] || echo '{}' >"$scratch/none"
    file=$scratch/$n/verdict.json
    [ -s "$file" ] || file=$scratch/none
    jq -r --arg case "$case" --arg status "$1" --arg took "$2" --arg version "$version" \
        --arg last "$([ "$case" != dead ] || tail -n 1 "$scratch/errors")" --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '
        def worst(check): [.figures // [] | .[] | select(.check == check)] | max_by(.value) // {};
        worst("others") as $others | worst("scale") as $scale |
        [$case, $status, $took, .verdict, .judged, $others.value, $others.ci_low, $others.ci_high,
         ([.noise // [] | .[] | scan("[^ ]+ takes CPU [^;.]*(?:[.][0-9][^;.]*)*")] | join("; ")) + $last, $scale.value, $scale.ci_low, $scale.ci_high,
         ([.judgements // [] | .[] | select(.kind == "scale") | .verdict][0]),
         ([.judgements // [] | .[] | select(.verdict == "fail") | "\(.check) \(.entity)"] | unique | join("; ")), $version, $date] |
        map(tostring | if . == "null" then "" else gsub(","; " ") end) | join(",")' "$file" >>"$rows"
    tail -n 1 "$rows"
}

mkdir -p docs/evidence
if [ "$case" = reference ]; then
    rm -rf "$reference"
    "$build/bin/noiselab" run acceptance --launches 5 --seconds "$((seconds * 5 / 2))s" --no-report --out "$reference"
    [ -s "$reference/verdict.json" ]
    exit
fi
done=$(grep -c "^$case,.*,$version," "$rows" 2>/dev/null)
if [ -n "$nodes" ] && [ "${done:-0}" -lt "$runs" ]; then
    cluster=$(mktemp -d /tmp/noiselab-cluster.XXXXXX)
    tests/cluster/cluster.sh up --nodes "$nodes" --tag "r$$" "$cluster" >&2 || exit 2
fi
for n in $(seq $((${done:-0} + 1)) "$runs"); do
    began=$(date +%s)
    if [ -n "$nodes" ]; then on_the_cluster; else on_this_machine; fi >"$scratch/said" 2>"$scratch/errors" </dev/null
    status=$?
    [ -z "$other" ] || { kill "$other" && wait "$other"; } 2>/dev/null
    other=''
    head -n 6 "$scratch/said"
    row "$status" $(($(date +%s) - began))
    rm -rf "${scratch:?}/$n" "${scratch:?}/$n.of"
done

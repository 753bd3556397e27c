#!/usr/bin/env bash
# programs.sh LIBRARY BIN BUSY FOLDER [MOST [STEP]]: generator, recorder, acceptance, detector (with a
# generator) and companion (a detector whose noiselab-agent meets the fault), once for every call that LIBRARY
# (fault.c) can fail, failing its 1st, 1 + STEPth (1), ... call until there is none left (or MOST). Whatever
# fails: a status of the table, no load afterwards, an agent that runs and is where it was, and no file that
# says it is whole and is not. A line for each program; exit status 1 if anything was not so. Where rows are
# kept, calls that this version has rows of are not tried again. NL_FAULT_PROGRAMS: some of them.
set -u
# shellcheck source=tests/evidence-row.sh
. "$(dirname "$0")/../evidence-row.sh"
library=$1 bin=$2 busy=$3 folder=$4 most=${5:-1000} step=${6:-1}
PATIENCE_S=60 # a program that takes longer hangs; on a busy machine everything takes longer
calls='open fopen fflush fclose write fsync rename mkdir rmdir fork kill pipe mmap pidfd signal perf malloc'
errors=(24 28 5 12 4) # EMFILE ENOSPC EIO ENOMEM EINTR
n_all=0 n_bad=0

bad() {
    n_bad=$((n_bad + 1)) n_here=$((n_here + 1))
    echo "  $program, $fault: $*"
}

# started_here: processes that are not to be blamed on the next one
started_here() { grep -lszF "NL_FAULT_RUN=$folder" /proc/[0-9]*/environ | cut -d / -f 3; }

# no_load: soon nothing runs that was started here
no_load() {
    local until=$((SECONDS + 15))
    while [ -n "$(started_here)" ]; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.05
    done
}

generator() { "$bin/noiselab-gen" --level 20 --period 10ms --duration 100ms --json; }
generator_is_whole() { [ "$1" != 0 ] || jq -e '.ended == "complete"' "$folder/said"; }

recorder() {
    "$bin/noiselab-record" --duration 150ms --source schedstat --out "$folder/bursts.trace" \
        -- "$busy" 5ms 20ms
}
# a trace that is there can be replayed; one that was not written to its end is not there
recorder_is_whole() {
    if [ -e "$folder/bursts.trace" ]; then
        grep -q '^# span_ns' "$folder/bursts.trace" &&
            [ "$(tail -c 1 "$folder/bursts.trace" | od -An -tx1 | tr -d ' ')" = 0a ]
    else
        [ "$1" != 0 ]
    fi
}

acceptance() {
    "$bin/noiselab-accept" --checks integrity,detour --repetitions 2 --seconds 0.1s --out "$folder/campaign" \
        --launch-id one
}
# a launch that says that it is complete has a row of each check that it says it has measured
acceptance_is_whole() {
    local json=$folder/campaign/one/launch.json check
    [ "$1" = 0 ] || { [ ! -e "$json" ] || ! jq -e '.ended == "complete"' "$json"; } || return 1
    [ "$1" != 0 ] || jq -e '.ended == "complete"' "$json" || return 1
    [ "$1" != 0 ] || for check in $(jq -r '.checks[] | select(.status == "ran") | .name' "$json"); do grep \
        -q "^one,$check," "$folder/campaign/one/accept.csv" || return 1; done
}

detector() {
    "$bin/noiselab-detect" --op empty --levels 20 --seconds 0.1 --half-period 10ms --warmup 0s \
        --out "$folder/campaign" --launch-id one
}
# a launch that says that it is complete has its rows, and the program has said so, too
detector_is_whole() {
    local json=$folder/campaign/one/launch.json
    [ "$1" = 0 ] || { [ ! -e "$json" ] || ! jq -e '.ended == "complete"' "$json"; }
    [ "$1" != 0 ] || { jq -e '.ended == "complete"' "$json" &&
        [ "$(jq .rows "$json")" = "$(tail -n +2 "$folder/campaign/one/halves.csv" | wc -l)" ]; }
}

# an agent of ours, frozen and thawed; whatever the launch comes to
companion() {
    "$bin/noiselab-detect" --op empty --levels none --agent "--agent-pid=$agent --who=none" --design blocks \
        --block 20ms --seconds 0.2 --warmup 0s --out "$folder/campaign" --launch-id one
}
cpu_time() { cut -d ' ' -f 14,15 "/proc/$agent/stat"; }
# it has CPU time again, within ten seconds, and no cgroup of ours
companion_is_whole() {
    local before until=$((SECONDS + 10))
    before=$(cpu_time)
    until [ "$(cpu_time)" != "$before" ] && ! grep noiselab-agent "/proc/$agent/cgroup"; do
        [ "$SECONDS" -lt "$until" ] || { kill -CONT "$agent" && return 1; }
        sleep 0.05
    done
}
"$busy" 2ms 20ms &
agent=$!
trap 'kill -9 "$agent"' EXIT

has_row() {
    [ -n "${NOISELAB_EVIDENCE-}" ] && grep -qs "^$program,$call,.*,$(git describe --always)," \
        "$NOISELAB_EVIDENCE/faults.csv"
}

export bin busy folder agent
export -f generator recorder acceptance detector companion
for program in ${NL_FAULT_PROGRAMS:-generator recorder acceptance detector companion}; do
    n_injected=0 n_here=0 of=noiselab-
    [ "$program" != companion ] || of=noiselab-agent
    for call in $calls; do
        ! has_row || continue
        n_before="$n_injected $n_here"
        for ((n = 1; n <= most; n += step)); do
            fault=$call:$n:${errors[n % 5]}
            rm -rf "${folder:?}"/*
            # shellcheck disable=SC2016 # it is loaded by what this shell starts
            NL_FAULT=$fault NL_FAULT_PROGRAM=$of NL_FAULT_HIT=$folder/hit NL_FAULT_RUN=$folder \
                NL_FAULT_LIBRARY=$library \
                timeout -k 1 "$PATIENCE_S" bash -c 'LD_PRELOAD=$NL_FAULT_LIBRARY; export LD_PRELOAD; "$0"' \
                "$program" >"$folder/said" 2>"$folder/error" </dev/null
            status=$?
            [ -e "$folder/hit" ] || break
            n_injected=$((n_injected + 1))
            [ "$status" -le 3 ] || bad "status $status: $(tail -n 1 "$folder/error")"
            no_load ||
                {
                bad "something goes on: $(started_here |
                    while read -r pid; do cat "/proc/$pid/comm"; done | paste -sd ' ')" &&
                    started_here | xargs kill -9
                }
            "${program}_is_whole" "$status" >/dev/null 2>&1 ||
                bad "status $status, and a file is not what it says"
        done
        about='make fault: each call of a kind fails once, the 1st, the 2nd, ...; bad: a wrong status,'
        evidence_row faults "$about a load that goes on, a file that is not what it says" \
            program,call,faults,bad "$program" "$call" $((n_injected - ${n_before% *})) \
            $((n_here - ${n_before#* }))
    done
    printf '%-10s %4d faults injected, %d bad\n' "$program" "$n_injected" "$n_here"
    n_all=$((n_all + n_injected))
done
echo "programs: $n_all faults injected, $n_bad bad"
[ "$n_bad" = 0 ]

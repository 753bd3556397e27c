#!/usr/bin/env bash
# setting-kills.sh [KILLS]: `noiselab run setting` is killed (KILL) at a moment of chance, from its start to
# the middle of its measuring, KILLS (200) times, each of its processes in turn, and all at once: is the
# setting as it was found, and is no journal left? A row per kill in docs/evidence/setting-kills.csv (the same
# command goes on). The setting is a file. Where all die at once nobody is left to restore it, and the next
# launch, or noiselab-agent --restore, does: `restored_by`.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
NOISELAB_EVIDENCE=${NOISELAB_EVIDENCE:-docs/evidence}
kills=${1:-200} noiselab=$NOISELAB_BIN/noiselab knob=$work/knob
victims=(noiselab-agent noiselab-detect mpirun noiselab-run all)
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
RANDOM=$(date +%s)

journals() {
    find /run/noiselab "$XDG_RUNTIME_DIR" -name '*.journal' -exec grep -lF "$knob" {} + 2>/dev/null
}
is_restored() { [ "$(cat "$knob")" = 5 ] && [ -z "$(journals)" ]; }
# what of a run is still there: processes have the campaign's folder, or the setting, in their arguments
left() { pgrep -f -- "$work/(one|knob)"; }
within() { # within SECONDS COMMAND
    local until=$((SECONDS + $1))
    while ! "$2" && [ $SECONDS -lt $until ]; do sleep 0.1; done
    "$2"
}
none_left() { ! left >"$work/left"; }

n_done() { grep -s ",$(git describe --always)," "$NOISELAB_EVIDENCE/setting-kills.csv" | grep -c ''; }
for ((n = $(n_done); n < kills; n++)); do
    victim=${victims[n % ${#victims[@]}]} after_ms=$((RANDOM % 4000))
    echo 5 >"$knob"
    rm -rf "$work/one"
    "$noiselab" run setting --ranks 1 --op empty --out "$work/one" --set "$knob=1,0" --seconds 60s \
        --block 20ms --no-report >"$work/said" 2>&1 </dev/null &
    run=$!
    sleep "$((after_ms / 1000)).$(printf %03d $((after_ms % 1000)))"
    found=$(cat "$knob")
    case $victim in
    noiselab-run) pids=$run ;;
    all) pids="$run $(left | tr '\n' ' ')" ;;
    *) pids=$(left | while read -r pid; do
        [ "$(cut -c 1-15 "/proc/$pid/comm" 2>/dev/null)" = "${victim:0:15}" ] && echo "$pid"
    done) ;;
    esac
    # shellcheck disable=SC2086 # several
    [ -z "$pids" ] || kill -9 $pids 2>/dev/null
    by=nobody
    if within 20 is_restored; then by=guardian; fi
    # whoever was not killed ends
    kill "$run" 2>/dev/null
    wait "$run" 2>/dev/null
    within 30 none_left || left | xargs -r kill -9 2>/dev/null
    if [ $by = nobody ] && is_restored; then by=end; fi
    if [ $by = nobody ]; then
        "$NOISELAB_BIN/noiselab-agent" --restore >"$work/said" 2>&1
        is_restored && by=restore
    fi
    evidence_row setting-kills \
        'tests/bench/setting-kills.sh: whether a setting is as it was found after a KILL' \
        'victim,after_ms,value_then,was_there,restored_by' \
        "$victim" "$after_ms" "$found" "$([ -n "$pids" ] && echo yes || echo no)" "$by"
    tail -n 1 "$NOISELAB_EVIDENCE/setting-kills.csv"
done

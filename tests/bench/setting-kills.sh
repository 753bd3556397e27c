#!/usr/bin/env bash
# setting-kills.sh [KILLS]: `noiselab run setting` is killed (KILL) at a moment of chance, KILLS (200) times,
# each of its processes in turn, and all at once: is the setting as it was found, and is no journal left? The
# moment counts from the start in one round of victims (up to 4 s), in the next one from when the setting is
# first held (`since` held; up to 2 s). A row per kill in docs/evidence/setting-kills.csv (the same
# command goes on). The setting is a file. `restored_by`:
#   none      it was not changed yet when the kill came, and no journal said that it would be
#   survivor  a process that was not killed, within 20 s: the guardian, or the companion without a guardian
#   end       what was left of the run, when it was ended
#   restore   noiselab-agent --restore, as the next launch would: where all die at once
#   nobody    it is not as it was found
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
NOISELAB_EVIDENCE=${NOISELAB_EVIDENCE:-docs/evidence}
kills=${1:-200} noiselab=$NOISELAB_BIN/noiselab knob=$work/knob
victims=(noiselab-agent nl-guardian noiselab-detect mpirun noiselab-run all)
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
    while ! "$2" && [ $SECONDS -lt $until ]; do sleep 0.02; done
    "$2"
}
none_left() { ! left >"$work/left"; }
held() { ! is_restored; }
# nothing more is to be waited for
settled() { is_restored || none_left; }

n_done() { grep -s ",$(git describe --always)," "$NOISELAB_EVIDENCE/setting-kills.csv" | grep -c ''; }
for ((n = $(n_done); n < kills; n++)); do
    victim=${victims[n % ${#victims[@]}]} since=start after_ms=$((RANDOM % 4000))
    [ $((n / ${#victims[@]} % 2)) = 0 ] || since=held after_ms=$((after_ms / 2))
    echo 5 >"$knob"
    rm -rf "$work/one"
    "$noiselab" run setting --ranks 1 --op empty --out "$work/one" --set "$knob=1,0" --seconds 60s \
        --block 20ms --no-report >"$work/said" 2>&1 </dev/null &
    run=$!
    if [ $since = held ]; then within 60 held; fi
    sleep "$((after_ms / 1000)).$(printf %03d $((after_ms % 1000)))"
    found=$(cat "$knob") by=nobody
    is_restored && by=none
    case $victim in
    noiselab-run) pids=$run ;;
    all) pids="$run $(left | tr '\n' ' ')" ;;
    *) pids=$(left | while read -r pid; do
        [ "$(cut -c 1-15 "/proc/$pid/comm" 2>/dev/null)" = "${victim:0:15}" ] && echo "$pid"
    done) ;;
    esac
    # shellcheck disable=SC2086 # several
    [ -z "$pids" ] || kill -9 $pids 2>/dev/null
    if [ $by = nobody ] && within 20 settled && is_restored; then by=survivor; fi
    # whoever was not killed ends
    kill "$run" 2>/dev/null
    wait "$run" 2>/dev/null
    within 30 none_left || left | xargs -r kill -9 2>/dev/null
    if [ $by = nobody ] && is_restored; then by=end; fi
    # what was about to change it when the kill came must not have changed it since
    if [ $by = none ] && ! is_restored; then by=nobody; fi
    if [ $by = nobody ]; then
        "$NOISELAB_BIN/noiselab-agent" --restore >"$work/said" 2>&1
        is_restored && by=restore
    fi
    evidence_row setting-kills \
        'tests/bench/setting-kills.sh: whether a setting is as it was found after a KILL' \
        'victim,since,after_ms,value_then,was_there,restored_by' \
        "$victim" "$since" "$after_ms" "$found" "$([ -n "$pids" ] && echo yes || echo no)" "$by"
    tail -n 1 "$NOISELAB_EVIDENCE/setting-kills.csv"
done

#!/usr/bin/env bash
# projection.sh [SECONDS]: what noiselab project predicts from a record of one rank, and what two ranks then lose. Loads of 0.3, 1 and 5 %, bursts at random
# times, one each 2.5, 10 and 40 ms on average, on the CPU of each rank; Barrier and Allreduce. Each cell is predicted first, from SECONDS (20) of one rank
# with the load, and then measured for as long on two; a row each in docs/evidence/projection.csv (PROJECTION_ROWS names another file). Cells that have a row
# are left out: it goes on where it was ended. Nothing else should run meanwhile: busy_percent says what had the CPUs before the cell.
# Status 1: fewer than nine of ten predicted intervals hold what was measured.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
seconds=${1:-20}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || stop "'$seconds' is not a whole number of seconds (usage: tests/bench/projection.sh [SECONDS])"
rows=${PROJECTION_ROWS:-docs/evidence/projection.csv}
[ -s "$rows" ] || printf '%s\n' "# tests/bench/projection.sh $seconds: slowdown in percent, predicted for 2 ranks from a record of one, then measured by on/off" \
    operation,level_percent,period_ms,predicted,predicted_low,predicted_high,measured,measured_low,measured_high,holds,busy_percent,seconds,version,date >"$rows" ||
    stop "cannot write $rows"

# load LEVEL PERIOD_MS OPERATION: options of the launch; a half holds four bursts
load() {
    printf '%s\n' --op "$3" --bytes 8 --levels "$1" --pattern poisson --period "$2ms" --half-period "$(awk -v p="$2" 'BEGIN { print 4 * p }')ms" --seconds "$seconds"
}

cell() {
    local operation=$1 level=$2 period=$3 busy options
    busy=$(busy_percent)
    mapfile -t options < <(load "$level" "$period" "$operation")
    rm -rf "${work:?}"/one "$work"/two
    on_cores 1 "$NOISELAB_BIN/noiselab-detect" --out "$work/one" "${options[@]}" --on rank:0 >/dev/null </dev/null || return
    "$NOISELAB_BIN/noiselab" project "$work/one" --nodes 2 --every 1us --json >"$work/predicted" || return
    # each rank has its own load, whose bursts come when they like
    detect two "${options[@]}" --on rank:0,rank:1 || return
    "$NOISELAB_BIN/noiselab" analyze --json "$work/two" >"$work/measured" || return
    jq -r --slurpfile measured "$work/measured" --arg cell "$operation,$level,$period" --arg busy "$busy" --arg seconds "$seconds" \
        --arg version "$(git describe --always)" --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '
        def three: if . == null then "" else (. * 1000 | round / 1000 | tostring) end;
        (.projections[] | select(.phase == "independent")) as $p |
        ($measured[0].verdicts[] | select(.channel == "time" and .level_requested_percent > 0)) as $m |
        [$cell, ($p.slowdown_percent | three), ($p.ci_low | three), ($p.ci_high | three), ($m.estimate | three), ($m.ci_low | three), ($m.ci_high | three),
         (if $m.estimate == null or $p.ci_high == null then "" elif $m.estimate >= $p.ci_low and $m.estimate <= $p.ci_high then "yes" else "no" end),
         $busy, $seconds, $version, $date] | join(",")' "$work/predicted" >"$work/row" || return
    [ -s "$work/row" ] && cat "$work/row" >>"$rows" && tail -n 1 "$rows"
}

for operation in barrier allreduce; do
    for level in 0.3 1 5; do
        for period in 2.5 10 40; do
            grep -q "^$operation,$level,$period," "$rows" && continue
            cell "$operation" "$level" "$period" || printf '%s\n' "$operation $level $period: no row (status $?)" >&2
        done
    done
done
awk -F , '!/^#/ && $1 != "operation" && $10 != "" { n++; held += $10 == "yes" } END {
    printf "%d of %d predicted intervals hold what was measured\n", held, n; exit !(n > 0 && held >= 0.9 * n) }' "$rows"

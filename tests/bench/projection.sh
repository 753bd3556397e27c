#!/usr/bin/env bash
# projection.sh [SECONDS]: what noiselab project predicts from a record of one rank, and what two ranks then
# lose. Loads of 0.3, 1 and 5 %, bursts at random times, one each 2.5, 10 and 40 ms on average, on the CPU of
# each rank; Barrier and Allreduce. Each cell is predicted first, from SECONDS (20) of one rank with the load,
# and then measured for as long on two; a row each in docs/evidence/projection.csv. Cells that have a row are
# left out: it goes on where it was ended. Nothing else should run meanwhile: busy_percent says what had the
# CPUs before the cell. Status 1: of the rows fewer than 17 of 18 hold (tests/bench/predicted.awk says what
# that is), or the mean of z is 0.5 or more in size.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
NOISELAB_EVIDENCE=${NOISELAB_EVIDENCE:-docs/evidence}
seconds=${1:-20} rows=$NOISELAB_EVIDENCE/projection.csv
[[ $seconds =~ ^[1-9][0-9]*$ ]] ||
    stop "'$seconds' is not a whole number of seconds (usage: tests/bench/projection.sh [SECONDS])"

# cell OPERATION LEVEL PERIOD_MS; a half holds four bursts
cell() {
    local busy figures holds options=(--op "$1" --bytes 8 --levels "$2" --pattern poisson --period "$3ms" \
        --seconds "$seconds"
        --half-period "$(awk -v p="$3" 'BEGIN { print 4 * p }')ms")
    busy=$(busy_percent)
    rm -rf "${work:?}"/one "$work"/two
    on_cores 1 "$NOISELAB_BIN/noiselab-detect" --out "$work/one" "${options[@]}" \
        --on rank:0 >/dev/null </dev/null || return
    "$NOISELAB_BIN/noiselab" project "$work/one" --nodes 2 --every 1us --json >"$work/predicted" || return
    # each rank has its own load, whose bursts come when they like
    detect two "${options[@]}" --on rank:0,rank:1 && analyse two || return
    figures=$(jq -er --slurpfile measured "$work/two.json" '
        def three: if . == null then "" else (. * 1000 | round / 1000 | tostring) end;
        (.projections[] | select(.phase == "independent")) as $p |
        ($measured[0].verdicts[] | select(.channel == "time" and .level_requested_percent > 0)) as $m |
        [($p.slowdown_percent, $p.ci_low, $p.ci_high, $m.estimate, $m.ci_low, $m.ci_high | three)] |
        join(",")' "$work/predicted") || return
    holds=$(echo "$1,$2,$3,$figures" | awk -v each=yes -f tests/bench/predicted.awk | cut -d , -f 2)
    columns=operation,level_percent,period_ms,predicted,predicted_low,predicted_high
    evidence_row projection \
        "tests/bench/projection.sh $seconds: slowdown in percent, predicted for 2 ranks from a record of \
one, then measured by on/off" \
        "$columns,measured,measured_low,measured_high,holds,busy_percent,seconds" \
        "$1,$2,$3" "$figures" "$holds" "$busy" "$seconds"
}

for operation in barrier allreduce; do
    for level in 0.3 1 5; do
        for period in 2.5 10 40; do
            grep -qs "^$operation,$level,$period," "$rows" || cell "$operation" "$level" "$period" ||
                printf '%s\n' "$operation $level $period: no row (status $?)" >&2
        done
    done
done
awk -f tests/bench/predicted.awk "$rows" | tee /dev/stderr |
    awk '{ z = $9 < 0 ? -$9 : $9; exit !($1 >= 17 / 18 * $3 && z < 0.5) }'

#!/usr/bin/env bash
# projection-app.sh [SECONDS]: what noiselab project predicts for a program from its profile, and what the program then loses. The program is LAMMPS (Debian's
# lammps and lammps-examples: melt, 32,000 atoms, two ranks). Loads of 2, 5 and 10 %, bursts at random times, one each 10 ms on average, on the CPU of each rank: the
# noise from SECONDS (20) of one rank under it, the measured slowdown from `run sensitivity --app`. Two predictions: ranks wait for each other at the synchronising
# calls that a profile of the quiet program has, and (they exchange atoms point to point, of which the profile has no arrivals) at each of its time
# steps, whose length the profile has. The truth should lie between the low end of the one and the high end of the other. A row each in
# docs/evidence/projection-app.csv (PROJECTION_ROWS names another file); what has a row is left out. Nothing else should run meanwhile.
# Status 1: what was measured has nothing in common with that.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
seconds=${1:-20}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || stop "'$seconds' is not a whole number of seconds (usage: tests/bench/projection-app.sh [SECONDS])"
melt=/usr/share/lammps/examples/melt/in.melt
if [ ! -e "$melt" ] || ! command -v lmp >/dev/null; then stop 'install lammps and lammps-examples'; fi
rows=${PROJECTION_ROWS:-docs/evidence/projection-app.csv}
[ -s "$rows" ] || printf '%s\n' "# tests/bench/projection-app.sh $seconds: slowdown of LAMMPS in percent, predicted from its profile and a record of one rank, then measured by on/off" \
    program,level_percent,period_ms,every_us,predicted,predicted_low,step_us,by_step,by_step_high,measured,measured_low,measured_high,meets,busy_percent,seconds,version,date >"$rows" ||
    stop "cannot write $rows"

# lammps STEPS: its command line, for so many steps of some 5 ms
lammps() {
    sed -e 's/block 0 10 0 10 0 10/block 0 20 0 20 0 20/' -e "s/^run.*/run $1/" "$melt" >"$work/in.melt"
    printf '%s\n' "$MPIRUN_COMMAND" --bind-to core -n 2 lmp -in "$work/in.melt" -log none -screen none
}

row() {
    local level=$1 period=10ms busy command
    busy=$(busy_percent)
    rm -rf "${work:?}"/one "$work"/app
    on_cores 1 "$NOISELAB_BIN/noiselab-detect" --out "$work/one" --op barrier --bytes 8 --levels "$level" --pattern poisson --period $period --half-period 40ms \
        --seconds "$seconds" --on rank:0 >/dev/null </dev/null || return
    "$NOISELAB_BIN/noiselab" project "$work/one" --profile "$work/profile" --nodes 2 --json >"$work/predicted" || return
    "$NOISELAB_BIN/noiselab" project "$work/one" --every "${step_us}us" --nodes 2 --json >"$work/by_step" || return
    mapfile -t command < <(lammps $((seconds * 250)))
    "$NOISELAB_BIN/noiselab" run sensitivity --app --levels "$level" --pattern poisson --period $period --on rank:0,rank:1 --seconds "$seconds" --no-report \
        --out "$work/app" -- "${command[@]}" >/dev/null </dev/null || return
    "$NOISELAB_BIN/noiselab" analyze --json "$work/app" >"$work/measured" || return
    jq -r --slurpfile measured "$work/measured" --slurpfile by_step "$work/by_step" --arg step "$step_us" --arg cell "lmp,$level,${period%ms}" --arg busy "$busy" --arg seconds "$seconds" \
        --arg version "$(git describe --always)" --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '
        def three: if . == null then "" else (. * 1000 | round / 1000 | tostring) end;
        (.projections[] | select(.phase == "independent")) as $p |
        ($by_step[0].projections[] | select(.phase == "independent")) as $s |
        ($measured[0].verdicts[] | select(.channel == "time" and .level_requested_percent > 0)) as $m |
        [$cell, ($p.every_ns / 1000 | three), ($p.slowdown_percent | three), ($p.ci_low | three), $step, ($s.slowdown_percent | three), ($s.ci_high | three),
         ($m.estimate | three), ($m.ci_low | three), ($m.ci_high | three),
         (if $m.ci_high == null or $s.ci_high == null then "" elif $m.ci_low <= $s.ci_high and $m.ci_high >= $p.ci_low then "yes" else "no" end),
         $busy, $seconds, $version, $date] | join(",")' "$work/predicted" >"$work/row" || return
    [ -s "$work/row" ] && cat "$work/row" >>"$rows" && tail -n 1 "$rows"
}

steps=1500
mapfile -t command < <(lammps $steps)
"$NOISELAB_BIN/noiselab" profile --out "$work/profile" -- "${command[@]}" >/dev/null </dev/null || stop 'the program could not be profiled'
step_us=$(awk -F , -v steps=$steps 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "wall_ns") column = i } NR > 1 && $column > most { most = $column }
    END { printf "%.0f", most / steps / 1000 }' "$work"/profile/*/ranks.csv)
for level in 2 5 10; do
    grep -q "^lmp,$level,10," "$rows" && continue
    row "$level" || printf '%s\n' "level $level: no row (status $?)" >&2
done
awk -F , '!/^#/ && $1 != "program" && $13 != "" { n++; meets += $13 == "yes" } END {
    printf "%d of %d predictions meet what was measured\n", meets, n; exit !(n > 0 && meets == n) }' "$rows"

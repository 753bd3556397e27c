#!/bin/sh
# What recording context switches adds to a rank's preempted time, at 100 wake-ups of an agent per second: by the CPU time of a switch, which a busy
# machine does not disturb, and as seen (which needs a quiet one).
#   bench-record.sh     QUICK=1: seconds, too short for the bound
set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/../.."
build=${NOISELAB_BUILD:-build}
pairs=400
[ -z "${QUICK:-}" ] || pairs=10

# field NAME: of the measurement at hand
field() { printf '%s\n' "$figures" | awk -v name="$1" '$1 == name { print $2 }'; }

# part PAIRS RATE: what a recorder adds to preempted time at so many wake-ups per second
part() {
    figures=$("$build/bench/bench_recording" "$1" "$2") || {
        echo '  record: cannot record context switches here' >&2
        exit 2
    }
    printf '  %s wake-ups/s: adds %s %% (99 %%: %s to %s), %s switches/s\n' "$2" "$(field added_percent)" "$(field added_lo_percent)" \
        "$(field added_hi_percent)" "$(field switches_per_s)"
}

echo 'Recording: what it adds to the preempted time of a rank on the recorded CPU'
part "$pairs" 100
verdict() { awk -v name="$1" -v value="$2" -v bound="$3" 'BEGIN { printf "  %-58s %12s   wanted %-12s %s\n", name, value, "<= " bound, (value <= bound) ? "yes" : "NO" }'; }
# all of a switch's extra CPU time, as though all of it were taken from the rank
verdict 'record: adds to preempted time at 100 wake-ups/s, at most, %' "$(field bound_percent)" 0.02
printf '  a context switch takes %s ns more\n' "$(field switch_adds_ns)"
verdict 'record: records lost' "$(field lost)" 0

#!/bin/sh
# What recording context switches adds to a rank's preempted time, at 100 wake-ups of an agent per second: by the CPU time of a switch, which a busy
# machine does not disturb.
#   bench-record.sh     QUICK=1: seconds, too short for the bound
set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/../.."
echo 'Recording: what it adds to the preempted time of a rank on the recorded CPU'
figures=$("${NOISELAB_BUILD:-build}/bench/bench_recording" "${QUICK:+10}") || {
    echo '  record: cannot record context switches here' >&2
    exit 2
}
# all of a switch's extra CPU time, as though all of it were taken from the rank; a wake-up is a switch away from it and one back
printf '%s\n' "$figures" | awk '
    function verdict(name, value, bound) { printf "  %-58s %12s   wanted <= %-9s %s\n", name, value, bound, value <= bound ? "yes" : "NO" }
    { figure[$1] = $2 }
    END {
        verdict("record: adds to preempted time at 100 wake-ups/s, at most, %", sprintf("%.5f", 100 * figure["switch_adds_ns"] * 2 * 100 / 1e9) + 0, 0.02)
        verdict("record: records lost", figure["lost"] + 0, 0)
        printf "  a context switch takes %s ns more\n", figure["switch_adds_ns"]
    }'

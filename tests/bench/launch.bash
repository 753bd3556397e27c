# What the benches share that launch the detector: where things are, how ranks are started, and what happens when they are not.
# Sourced, with the repository's root as the folder.
# shellcheck shell=bash

build=${NOISELAB_BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
NOISELAB_BIN=$build/bin
export NOISELAB_BIN

# stop MESSAGE: the bench ends
stop() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# shellcheck source=tests/mpirun.bash
source tests/mpirun.bash
# shellcheck source=tests/evidence-row.sh
source tests/evidence-row.sh

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# busy_percent: of the CPUs' time in a second
busy_percent() {
    local a b
    a=$(sed -n 's/^cpu  *//p' /proc/stat)
    sleep 1
    b=$(sed -n 's/^cpu  *//p' /proc/stat)
    printf '%s\n%s\n' "$a" "$b" | awk '{ all[NR] = 0; for (i = 1; i <= 8; i++) all[NR] += $i; idle[NR] = $4 + $5 }
        END { printf "%.1f", 100 * (1 - (idle[2] - idle[1]) / (all[2] - all[1])) }'
}

# detect NAME ARGUMENTS: a campaign of one launch of two ranks in $work/NAME
detect() {
    local name=$1
    shift
    on_cores 2 "$NOISELAB_BIN/noiselab-detect" --out "$work/$name" "$@" >/dev/null </dev/null
}

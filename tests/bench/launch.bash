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

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# detect NAME ARGUMENTS: a campaign of one launch of two ranks in $work/NAME
detect() {
    local name=$1
    shift
    on_cores 2 "$NOISELAB_BIN/noiselab-detect" --out "$work/$name" "$@" >/dev/null </dev/null
}

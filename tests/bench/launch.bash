# What the benches share that launch the detector: where things are, how ranks are started, and what happens
# when they are not. Sourced, with the repository's root as the folder.
# shellcheck shell=bash disable=SC2034

build=${NOISELAB_BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
export NOISELAB_BIN=$build/bin NOISELAB_R_LIB=$build/lib/noiselab/R

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
    { sed -n 's/^cpu  *//p' /proc/stat && sleep 1 && sed -n 's/^cpu  *//p' /proc/stat; } |
        awk '{ all[NR] = 0; for (i = 1; i <= 8; i++) all[NR] += $i; idle[NR] = $4 + $5 }
            END { printf "%.1f", 100 * (1 - (idle[2] - idle[1]) / (all[2] - all[1])) }'
}

# detect NAME ARGUMENTS: a campaign of one launch of two ranks in $work/NAME
detect() { on_cores 2 "$NOISELAB_BIN/noiselab-detect" --out "$work/$1" "${@:2}" >/dev/null </dev/null; }

# analyse NAME: a campaign's verdicts, into $work/NAME.json
analyse() { "$NOISELAB_BIN/noiselab-analyze" "$work/$1" --json >"$work/$1.json"; }

# n_rows FILE BEGINNING: rows of this version
n_rows() { grep -s "^$2,.*,$(git describe --always)," "${NOISELAB_EVIDENCE:-docs/evidence}/$1.csv" | wc -l; }

# of R: scripts of ours
r() { R_LIBS=$NOISELAB_R_LIB Rscript --vanilla "$@"; }

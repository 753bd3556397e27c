#!/bin/sh
# Clock synchronisation: how right it is between two nodes, and how its time grows with the ranks.
#   bench-sync.sh [nodes] [growth]     which parts (default: both). NOISELAB_BUILD: the build folder (default build)
#   QUICK=1   one launch of each kind, to see that it runs
# Nothing else should run meanwhile.
set -u
LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LC_ALL OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
cd "$(dirname "$0")/../.." || exit 2
probe=$PWD/${NOISELAB_BUILD:-build}/tests-mpi/sync_probe
TESTS=$PWD/tests
# shellcheck source=tests/two-nodes.sh
. tests/two-nodes.sh
work=$(mktemp -d) || exit 2
# shellcheck disable=SC2329  # called by trap
clean_up() {
    two_nodes_remove "$work"
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
launches=20 few=5 gap=5s
[ -z "${QUICK-}" ] || { launches=1 few=1 gap=1s; }

# verdict NAME VALUE UNIT BOUND: a figure that should be no larger than its bound; - for none
verdict() {
    awk -v name="$1" -v value="$2" -v unit="$3" -v most="$4" 'BEGIN {
        if (most == "-") printf "  %-72s %10s %s\n", name, value, unit
        else printf "  %-72s %10s %-5s wanted <= %-6s %s\n", name, value, unit, most, (value + 0 == value && value <= most + 0) ? "yes" : "NO" }'
}

# quantile Q FILE: of the absolute values in it
quantile() {
    awk '{ print $1 < 0 ? -$1 : $1 }' "$2" | sort -g | awk -v q="$1" '
        { v[NR] = $1 }
        END { i = int(q * NR + 0.9999); print NR ? v[i < 1 ? 1 : i] : "none" }'
}

# taken COLUMN [MINUS]: of rank 1, after the header of what the probe printed
taken() { awk -F , -v a="$1" -v b="${2:-0}" '$1 == 1 { print (b ? $a - $b : $a) }'; }

nodes() {
    why=$(two_nodes_why_not)
    if [ -n "$why" ]; then
        echo "  two nodes: $why"
        return
    fi
    two_nodes_make benchsync "$work" || return
    echo "Two network namespaces over TCP, tree, $launches launches each (the truth: one kernel's clock)"
    for drift in 0 50; do
        for _ in $(seq "$launches"); do
            two_nodes_run "$work" 1 "$probe" --fake-clock "1h,${drift}ppm" --later 2s >"$work/rows" || return
            taken 8 <"$work/rows" >>"$work/now.$drift"
            taken 9 <"$work/rows" >>"$work/later.$drift"
            taken 5 4 <"$work/rows" >>"$work/drift.$drift"
            taken 7 <"$work/rows" >>"$work/residual.$drift"
            taken 6 <"$work/rows" >>"$work/rtt.$drift"
            taken 11 <"$work/rows" >>"$work/run.$drift"
        done
        name="offset 1 h, drift $drift ppm:"
        verdict "$name shortest round trip, median" "$(quantile 0.5 "$work/rtt.$drift")" ns -
        verdict "$name error of the model right after, median" "$(quantile 0.5 "$work/now.$drift")" ns 2000
        verdict "$name error of the model right after, largest" "$(quantile 1 "$work/now.$drift")" ns 2000
        verdict "$name error after 2 s, median" "$(quantile 0.5 "$work/later.$drift")" ns -
        verdict "$name error after 2 s, largest" "$(quantile 1 "$work/later.$drift")" ns -
        verdict "$name error of the drift, median" "$(quantile 0.5 "$work/drift.$drift")" ppm 1
        verdict "$name error of the drift, largest" "$(quantile 1 "$work/drift.$drift")" ppm 1
        verdict "$name residual that the program itself reports, largest" "$(quantile 1 "$work/residual.$drift")" ns -
        verdict "$name time of a run, median" "$(awk '{ print $1 / 1e6 }' "$work/run.$drift" >"$work/ms" && quantile 0.5 "$work/ms")" ms 1000
    done
    for _ in $(seq "$few"); do
        two_nodes_run "$work" 1 "$probe" --fake-clock 1h,50ppm --runs 2 --gap "$gap" >"$work/rows" || return
        taken 5 4 <"$work/rows" >>"$work/drift.second"
    done
    verdict "a second run, $gap after the first: error of the drift, largest of $few" "$(quantile 1 "$work/drift.second")" ppm 1
    two_nodes_remove "$work"
}

growth() {
    echo "Growth with the ranks, all on this machine ($(nproc) CPUs), medians of $few launches: ms of a run"
    for ranks in 2 4 8 16 32 64; do
        for _ in $(seq "$few"); do
            mpirun --oversubscribe --mca mpi_yield_when_idle 1 --bind-to none -n "$ranks" "$probe" --every-rank --runs 2 >"$work/rows" || return
            awk -F , 'END { printf "%.3f\n", $11 / 1e6 }' "$work/rows" >>"$work/ms.$ranks"
        done
        verdict "$ranks ranks" "$(quantile 0.5 "$work/ms.$ranks")" ms -
    done
    grows=$(awk -v a="$(quantile 0.5 "$work/ms.64")" -v b="$(quantile 0.5 "$work/ms.8")" 'BEGIN { printf "%.2f\n", a / b }')
    verdict 'time, 64 ranks / 8 ranks (wanted: less than the 9 of one rank after the other)' "$grows" '' 9
}

[ $# -gt 0 ] || set -- nodes growth
for part in "$@"; do
    case $part in
    nodes | growth) "$part" || exit 2 ;;
    *)
        echo "bench-sync.sh: '$part' is not a part (nodes, growth)" >&2
        exit 2
        ;;
    esac
done

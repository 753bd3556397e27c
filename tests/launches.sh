#!/usr/bin/env bash
# launches.sh [COUNT=2000] [SECONDS=200ms]: so many short launches of noiselab-accept and noiselab-detect in turn, with core files on. A launch must end
# with a status of ours: for one that ended by a signal its words are printed, and the backtraces of its core files where gdb is there. Exit status 1 if
# there was one, 3 where no launch ended well.
set -u
cd "$(dirname "$0")/.." || exit 2
COUNT=${1:-2000} TIME=${2:-200ms}
# shellcheck source=tests/mpirun.bash
. tests/mpirun.bash
build=${NOISELAB_BUILD:-build}
case $build in /*) BIN=$build/bin ;; *) BIN=$PWD/$build/bin ;; esac
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
ulimit -c unlimited
n_well=0 n_signals=0

# launch NUMBER: into $work/NUMBER, where its core files are looked for
launch() {
    local what=(noiselab-accept --quick --checks "integrity,latency,detour")
    [ $(($1 % 2)) = 0 ] || what=(noiselab-detect --op barrier --levels 1 --design lockin --warmup 0s)
    mkdir "$work/$1" && cd "$work/$1" || exit 2
    on_cores 2 "$BIN/${what[0]}" "${what[@]:1}" --seconds "$TIME" --out campaign >said 2>&1 </dev/null
}

backtraces() {
    local core
    for core in "$1"/core* "$1"/campaign/core*; do
        [ -e "$core" ] || continue
        command -v gdb >/dev/null || { echo "  $core: no gdb here"; continue; }
        gdb --batch -ex 'thread apply all bt' "$BIN/$2" "$core" 2>/dev/null | grep -E '^(#|Thread|Program terminated|Core was)' | sed 's/^/    /'
    done
}

for ((i = 1; i <= COUNT; i++)); do
    (launch "$i")
    status=$?
    said=$work/$i/said
    # mpirun says it of a rank; 128 + n is mpirun's own end
    if grep -q 'exited on signal\|Signal: ' "$said" || [ "$status" -gt 128 ]; then
        n_signals=$((n_signals + 1))
        program=noiselab-accept
        [ $((i % 2)) = 0 ] || program=noiselab-detect
        echo "launch $i of $program: status $status"
        tail -n 30 "$said" | sed 's/^/    /'
        backtraces "$work/$i" "$program"
    elif [ "$status" = 0 ]; then
        n_well=$((n_well + 1))
    else
        echo "launch $i: status $status: $(head -n 1 "$said")"
    fi
    rm -rf "${work:?}/$i"
done
echo "$COUNT launches, $n_well ended well, $n_signals by a signal"
[ "$n_well" -gt 0 ] || exit 3
[ "$n_signals" = 0 ]

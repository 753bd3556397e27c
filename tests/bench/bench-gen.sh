#!/bin/sh
# What noiselab-gen delivers against what it was asked for, alone and beside a process that spins on the same CPU, and the published loop
# (kind seed) beside it.
#   bench-gen.sh [alone] [beside] [seed] [patterns]     which tables (default: all)
#   QUICK=1   one second per row instead of 5 to 10
#   BENCH_CPU=N   CPU to use (default: the last allowed one)
#   NOISELAB_BIN=DIR   folder of noiselab-gen
# certified: delivered/requested as the certificate says. outside: the same from /proc/PID/schedstat, read twice while the load runs, so its
# precision is that of one burst in the stretch between. run/planned: bursts that were not merged into a later one.
set -eu
LC_ALL=C
export LC_ALL

here=$(dirname "$0")
gen=${NOISELAB_BIN:-$here/../../build/bin}/noiselab-gen
tables=${*:-alone beside seed patterns}
cpu=${BENCH_CPU:-$(taskset -cp $$ | sed 's/.*[^0-9]//')}
work=$(mktemp -d)
spinner=
# shellcheck disable=SC2329  # called by trap
clean_up() {
    stop_spinner
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

start_spinner() {
    taskset -c "$cpu" sh -c 'while :; do :; done' &
    spinner=$!
}

stop_spinner() {
    [ -n "$spinner" ] || return 0
    kill "$spinner" 2>/dev/null || :
    wait "$spinner" 2>/dev/null || :
    spinner=
}

# CPU time and wall time in ns, as one word: CPU:WALL
sample() {
    echo "$(cut -d' ' -f1 "/proc/$1/schedstat"):$(date +%s%N)"
}

# the first of that name: the whole run's stands before those of its levels
value_of() {
    sed -n "s/^ *\"$1\": \\([-0-9.e+]*\\),*\$/\\1/p" "$work/certificate" | head -n 1
}

# row NAME LEVEL PERIOD SECONDS LOW HIGH [generator options]: LOW and HIGH bound the ratio that was promised, - for none
row() {
    name=$1 level=$2 period=$3 seconds=$4 low=$5 high=$6
    shift 6
    [ -z "${QUICK:-}" ] || seconds=1
    # shellcheck disable=SC2086
    "$gen" --level "$level" --period "$period" --duration "${seconds}s" --on "cpu:$cpu" --json "$@" >"$work/certificate" 2>/dev/null &
    pid=$!
    sleep 0.2
    before=$(sample "$pid")
    sleep "$(awk -v s="$seconds" 'BEGIN { print s - 0.45 }')"
    after=$(sample "$pid")
    wait "$pid" || : # status 1: outside of the tolerance; the ratio shows it
    awk -v name="$name" -v level="$level" -v period="$period" -v seconds="$seconds" -v ratio="$(value_of ratio)" -v before="$before" \
        -v after="$after" -v run="$(value_of bursts_run)" -v planned="$(value_of bursts_planned)" -v late="$(value_of p99)" \
        -v low="$low" -v high="$high" 'BEGIN {
        split(before, b, ":"); split(after, a, ":")
        outside = (a[1] - b[1]) / (a[2] - b[2]) / (level / 100)
        verdict = low == "-" ? "-" : ratio >= low && ratio <= high ? "yes" : "NO"
        printf "%-14s %8s %7s %6s s %10.4f %9.3f %11s %12.0f us  %s\n", name, level " %", period, seconds, ratio, outside, run "/" planned,
            late / 1000, verdict
    }'
}

# The levels of the promise: 1 +- 0.01 from 0.1 % to 10 % at 10 ms, 1 +- 0.05 at 0.01 % and 20 ms.
promised() {
    row "$1" 0.01 20ms 10 0.95 1.05
    for level in 0.1 0.3 1 3 10; do
        row "$1" "$level" 10ms 5 0.99 1.01
    done
}

published() {
    row "$1" 0.01 1s 5 - - --kind seed
    row "$1" 1 1s 5 - - --kind seed
}

# The level of every pattern, for the longer runs that random ones need: 1 +- 0.01.
patterns() {
    for pattern in jittered poisson bursts; do
        row "$pattern" 1 10ms 10 0.99 1.01 --pattern "$pattern"
    done
    row "$1" 1 10ms 10 0.99 1.01 --kind sum
}

printf '%-14s %8s %7s %8s %10s %9s %11s %15s  %s\n' table level period time certified outside run/planned 'late p99' 'as promised'
for table in $tables; do
    case $table in
    alone) promised alone ;;
    beside)
        start_spinner
        promised 'beside busy'
        stop_spinner
        ;;
    seed)
        published seed
        start_spinner
        published 'seed, busy'
        stop_spinner
        ;;
    patterns) patterns 'sum' ;;
    *)
        echo "bench-gen.sh: '$table' is not a table (alone, beside, seed, patterns)" >&2
        exit 2
        ;;
    esac
done

#!/bin/sh
# sensitivity: which collective senses which noise level on this machine, and what is the smallest detectable level
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

usage() {
    cat <<'EOF'
Usage: noiselab run sensitivity [OPTIONS]

Runs noiselab-detect through mpirun on all allowed cores of this machine, analyses the campaign and writes its report.

  --ranks N       number of ranks (default: one per allowed core)
  --launches N    launches (default 1; several give verdicts for "launches like these")
  --out DIR       campaign directory (default noiselab-sensitivity-DATE)
  --seed N        seed of the first launch's order, counted on from launch to launch
  --no-report     measure and print verdicts only
  -h, --help      this text

Everything else goes to noiselab-detect as it is (noiselab detect --help); the defaults are
  --design lockin --op barrier,allreduce,alltoall --bytes 2KiB --levels 0,0.01,0.1,0.3,1 --seconds 120

Which kind of load hurts most at the same level, and a recorded agent instead of a synthetic load:
  noiselab run sensitivity --kind spin,cache,procfs,ipi --levels 0,0.3,1
  noiselab run sensitivity --preset node_exporter --levels 0,0.1,1 --half-period 50ms

The environment variable NOISELAB_MPIRUN names another mpirun.
EOF
}

# whole NAME VALUE: refuses what is not a whole number of at least 1
whole() {
    case $2 in
    '' | *[!0-9]* | 0*) die 2 "$1: '$2' is not a positive whole number" ;;
    esac
}

# need NAME COUNT: refuses an option without its value
need() { [ "$2" -ge 2 ] || die 2 "$1 needs a value (see noiselab run sensitivity --help)"; }

ranks='' launches=1 out='' report=yes only_asks=no
op='' bytes='' levels='' seconds='' seed=''

# first pass: take our own options out and put the detector's back, in order
n=$#
while [ "$n" -gt 0 ]; do
    name=$1
    value='' own=no
    case $name in
    --*=*)
        value=${name#*=}
        name=${name%%=*}
        ;;
    esac
    case $name in
    -h | --help)
        usage
        exit 0
        ;;
    --no-report)
        report=no own=yes
        ;;
    --ranks | --launches | --out | --seed)
        own=yes
        if [ "$name" = "$1" ]; then
            need "$name" "$n"
            value=$2
            shift
            n=$((n - 1))
        fi
        case $name in
        --ranks) ranks=$value ;;
        --launches) launches=$value ;;
        --out) out=$value ;;
        --seed) seed=$value ;;
        esac
        ;;
    --dry-run | --version | --list-*) only_asks=yes ;;
    --op) op=given ;;
    --bytes) bytes=given ;;
    --levels) levels=given ;;
    --seconds) seconds=given ;;
    esac
    [ "$own" = yes ] || set -- "$@" "$1"
    shift
    n=$((n - 1))
done

[ -n "$op" ] || set -- --op barrier,allreduce,alltoall "$@"
[ -n "$bytes" ] || set -- --bytes 2KiB "$@"
[ -n "$levels" ] || set -- --levels 0,0.01,0.1,0.3,1 "$@"
[ -n "$seconds" ] || set -- --seconds 120 "$@"
[ -n "$out" ] || out=noiselab-sensitivity-$(date -u +%Y%m%dT%H%M%SZ)
whole --launches "$launches"
if [ "$launches" -gt 1 ] && [ -n "$seed" ]; then
    # counted on from launch to launch, by a shell that reads 010 as eight and stops at 2^63
    [ "$seed" = 0 ] || whole '--seed (with several launches)' "$seed"
    [ "${#seed}" -le 18 ] || die 2 "--seed: '$seed' has more than 18 digits, too many to count on from launch to launch"
fi

cores=$(allowed_cores)
if [ -z "$ranks" ]; then
    ranks=$cores
    whole 'number of allowed cores (say it with --ranks)' "$ranks"
else
    whole --ranks "$ranks"
    [ "$cores" = 0 ] || [ "$ranks" -le "$cores" ] ||
        die 2 "--ranks: $ranks ranks on $cores allowed cores would measure each other: start at most $cores"
fi

# options are checked once, before mpirun: a wrong one gives one line, not one per rank and mpirun's own
if [ -n "$seed" ]; then set -- "$@" --seed "$seed"; fi
[ "$only_asks" = no ] || exec "$NOISELAB_BIN/noiselab-detect" --out "$out" "$@"
"$NOISELAB_BIN/noiselab-detect" --dry-run --out "$out" "$@" >/dev/null || exit 2
set -- --progress "$(progress_option)" "$@"

# a signal ends mpirun, and with it the load, at once; what was taken stays
interrupted=no running=''
trap 'interrupted=yes; [ -z "$running" ] || kill -TERM "$running" 2>/dev/null' INT TERM
launch=1
while [ "$launch" -le "$launches" ] && [ "$interrupted" = no ]; do
    [ "$launches" = 1 ] || note "launch $launch of $launches"
    run_detect "$ranks" --out "$out" "$@" >/dev/null &
    running=$!
    # a trapped signal ends wait early: wait until mpirun has really gone
    while :; do
        wait "$running"
        status=$?
        kill -0 "$running" 2>/dev/null || break
    done
    running=''
    [ "$interrupted" = no ] || break
    [ "$status" -eq 0 ] || die 2 "the measurement ended with status $status; what was taken is in '$out'"
    # a given seed names the first launch; the others must not repeat its order
    if [ -n "$seed" ] && [ "$launch" -lt "$launches" ]; then
        seed=$((seed + 1))
        set -- "$@" --seed "$seed"
    fi
    launch=$((launch + 1))
done
trap - INT TERM
[ "$interrupted" = no ] || die 2 "interrupted; rows taken so far can be analysed: noiselab analyze '$out'"

command -v Rscript >/dev/null ||
    die 2 "the data are in '$out', but R is missing here: analyse them where R is (noiselab analyze, noiselab report)"
"$NOISELAB_BIN/noiselab-analyze" "$out" || exit $?
[ "$report" = no ] || "$NOISELAB_BIN/noiselab-report" "$out"

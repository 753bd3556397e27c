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
            need "$name" "$n" sensitivity
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
    countable "$seed"
fi

cores=$(allowed_cores)
if [ -z "$ranks" ]; then
    ranks=$cores
    whole 'number of allowed cores (say it with --ranks)' "$ranks"
else
    fits --ranks "$ranks" "$cores"
fi

# options are checked once, before mpirun: a wrong one gives one line, not one per rank and mpirun's own
if [ -n "$seed" ]; then set -- "$@" --seed "$seed"; fi
[ "$only_asks" = no ] || exec "$NOISELAB_BIN/noiselab-detect" --out "$out" "$@"
"$NOISELAB_BIN/noiselab-detect" --dry-run --out "$out" "$@" >/dev/null || exit 2
set -- --progress "$(progress_option)" "$@"

catch_signals
launch=1
while [ "$launch" -le "$launches" ] && [ "$interrupted" = no ]; do
    [ "$launches" = 1 ] || note "launch $launch of $launches"
    one_launch "$ranks" --out "$out" "$@"
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

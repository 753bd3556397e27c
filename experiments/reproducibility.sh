#!/bin/sh
# reproducibility: how well the mean time of an operation repeats from launch to launch, for each number of ranks
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

usage() {
    cat <<'EOT'
Usage: noiselab run reproducibility [OPTIONS]

Launches noiselab-detect through mpirun again and again for each number of ranks, with synchronised starts and without
noise, and says how far the means of the launches scatter (RSE), as MPIPerf does.

  --ranks LIST    numbers of ranks, separated by commas (default: powers of two up to the allowed cores, and their number)
  --launches N    launches for each of them (default 10; at least 3 give an answer)
  --out DIR       campaign directory (default noiselab-reproducibility-DATE)
  --seed N        seed of the first launch, counted on from launch to launch
  --no-report     measure and print the table only
  -h, --help      this text

Everything else goes to noiselab-detect as it is (noiselab detect --help); the defaults are
  --design single --levels none --start window --raw starts.bin --op barrier,allreduce,alltoall --bytes 2KiB --seconds 1
From the raw files noiselab analyze mpiperf DIR makes the published report; they take 8 + 12 x ranks bytes per start.

The environment variable NOISELAB_MPIRUN names another mpirun.
EOT
}

# all_counts CORES: 1, 2, 4, ... and CORES itself
all_counts() {
    count=1 list=''
    while [ "$count" -lt "$1" ]; do
        list=$list$count,
        count=$((count * 2))
    done
    echo "$list$1"
}

ranks='' launches=10 out='' report=yes only_asks=no
design='' levels='' start='' raw='' op='' bytes='' seconds='' seed=''

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
            need "$name" "$n" reproducibility
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
    --launch-id) die 2 '--launch-id: launches need names of their own; leave it out' ;;
    --dry-run | --version | --list-*) only_asks=yes ;;
    --design) design=given ;;
    --levels) levels=given ;;
    --start) start=given ;;
    --raw) raw=given ;;
    --op) op=given ;;
    --bytes) bytes=given ;;
    --seconds) seconds=given ;;
    esac
    [ "$own" = yes ] || set -- "$@" "$1"
    shift
    n=$((n - 1))
done

[ -n "$design" ] || set -- --design single "$@"
[ -n "$levels" ] || set -- --levels none "$@"
[ -n "$start" ] || set -- --start window "$@"
[ -n "$raw" ] || set -- --raw starts.bin "$@"
[ -n "$op" ] || set -- --op barrier,allreduce,alltoall "$@"
[ -n "$bytes" ] || set -- --bytes 2KiB "$@"
[ -n "$seconds" ] || set -- --seconds 1 "$@"
[ -n "$out" ] || out=noiselab-reproducibility-$(date -u +%Y%m%dT%H%M%SZ)
whole --launches "$launches"
[ "$launches" -ge 3 ] || note "--launches $launches: too few for an answer in this campaign alone, it takes 3"
if [ -n "$seed" ]; then
    countable "$seed"
fi

cores=$(allowed_cores)
if [ -z "$ranks" ]; then
    whole 'number of allowed cores (say it with --ranks)' "$cores"
    ranks=$(all_counts "$cores")
fi
# checked as a whole first: the shell drops an empty last part
case $ranks in
'' | ,* | *, | *,,*) die 2 "--ranks: '$ranks' has an empty part (try 1,2)" ;;
esac
counts=$(printf '%s' "$ranks" | tr ',' ' ')
# shellcheck disable=SC2086 # the list is meant to be split
for count in $counts; do
    fits --ranks "$count" "$cores"
done

# options are checked once, before mpirun: a wrong one gives one line, not one per rank and mpirun's own
[ "$only_asks" = no ] || exec "$NOISELAB_BIN/noiselab-detect" --out "$out" "$@"
"$NOISELAB_BIN/noiselab-detect" --dry-run --out "$out" "$@" >/dev/null || exit 2
set -- --progress "$(progress_option)" "$@"

catch_signals
# a launch of every count in turn, so that a machine that drifts does not look like an effect of the ranks
launch=1
while [ "$launch" -le "$launches" ] && [ "$interrupted" = no ]; do
    # shellcheck disable=SC2086
    for count in $counts; do
        note "launch $launch of $launches, $count rank(s)"
        if [ -n "$seed" ]; then
            one_launch "$count" --out "$out" "$@" --seed "$seed"
            seed=$((seed + 1))
        else
            one_launch "$count" --out "$out" "$@"
        fi
        [ "$interrupted" = no ] || break
        [ "$status" -eq 0 ] || die 2 "the measurement ended with status $status; what was taken is in '$out'"
    done
    launch=$((launch + 1))
done
trap - INT TERM
[ "$interrupted" = no ] || die 2 "interrupted; launches so far can be analysed: noiselab analyze reproducibility '$out'"

command -v Rscript >/dev/null ||
    die 2 "the data are in '$out', but R is missing here: analyse them where R is (noiselab analyze reproducibility, noiselab report)"
"$NOISELAB_BIN/noiselab-analyze" reproducibility "$out" || exit $?
[ "$report" = no ] || "$NOISELAB_BIN/noiselab-report" --out "$out/report.html" "$out"

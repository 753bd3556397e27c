#!/bin/sh
# stability: which operation, size, count and number of ranks repeats, reacts to a load, and senses most for its time
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

usage() {
    cat <<'EOT'
Usage: noiselab run stability [OPTIONS]

Launches noiselab-detect through mpirun for each number of ranks, and for each number of operations in a block, in random
order and several times, with the placebo and one reference level; then says which configuration repeats and reacts
(stage 1 of the published method), which half-period suits it, and how to go on.

  --op LIST         operations (default barrier,allreduce,alltoall; --ops is the same)
  --bytes LIST      message sizes (default 2KiB)
  --ranks LIST      numbers of ranks, separated by commas (default: powers of two from 2 up to the allowed cores, and their number)
  --counts LIST     also blocks of so many operations, separated by commas (default: none, only half-periods)
  --half-period T   length of a half (default 10ms)
  --reference LEVEL the level to react to, in percent of one CPU (default 1)
  --seconds TIME    measuring time of a launch, whole seconds (default 20); with --counts more where 7 sets take longer
  --launches N      launches of each configuration (default 3, which an answer takes)
  --out DIR         campaign directory (default noiselab-stability-DATE)
  --seed N          seed of the order of launches, and of the first launch's order (default: from the clock)
  --no-report       measure and print the table only
  -h, --help        this text

Everything else goes to noiselab-detect as it is (noiselab detect --help). The total time is said before it starts.
Exit status 3: no configuration repeats and reacts.

The environment variable NOISELAB_MPIRUN names another mpirun.
EOT
}

# two_counts CORES: 2, 4, 8, ... and CORES itself
two_counts() {
    count=2 list=''
    while [ "$count" -lt "$1" ]; do
        list=$list$count,
        count=$((count * 2))
    done
    echo "$list$1"
}

# is_list NAME LIST EXAMPLE: refuses empty parts; the shell drops an empty last one
is_list() {
    case $2 in
    '' | ,* | *, | *,,*) die 2 "$1: '$2' has an empty part (try $3)" ;;
    esac
}

words() { printf '%s' "$1" | tr ',' ' '; }

# shuffled SEED: the lines of stdin in an order that the seed decides, by the minimal standard generator (exact in doubles)
shuffled() {
    awk -v seed="$1" '
        BEGIN { x = seed % 2147483646 + 1; for (i = 0; i < 8; i++) x = (x * 16807) % 2147483647 }
        { x = (x * 16807) % 2147483647; printf "%d %s\n", x, $0 }' | sort -n | cut -d ' ' -f 2-
}

# say_time SECONDS
say_time() {
    if [ "$1" -ge 3600 ]; then
        echo "$(($1 / 3600)) h $(($1 % 3600 / 60)) min"
    elif [ "$1" -ge 60 ]; then
        echo "$(($1 / 60)) min $(($1 % 60)) s"
    else
        echo "$1 s"
    fi
}

ranks='' counts='' launches=3 out='' seed='' report=yes only_asks=no
op=barrier,allreduce,alltoall bytes=2KiB seconds=20 reference=1 half=10ms

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
    --op | --ops | --bytes | --ranks | --counts | --half-period | --reference | --seconds | --launches | --out | --seed)
        own=yes
        if [ "$name" = "$1" ]; then
            need "$name" "$n" stability
            value=$2
            shift
            n=$((n - 1))
        fi
        case $name in
        --op | --ops) op=$value ;;
        --bytes) bytes=$value ;;
        --ranks) ranks=$value ;;
        --counts) counts=$value ;;
        --half-period) half=$value ;;
        --reference) reference=${value%\%} ;;
        --seconds) seconds=${value%s} ;;
        --launches) launches=$value ;;
        --out) out=$value ;;
        --seed) seed=$value ;;
        esac
        ;;
    --levels) die 2 '--levels: the levels are 0 and the one of --reference' ;;
    --design | --block) die 2 "$name: half-periods, and blocks of --counts operations, are what is compared; leave it out" ;;
    --count) die 2 '--count: give the counts to compare as --counts 1000,10000' ;;
    --launch-id) die 2 '--launch-id: launches need names of their own; leave it out' ;;
    --dry-run | --version | --list-*) only_asks=yes ;;
    esac
    [ "$own" = yes ] || set -- "$@" "$1"
    shift
    n=$((n - 1))
done

whole --launches "$launches"
whole --seconds "$seconds"
[ "$launches" -ge 3 ] || note "--launches $launches: too few for an answer in this campaign alone, it takes 3"
[ -n "$out" ] || out=noiselab-stability-$(date -u +%Y%m%dT%H%M%SZ)
[ -n "$seed" ] || seed=$(date +%s)
countable "$seed"
case $reference in
'' | *[!0-9.]* | *.*.* | .) die 2 "--reference: '$reference' is not a level in percent above 0 (try 1)" ;;
*[1-9]*) ;;
*) die 2 "--reference: '$reference' is not a level in percent above 0 (try 1)" ;;
esac

cores=$(allowed_cores)
if [ -z "$ranks" ]; then
    whole 'number of allowed cores (say it with --ranks)' "$cores"
    ranks=$(two_counts "$cores")
fi
is_list --ranks "$ranks" 2,4
# shellcheck disable=SC2046 # lists are meant to be split, here and below
for count in $(words "$ranks"); do fits --ranks "$count" "$cores"; done
if [ -n "$counts" ]; then
    is_list --counts "$counts" 1000,10000
    # shellcheck disable=SC2046
    for count in $(words "$counts"); do whole --counts "$count"; done
fi

# options are checked once, before mpirun: a wrong one gives one line, not one per rank and mpirun's own
set -- --op "$op" --bytes "$bytes" "$@"
[ "$only_asks" = no ] || exec "$NOISELAB_BIN/noiselab-detect" --out "$out" --half-period "$half" --levels "0,$reference" --seconds "${seconds}s" "$@"
"$NOISELAB_BIN/noiselab-detect" --dry-run --out "$out" --half-period "$half" --levels "0,$reference" --seconds "${seconds}s" "$@" >/dev/null || exit 2

catch_signals

# What a block of each count takes is known only after a look: a short clean launch for each number of ranks.
plan='' total=0
scratch=$(mktemp -d) || die 2 'cannot make a temporary directory'
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2046
for count in $(words "$ranks"); do
    plan="$plan$count - - $seconds -
"
    total=$((total + launches * (seconds + 3)))
    [ -n "$counts" ] || continue
    one_launch "$count" --out "$scratch/$count" --design single --levels none --seconds 300ms "$@" --progress off
    [ "$interrupted" = no ] || die 2 'interrupted; nothing was measured'
    [ "$status" -eq 0 ] || die 2 "a first look at $count rank(s) ended with status $status"
    grep -oh '"pilot_ns": *[0-9.e+]*' "$scratch/$count"/*/launch.json | sed 's/.*: *//' >"$scratch/times"
    for each in $(words "$counts"); do
        # a set has a block off and one at each of two levels, for each operation and size; 7 sets are what a test needs
        # shellcheck disable=SC2046
        set_block=$(awk -v n="$each" -v seconds="$seconds" '
            { sum += $1; if (NR == 1 || $1 < fastest) fastest = $1 }
            END {
                block = n * sum / NR / 1000
                # a noise period must fit into the shortest block, also where a shared machine becomes several times as fast as it looked
                period = int(n * fastest / 5000)
                least = int(7 * 3 * sum * n / 1e9 * 1.05) + 1
                print int(block) + 1, (least > seconds ? least : seconds), (period > 10000 ? 10000 : period)
            }' "$scratch/times")
        period=${set_block##* }
        [ "$period" -ge 1000 ] ||
            die 2 "--counts: $each operations take about $((5 * period)) us with $count rank(s), and blocks of 5 ms are the shortest that hold noise periods: take more"
        set_block=${set_block% *}
        plan="$plan$count $each ${set_block% *} ${set_block#* } $period
"
        total=$((total + launches * (${set_block#* } + 3)))
    done
done

n_plan=$(printf '%s' "$plan" | wc -l)
note "$((n_plan * launches)) launches ($n_plan configurations of ranks and counts, $launches times), about $(say_time "$total") in all; seed $seed; into '$out'"

# the same for all launches, and not before: a look writes no row
set -- --levels "0,$reference" --progress "$(progress_option)" "$@"
launch=0 round=1
while [ "$round" -le "$launches" ] && [ "$interrupted" = no ]; do
    # every configuration once in each round, in an order of its own, so that a machine that drifts is no effect of the configuration
    printf '%s' "$plan" | shuffled "$((seed + round))" >"$scratch/order"
    while read -r count each block time period <&4; do
        launch=$((launch + 1))
        what="$count rank(s)"
        [ "$each" = - ] || what="$what, blocks of $each operations"
        note "launch $launch of $((n_plan * launches)): $what"
        if [ "$each" = - ]; then
            one_launch "$count" --out "$out" --half-period "$half" --seconds "${time}s" --seed "$((seed + launch))" "$@"
        else
            # a period that was asked for comes later, and so first
            one_launch "$count" --out "$out" --design blocks --count "$each" --block "${block}us" --period "${period}us" --seconds "${time}s" \
                --seed "$((seed + launch))" "$@"
        fi
        [ "$interrupted" = no ] || break
        [ "$status" -eq 0 ] || die 2 "the measurement ended with status $status; what was taken is in '$out'"
    done 4<"$scratch/order"
    round=$((round + 1))
done
trap - INT TERM
[ "$interrupted" = no ] || die 2 "interrupted; launches so far can be analysed: noiselab analyze stability '$out'"

command -v Rscript >/dev/null ||
    die 2 "the data are in '$out', but R is missing here: analyse them where R is (noiselab analyze stability, noiselab report)"
"$NOISELAB_BIN/noiselab-analyze" stability "$out"
answer=$?
[ "$answer" = 0 ] || [ "$answer" = 3 ] || exit "$answer"
[ "$report" = no ] || "$NOISELAB_BIN/noiselab-report" --out "$out/report.html" "$out" || exit $?
exit "$answer"

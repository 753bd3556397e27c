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
  --design launches
                  the published design: N sets (default 10), each with one launch per arm, off and every level, in an
                  order drawn from the seed; --seconds is the measuring time of all launches together
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

# nanoseconds TIME: a time with its unit (s without one) in ns
nanoseconds() {
    printf '%s\n' "$1" | awk '
        { number = $0; sub(/[a-z]+$/, "", number); unit = substr($0, length(number) + 1) }
        END {
            size["ns"] = 1; size["us"] = 1e3; size["ms"] = 1e6; size[""] = size["s"] = 1e9; size["min"] = 6e10; size["h"] = 3.6e12
            printf "%.0f\n", number * size[unit]
        }'
}

# plan SEED SETS LEVELS: one line per launch, in order: its set and its arm, off or a level
plan() {
    awk -v state="$(($1 % 2147483646 + 1))" -v sets="$2" -v levels="$3" '
        # the minimal standard generator (Park, Miller 1988): whole numbers that every awk has exactly
        function draw(n) {
            state = state * 16807 % 2147483647
            return int(n * state / 2147483647)
        }
        BEGIN {
            n = split("off," levels, arms, ",")
            for (i = 0; i < 20; i++) draw(1)
            for (set = 1; set <= sets; set++) {
                for (i = n; i > 1; i--) {
                    j = 1 + draw(i)
                    arm = arms[i]
                    arms[i] = arms[j]
                    arms[j] = arm
                }
                for (i = 1; i <= n; i++) print set, arms[i]
            }
        }'
}

# minutes SECONDS: for people
minutes() { awk -v s="$1" 'BEGIN { if (s < 120) printf "%.0f s\n", s; else printf "%.0f min\n", s / 60 }'; }

ranks='' launches='' design='' own_names='' out='' report=yes only_asks=no
op='' bytes='' levels=0,0.01,0.1,0.3,1 seconds=120 seed=''

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
    --ranks | --launches | --out | --seed | --levels | --seconds)
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
        --levels) levels=$value ;;
        --seconds) seconds=$value ;;
        esac
        ;;
    --design)
        [ "$name" != "$1" ] || value=${2-}
        if [ "$value" = launches ]; then
            design=launches own=yes
            if [ "$name" = "$1" ]; then
                shift
                n=$((n - 1))
            fi
        fi
        ;;
    --arms | --set | --launch-id) own_names=$name ;;
    --dry-run | --version | --list-*) only_asks=yes ;;
    --op) op=given ;;
    --bytes) bytes=given ;;
    esac
    [ "$own" = yes ] || set -- "$@" "$1"
    shift
    n=$((n - 1))
done

[ -n "$op" ] || set -- --op barrier,allreduce,alltoall "$@"
[ -n "$bytes" ] || set -- --bytes 2KiB "$@"
[ -n "$out" ] || out=noiselab-sensitivity-$(date -u +%Y%m%dT%H%M%SZ)
if [ "$design" = launches ]; then
    launches=${launches:-10}
    [ -z "$own_names" ] || die 2 "$own_names: --design launches makes many launches, which get theirs from it; leave it out"
    seed=${seed:-$(date +%s)}
fi
launches=${launches:-1}
whole --launches "$launches"
if { [ "$launches" -gt 1 ] || [ "$design" = launches ]; } && [ -n "$seed" ]; then
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
if [ "$design" = launches ]; then
    set -- "$@" --design single
    rehearsal=$("$NOISELAB_BIN/noiselab-detect" --dry-run --out "$out" "$@" --arms on --levels "$levels" --seconds "$seconds" 2>&1) || {
        printf '%s\n' "$rehearsal" >&2
        exit 2
    }
    order=$(plan "$seed" "$launches" "$levels")
    n_launches=$(printf '%s\n' "$order" | wc -l)
    # a launch has a loop for each operation, size and treatment, of whole noise periods
    n_loops=$(($(printf '%s\n' "$rehearsal" | sed -n 's/^design.* of \([0-9]*\) halves.*/\1/p') / (n_launches / launches - 1)))
    grid_ns=$((n_loops * $(nanoseconds "$(printf '%s\n' "$rehearsal" | sed -n 's/^design.* noise period //p' | tr -d ' ')")))
    each_ns=$(($(nanoseconds "$seconds") / n_launches / grid_ns * grid_ns))
    [ "$each_ns" -gt 0 ] ||
        die 2 "--seconds: $seconds is too short for $n_launches launches of $n_loops loop(s): with a second for each they take" \
            "$(minutes "$((n_launches * n_loops))")"
    each_s=$(awk -v ns="$each_ns" 'BEGIN { printf "%.3g", ns / 1e9 }')
    # what starting MPI, the pilot and writing the files take
    start_s=2
    note "$launches sets of $((n_launches / launches)) launches in random order (--seed $seed), $each_s s of measuring each and about $start_s s to start:" \
        "some $(minutes "$(awk -v n="$n_launches" -v s="$each_s" -v start="$start_s" 'BEGIN { print n * (s + start) }')")"
else
    if [ -n "$seed" ]; then set -- "$@" --seed "$seed"; fi
    set -- "$@" --levels "$levels" --seconds "$seconds"
    [ "$only_asks" = no ] || exec "$NOISELAB_BIN/noiselab-detect" --out "$out" "$@"
    "$NOISELAB_BIN/noiselab-detect" --dry-run --out "$out" "$@" >/dev/null || exit 2
fi
if [ "$only_asks" = yes ]; then
    printf '%s\n' "$order" | awk '{ print "set " $1 ": " ($2 == "off" ? "off" : $2 " %") }'
    exit 0
fi
set -- --progress "$(progress_option)" "$@"

# one_of_set NUMBER SET ARM ARGUMENTS: one launch of the published design
one_of_set() {
    number=$1 set=$2 arm=$3
    shift 3
    note "launch $number of $n_launches: set $set, $arm$([ "$arm" = off ] || echo ' %')$left"
    case $arm in
    off) set -- --arms off "$@" ;;
    *) set -- --arms on --levels "$arm" "$@" ;;
    esac
    one_launch "$ranks" --out "$out" "$@" --set "$set" --seconds "${each_ns}ns" --seed "$((seed + number - 1))"
}

catch_signals
if [ "$design" = launches ]; then
    number=0 left='' began=$(date +%s)
    for line in $(printf '%s' "$order" | tr ' ' ':'); do
        number=$((number + 1))
        one_of_set "$number" "${line%%:*}" "${line#*:}" "$@"
        [ "$interrupted" = no ] || break
        [ "$status" -eq 0 ] || die 2 "the measurement ended with status $status; what was taken is in '$out'"
        left=", some $(minutes $((($(date +%s) - began) * (n_launches - number) / number))) left"
    done
    launches=0 # all done
fi
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

#!/bin/sh
# Runs the tests of a level, or of a folder: run.sh check | mpi | test | long | unit | runner | cli | r |
# truth | cluster | NAME... (a suite: cli/gen). What measures runs alone, the rest beside each other, by
# `prove`; what failed runs once more, alone, and what measures up to twice more. The last line is "N
# passed, N failed".
# NOISELAB_INSTALLED=PREFIX: on an installed tree. NOISELAB_JOBS: suites at once. NOISELAB_BUDGETS=judge: a
# suite far above its budget fails the run; else it is named, because how long a suite takes is also the
# machine's doing.
set -u
cd "$(dirname "$0")/.." || exit 2
installed=${NOISELAB_INSTALLED-}
# shellcheck source=tests/environment.sh
. tests/environment.sh
kept=$NOISELAB_BUILD/suites
jobs=${NOISELAB_JOBS:-$(nproc)}
# How many tests may say another thing when they are run a second time, because they shared the machine at
# first. More are no accident.
most_repeats=10
usual_budget_s=20

bats_suites() { for file in tests/"$1"/*.bats; do echo "$1/$(basename "$file" .bats)"; done; }
r_suites() { for file in analysis/tests/testthat/test-*.R; do echo "r/$(basename "$file" .R)"; done; }
# not what was built of a source that is gone
unit_suites() {
    find "$NOISELAB_BUILD/tests/unit" -name 'test_*' -type f -perm -u+x | sed "s|^$NOISELAB_BUILD/tests/||" |
        LC_ALL=C sort | while read -r name; do [ ! -e "tests/$name.c" ] || echo "$name"; done
}
runner_suites() {
    for file in tests/runner/test_*.py; do [ ! -e "$file" ] || echo "runner/$(basename "$file" .py)"; done
}
long_suites() { awk '$1 ~ /^long\// { print $1 }' tests/suites; }

# of an installed tree the programs are tested; unit tests and lint look at the sources
everything() {
    bats_suites cli && bats_suites truth && bats_suites cluster && r_suites
    [ -n "$installed" ] || { echo lint && unit_suites && runner_suites; }
}

# tagged TAG: of tests/cli those that have such tests
tagged() { grep -lE "^# bats (file|test)_tags=.*$1" tests/cli/*.bats | sed 's|^tests/||; s|\.bats$||'; }

# those of its level; unit tests and R's files are quick where the table does not say otherwise
wanted() {
    case $1 in
    check) { everything | of_level check; tagged quick; } | LC_ALL=C sort -u ;;
    mpi) tagged mpi ;;
    test) everything | of_level check test ;;
    long) { everything; long_suites; } | of_level check test long ;;
    unit) unit_suites ;;
    runner) runner_suites ;;
    r) r_suites ;;
    cli | truth | cluster) bats_suites "$1" ;;
    *) printf '%s\n' "$@" ;;
    esac
}

# of_level LEVEL...: the names on stdin, of which the table says one of these levels
of_level() {
    awk -v levels=" $* " '
        FNR == NR { if (!/^#/ && NF) level[$1] = $3; next }
        { l = $1 in level ? level[$1] : $1 ~ /^(unit|runner)\// ? "check" : "test" }
        index(levels, " " l " ")' tests/suites -
}

# in_group GROUP: the names on stdin, those with the largest budget first
in_group() {
    awk -v group="$1" -v usual="$usual_budget_s" '
        FNR == NR { if (!/^#/ && NF) { of[$1] = $2; budget[$1] = $4 } next }
        ($1 in of ? of[$1] : $1 ~ /^truth\// ? "alone" : "beside") == group {
            print ($1 in budget ? budget[$1] : usual) "\t" $1 }' tests/suites - |
        sort -s -k 1,1nr | cut -f 2
}

# judging: of the names on stdin, those that judge a time
judging() {
    judged=$(cat)
    for group in alone few; do printf '%s\n' "$judged" | in_group "$group"; done
}

# of those beside each other: what starts no ranks
starts_no_ranks() { grep "$@" -E '^(r/|runner/|lint$)'; }

# taken JOBS [COMMAND WORDS]: the suites on stdin, by prove (which COMMAND starts), which says of each how it
# ended
taken() {
    names=$(cat)
    [ -n "$names" ] || return 0
    # shellcheck disable=SC2086 # names have no spaces
    ${2-} prove --jobs "$1" --timer --exec 'sh tests/suite.sh' $names </dev/null
}

# in_batches: files of R's, up to twenty to a process (their names joined by commas): to start R and load its
# packages takes a second. They are dealt out to and fro, as they come with the largest budget first, and each
# job has as many batches, so that all end at about the same time.
in_batches() {
    awk -v jobs="$jobs" '
        !/^r\// { print; next }
        { name[n++] = $1 }
        END {
            batches = jobs * int((n + 20 * jobs - 1) / (20 * jobs))
            if (batches > n) batches = n
            for (i = 0; i < n; i++) {
                at = int(i / batches) % 2 ? batches - 1 - i % batches : i % batches
                batch[at] = batch[at] (i < batches ? "" : ",") name[i]
            }
            for (i = 0; i < batches; i++) print batch[i]
        }'
}

tap_of() { echo "$kept/$(echo "$1" | tr / -).tap"; }

# failing: of the suites on stdin
failing() { while read -r name; do grep -qs '^not ok' "$(tap_of "$name")" && echo "$name"; done; }

# busy_s: seconds that the CPUs were not idle, or were taken from this machine, since it started
busy_s() {
    awk -v hz="$(getconf CLK_TCK)" '/^cpu / { printf "%.0f", ($2 + $3 + $4 + $7 + $8 + $9) / hz }' /proc/stat
}

# others_percent BUSY_BEFORE OWN_S SECONDS: of one CPU, what others had of it, on the average
others_percent() { echo $((($(busy_s) - $1 - $2) * 100 / ($3 > 0 ? $3 : 1))); }

# over_budget: suites that took more than twice their seconds, with both figures; of what has the lowest
# priority the CPU seconds
over_budget() {
    awk -F '\t' -v usual="$usual_budget_s" '
        FNR == NR { if (!/^#/ && split($0, word, " ") >= 4) budget[word[1]] = word[4]; next }
        { b = $1 in budget ? budget[$1] : usual }
        ($1 ~ /^(r\/|lint$)/ ? $3 : $2) > 2 * b {
            printf "%s took %d s (%d s of CPU time), and its budget is %d s\n", $1, $2, $3,
                b }' tests/suites "$times"
}

slowest_tests() {
    for name in $suites; do
        case $name in
        r/* | unit/*)
            cut -f 1,2 "$kept/$(echo "$name" | tr / -).time" |
                awk -F '\t' '{ printf "%d\t%s\n", $2 * 1000, $1 }'
            ;;
        *) sed -nE "s|^(not )?ok [0-9]+ - (.*) in ([0-9]+)ms.*|\3\t$name: \2|p" "$(tap_of "$name")" ;;
        esac
    done | sort -k 1,1nr | head -n 10 | awk -F '\t' '{ printf "# %5.1f s  %s\n", $1 / 1000, $2 }'
}

usage='usage: tests/run.sh [--list] check|mpi|test|long|unit|runner|cli|r|truth|cluster|NAME...'
case ${1-} in
'') echo "$usage" >&2 && exit 2 ;;
--list)
    # in the order in which they are run
    suites=$(wanted "$2")
    for group in alone few waits beside; do printf '%s\n' "$suites" | in_group "$group"; done
    exit
    ;;
esac
case $1 in check | mpi | test | long) NOISELAB_TESTS=$1 ;; esac
suites=$(wanted "$@")
rm -rf "$kept"
mkdir -p "$kept"
log=$NOISELAB_BUILD/test.log times=$NOISELAB_BUILD/test-times.tsv
began=$(date +%s)
busy_before=$(busy_s)

printf '%s\n' "$suites" | in_group alone | taken 1
# what finds its CPU taken by another of the three is no answer: it fails, and is taken again alone
printf '%s\n' "$suites" | in_group few | NOISELAB_BESIDE=yes taken 3
# Who judges a time is told that it cannot be done here. Launches of several ranks take turns; what starts
# none has what CPU time these leave.
(
    export NOISELAB_BESIDE=yes NOISELAB_TURNS="$PWD/$NOISELAB_BUILD/turns" PATH="$PWD/tests/in-turn:$PATH"
    : >"$NOISELAB_TURNS"
    printf '%s\n' "$suites" | in_group waits | taken 2 >"$NOISELAB_BUILD/waits.log" 2>&1 &
    printf '%s\n' "$suites" | in_group beside | starts_no_ranks | in_batches |
        taken "$jobs" 'nice -n 19' >"$NOISELAB_BUILD/lone.log" 2>&1 &
    # these mostly wait for their turn
    printf '%s\n' "$suites" | in_group beside | starts_no_ranks -v | taken "$((jobs + 1))"
    wait
    cat "$NOISELAB_BUILD/waits.log" "$NOISELAB_BUILD/lone.log"
)
repeated=0
again=$(printf '%s\n' "$suites" | failing)
if [ -n "$again" ]; then
    # shellcheck disable=SC2046 # names have no spaces
    sed -n 's/^not ok [0-9]* - /# failed at first: /p' \
        $(for name in $again; do tap_of "$name"; done) >"$kept/repeated"
    repeated=$(grep -c . "$kept/repeated")
    if [ "$repeated" -gt "$most_repeats" ]; then
        echo "# $repeated tests failed at first, and $most_repeats may: none is run again"
    else
        printf '\n# once more, alone: %s\n' "$(echo "$again" | paste -sd ' ' -)"
        echo "$again" | NOISELAB_AGAIN=yes taken 1
        # A hypervisor that takes a CPU is in no account of this machine: what judges a measurement is wrong
        # when it is so three times.
        twice=$(echo "$again" | failing | judging)
        if [ -n "$twice" ]; then
            # shellcheck disable=SC2046
            sed -n 's/^not ok [0-9]* - /# failed twice: /p' \
                $(for name in $twice; do tap_of "$name"; done) >>"$kept/repeated"
            printf '\n# a third time, alone: %s\n' "$(echo "$twice" | paste -sd ' ' -)"
            echo "$twice" | NOISELAB_AGAIN=yes taken 1
        fi
    fi
fi

cat "$kept"/*.time >"$times" 2>/dev/null
for name in $suites; do
    printf '# %s\n' "$name"
    cat "$(tap_of "$name")" 2>/dev/null || echo "not ok - $name was not run"
done >"$log"
skipped=$(grep -ciE '^ok .*# *skip' "$log")
passed=$(($(grep -cE '^ok ' "$log") - skipped))
echo
# a failed test, and the lines that explain it
awk '/^# [a-z]+(\/|$)/ { name = $2 } /^not ok/ { shown = 1; print name ": " $0; next } /^#/ {
    if (shown) print; next } { shown = 0 }' "$log"
# skipped tests, by their reasons
awk '/^# [a-z]+(\/|$)/ { name = $2 } /^ok .*# *[Ss][Kk][Ii][Pp]/ { print name ": " $0 }' "$log"
cat "$kept/repeated" 2>/dev/null
echo '# the ten slowest:'
slowest_tests
over=$(over_budget)
elapsed=$(($(date +%s) - began)) own=$(awk -F '\t' '{ s += $3 } END { print int(s) }' "$times")
disturbed=$(others_percent "$busy_before" "$own" "$elapsed")
if [ -n "$over" ] && [ "${NOISELAB_BUDGETS-}" = judge ]; then
    echo '# budgets' >>"$log"
    echo "$over" | sed 's/^/not ok - /' | tee -a "$log"
elif [ -n "$over" ]; then
    echo '# above their budgets (tests/suites), which this run does not judge:'
    echo "$over" | sed 's/^/# /'
fi
failed=$(grep -cE '^not ok' "$log")
# by name once more, for who sees only the last lines
awk '/^# [a-z]+(\/|$)/ { name = $2 } /^not ok/ { print "# failed: " name ": " $0 }' "$log"
printf '# %d s, %d s of CPU time; others had %d %% of a CPU\n' "$elapsed" "$own" "$disturbed"
echo "$passed passed, $failed failed${skipped:+, $skipped skipped}" | tee "$NOISELAB_BUILD/test.summary"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

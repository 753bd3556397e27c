#!/bin/sh
# Runs the tests and counts them: run.sh quick | all | unit | cli | r | truth | cluster. The last line is "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 2
NOISELAB_BUILD=${NOISELAB_BUILD:-build}
NOISELAB_BIN=$PWD/$NOISELAB_BUILD/bin
export NOISELAB_BUILD NOISELAB_BIN
log=$NOISELAB_BUILD/test.log
: >"$log"

# A suite is a file of tests, named by its folder: unit/test_pace, cli/gen, truth/sync, cluster/slurm; or "R package", or lint.

# of tests/cli, what takes ten seconds to a minute and a half: not for the quick tests
slow_cli='cli/profile cli/fuzz cli/fault cli/command cli/doctor cli/run cli/nodes cli/gen cli/sequential cli/starts cli/bench cli/detect-agent cli/run-agent cli/docs cli/report cli/ctrl-c cli/secrets cli/endurance cli/launches'

# What looks at words, files, refusals and endings, and judges nothing by its time: it shares the machine with the cluster, R and lint. The
# longest come first, and whoever is free takes the next. On the test cluster no test judges a time, nor do the unit tests, which come last. A file whose launches of several ranks end
# after a count, not after a time, does not belong here unless its ranks take turns: each operation would wait until its ranks have their CPUs at
# once.
beside='cluster/experiments cluster/acceptance cli/docs cli/fault cli/secrets cluster/docs cluster/slurm cluster/mpirun cli/run cli/nodes cluster/reframe cli/run-agent cli/detect-agent
    truth/launches cli/detect cli/gen cli/bench cluster/updown cli/run-acceptance cli/record cli/accept
    cli/sequential cli/command cli/doctor cli/plan cli/agent cli/equivalent cli/report cli/analyze cli/fuzz'
# takers of those
n_takers=$(nproc)
# How many tests may say another thing when they are run a second time, most of them because they shared the machine at first, and how many a third
# time. More are no accident.
most_repeats=20 most_again=3

# R's files, of which two processes take the next, whichever is free. Those that simulate much or draw many plots come first, in this order, and
# are not for the quick tests.
slow_r='truth|report|plot-|main-|compare|plan-pilot|stability|simulate|periodic|periodogram|epoch-fold|harmonics'

# bats_suites FOLDER: those in tests/FOLDER
bats_suites() { for file in tests/"$1"/*.bats; do echo "$1/$(basename "$file" .bats)"; done; }

# ---- one suite ---------------------------------------------------------------------------------------------------------------------------------

# r_files: all test files, the slow ones first
r_files() {
    for name in $(echo "$slow_r" | tr '|' ' '); do ls analysis/tests/testthat/test-"$name"*.R; done | awk '!seen[$0]++'
    r_quick_files
}

r_quick_files() { printf '%s\n' analysis/tests/testthat/test-*.R | grep -vE "/test-($slow_r)"; }

# r_tests FILE...: as TAP, whatever happens in one of them
r_tests() {
    R_LIBS="$NOISELAB_BUILD/lib/noiselab/R" Rscript --vanilla -e '
        library(testthat); library(noiselab)
        run <- function(file) {
          began <- proc.time()[["elapsed"]]
          said <- capture.output(test_file(file, package = "noiselab", reporter = "tap", load_package = "installed"), type = "output")
          c(said, sprintf("# %s took %.0f s", basename(file), proc.time()[["elapsed"]] - began))
        }
        files <- commandArgs(TRUE)
        said <- parallel::mclapply(files, run, mc.cores = 2, mc.preschedule = FALSE)
        for (i in seq_along(files)) {
          # NULL: its process was killed
          if (is.character(said[[i]]) && !inherits(said[[i]], "try-error")) writeLines(said[[i]])
          else cat("not ok -", basename(files[i]), "broke off:", sub("\n.*", "", paste(said[[i]])), "\n")
        }' "$@"
    status=$?
    rm -f analysis/tests/testthat/Rplots.pdf
    return "$status"
}

# run_suite NAME [PATTERN]: as TAP; with an extended regular expression only the tests whose names it matches, where tests have names
# shellcheck disable=SC2046 # names of files have no spaces
run_suite() {
    case $1 in
    lint) tests/lint.sh ;;
    'R package') r_tests $(r_files) ;;
    'R package, quick') r_tests $(r_quick_files) ;;
    unit/*) env CMOCKA_MESSAGE_OUTPUT=TAP "$NOISELAB_BUILD/tests/$1" ;;
    *) bats --tap --timing ${2:+--filter "$2"} "tests/$1.bats" ;;
    esac
}

# skips_as_bats: cmocka writes "not ok N # SKIP name" for a test that was skipped, and before it what tests/unit/skip.h says
skips_as_bats() {
    awk '
        sub(/^skipped: /, "") { reason = " " $0; next }
        /^not ok [0-9]+ # SKIP / { number = $3; sub(/.*# SKIP /, ""); $0 = "ok " number " - " $0 " # skip" reason; reason = "" }
        { print }'
}

# attempt NAME [PATTERN]: shows what the suite says, and keeps it in $suite. One that breaks off counts as a failure.
attempt() {
    began=$(date +%s)
    printf '# %s\n' "$1" | tee "$suite"
    # by way of a file: a process that a test leaves behind would hold a pipe for ever
    (
        run_suite "$@" </dev/null || printf '# ended with status %d\n' "$?"
        times >"$suite.times"
    ) >"$suite.raw" 2>&1
    skips_as_bats <"$suite.raw" | tee -a "$suite"
    rm -f "$suite.raw"
    # a suite that broke off without naming a failed test has failed all the same
    if grep -qE '^# ended with status' "$suite" && ! grep -qE '^not ok' "$suite"; then
        printf 'not ok - %s broke off\n' "$1" | tee -a "$suite"
    fi
    # of the second line, that of children: minutes and seconds, user and system
    cpu_s=$(awk -F '[ms ]+' 'NR == 2 { printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }' "$suite.times")
    printf '# %s took %d s, %s s of CPU time\n' "$1" $(($(date +%s) - began)) "$cpu_s" | tee -a "$suite"
}

# failed_tests: their names, in $suite
failed_tests() { sed -n 's/^not ok [0-9]* //p' "$suite" | sed 's/ in [0-9]*ms$//'; }

# can_repeat NAME: with another result. What R and lint say depends on nothing else on the machine.
can_repeat() { case $1 in 'R package'* | lint) false ;; esac }

# set_aside NAME WHEN: what did not fail counts, what did will be taken again; the summary says what it was
set_aside() {
    grep -E '^ok' "$suite" >>"$suite.kept"
    sed -n "s|^not ok|# failed $2: $1:|p" "$suite" | tee -a "$log"
}

# again NAME: the tests that failed, or the whole suite where they cannot be told from the others (a setup that failed has no name)
again() {
    wanted=$(failed_tests | grep -c .)
    pattern=$(failed_tests | sed 's/[][\\.*^$+?(){}|]/\\&/g' | paste -sd '|' -)
    case $1 in unit/*) wanted=0 ;; esac
    if [ "$wanted" -gt 0 ]; then attempt "$1" "^($pattern)\$"; fi
    if [ "$wanted" -eq 0 ] || [ "$(grep -cE '^(not )?ok ' "$suite")" -ne "$wanted" ]; then
        : >"$suite.kept"
        attempt "$1"
    fi
}

# counted NAME FILE: what the suite said in its first attempt, or says later. What measures can be spoilt by whatever else runs on a shared machine at
# that moment, which is no mistake of the code: tests that failed run once more, alone, and where that moment lasted, a last time.
counted() {
    suite=$2
    [ -s "$suite" ] || echo "not ok - $1 was not run" | tee "$suite"
    : >"$suite.kept"
    for when in 'at first' again; do
        if ! can_repeat "$1" || ! grep -qE '^not ok' "$suite"; then break; fi
        set_aside "$1" "$when"
        again "$1"
    done
    cat "$suite.kept" "$suite" >>"$log"
}

# take NAME...: one after the other, alone
take() {
    for name in "$@"; do
        suite=$NOISELAB_BUILD/suite.log
        attempt "$name"
        counted "$name" "$suite"
    done
}

# ---- suites beside each other --------------------------------------------------------------------------------------------------------------

# file_of NAME: where a suite says what it has to say while others run
file_of() { echo "$NOISELAB_BUILD/beside/$(echo "$1" | tr '/ ' '--')"; }

# taker NAME...: takes those that no other has taken. What a suite said is shown when it has ended.
taker() {
    for name in "$@"; do
        suite=$(file_of "$name")
        mkdir "$suite.taken" 2>/dev/null || continue
        attempt "$name" >/dev/null
        flock "$NOISELAB_BUILD/beside" cat "$suite"
    done
}

# take_beside NAME...: most of these wait, so some run at once. $computing has R's tests, which take their share of the CPUs like all others: at a lower
# priority they would wait for ranks that only spin, and come last. What failed may have been disturbed: it runs once more, alone.
take_beside() {
    rm -rf "$NOISELAB_BUILD/beside"
    mkdir "$NOISELAB_BUILD/beside"
    # who judges a time is told that it cannot be done here
    NOISELAB_BESIDE=yes
    export NOISELAB_BESIDE
    taker "$computing" &
    takers=$!
    for _ in $(seq "$n_takers"); do
        taker "$@" &
        takers="$takers $!"
    done
    for process in $takers; do wait "$process"; done
    unset NOISELAB_BESIDE
    for name in "$computing" "$@"; do counted "$name" "$(file_of "$name")"; done
}

# ---- what is run -------------------------------------------------------------------------------------------------------------------------------

unit_suites() {
    find "$NOISELAB_BUILD/tests/unit" -name 'test_*' -type f -perm -u+x | sed "s|^$NOISELAB_BUILD/tests/||" | LC_ALL=C sort
}

# but NAME...: the names on stdin that are none of these
but() { grep -vxF "$(printf '%s\n' "$@")"; }

# shellcheck disable=SC2046,SC2086 # names have no spaces
case ${1-} in
quick)
    computing='R package, quick'
    quick=$(bats_suites cli | but $slow_cli)
    take $(echo "$quick" | but $beside)
    take_beside $(echo "$beside" | tr ' ' '\n' | grep -xF "$quick") $(unit_suites)
    ;;
all)
    computing='R package'
    take $({ bats_suites cli && bats_suites truth && bats_suites cluster; } | but $beside)
    take_beside $beside lint $(unit_suites)
    ;;
unit) take $(unit_suites) ;;
cli) take $(bats_suites cli) ;;
truth | cluster) take $(bats_suites "$1") ;;
r) take 'R package' ;;
*)
    echo 'usage: tests/run.sh quick|all|unit|cli|r|truth|cluster' >&2
    exit 2
    ;;
esac

repeated=$(grep -c '^# failed at first: ' "$log")
again=$(grep -c '^# failed again: ' "$log")
[ "$again" -le "$most_again" ] || echo "not ok - $again tests failed twice, and $most_again may" | tee -a "$log"
[ "$repeated" -le "$most_repeats" ] || echo "not ok - $repeated tests failed at first, and $most_repeats may" | tee -a "$log"
skipped=$(grep -ciE '^ok .*# *skip' "$log")
passed=$(($(grep -cE '^ok ' "$log") - skipped))
failed=$(grep -cE '^not ok' "$log")
[ "$failed" = 0 ] || { echo && grep -E '^not ok' "$log"; }
echo
grep -E '^# failed (at first|again): ' "$log"
[ "$skipped" = 0 ] || grep -iE '^ok .*# *skip' "$log"
echo "$passed passed, $failed failed" | tee "$NOISELAB_BUILD/test.summary"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

#!/bin/sh
# Runs the tests and counts them: run.sh quick | all | unit | cli | r | truth | cluster. The last line is "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 2
NOISELAB_BUILD=${NOISELAB_BUILD:-build}
NOISELAB_BIN=$PWD/$NOISELAB_BUILD/bin
export NOISELAB_BUILD NOISELAB_BIN
log=$NOISELAB_BUILD/test.log
: >"$log"
# what the last suite said
suite=$NOISELAB_BUILD/suite.log

# attempt NAME COMMAND...: a suite that speaks TAP, shown and kept in $suite. A suite that breaks off counts as a failure.
attempt() {
    name=$1 began=$(date +%s)
    shift
    printf '# %s\n' "$name"
    # cmocka writes "not ok N # SKIP name" for a test that was skipped
    { "$@" || printf '# ended with status %d\n' "$?"; } 2>&1 | sed 's/^not ok \([0-9]*\) # SKIP /ok \1 # SKIP /' | tee "$suite"
    # a suite that broke off without naming a failed test has failed all the same
    if grep -qE '^# ended with status' "$suite" && ! grep -qE '^not ok' "$suite"; then
        printf 'not ok - %s broke off\n' "$name" | tee -a "$suite"
    fi
    printf '# %s took %d s\n' "$name" $(($(date +%s) - began)) | tee -a "$suite"
}

take() {
    attempt "$@"
    cat "$suite" >>"$log"
}

# failed_at_first NAME: what failed in its suite, as the summary will say it
failed_at_first() { sed -n "s|^not ok|# failed at first: $1:|p" "$suite"; }

# take_measured: what measures can be spoilt by whatever else runs on a shared machine at that moment, which is no mistake of the code: a suite
# with a failed test runs once more, and what the second run says counts. What failed at first stays in the log and in the summary.
take_measured() {
    attempt "$@"
    if grep -qE '^not ok' "$suite"; then
        failed_at_first "$1" | tee -a "$log"
        attempt "$@"
    fi
    cat "$suite" >>"$log"
}

unit() {
    for program in "$NOISELAB_BUILD"/tests/test_*; do
        [ -x "$program" ] && [ "${program%.d}" = "$program" ] && take_measured "$(basename "$program")" env CMOCKA_MESSAGE_OUTPUT=TAP "$program"
    done
}

# files that take ten seconds to a minute and a half are not for the quick tests
slow_cli='run|nodes|gen|sequential|starts|bench'
# cli [NAMES]: without those
cli() {
    for file in tests/cli/*.bats; do
        basename "$file" .bats | grep -qxE "${1-^$}" || take_measured "$(basename "$file")" bats --tap "$file"
    done
}

# ground truth: minutes of real measurements
truth() {
    for file in tests/truth/*.bats; do take_measured "$(basename "$file")" bats --tap "$file"; done
}

# on the test cluster: several nodes of this machine, and Slurm on them
cluster() {
    for file in tests/cluster/*.bats; do take_measured "cluster/$(basename "$file")" bats --tap "$file"; done
}

# Two processes share the files, and whichever is free takes the next one. Those that simulate much or draw many plots come first, in this order,
# and are not for the quick tests.
slow_r='truth|report|plot-|main-|compare|plan-pilot|stability|simulate|periodic|periodogram|epoch-fold|harmonics'

# r_files: all test files, the slow ones first
r_files() {
    for name in $(echo "$slow_r" | tr '|' ' '); do ls analysis/tests/testthat/test-"$name"*.R; done | awk '!seen[$0]++'
    r_quick_files
}

r_quick_files() { printf '%s\n' analysis/tests/testthat/test-*.R | grep -vE "/test-($slow_r)"; }

# r_tests FILE...: as TAP, whatever happens in one of them
r_tests() {
    R_LIBS="$NOISELAB_BUILD/lib/noiselab/R" nice -n 19 Rscript --vanilla -e '
        library(testthat); library(noiselab)
        run <- function(file) {
          capture.output(test_file(file, package = "noiselab", reporter = "tap", load_package = "installed"), type = "output")
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

# shellcheck disable=SC2046 # names of test files have no spaces
r() { take 'R package' r_tests $(r_files); }

# shellcheck disable=SC2046
r_quick() { take 'R package' r_tests $(r_quick_files); }

# suite NAME: runs it, as TAP
# shellcheck disable=SC2046 # names of test files have no spaces
suite() {
    case $1 in
    lint) nice tests/lint.sh ;;
    'R package') r_tests $(r_files) ;;
    cli/*) nice bats --tap "tests/$1.bats" ;;
    *) bats --tap "tests/$1.bats" ;;
    esac
}

# lane LANE NAME...: suites one after the other, into files of the lane. One that failed may have been disturbed by what ran beside it.
lane() {
    lane_log=$NOISELAB_BUILD/lane-$1 suite=$NOISELAB_BUILD/suite-$1.log
    shift
    : >"$lane_log.tap"
    : >"$lane_log.again"
    for name in "$@"; do
        attempt "$name" suite "$name"
        if grep -qE '^not ok' "$suite" && [ "$name" != lint ] && [ "$name" != 'R package' ]; then
            failed_at_first "$name" | tee -a "$lane_log.tap"
            echo "$name" >>"$lane_log.again"
        else
            cat "$suite" >>"$lane_log.tap"
        fi
    done
}

# cli files whose figures nobody looks at, and whose launches are of one rank: two ranks that spin would wait for each other
beside='cli/run cli/plan'

# What does not measure shares the time: R and lint compute, the cluster mostly waits for Slurm. What failed there runs once more, alone.
all_beside() {
    names=$(for file in tests/cluster/*.bats; do basename "$file" .bats; done | grep -vx experiments | sed 's|^|cluster/|')
    lane jobs cluster/experiments >"$NOISELAB_BUILD/lane-jobs.log" 2>&1 &
    lanes=$!
    # shellcheck disable=SC2086 # names have no spaces
    lane cluster $names >"$NOISELAB_BUILD/lane-cluster.log" 2>&1 &
    lanes="$lanes $!"
    # shellcheck disable=SC2086
    lane machine 'R package' lint $beside >"$NOISELAB_BUILD/lane-machine.log" 2>&1 &
    lanes="$lanes $!"
    for process in $lanes; do wait "$process"; done
    for lane in jobs cluster machine; do
        cat "$NOISELAB_BUILD/lane-$lane.log"
        cat "$NOISELAB_BUILD/lane-$lane.tap" >>"$log"
        while read -r name; do take "$name" suite "$name" </dev/null; done <"$NOISELAB_BUILD/lane-$lane.again"
    done
}

case ${1-} in
quick)
    unit
    cli "$slow_cli"
    r_quick
    ;;
all)
    unit
    cli "$(echo "$beside" | sed 's|cli/||g; s/ /|/g')"
    truth
    all_beside
    ;;
unit | cli | r | truth | cluster) "$1" ;;
*)
    echo 'usage: tests/run.sh quick|all|unit|cli|r|truth|cluster' >&2
    exit 2
    ;;
esac

skipped=$(grep -ciE '^ok .*# *skip' "$log")
passed=$(($(grep -cE '^ok ' "$log") - skipped))
failed=$(grep -cE '^not ok' "$log")
[ "$failed" = 0 ] || { echo && grep -E '^not ok' "$log"; }
echo
grep '^# failed at first: ' "$log"
[ "$skipped" = 0 ] || grep -iE '^ok .*# *skip' "$log"
echo "$passed passed, $failed failed" | tee "$NOISELAB_BUILD/test.summary"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

#!/bin/sh
# Runs the tests and counts them: run.sh quick | all | unit | cli | r | truth | cluster. The last line is "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 2
NOISELAB_BUILD=${NOISELAB_BUILD:-build}
NOISELAB_BIN=$PWD/$NOISELAB_BUILD/bin
export NOISELAB_BUILD NOISELAB_BIN
log=$NOISELAB_BUILD/test.log
: >"$log"

# attempt NAME COMMAND...: a suite that speaks TAP, shown and kept in $suite. A suite that breaks off counts as a failure.
attempt() {
    name=$1 began=$(date +%s)
    shift
    printf '# %s\n' "$name"
    suite=$NOISELAB_BUILD/suite.log
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

# take_measured: what measures can be spoilt by whatever else runs on a shared machine at that moment, which is no mistake of the code: a suite
# with a failed test runs once more, and what the second run says counts. What failed at first stays in the log and in the summary.
take_measured() {
    attempt "$@"
    if grep -qE '^not ok' "$suite"; then
        sed -n "s/^not ok/# failed at first: $1:/p" "$suite" | tee -a "$log"
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
slow_cli='run|nodes|gen|sequential|starts'
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

# r_tests FILE...: as TAP, whatever happens in one of them
r_tests() {
    R_LIBS="$NOISELAB_BUILD/lib/noiselab/R" nice -n 19 Rscript --vanilla -e '
        library(testthat); library(noiselab)
        for (file in commandArgs(TRUE)) test_file(file, package = "noiselab", reporter = "tap", load_package = "installed")' "$@"
}

# Two processes share the files. Those that simulate much or draw many plots are not for the quick tests.
slow_r='report|plot-|main-|truth|compare|plan-pilot|stability|simulate|periodic|periodogram|epoch-fold|harmonics'
r_halves() {
    set -- "${1-^$}"
    n=0 odd='' even=''
    for file in analysis/tests/testthat/test-*.R; do
        printf '%s\n' "${file##*/test-}" | grep -qE "^($1)" && continue
        n=$((n + 1))
        if [ $((n % 2)) = 0 ]; then even="$even $file"; else odd="$odd $file"; fi
    done
    # shellcheck disable=SC2086 # names of test files have no spaces
    r_tests $odd >"$NOISELAB_BUILD/r-odd.log" 2>&1 &
    other=$!
    # shellcheck disable=SC2086
    r_tests $even
    status=$?
    wait "$other" || status=1
    cat "$NOISELAB_BUILD/r-odd.log"
    rm -f "$NOISELAB_BUILD/r-odd.log" analysis/tests/testthat/Rplots.pdf
    return "$status"
}

r() { take 'R package' r_halves "$@"; }

# Tests of R compute, and those on the cluster mostly wait for Slurm: they share the time, the cluster's come first. Nothing of either measures.
r_beside_cluster() {
    r_halves >"$NOISELAB_BUILD/r.log" 2>&1 &
    r_process=$!
    cluster
    wait "$r_process"
    r_status=$?
    take 'R package' r_result
}

r_result() {
    cat "$NOISELAB_BUILD/r.log"
    return "$r_status"
}

case ${1-} in
quick)
    unit
    cli "$slow_cli"
    r "$slow_r"
    ;;
all)
    take 'lint' tests/lint.sh
    unit
    cli
    truth
    r_beside_cluster
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

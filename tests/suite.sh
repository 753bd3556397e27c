#!/bin/sh
# suite.sh NAME: one suite as TAP (or several of R's, joined by commas, which one process runs), kept in
# $NOISELAB_BUILD/suites/NAME.tap (a / is a -), beside it its seconds and CPU seconds in NAME.time. With
# NOISELAB_AGAIN=yes only what failed before, alone: what measures can be spoilt by whatever else runs on a
# shared machine at that moment, which is no mistake of the code. What R and lint say depends on nothing else,
# and stays as it is.
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=tests/environment.sh
. tests/environment.sh

# run_suite NAME [PATTERN]: with an extended regular expression only the tests whose names it matches, where
# tests have names
run_suite() {
    case $1 in
    lint) tests/lint.sh ;;
    long/*) make --no-print-directory "${1#long/}" ;;
    runner/*) python3 -I tests/runner/tap.py "${1#runner/}" ;;
    unit/*) CMOCKA_MESSAGE_OUTPUT=TAP "$NOISELAB_BUILD/tests/$1" ;;
    *) bats --tap --timing ${2:+--filter "$2"} ${tags:+--filter-tags "$tags"} "tests/$1.bats" ;;
    esac
}

# r_batch NAME...: each keeps its own TAP and its own times, as if it had run alone. Helpers are read once for
# all. To compile what runs once takes longer than to run it; the heap begins large, so that it is seldom
# collected; and where other suites have the other CPUs, a process of its own for each plot only costs.
r_batch() {
    for name in "$@"; do rm -f "$NOISELAB_BUILD/suites/$(echo "$name" | tr / -)".*; done
    # shellcheck disable=SC2016 # for R
    R_ENABLE_JIT=0 R_LIBS="$NOISELAB_R" Rscript --vanilla --min-nsize=4M --min-vsize=128M -e '
        library(testthat); library(noiselab)
        options(mc.cores = 1L)
        args <- commandArgs(TRUE)
        helpers <- test_env("noiselab")
        invisible(source_test_helpers("analysis/tests/testthat", helpers))
        for (name in args[-1]) {
          kept <- file.path(normalizePath(args[1]), gsub("/", "-", name))  # a test has another folder
          before <- proc.time()
          reporter <- TapReporter$new(file = paste0(kept, ".tap"))
          tryCatch(test_file(sprintf("analysis/tests/testthat/%s.R", sub("r/", "", name)),
                             package = "noiselab",
                             reporter = reporter, load_package = "installed", stop_on_failure = FALSE,
                             load_helpers = FALSE,
                             env = new.env(parent = helpers)),
                   error = function(e) cat(sprintf("\nnot ok - %s broke off: %s\n", name,
                       gsub("\n", " ", conditionMessage(e))),
                                           file = paste0(kept, ".tap"), append = TRUE))
          # a file without a test says nothing of itself
          if (!file.exists(paste0(kept, ".tap"))) cat(sprintf("not ok - %s has no test\n", name),
              file = paste0(kept, ".tap"))
          took <- proc.time() - before
          cat(sprintf("%s\t%.0f\t%.0f\n", name, took[["elapsed"]], sum(took[-3])),
              file = paste0(kept, ".time"))
        }' "$NOISELAB_BUILD/suites" "$@" >"$tap.raw" 2>&1 </dev/null ||
            printf 'ended with status %d\n' "$?" >>"$tap.raw"
    for name in "$@"; do
        own=$NOISELAB_BUILD/suites/$(echo "$name" | tr / -)
        # without its times a file did not come to its end
        [ -e "$own.time" ] || { printf '\nnot ok - %s broke off\n' "$name"; cat "$tap.raw"; } >>"$own.tap"
        as_one_tap <"$own.tap" >"$tap.one" && mv "$tap.one" "$own.tap"
        cat "$own.tap"
    done | as_one_tap >"$tap"
    rm "$tap.raw"
}

# as_one_tap [NAME]: numbered from 1 on, with one plan at the end. cmocka writes "not ok N # SKIP name" for a
# test that was skipped, and before it what tests/unit/unit.h says. Why a test failed (fail_msg) it says
# before it, too; here it goes behind it, where bats has it. A command of the Makefile ends with "N passed, N
# failed".
as_one_tap() {
    awk -v name="${1-}" '
        /^1\.\.[0-9]+/ { if (/# *[Ss][Kk][Ii][Pp]/) empty = $0; next }
        sub(/^skipped: /, "") { reason = " " $0; next }
        name ~ /^unit\// && sub(/^(# )?ERROR: /, "# ") { why = why $0 "\n"; next }
        /^not ok [0-9]+ # SKIP / { sub(/^not ok [0-9]+ # SKIP /, ""); $0 = "ok " $0 " # skip" reason;
            reason = "" }
        /^(not )?ok/ {
            failed = /^not/
            sub(/^(not )?ok */, ""); sub(/^[0-9]+ */, ""); sub(/^- */, "")
            printf "%sok %d - %s\n%s", failed ? "not " : "", ++n, $0, why
            why = ""
            next
        }
        # what no test prints must not look like one
        { print /^ *#/ ? $0 : "# " $0 }
        END { printf "%s", why; print n == 0 && empty != "" ? empty : "1.." n + 0 }'
}

# counts_of_make: for a command of the Makefile, its status is its test
counts_of_make() {
    awk -v name="$1" '
        { print /^(not )?ok|^#/ ? $0 : "# " $0; seen = seen || /^(not )?ok/ }
        /^# ended with status/ { failed = 1 }
        END { if (!seen) print (failed ? "not ok - " : "ok - ") "make " name }'
}

# sweep FILE: what killed ranks of this user have left in shared memory since FILE was made, and no process
# maps any more
sweep() {
    find /dev/shm -maxdepth 1 -type f -user "$(id -u)" -newer "$1" \( -name '*_segment.*' -o \
        -name 'mpich_shar_tmp*' -o -name 'mpich_shm_*' \) 2>/dev/null | while read -r segment; do
        grep -qsF -- "$segment" /proc/[0-9]*/maps || rm -f "$segment"
    done
}

# also where this run of a suite is ended from outside
trap '[ ! -e "$tap.began" ] || { sweep "$tap.began"; rm -f "$tap.began"; }' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# attempt NAME [PATTERN]: into $tap. One that breaks off counts as a failure.
attempt() {
    # by way of a file: a process that a test leaves behind would hold a pipe for ever
    began=$(date +%s)
    : >"$tap.began"
    ( run_suite "$@" </dev/null ||
        printf '\n# ended with status %d\n' "$?"; times >"$tap.times") >"$tap.raw" 2>&1
    seconds=$(($(date +%s) - began))
    case $1 in long/*) counts_of_make "${1#long/}" <"$tap.raw" >"$tap.made" &&
        mv "$tap.made" "$tap.raw" ;; esac
    if ! grep -qE '^(not )?ok|^1\.\.0 *# *[Ss][Kk][Ii][Pp]' "$tap.raw" ||
        { grep -q '^# ended with status' "$tap.raw" && ! grep -q '^not ok' "$tap.raw"; }; then
        printf '\nnot ok - %s broke off\n' "$1" >>"$tap.raw"
    fi
    as_one_tap "$1" <"$tap.raw" >"$tap"
    # of the second line, that of children: minutes and seconds, user and system
    awk -v name="$1" -v seconds="$seconds" -F '[ ms]+' \
        'NR == 2 { printf "%s\t%d\t%.0f\n", name, seconds, 60 * $1 + $2 + 60 * $3 + $4 }' \
        "$tap.times" >"${tap%.tap}.time"
    sweep "$tap.began"
    rm -f "$tap.raw" "$tap.times" "$tap.began"
}

failed_tests() { sed -n 's/^not ok [0-9]* - //p' "$1" | sed 's/ in [0-9]*ms$//'; }

# again NAME: the tests that failed, or the whole suite where they cannot be told from the others (a setup
# that failed has no name)
again() {
    mv "$tap" "$tap.first"
    pattern=$(failed_tests "$tap.first" | sed 's/[][\\.*^$+?(){}|]/\\&/g' | paste -sd '|' -)
    wanted=$(failed_tests "$tap.first" | grep -c .)
    case $1 in unit/* | runner/*) wanted=0 ;; esac
    [ "$wanted" -eq 0 ] || attempt "$1" "^($pattern)\$"
    if [ "$wanted" -gt 0 ] && [ "$(grep -cE '^(not )?ok ' "$tap")" -eq "$wanted" ]; then
        # with what did not fail before
        { grep -E '^ok ' "$tap.first"; cat "$tap"; } >"$tap.both" && as_one_tap <"$tap.both" >"$tap" &&
            rm "$tap.both"
    else
        attempt "$1"
    fi
}

mkdir -p "$NOISELAB_BUILD/suites"
# threads of R's that wait for each other leave the CPU to those that share it
export OMP_WAIT_POLICY=passive
tap=$NOISELAB_BUILD/suites/$(echo "$1" | tr / -).tap
# a suite of a higher level has only its quick tests in the quick run, and that of two ranks has its own
tags=''
case $NOISELAB_TESTS in
check) grep -qE "^$1[ \t].*[ \t]check[ \t]" tests/suites || tags=quick ;;
mpi) tags=mpi ;;
esac
case ${NOISELAB_AGAIN-}:$1 in
yes:r/* | yes:lint | yes:long/*) ;;
*:r/*)
    tap=$NOISELAB_BUILD/suites/batch-$(echo "$1" | cksum | cut -d ' ' -f 1).tap
    # shellcheck disable=SC2046 # names have no spaces
    r_batch $(echo "$1" | tr , ' ')
    cat "$tap"
    rm "$tap"
    exit
    ;;
yes:*) again "$1" ;;
*) attempt "$1" ;;
esac
# prove counts what it says
cat "$tap"

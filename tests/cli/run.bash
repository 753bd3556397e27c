# What the tests of noiselab run share.
# shellcheck shell=bash

load detect

# run_refused WANTED COMMAND...: status 2, and one line on stderr that holds WANTED
run_refused() {
    local wanted=$1
    shift
    ends_with_2 "$ERR" "$@"
    # what the plan can see may stand before
    [ "$(grep -cv '^noiselab-run: plan: ' "$ERR")" -eq 1 ]
    grep -qF -- "$wanted" "$ERR"
}

# planned: the launches of the schedule
planned() { sed '1,/^launch\t/d' "$OUT/schedule.tsv" | cut -f 1; }

# slurm_stub NAME LINES: a command of a Slurm that is not there
slurm_stub() {
    mkdir -p "$BATS_TEST_TMPDIR/slurm"
    { echo '#!/bin/sh' && cat; } >"$BATS_TEST_TMPDIR/slurm/$1"
    chmod +x "$BATS_TEST_TMPDIR/slurm/$1"
    PATH=$BATS_TEST_TMPDIR/slurm:$PATH
}

#!/usr/bin/env bats
# What answers print as the next command is a command that works as it stands.

load run
load ../mpirun

# hints FILE: the commands of noiselab in what was printed, a line each: from their name to the end of the
# line, and on where that ends in \
hints() {
    sed -e ':again' -e '/\\$/{N;s/ *\\\n */ /;b again' -e '}' "$1" |
        grep -oE '(^|[ :])noiselab (analyze|project|plan|report|plot|compare|profile|help|run|doctor)( [^;()]+)' |
            sed -e 's/^[ :]*//' -e 's/[.,:]$//' | sort -u
}

# all_hints_work FILE LEAST: each of them ends with a status of the table; those that measure are asked what
# they would do
all_hints_work() {
    hints "$1" >"$BATS_TEST_TMPDIR/hints"
    cat "$BATS_TEST_TMPDIR/hints"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/hints")" -ge "$2" ]
    # a word in capitals stands for something that the reader has to fill in
    ! grep -E ' (DIR|NAME|FILE)( |$)' "$BATS_TEST_TMPDIR/hints" || false
    while read -r line; do
        case $line in 'noiselab run '*) line="$line --dry-run" ;; esac
        PATH=$BIN:$PATH bash -c "$line" </dev/null >"$BATS_TEST_TMPDIR/said" 2>&1 && status=0 || status=$?
        echo "$status: $line"
        [ "$status" -le 1 ] || [ "$status" -eq 3 ] || { cat "$BATS_TEST_TMPDIR/said"; false; }
    done <"$BATS_TEST_TMPDIR/hints"
}

@test "of a campaign: its analysis, its report, and what it says of many nodes" {
    cd "$BATS_TEST_TMPDIR"
    cp -a "$BATS_TEST_DIRNAME/../kept/1.0.0/campaign" first
    for words in 'analyze first' 'analyze stability first' 'plan --pilot first --detect 0.1%' \
        'analyze periodic first'; do
        # shellcheck disable=SC2086 # words of a command
        "$BIN/noiselab" $words >said || [ $? -eq 3 ]
        cat said >>all
    done
    all_hints_work all 2
}

@test "of a profile: all its tables, and what noise means on many nodes" {
    needs_cpus 2
    cd "$BATS_TEST_TMPDIR"
    "$BIN/noiselab-profile" --out melt -- "$MPIRUN_COMMAND" -n 2 \
        "$(realpath "$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}")/tests-mpi/late_probe" 300 1000 0 \
        300 2>said >/dev/null
    all_hints_work said 2
}

@test "of a campaign that was cut short: how to go on" {
    cd "$BATS_TEST_TMPDIR"
    cp -a "$BATS_TEST_DIRNAME/../kept/1.0.0/campaign" first
    sed -i 's/^  "ended": .*/  "ended": null,/' first/*-0002/launch.json
    "$BIN/noiselab" analyze --json first >json 2>&1 || [ $? -eq 3 ]
    jq -r '.notes[]' json >said
    grep -q 'noiselab run' said
    all_hints_work said 1
}

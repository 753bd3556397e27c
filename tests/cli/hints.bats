#!/usr/bin/env bats
# What answers print as the next command is a command that works as it stands.

load run
load ../mpirun

commands='analyze|project|plan|report|plot|compare|profile|help|run|doctor'

# hints FILE: the commands of noiselab in what was printed, a line each: from their name to the end of the
# line, and on where that ends in \
hints() {
    sed -e ':again' -e '/\\$/{N;s/ *\\\n */ /;b again' -e '}' "$1" |
        grep -oE "(^|[ :])noiselab ($commands)( [^;()]+)" |
            sed -e 's/^[ :]*//' -e 's/[.,:]$//' | sort -u
}

busy() { printf '%s %s %s' "${BIN%/bin}/bench/bench_busy" "$1" "$2"; }

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

@test "of an agent: what it costs many nodes, the load that is like it, its tables" {
    needs_cpus 2
    cd "$BATS_TEST_TMPDIR"
    ends '0|1|3' "$BIN/noiselab" run agent --agent-cmd "$(busy 4ms 20ms)" --agent-period 20ms --block 200ms \
        --agent-settle 10ms --ranks 1 --op empty --seconds 2 --warmup 0s --no-report \
        --margin 1%:nodes=1000,every=1ms --out 'an agent' >said 2>&1
    "$BIN/noiselab" analyze agent 'an agent' >>said || [ $? -le 3 ]
    all_hints_work said 2
    grep -q "equivalent 'an agent'" hints
}

@test "of nodes, and of a busy machine: how to be judged, and how to wait until it is quiet" {
    needs_cpus 2
    cd "$BATS_TEST_TMPDIR"
    ends '0|1|3' "$BIN/noiselab" run acceptance --quick --seconds 3 --ranks 1 --no-report --out nodes \
        >said 2>&1
    all_hints_work said 2
    grep -q 'acceptance --margin' hints
    # what doctor and the warnings of acceptance say of a busy CPU
    sources=$BATS_TEST_DIRNAME/../..
    wait=$(grep -ohE -- '--wait-quiet [0-9a-z]+' "$sources/experiments/command/doctor_probes.c" \
        "$sources/analysis/R/acceptance-reference.R" | sort -u)
    [ -n "$wait" ]
    sleep 99 3>&- &
    started=$!
    for words in 'sensitivity --levels 1' "agent --agent-pid $started" acceptance 'stability --levels 1'; do
        # shellcheck disable=SC2086 # words of a command
        "$BIN/noiselab" run $words $wait --dry-run --out later
    done
}

@test "of Slurm where there is none: the script that would be submitted is one" {
    cd "$BATS_TEST_TMPDIR"
    for words in sensitivity acceptance stability reproducibility; do
        # shellcheck disable=SC2086 # words of a command
        PATH=$(path_without "$BATS_TEST_TMPDIR/bin" sbatch sinfo squeue) "$BIN/noiselab" run $words --submit \
            --dry-run --nodes 2 --out later >script 2>said
        cat said
        grep -q '^#SBATCH ' script
        sed -n '/^#!/,$p' script | bash -n
        [ ! -e later ]
    done
}

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
        PATH=$BIN:$PATH bash -c "$line" </dev/null >"$BATS_TEST_TMPDIR/output" 2>&1 && status=0 || status=$?
        echo "$status: $line"
        [ "$status" -le 1 ] || [ "$status" -eq 3 ] || { cat "$BATS_TEST_TMPDIR/output"; false; }
    done <"$BATS_TEST_TMPDIR/hints"
}

# headings FILE: of the tables on a screen: what stands in columns on the first line after an empty one,
# without units and values
headings() {
    awk 'blank && /^  [^ ]/ { print } { blank = /^$/ }' "$1" | sed -E 's/^ +//; s/  +/\n/g' |
        sed -E 's/^[0-9]+ % //; s/ (%|µs|s|ms)$//; s/ [0-9.]+$//' | grep -v '[0-9]' | sort -u
}

# plain English, which nobody looks up
plain='agent on|calls|check|every|how often|longest|mean|memory|new minus old|of a CPU|of the node|on'
plain="$plain|operation|ranks?|runs|size|slower|suitable|time|value|who|written/s"

# all_words_known FILE LEAST: noiselab help knows the headings and the verdicts of a screen
all_words_known() {
    { headings "$1"; grep -oE '[▲△○◆■] .*' "$1" | sed -E 's/^. //; s/  .*//'; } | sort -u |
        grep -vxE "$plain" >"$BATS_TEST_TMPDIR/words"
    cat "$BATS_TEST_TMPDIR/words"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/words")" -ge "$2" ]
    while read -r word; do
        # shellcheck disable=SC2086 # several words
        "$BIN/noiselab" help $word >/dev/null
    done <"$BATS_TEST_TMPDIR/words"
}

@test "of a campaign: its analysis, its report, and what it says of many nodes" {
    cd "$BATS_TEST_TMPDIR"
    cp -a "$BATS_TEST_DIRNAME/../kept/1.0.0/campaign" first
    for words in 'analyze first' 'analyze stability first' 'plan --pilot first --detect 0.1%' \
        'analyze periodic first'; do
        # shellcheck disable=SC2086 # words of a command
        "$BIN/noiselab" $words >said || [ $? -eq 3 ]
        cat said >>all
        echo >>all
    done
    all_hints_work all 2
    "$BIN/noiselab" analyze first >screen || [ $? -eq 3 ]
    all_words_known screen 4
    "$BIN/noiselab" project --burst 1ms --period 1s >screen
    all_words_known screen 2
}

@test "of a profile: all its tables, and what noise means on many nodes" {
    needs_cpus 2
    cd "$BATS_TEST_TMPDIR"
    "$BIN/noiselab-profile" --out melt -- "$MPIRUN_COMMAND" -n 2 \
        "$(realpath "$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}")/tests-mpi/late_probe" 300 1000 0 \
        300 2>said >/dev/null
    all_hints_work said 2
    all_words_known said 1
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

@test "of an agent: what it costs many nodes, a load that imitates it, its tables" {
    needs_cpus 2
    cd "$BATS_TEST_TMPDIR"
    ends '0|1|3' "$BIN/noiselab" run agent --agent-cmd "$(busy 4ms 20ms)" --agent-period 20ms --block 200ms \
        --agent-settle 10ms --ranks 1 --op empty --seconds 2 --warmup 0s --no-report \
        --margin 1%:nodes=1000,every=1ms --out 'an agent' >said 2>&1
    "$BIN/noiselab" analyze agent 'an agent' >>said || [ $? -le 3 ]
    all_hints_work said 2
    grep -q "equivalent 'an agent'" hints
    for word in CPU 'on rank CPUs' wake-ups/s accounts; do
        grep -q "  $word\( %\)\?\(  \|\$\)" said
        # shellcheck disable=SC2086 # several words
        "$BIN/noiselab" help $word
    done
}

@test "of nodes, and of a busy machine: how to be judged, and how to wait until it is quiet" {
    needs_cpus 2
    cd "$BATS_TEST_TMPDIR"
    ends '0|1|3' "$BIN/noiselab" run acceptance --quick --seconds 3 --ranks 1 --no-report --out nodes \
        >said 2>&1
    all_hints_work said 2
    grep -q 'acceptance --margin' hints
    "$BIN/noiselab" analyze acceptance --margin 5%:nodes=1000,every=1ms nodes >said || [ $? -le 3 ]
    all_words_known said 1
    # what doctor and the warnings of acceptance say of a busy CPU
    sources=$BATS_TEST_DIRNAME/../..
    wait=$(grep -ohE -- '--wait-quiet [0-9a-z]+' "$sources/experiments/command/doctor_probes.c" \
        "$sources/analysis/R/acceptance-reference.R" | sort -u)
    [ -n "$wait" ]
    sleep 99 3>&- &
    started=$!
    for words in 'sensitivity --levels 1' "agent --agent-pid $started" acceptance stability; do
        # shellcheck disable=SC2086 # words of a command
        "$BIN/noiselab" run $words $wait --dry-run --out later
    done
}

@test "of Slurm where there is none: the script that would be submitted is one" {
    cd "$BATS_TEST_TMPDIR"
    for words in sensitivity acceptance 'stability --ranks 2' 'reproducibility --ranks 1,2'; do
        # shellcheck disable=SC2086 # words of a command
        PATH=$(path_without "$BATS_TEST_TMPDIR/bin" sbatch sinfo squeue) "$BIN/noiselab" run $words --submit \
            --dry-run --nodes 2 --out later >script 2>said
        cat said
        grep -q '^#SBATCH ' script
        sed -n '/^#!/,$p' script | bash -n
        [ ! -e later ]
    done
}

#!/usr/bin/env bats
# noiselab plan and project on the command line: they need no measurement.

setup() {
    BIN="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/bin"
    ERR="$BATS_TEST_TMPDIR/stderr"
}

plan() { "$BIN/noiselab" plan "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"; }

@test "a plan without a pilot says what it assumes, and ends with a command that the detector takes" {
    plan --detect 1% --op alltoall --bytes 2KiB --levels 0,1
    grep -q 'ASSUMED' "$BATS_TEST_TMPDIR/stdout"
    [ ! -s "$ERR" ]
    command=$(sed -n '/^command/,/^$/p' "$BATS_TEST_TMPDIR/stdout" | sed '1d; s/\\$//' | tr '\n' ' ' |
        sed 's/ *noiselab run sensitivity//')
    # the number of pairs that the detector makes of it is the one that was planned
    pairs=$(awk '$1 == "alltoall" { print $6 }' "$BATS_TEST_TMPDIR/stdout")
    "$BIN/noiselab-detect" --dry-run --out "$BATS_TEST_TMPDIR/campaign" $command >"$BATS_TEST_TMPDIR/dry"
    grep -qE "(^|[^0-9])$pairs([^0-9]|\$)" "$BATS_TEST_TMPDIR/dry"
}

project() { "$BIN/noiselab" project "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"; }

@test "bursts that are only assumed are projected, on one screen, whatever the number of threads" {
    project --burst 2.5ms --period 100ms --nodes 1,10,100 --every 1ms
    [ "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" -le 24 ]
    # the known answers: 2.564, 27.0 and 211.6 %
    awk '$1 == 1 && $2 == "ms" { found = $3 == 2.56 && $4 > 26.2 && $4 < 27.8 && $6 > 205 && $6 < 218 } END {
        exit !found }' "$BATS_TEST_TMPDIR/stdout"
    [ ! -s "$ERR" ]
    OMP_NUM_THREADS=1 project --burst 2.5ms --period 100ms --json &&
        cp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/one"
    OMP_NUM_THREADS=3 project --burst 2.5ms --period 100ms --json
    cmp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/one"
}

# at_once CPUS SECONDS: a trace of as many CPUs, all stopped for 1 ms at the same moments, one a second on
# average
at_once() {
    awk -v cpus="$1" -v seconds="$2" 'BEGIN {
        print "# span_ns: " seconds "000000000"
        for (;;) {
            x = (x * 16807 + 11) % 2147483647
            at += 0.001 - 0.999 * log(1 - x / 2147483647)
            if (at >= seconds) exit
            for (cpu = 0; cpu < cpus; cpu++) printf "%.0f\t1000000\t%d\t-\tdaemon\n", 1e9 * at, cpu
        }
    }'
}

@test "a trace of 16 CPUs that are stopped at once costs 1,000 nodes what one of them costs" {
    at_once 16 2400 >"$BATS_TEST_TMPDIR/16.trace"
    project --trace "$BATS_TEST_TMPDIR/16.trace" --nodes 1,1000 --every 1ms --json
    # a simulation that shares no line with this one has 74 %
    jq -e '.projections | map(select(.phase == "independent")) | .[0].slowdown_percent as $one | .[1] |
        .slowdown_percent > 70 and .slowdown_percent < 78 and .ci_low < 74 and .ci_low > 60 and
        .ci_high > 74 and .ci_high < 90 and $one > 0.08 and $one < 0.12' "$BATS_TEST_TMPDIR/stdout"
    # 2 CPUs: the same
    at_once 2 2400 >"$BATS_TEST_TMPDIR/2.trace"
    project --trace "$BATS_TEST_TMPDIR/2.trace" --nodes 1000 --every 1ms --json
    jq -e '.projections[0].slowdown_percent | . > 70 and . < 78' "$BATS_TEST_TMPDIR/stdout"
    run project --trace "$BATS_TEST_TMPDIR/2.trace" --nodes 1000 --every 1ms --margin 1
    [ "$status" = 1 ]
    grep -q '^Margin of 1 % on 1,000 nodes that synchronise every 1 ms: fail' "$BATS_TEST_TMPDIR/stdout"
}

@test "bursts without number, and a trace in the wrong unit, are answered in 1 GiB, or refused" {
    ulimit -v 1048576
    export OMP_NUM_THREADS=2
    # 20,000 bursts in each step: 4.17 % on one node, and little more on many
    project --burst 2us:random=yes --period 50us --every 1s --nodes 1,1000 --json
    jq -e '.projections | map(select(.phase == "independent").slowdown_percent) | .[0] > 4.16 and
        .[0] < 4.18 and .[1] > 4.2 and .[1] < 4.4' "$BATS_TEST_TMPDIR/stdout"
    # 12 us each ms, but in ns; and bursts that leave no time
    printf '%s\n' "# span_ns: 5000" "0	12" "1000	12" "2000	12" "3000	12" \
        "4000	12" >"$BATS_TEST_TMPDIR/units.trace"
    printf '%s\n' "0	12000000" "12000000	12000000" >"$BATS_TEST_TMPDIR/full.trace"
    for name in units full; do
        run project --trace "$BATS_TEST_TMPDIR/$name.trace"
        [ "$status" = 2 ] || [ "$status" = 3 ]
        [ "$(wc -l <"$ERR")" = 1 ]
    done
}

# margin STATUS SAID MARGIN COMMAND...: the command with this margin ends so, and says so, in one line where
# it is refused; nothing is measured. What R answers is asked for in `all_margins`, but for the first margin,
# and there by one process: to start R takes most of a refusal's time.
margin() {
    local status=0
    case $4 in
    run) ;;
    *)
        if grep -qsx "$4" "$BATS_TEST_TMPDIR/started"; then
            (IFS=$'\t' && echo "$1	$2	noiselab-${*:4}	--margin	$3") >>"$BATS_TEST_TMPDIR/asked"
            return
        fi
        echo "$4" >>"$BATS_TEST_TMPDIR/started"
        ;;
    esac
    echo "$4 $5 --margin $3"
    "$BIN/noiselab" "${@:4}" --margin "$3" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" || status=$?
    cat "$ERR"
    [ "$status" = "$1" ] && { [ "$1" != 2 ] || [ "$(wc -l <"$ERR")" = 1 ]; } &&
        { [ -z "$2" ] || grep -qE -e "$2" "$ERR"; }
}

# all_margins LEAST: what was asked for is so, of as many commands at least; those that are not are named
all_margins() {
    [ "$(wc -l <"$BATS_TEST_TMPDIR/asked")" -ge "$1" ]
    # shellcheck disable=SC2016 # for R
    R_ENABLE_JIT=0 Rscript --vanilla -e '
        words <- commandArgs(TRUE)
        library(noiselab, lib.loc = words[1])
        holds <- vapply(strsplit(readLines(words[2]), "\t"), function(asked) {
          out <- capture.output(
            said <- capture.output(status <- run_program(asked[3], asked[-(1:3)]), type = "message"))
          holds <- status == asked[1] && (status != 2 || length(said) == 1) &&
            (asked[2] == "" || any(grepl(asked[2], said)))
          if (!holds) print(c(asked, status, said))
          holds
        }, NA)
        quit("no", !all(holds))' "${BIN%/bin}/lib/noiselab/R" "$BATS_TEST_TMPDIR/asked"
}

@test "a margin is read alike by every command: of many nodes it is judged, or refused with who judges it" {
    cd "$BATS_TEST_TMPDIR"
    agent=(run agent --dry-run --agent-cmd 'sleep 99' --op barrier --seconds 20 --out campaign)
    acceptance=(run acceptance --dry-run --out campaign)
    project=(project --burst 1us --period 10s --nodes 1000 --every 1s)
    at_scale=(project --burst 1us --period 10s)
    kept=$(realpath "$BATS_TEST_DIRNAME/../kept/1.0.0/campaign")
    for text in 0 -1 1%% much 1%:nodes=0,every=1ms 1%:nodes=1e3,every=1ms 1%:nodes=10,every=1 \
        1%:nodes=10,every=1ms,unseen=2 1%:ranks=3 1%:unseen=2ms 1%:every=1ms 1%:nodes=64 1%:; do
        for words in 'agent[@]' 'acceptance[@]' 'at_scale[@]'; do
            margin 2 '--margin: ' "$text" "${!words}"
        done
        margin 2 '--margin: ' "$text" plan
        margin 2 '--margin: ' "$text" compare "$kept" none
    done
    for text in 1 1% 0.5%; do
        for words in 'agent[@]' 'acceptance[@]' 'project[@]'; do margin 0 '' "$text" "${!words}"; done
        margin 0 '' "$text" plan
        margin 2 "'none'" "$text" compare "$kept" none
    done
    for text in 1%:nodes=1000,every=1s 1%:every=1s,nodes=1000,unseen=2ms; do
        for words in 'agent[@]' 'acceptance[@]'; do margin 0 '' "$text" "${!words}"; done
        margin 2 "'none'" "$text" plan acceptance --reference none
        for others in plan "compare $kept none" 'analyze intervals none' \
            'run sensitivity --dry-run --levels 1 --out campaign' 'run advise --dry-run --out campaign' \
            "run setting --dry-run --set $PWD/knob=1,0 --out campaign"; do
            # shellcheck disable=SC2086 # words of a command
            margin 2 'run agent, run acceptance.* and project' "$text" $others
        done
    done
    all_margins 45
    # those who are named judge it
    for word in agent acceptance; do
        "$BIN/noiselab-analyze" "$word" --check-options --margin 1%:nodes=1000,every=1ms
    done
    [ ! -e campaign ]
}

@test "what a margin of many nodes says is what the options of a projection say" {
    same=(--burst 1ms:random=yes --period 1s --json)
    project "${same[@]}" --nodes 50 --every 1ms --margin 1 --unseen 2ms || [ $? = 1 ]
    cp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/options"
    project "${same[@]}" --margin 1%:nodes=50,every=1ms,unseen=2ms || [ $? = 1 ]
    diff <(jq .projections "$BATS_TEST_TMPDIR/options") <(jq .projections "$BATS_TEST_TMPDIR/stdout")
}

@test "a plan of acceptance says how its reference is given" {
    ! plan acceptance some/folder || false
    grep -qF "'some/folder' is not an option (a reference is given with --reference some/folder)" "$ERR"
}

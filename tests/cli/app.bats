#!/usr/bin/env bats
# A program in place of the detector's operations: noiselab run ... --app. The program is the detector itself, a loop of MPI_Allreduce. Whether the
# figures are right is the business of tests/truth/app.bats.

bats_require_minimum_version 1.5.0

load detect

setup() {
    BUILD=$(realpath "$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}")
    BIN=$BUILD/bin
    cd "$BATS_TEST_TMPDIR" || return
    needs_cpus 2
}

# looped SECONDS: the words of the program
looped() { echo "$MPIRUN_COMMAND -n 2 $BIN/noiselab-detect --op allreduce --levels none --design single --seconds $1 --out inner --progress off"; }

# app STATUS WORD... -- COMMAND: noiselab run WORD..., into c
app() {
    local wanted=$1
    shift
    rm -rf c
    run --separate-stderr "$BIN/noiselab" run "$@" 3>&-
    echo "got status $status, '$output', '$stderr'"
    [ "$status" -eq "$wanted" ]
}

launch_json() { echo c/*/launch.json; }

@test "what cannot be followed is said in one line" {
    local program="$MPIRUN_COMMAND -n 2 true"
    # shellcheck disable=SC2086 # words
    for words in "--app" "-- $program" "--app --op barrier -- $program" "--app --ranks 2 -- $program" "--app --beat : -- $program" \
        "--app --design launches -- $program" "--beat send"; do
        app 2 sensitivity --out c $words
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
        [ ! -e c ]
    done
    app 2 sensitivity --app --out c -- "$MPIRUN_COMMAND" -n 2 true
    [[ $stderr = *"did not come to MPI_Init"*"not an MPI program"* ]]
    app 2 sensitivity --app --out c -- ./nowhere
    [[ $stderr = *"cannot start './nowhere'"* ]]
}

@test "a program is followed: its beat is found, the load is switched while it runs, and it runs to its own end" {
    # shellcheck disable=SC2046
    app 0 sensitivity --app --levels 0,30 --seconds 6 --no-report --out c -- $(looped 16)
    jq -e '.ended == "complete" and (.follows.beat | startswith("allreduce")) and .rows > 4' "$(launch_json)"
    [ "$(jq -r .ended inner/*/launch.json)" = complete ]
    [[ $output = *noiselab-detect*"30 %"* ]]
    # each rank's own
    [ "$(awk -F , 'NR > 1 && !seen[$2 $3]++' c/*/ranks.csv | wc -l)" -ge 2 ]
    "$BIN/noiselab" analyze profile c/profiles | grep -q allreduce
    wait_until 10 nothing_runs
}

@test "a program that ends before its time leaves a campaign, which says so" {
    # shellcheck disable=SC2046
    app 0 sensitivity --app --levels 30 --seconds 60 --no-report --out c -- $(looped 15)
    jq -e '.ended == "complete" and (.warnings | any(startswith("the program ended after")))' "$(launch_json)"
    [ "$(wc -l <c/*/halves.csv)" -gt 4 ]
}

@test "a program that ends with an error is named, and what was measured stays" {
    # shellcheck disable=SC2046
    app 0 sensitivity --app --levels 30 --seconds 4 --no-report --out c -- sh -c "$(looped 12); exit 7"
    [[ $stderr = *"the program ended with status 7"* ]]
}

@test "an agent is switched while the program runs, and its part is known" {
    # shellcheck disable=SC2046
    app 0 agent --app --agent-cmd "$BUILD/bench/bench_busy 20ms 100ms" --agent-name busy --agent-period 100ms --seconds 8 --no-report --out c -- $(looped 25)
    jq -e '.ended == "complete" and .n_agents == 1 and .follows.beats_in_period >= 1' "$(launch_json)"
    [[ $output = *busy* ]]
    wait_until 10 nothing_runs
}

@test "whatever is killed, neither program nor load nor detector goes on" {
    for victim in run program detector; do
        rm -rf c
        # shellcheck disable=SC2046
        "$BIN/noiselab" run sensitivity --app --levels 30 --seconds 60 --no-report --out c -- $(looped 90) >said 2>&1 3>&- &
        local command=$!
        wait_until 30 is_measured
        sleep 1
        case $victim in
        run) kill -9 "$(pgrep -f 'libexec/noiselab/sensitivity.sh --app')" ;;
        program) pkill -9 -f "noiselab-detect --op allreduce" ;;
        detector) kill -9 "$(pgrep -f 'noiselab-detect .*--app profiles' | head -n 1)" ;;
        esac
        wait "$command" || true
        wait_until 20 nothing_runs
        cat said
    done
}

is_measured() { cat c/*-0001/halves.csv >/dev/null 2>&1; }

nothing_runs() { ! pgrep -f "bench_busy 20ms|noiselab-detect --op allreduce|noiselab-detect .*--app profiles|noiselab-gen --control" >/dev/null; }

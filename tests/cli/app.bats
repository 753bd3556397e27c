#!/usr/bin/env bats
# A program in place of the detector's operations: noiselab run ... --app. The program is the detector itself,
# a loop of MPI_Allreduce. Whether the figures are right is the business of tests/truth/app.bats.

load detect

setup() {
    at_home
    OUT=$PWD/c
    needs_cpus 2
}

# looped: the words of the program, which goes on until the file `end` is there, and leaves the CPUs to others
# meanwhile
looped() { echo "$MPIRUN_COMMAND -n 2 $BUILD/tests-mpi/loop_probe $PWD/end 1000"; }

# app STATUS WORD... -- COMMAND: noiselab run WORD..., into c
app() {
    rm -rf c
    run "-$1" --separate-stderr "$BIN/noiselab" run "${@:2}" 3>&-
}

launch_json() { echo c/*/launch.json; }

@test "what cannot be followed is said in one line" {
    local program="$MPIRUN_COMMAND -n 2 true"
    for words in "--app" "-- $program" "--app --op barrier -- $program" "--app --ranks 2 -- $program" \
        "--app --beat : -- $program" \
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

@test "a program is followed: its beat is found, the load is switched meanwhile, and it runs to its end" {
    end_when is_complete
    app 0 sensitivity --app --levels 0,30 --seconds 2 --no-report --out c -- $(looped)
    jq -e '.ended == "complete" and (.follows.beat | startswith("allreduce")) and .rows > 4' "$(launch_json)"
    [[ $stderr = *"measuring has ended; the program runs on to its end"* ]]
    [ -e end ]
    [[ $stderr != *"the program ended with status"* ]]
    [[ $output = *loop_probe*"30 %"* ]]
    [ "$(awk -F , 'NR > 1 && !seen[$2 $3]++' c/*/ranks.csv | wc -l)" -ge 2 ]
    "$BIN/noiselab" analyze profile c/profiles | grep -q allreduce
    wait_until 10 none_of_campaign
}

@test "a program that ends before its time, with an error, leaves a campaign, which says so" {
    end_when has_some_rows
    app 0 sensitivity --app --beat allreduce:4 --levels 30 --seconds 60 --no-report --out c \
        -- sh -c "$(looped); exit 7"
    [[ $stderr = *"the program ended with status 7"* ]]
    jq -e '.ended == "complete" and .rows > 4 and (.warnings | any(startswith("the program ended after")))' \
        "$(launch_json)"
}

@test "an agent is switched while the program runs, and its part is known" {
    end_when is_complete
    app 0 agent --app --beat allreduce:4 --agent-cmd "$BUILD/bench/bench_busy 20ms 100ms" --agent-name busy \
        --agent-period 100ms --block 500ms --seconds 2 --no-report --out c -- $(looped)
    jq -e '.ended == "complete" and .n_agents == 1 and .follows.beats_in_period >= 1' "$(launch_json)"
    [[ $output = *busy* ]]
    wait_until 10 none_of_campaign
}

@test "whatever is killed, neither program nor load nor detector goes on" {
    local victims=run
    [ "$NOISELAB_TESTS" != long ] || victims='run program detector'
    for victim in $victims; do
        rm -rf c end
        "$BIN/noiselab" run sensitivity --app --beat allreduce:4 --levels 30 --seconds 60 --no-report \
            --out c -- $(looped) >said 2>&1 3>&- &
        local command=$!
        wait_until 60 has_some_rows
        case $victim in
        run) kill -9 "$command" ;;
        program) of_campaign loop_probe | xargs kill -9 ;;
        detector) kill -9 "$(of_campaign noiselab-detect | head -n 1)" ;;
        esac
        wait "$command" || true
        wait_until 20 none_of_campaign
    done
}

has_some_rows() { [ "$(cat c/*-0001/halves.csv 2>/dev/null | wc -l)" -gt 6 ]; }

#!/usr/bin/env bats
# How launches end that are interrupted or killed, or whose load cannot go on: nothing is left running, and
# what was taken is readable.

load ../cli/detect

@test "a kind that cannot go on ends the launch with its reason, and the rows before it stay" {
    mkdir "$BATS_TEST_TMPDIR/folder"
    (
        wait_for has_rows
        rmdir "$BATS_TEST_TMPDIR/folder"
    ) 3>&- &
    ends 2 launch 1 --op empty --kind "disk:folder=$BATS_TEST_TMPDIR/folder" --levels 10 --seconds 20 \
        --launch-id one
    grep -q 'the generator refuses: .*disk' "$ERR"
    jq -e '.rows > 10 and (.ended | startswith("failed:"))' "$OUT/one/launch.json"
}

@test "kill -9 of a rank leaves no load running, and its rows are analysed up to the last half" {
    background --levels 50
    generator=$(generator_of "$MPIRUN")
    kill -0 "$generator"
    # the rank that stays hangs, and mpirun cannot end it: nobody but the generator itself can end the load
    kill -STOP "$(ranks_of "$MPIRUN" | head -n 1)" "$MPIRUN"
    kill -9 "$(ranks_of "$MPIRUN" | tail -n 1)"
    wait_until 20 has_ended "$generator"
    kill -CONT "$MPIRUN" "$(ranks_of "$MPIRUN" | head -n 1)"
    no_load_of "$generator"
    wait "$MPIRUN" || true
    [ "$(jq -r .ended "$OUT/one/launch.json")" = null ]
    [ "$(awk -F , 'NF != 44' "$OUT/one/halves.csv" | wc -l)" -eq 0 ]
    run -0 "$BIN/noiselab-analyze" "$OUT"
    [[ "$output" == *"killed"* || "$output" == *"partial"* ]]
}

@test "kill -9 of mpirun leaves no load running" {
    background --levels 50
    generator=$(generator_of "$MPIRUN")
    kill -0 "$generator"
    kill -9 "$MPIRUN"
    wait "$MPIRUN" || true
    no_load_of "$generator"
    [ "$(jq -r .ended "$OUT/one/launch.json")" = interrupted ]
}

@test "kill -9 of a rank ends a load that would go on until the end of a block" {
    needs_cpus 2
    exec_on_cores 2 "$DETECT" --out "$OUT" --op barrier --design blocks --block 30s --seed 1 --levels 50 \
        --seconds 120 --warmup 0s >/dev/null 2>"$ERR" 3>&- &
    MPIRUN=$!
    wait_for has_generator "$MPIRUN"
    generator=$(generator_of "$MPIRUN")
    # by this seed the first block is loaded
    wait_until 60 works "$generator"
    kill -9 "$(ranks_of "$MPIRUN" | tail -n 1)"
    no_load_of "$generator"
}

# works PID: it has used CPU time lately, as a generator does only in a loaded block
works() {
    local before
    before=$(cpu_ticks "$1")
    sleep 0.4
    [ "$(cpu_ticks "$1")" -gt $((before + 5)) ]
}

@test "kill -9 of the generator ends the launch, says so, and keeps the rows" {
    background --levels 1
    kill -9 "$(generator_of "$MPIRUN")"
    ends 2 wait "$MPIRUN"
    grep -q 'generator is gone' "$ERR"
    [[ "$(jq -r .ended "$OUT/one/launch.json")" == failed:* ]]
    [ "$(jq -r .rows "$OUT/one/launch.json")" -eq "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" ]
}

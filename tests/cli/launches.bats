#!/usr/bin/env bats
# Short launches in a loop (`make launches`).

# shellcheck source=tests/helpers.bash
source "$BATS_TEST_DIRNAME/../helpers.bash"

@test "short launches end well, one after the other" {
    needs_cpus 2
    cd "$BATS_TEST_DIRNAME/../.."
    run tests/launches.sh 4
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"4 launches, 4 ended well, 0 by a signal"* ]]
}

@test "a launch that dies by a signal is counted, and its words are shown" {
    mkdir -p "$BATS_TEST_TMPDIR/build/bin"
    printf '%s\n' '#!/bin/sh' 'echo last words' 'kill -SEGV $$' >"$BATS_TEST_TMPDIR/build/bin/noiselab-accept"
    printf '%s\n' '#!/bin/sh' 'exit 0' >"$BATS_TEST_TMPDIR/build/bin/noiselab-detect"
    chmod +x "$BATS_TEST_TMPDIR"/build/bin/*
    cd "$BATS_TEST_DIRNAME/../.."
    NOISELAB_BUILD=$BATS_TEST_TMPDIR/build run tests/launches.sh 2
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"launch 2 of noiselab-accept"*"last words"*"2 launches, 1 ended well, 1 by a signal"* ]]
}

#!/usr/bin/env bats
# Mutants of every file and command line, for some seconds, at a fixed seed; `make fuzz SECONDS=3600` goes on.

@test "hostile files and command lines end no program otherwise than with a status of the table" {
    cd "$BATS_TEST_DIRNAME/../.."
    FUZZ_PATIENCE=60 run tests/fuzz/fuzz.sh 3 1
    echo "$output"
    [ "$status" -eq 0 ]
}

#!/usr/bin/env bats
# A moment each of what `make test-long` runs for an hour: a random process that is killed by -9, hostile
# files and command lines.

load ../helpers

setup() { cd "$BATS_TEST_DIRNAME/../.." || return; }

@test "whatever is killed, no agent stays frozen, no load goes on, no row is lost, and the campaign goes on" {
    needs_cpus 2
    ENDURANCE_LOAD_MS=10000 run tests/endurance.sh 1 7
    [ "$status" -ne 3 ] || skip "$(tail -n 1 <<<"$output")"
    [ "$status" -eq 0 ]
}

@test "hostile files and command lines end no program otherwise than with a status of the table" {
    FUZZ_PATIENCE=60 run -0 tests/fuzz/fuzz.sh 2 1
}

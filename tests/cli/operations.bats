#!/usr/bin/env bats
# Every row of the table of operations, with the data that arrive: tests/mpi/op_probe.c.

load detect
# of an installed tree the programs are elsewhere, the probe is not
PROBE=$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/tests-mpi/op_probe

# probe RANKS ARGUMENTS: its lines, which hold at least one operation and none that failed
probe() {
    local launcher=(on_cores "$1")
    [ "$1" -gt 1 ] || launcher=()
    take_turns
    "${launcher[@]}" "$PROBE" "${@:2}" >"$BATS_TEST_TMPDIR/probe" 2>"$ERR" ||
        { grep -A1 '^not ok' "$BATS_TEST_TMPDIR/probe" && false; }
    grep -q '^ok' "$BATS_TEST_TMPDIR/probe"
    [ "$(grep -c '^not ok' "$BATS_TEST_TMPDIR/probe")" -eq 0 ]
    [ "1..$(grep -c '^ok' "$BATS_TEST_TMPDIR/probe")" = "$(tail -n 1 "$BATS_TEST_TMPDIR/probe")" ]
}

probed() { awk '$1 == "ok" { print $4 }' "$BATS_TEST_TMPDIR/probe"; }

@test "every operation that is listed leaves the right data on one rank, and an unknown one fails" {
    probe 1
    [ "$(probed)" = "$("$DETECT" --list operations | awk '/^[a-z]/ { print $1 }')" ]
    ends 1 "$PROBE" nothing 2>"$ERR"
    grep -q "'nothing' is not an operation" "$ERR"
}

# three see what two do, and more; two are for the quick run
several() { if [ "${NOISELAB_TESTS-}" = check ]; then echo 2; else echo 3; fi; }

# bats test_tags=quick
@test "every operation leaves the right data on several ranks" { probe "$(several)"; }

# bats test_tags=quick
@test "every check finds a single changed byte, on whichever rank receives something" {
    probe "$(several)" --corrupt
    # rows without data have nothing to change
    blind=$(grep 'and 0 changed bytes' "$BATS_TEST_TMPDIR/probe" | awk '{ print $4 }' |
        grep -vE '^(i?barrier(_init)?|empty|waitpattern-(up|null))$' || true)
    [ -z "$blind" ] || { echo "blind: $blind" && false; }
}

@test "data are right in as many sets of buffers as exceed the cache" { probe 2 --all-sets bcast ireduce \
    allreduce alltoall loadtest; }

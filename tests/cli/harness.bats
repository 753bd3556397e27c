#!/usr/bin/env bats
# bats file_tags=quick
# tests/run.sh itself: what it says of suites that pass, fail, break off, are late.

bats_require_minimum_version 1.5.0

setup() {
    TREE=$BATS_TEST_TMPDIR/tree
    mkdir -p "$TREE"/tests/{cli,truth,cluster} "$TREE/analysis/tests/testthat" "$TREE/build/tests/unit"
    cp "$BATS_TEST_DIRNAME"/../{run.sh,suite.sh,environment.sh} "$TREE/tests/"
    printf 'cli/late beside test 1\nlint beside long 1\n' >"$TREE/tests/suites"
    printf '@test "nothing" { true; }\n' |
        tee "$TREE/tests/truth/nothing.bats" >"$TREE/tests/cluster/nothing.bats"
}

# nothing that bats gives its tests reaches the bats within, its own folder of commands least of all
level() {
    env -i NOISELAB_BUDGETS="${NOISELAB_BUDGETS-}" NOISELAB_EVIDENCE="${NOISELAB_EVIDENCE-}" \
        PATH="$(echo "$PATH" | tr ':' '\n' | grep -v bats-core | paste -sd : -)" HOME="$HOME" \
        NOISELAB_BUILD=build sh "$TREE/tests/run.sh" "$@"
}

@test "what passes, is skipped, fails twice or only at first is counted and shown" {
    printf '@test "one" { true; }\n@test "two" { skip "not here"; }\n' >"$TREE/tests/cli/one.bats"
    run -0 level cli truth
    run -0 level cli
    [ "${lines[-1]}" = '1 passed, 0 failed, 1 skipped' ]
    [[ "$output" == *'cli/one: ok 2 - two'*'# skip not here'* ]]
    printf '@test "one" { true; }\n@test "two" { echo why; false; }\n' >"$TREE/tests/cli/one.bats"
    run -1 level cli
    [ "${lines[-1]}" = '1 passed, 1 failed, 0 skipped' ]
    [[ "$output" == *'cli/one: not ok 2 - two'*'why'*'# failed at first: two'* ]]
    printf '@test "one" { true; }\n@test "now and then" {\nif [ ! -e %s ]; then touch %s; false; fi\n}\n' \
        "$TREE/seen" "$TREE/seen" >"$TREE/tests/cli/one.bats"
    run -0 level cli
    [ "${lines[-1]}" = '2 passed, 0 failed, 0 skipped' ]
    [[ "$output" == *'# failed at first: now and then'* ]]
}

@test "what measures has three attempts, and the summary says how many it took; other tests have two" {
    third='echo >>"$0.n"; [ "$(wc -l <"$0.n")" -eq 3 ]'
    printf '@test "one" { true; }\n@test "third" { sh -c %q %q; }\n' "$third" "$TREE/truth" \
        >"$TREE/tests/truth/nothing.bats"
    run -0 level truth
    [ "${lines[-1]}" = '2 passed, 0 failed, 0 skipped' ]
    [[ "$output" == *'# failed at first: third'*'# failed twice: third'* ]]
    printf '@test "third" { sh -c %q %q; }\n' "$third" "$TREE/cli" >"$TREE/tests/cli/one.bats"
    run -1 level cli
    [ "$(wc -l <"$TREE/cli.n")" -eq 2 ]
    printf '@test "never" { echo >>%q; false; }\n' "$TREE/never" >"$TREE/tests/truth/nothing.bats"
    run -1 level truth
    [ "$(wc -l <"$TREE/never")" -eq 3 ]
    # also one that shares the machine with two others, as the table of suites says of truth/top
    rm "$TREE/tests/truth/nothing.bats"
    printf '@test "third" { sh -c %q %q; }\n' "$third" "$TREE/few" >"$TREE/tests/truth/top.bats"
    run -0 level truth
    [[ "$output" == *'# failed twice: third'* ]]
}

@test "why a unit test failed is shown behind its name; what was built of a source that is gone is not run" {
    for name in one gone; do
        printf '#!/bin/sh\n%s\n' 'echo "1..2"; echo "ok 1 - first"; echo "# ERROR: seven is not eight"
            echo "not ok 2 - second"; echo "# test_one.c:7: error: Failure!"; exit 1' \
            >"$TREE/build/tests/unit/test_$name"
        chmod +x "$TREE/build/tests/unit/test_$name"
    done
    mkdir -p "$TREE/tests/unit"
    touch "$TREE/tests/unit/test_one.c"
    run -1 level unit
    [ "${lines[-1]}" = '1 passed, 1 failed, 0 skipped' ]
    [[ "$output" == *'unit/test_one: not ok 2 - second'*'# seven is not eight'*'# test_one.c:7'* ]]
}

@test "what a suite starts adds no rows to those that are kept, where make evidence runs suites" {
    printf '@test "one" { [ -z "${NOISELAB_EVIDENCE-}" ]; }\n' >"$TREE/tests/cli/one.bats"
    NOISELAB_EVIDENCE=$TREE run -0 level cli
    [ "${lines[-1]}" = '1 passed, 0 failed, 0 skipped' ]
}

@test "a suite that is no test, and one that is not there, fail the run" {
    printf 'no test stands here\n' >"$TREE/tests/cli/one.bats"
    run -1 level cli
    [[ "${lines[-1]}" == *' 1 failed,'* ]]
    run -1 level cli/none
    [[ "${lines[-1]}" == *' 1 failed,'* ]]
}

@test "more failures than accidents make are not run again" {
    for n in 1 2 3 4 5 6 7 8 9 10 11; do
        echo "@test \"t$n\" { echo >>'$TREE/ran'; false; }"
    done >"$TREE/tests/cli/one.bats"
    run -1 level cli
    [ "${lines[-1]}" = '0 passed, 11 failed, 0 skipped' ]
    [ "$(wc -l <"$TREE/ran")" -eq 11 ]
}

@test "a suite that takes more than twice its budget is named, and fails where budgets are judged" {
    printf '@test "slow" { sleep 3; }\n' >"$TREE/tests/cli/late.bats"
    run -0 level cli
    [[ "$output" == *'# cli/late took '*' s ('*' s of CPU time), and its budget is 1 s'* ]]
    NOISELAB_BUDGETS=judge run -1 level cli
    [[ "$output" == *'not ok - cli/late took '*' s ('*' s of CPU time), and its budget is 1 s'* ]]
}

@test "the levels hold each other, and a quick test of a file that is not quick is in the quick run alone" {
    printf '%s\n' '# bats test_tags=quick' '@test "fast" { true; }' '# bats test_tags=mpi' \
        '@test "two ranks" { true; }' '@test "slow" { true; }' >"$TREE/tests/cli/one.bats"
    for name in check mpi; do
        run level $name
        [ "${lines[-1]}" = '1 passed, 0 failed, 0 skipped' ]
    done
    run level --list test
    [[ "$output" == *cli/one* && "$output" != *lint* ]]
    run level --list long
    [[ "$output" == *cli/one* && "$output" == *lint* ]]
}

@test "what killed ranks leave in shared memory goes with the suite; what is in use, and others', stays" {
    local own=/dev/shm/noiselab-harness_segment.$$ mpich=/dev/shm/mpich_shm_noiselab$$ \
        used=/dev/shm/noiselab-used_segment.$$ old=/dev/shm/noiselab-old_segment.$$
    [ -w /dev/shm ] || skip 'there is no /dev/shm'
    touch -d '1 hour ago' "$old"
    # of Open MPI 4 and 5, and of MPICH 5
    printf '@test "killed" { : >%s; : >%s; }\n' "$own" "$mpich" >"$TREE/tests/cli/one.bats"
    run -0 level cli
    [ ! -e "$mpich" ]
    [ ! -e "$own" ]
    [ -e "$old" ]
    rm "$old"
    # mapped, by a program of its own
    cp "$(command -v sleep)" "$used"
    "$used" 60 3>&- &
    started=$!
    printf '@test "goes on" { touch %s; : >%s; sleep 60; }\n' "$used" "$own" >"$TREE/tests/cli/one.bats"
    setsid env -i PATH="$(echo "$PATH" | tr ':' '\n' | grep -v bats-core | paste -sd : -)" HOME="$HOME" \
        NOISELAB_BUILD=build sh "$TREE/tests/suite.sh" cli/one 3>&- >/dev/null 2>&1 &
    suite=$!
    for ((i = 0; i < 100; i++)); do [ ! -e "$own" ] || break; sleep 0.1; done
    [ -e "$own" ]
    # as an interrupt does: the whole group
    kill -TERM -- "-$suite"
    wait "$suite" || true
    [ ! -e "$own" ]
    [ -e "$used" ]
    kill "$started"
    rm "$used"
}

#!/usr/bin/env bats
# Synchronised starts on the command line: what is refused, what is written, what is known beforehand.

load detect

@test "unknown names of starts, clocks, synchronisations, arrivals and data are refused" {
    refused "--start: 'later' is not a way to start" --start later
    refused "--clock: 'sundial' is not a clock" --clock sundial
    refused "--sync: 'star' is not a way" --sync star
    refused "--sync-ranks: 'some' is not nodes or all" --sync-ranks some
    refused "--arrival: 'never' is not a pattern" --start round --arrival never
    refused "--datatype: 'complex' is not a data type" --datatype complex
    refused "--reduce: 'mean' is not a reduction" --reduce mean
    refused "--root: '-1' is not a rank" --root -1
    refused "--root: '2147483647' is not a rank" --root 2147483647
    refused "--buffer: 'fresh' is not reuse" --buffer fresh
    refused "--alignment: '3' is not a power of two" --alignment 3
    refused "--check: 'twice' is not once" --check twice
}

@test "options of synchronised starts without them are refused" {
    refused "--slot: needs synchronised starts" --slot 5us
    refused "--raw: needs synchronised starts" --raw x
    refused "--check every: needs synchronised starts" --check every
    refused "--buffer flush: needs synchronised starts" --buffer flush
    refused "--stop-rule: design lockin has a fixed length" --start window --stop-rule error
    refused "--arrival: trace needs --arrival-trace" --start round --arrival trace
    refused "--arrival-trace: needs --arrival trace" --start round --arrival-trace x
    refused "--arrival-amount: 'much' is not a time" --start round --arrival ramp --arrival-amount much
    refused "--overlap: none of the operations is nonblocking" --op barrier --overlap 1
}

@test "options that a start mode has no use for are refused" {
    refused "--sync-every: needs synchronised starts" --sync-every 1s
    refused "--fake-clock: needs synchronised starts" --fake-clock 1s
    refused "--self-test: needs synchronised starts" --self-test --start loop
    refused "--slot: start mode barrier has no use for it" --start barrier --slot 5us
    refused "--stage: start mode round has no use for it" --start round --stage 3
    refused "--sync-exchanges: is for offsets only" --start round --sync-exchanges 50
    refused "--precision: is for --stop-rule median" --start window --precision 2
    refused "--arrival-amount: arrival none has no use for it" --start round --arrival-amount 5us
}

@test "a clock that is refused ends the run with its reason" {
    status=0
    launch 2 --design single --levels none --op barrier --start round --fake-clock bogus || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q -- "--fake-clock: 'bogus' is not" "$ERR"
    [ "$(grep -c MPI_ERR "$ERR")" -eq 0 ]
}

@test "numbers out of range are refused" {
    refused "--gamma: '3' is not a number from 1.01 to 2" --start window --gamma 3
    refused "--gamma: 'nan'" --start window --gamma nan
    refused "--eps: '0'" --start window --eps 0
    refused "--stage: '0'" --start window --stage 0
    refused "--precision: '0'" --start window --stop-rule median --design single --precision 0
}

@test "lists name every start mode, clock, synchronisation and arrival" {
    [ "$("$DETECT" --list-starts | awk '{ print $1 }' | paste -sd ,)" = loop,barrier,window,round ]
    [ "$("$DETECT" --list-clocks | awk '{ print $1 }' | sort | paste -sd ,)" = gettimeofday,monotonic,monotonic-raw,mpi-wtime,tsc ]
    [ "$("$DETECT" --list-syncs | awk '{ print $1 }' | sort | paste -sd ,)" = linear,ring,tree ]
    [ "$("$DETECT" --list-arrivals | awk '{ print $1 }' | head -n 1)" = none ]
}

@test "a slot that can never be met is refused with the operation's time" {
    fails_with 2 "--slot: 1 ns can never be met by barrier, which takes" launch 2 --design single --levels none --op barrier --start window --slot 1ns
}

@test "a launch of one arm keeps its slot, whichever arm it has" {
    for arm in on off; do
        launch 2 --design single --external agent --arms "$arm" --op barrier --start window --seconds 1 --warmup 0s --launch-id "$arm"
        jq -e --argjson slot "$(column slot_ns "$OUT/$arm/blocks.csv")" '.cells[0].slot_ns == $slot' "$OUT/$arm/launch.json"
    done
}

@test "a time that holds not one start is refused" {
    fails_with 2 "not one start of barrier fits into 10 ns" launch 2 --design single --levels none --op barrier --start round --seconds 10ns
}

@test "--sync-only prints every rank's clock and makes no campaign" {
    needs_cpus 2
    run on_cores 2 "$DETECT" --sync-only --sync-ranks all --out "$OUT"
    [ "$status" -eq 0 ]
    [ "$(grep -cE '^ +[01] +[^ ]+ +-?[0-9]+ ' <<<"$output")" -eq 2 ]
    [ ! -e "$OUT" ]
}


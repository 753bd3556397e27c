#!/usr/bin/env bats
# Every system call of the agent's companion fails once, at its first, second, ... time (`make fault`: at any): the agent runs afterwards, is where it
# was, and nothing hangs.

# shellcheck source=tests/helpers.bash
source "$BATS_TEST_DIRNAME/../helpers.bash"

setup() {
    build=$(cd "$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}" && pwd)
    # somebody else must be able to run it
    place=$(mktemp -d)
    chmod 755 "$place"
    mkdir -m 777 "$place/launch"
    cp "$build/fault/agent" "$build/fault/fault.so" "${NOISELAB_BIN:-$build/bin}/noiselab-agent" "$place"
}

teardown() { rm -rf "$place"; }

# judge: of so many faults at least MORE were injected, so the library is loaded, and nothing went wrong
judge_faults() {
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(echo "$output" | awk '/faults injected, [0-9]+ bad/ { print $2 + 0 }')" -ge "$1" ]
}

@test "no failing system call leaves an agent frozen" {
    run "$place/agent" "$place/fault.so" "$place/noiselab-agent" "$place/launch" 12
    judge_faults 60
}

@test "nor one that is stopped by signals, without root" {
    [ "$(id -u)" -eq 0 ] || skip 'root freezes by cgroups, and this is the other way'
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$place/agent" "$place/fault.so" "$place/noiselab-agent" "$place/launch" 6
    judge_faults 40
    # signals were sent, and failed
    [[ "$output" =~ signal\ +[1-9] ]]
}

@test "a clock that is set during a launch is said, and the launch has the times of the clock before" {
    before=$(date +%s)
    OUT=$place/campaign
    NL_FAULT_STEP="-86400:$place/step" LD_PRELOAD="$place/fault.so" "$build/bin/noiselab-detect" --out "$OUT" --op empty --seconds 2 --launch-id one \
        2>"$place/said" 3>&- &
    wait_until 60 has_rows
    touch "$place/step"
    wait $!
    cat "$place/said"
    grep -q 'the clock was set by -86400 s' "$place/said"
    jq -e '.ended == "complete" and (.warnings | any(test("the clock was set by -86400 s")))' "$OUT/one/launch.json"
    [ "$(jq '(.started_utc | fromdate) as $s | (.ended_utc | fromdate) as $e | $e >= $s and $e - $s < 600 and $s >= '"$before" "$OUT/one/launch.json")" = true ]
}

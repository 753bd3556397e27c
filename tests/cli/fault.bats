#!/usr/bin/env bats
# A system call fails (`make fault`: any, at every time): the agent runs afterwards, is where it was, nothing
# hangs, and no file says what is not so.

load ../helpers
load ../mpirun

setup() {
    build=$(cd "$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}" && pwd)
    place=$(mktemp -d)
    chmod 755 "$place"
    mkdir -m 777 "$place/launch"
    ln -s "$build/fault/fault.so" "$place"
}

teardown() { tell; rm -rf "$place"; }

# longer SHORT LONG: the second in the long tests, where calls fail each time, not at some
longer() { if [ "${NOISELAB_TESTS-}" = long ]; then echo "$2"; else echo "$1"; fi; }

# faults LEAST PROGRAMS MOST STEP: of so many faults at least were injected (so the library is loaded), and
# nothing went wrong; long: all of the first ten
faults() {
    NL_FAULT_PROGRAMS=$2 run "$BATS_TEST_DIRNAME/../fault/programs.sh" "$build/fault/fault.so" "$build/bin" \
        "$build/bench/bench_busy" "$place/launch" "$(longer "$3" 10)" "$(longer "$4" 1)"
    [ "$status" -eq 0 ]
    [ "$(awk '/^programs: [0-9]+ faults injected, 0 bad/ { print $2 }' <<<"$output")" -ge "$1" ]
}

@test "no failing system call of its companion leaves an agent frozen" {
    faults 15 companion 4 3
}

@test "nor of one that stops it by signals, without root" {
    [ "$(id -u)" -eq 0 ] || skip 'root freezes by cgroups, and this is the other way'
    # what somebody else can run
    mkdir -p "$place/tree/fault" "$place/tree/bin"
    cp "$BATS_TEST_DIRNAME/../evidence-row.sh" "$place/tree"
    cp "$BATS_TEST_DIRNAME/../fault/programs.sh" "$build/fault/fault.so" "$build/bench/bench_busy" \
        "$place/tree/fault"
    cp "$build/bin/noiselab-agent" "$build/bin/noiselab-detect" "$place/tree/bin"
    cd "$place/tree/fault"
    NL_FAULT_PROGRAMS=companion run setpriv --reuid 65534 --regid 65534 --clear-groups ./programs.sh \
        "$PWD/fault.so" "$place/tree/bin" "$PWD/bench_busy" "$place/launch" 1
    [ "$status" -eq 0 ]
    grep -qE '^programs: [1-9][0-9]* faults injected, 0 bad' <<<"$output"
}

@test "no failing system call of generator, recorder or detector leaves a load, a hang or a false file" {
    # the acceptance has most of its calls in common with the detector
    faults 10 'generator recorder detector' 1 1
}

@test "kill -9 of a rank ends the load also where no process can be watched by a descriptor" {
    needs_cpus 2
    OUT=$place/campaign
    # what killed ranks and mpirun leave behind goes with the test
    export OMPI_MCA_btl_vader_backing_directory=$place OMPI_MCA_btl_sm_backing_directory=$place TMPDIR=$place
    printf '#!/bin/sh\nNL_FAULT=pidfd:2:38 NL_FAULT_HIT=%s LD_PRELOAD=%s exec %s "$@"\n' "$place/hit" \
        "$place/fault.so" "$build/bin/noiselab-gen" >"$place/generator"
    chmod +x "$place/generator"
    NOISELAB_GEN=$place/generator exec_on_cores 2 "$build/bin/noiselab-detect" --out "$OUT" --op barrier \
        --levels 50 --warmup 0s --seconds 60 >/dev/null 2>"$place/said" 3>&- &
    launcher=$!
    wait_until 60 has_rows
    generator=$(pgrep -f "noiselab-gen --control-fd" -P "$(ranks_of "$launcher" | paste -sd ,)")
    [ -e "$place/hit" ]
    # only the rank that cannot be watched is killed, and the other one hangs
    kill -STOP "$launcher" "$(ranks_of "$launcher" | head -n 1)"
    kill -9 "$(ranks_of "$launcher" | tail -n 1)"
    status=0
    wait_until 10 has_ended "$generator" || status=$?
    kill -9 "$launcher" "$(ranks_of "$launcher" | head -n 1)" 2>/dev/null || true
    [ "$status" -eq 0 ]
}

@test "a clock that is set during a launch is said, and the launch has the times of the clock before" {
    OUT=$place/campaign
    NL_FAULT_STEP="-86400:$place/step" LD_PRELOAD="$place/fault.so" "$build/bin/noiselab-detect" \
        --out "$OUT" --op empty --warmup 0s --seconds 2.5 --launch-id one \
        2>"$place/said" 3>&- &
    wait_until 60 has_rows
    touch "$place/step"
    wait $!
    grep -q 'the clock was set by -86400 s' "$place/said"
    jq -e '.ended == "complete" and (.warnings | any(test("the clock was set by -86400 s")))' \
        "$OUT/one/launch.json"
    jq -e '(.started_utc | fromdate) as $s | (.ended_utc | fromdate) as $e | $e >= $s and $e - $s < 600 and
        now - $s < 600' "$OUT/one/launch.json"
}

# on_rank_1 FAULT COMMAND...: two ranks, of which the second meets the fault; sets status, and output to what
# was said
on_rank_1() {
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || export %s %s\nexec "$@"\n' \
        "NL_FAULT=$1 NL_FAULT_PROGRAM=noiselab-" \
        "NL_FAULT_HIT=$place/hit LD_PRELOAD=$place/fault.so" >"$place/rank"
    chmod +x "$place/rank"
    rm -rf "$place/hit" "$OUT"
    shift
    status=0
    on_cores 2 timeout 60 "$place/rank" "$@" --out "$OUT" --launch-id one >"$place/said" 2>&1 3>&- ||
        status=$?
    output=$(cat "$place/said")
    echo "$NL_FAULT status $status: $output"
}

@test "a rank that gets no memory for its operations or starts leaves no other waiting, and it is said" {
    needs_cpus 2
    OUT=$place/campaign
    # what is mapped before is not needed
    for n in 1 2 3; do
        on_rank_1 "mmap:$n:12" "$build/bin/noiselab-detect" --op alltoall --levels 0 --seconds 0.1 \
            --half-period 10ms --warmup 0s
        [ -e "$place/hit" ]
        [ "$status" -eq 0 ] || break
    done
    [ "$status" -eq 2 ]
    grep -q '^noiselab-detect: rank 1 on .*: no memory for alltoall' "$place/said"
    on_rank_1 mmap:1:12 "$build/bin/noiselab-accept" --checks collective,integrity --repetitions 2 \
        --seconds 0.1s
    [ -e "$place/hit" ]
    jq -e '.ended == "complete" and (.checks[] | select(.name == "collective") | .status == "failed" and
        (.reason | test("not enough memory")))' "$OUT/one/launch.json"
    # what is allocated when the starts are synchronised; the numbers before and behind are other allocations
    n_unsynchronised=0
    for n in $(seq 12 "$(longer 3 1)" 18); do
        on_rank_1 "malloc:$n:12" "$build/bin/noiselab-accept" --checks collective,integrity --repetitions 2 \
            --seconds 0.1s
        [ -e "$place/hit" ]
        [ "$status" -le 3 ]
        jq -e .ended "$OUT/one/launch.json"
        ! grep -q 'could not be synchronised' "$place/said" || n_unsynchronised=$((n_unsynchronised + 1))
        [ "${NOISELAB_TESTS-}" = long ] || [ "$n_unsynchronised" -eq 0 ] || break
    done
    [ "$n_unsynchronised" -ge 1 ]
}

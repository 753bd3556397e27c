#!/usr/bin/env bats
# What a recording says of programs whose doings are known, and that a replay of it does the same again.

load ../helpers

setup_file() {
    export BUILD="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}" WORK="$BATS_FILE_TMPDIR"
    export PATH="$BUILD/bin:$PATH"
    cd "$WORK" || return
    noiselab-record --source cpu --duration 100ms -- yes >/dev/null 2>why ||
        { leave_out "cannot record context switches: $(cat why)" && return; }
    # three recordings at once: each sees only its own
    noiselab-record --duration 8s --json --out second.trace -- "$BUILD/bench/bench_busy" 1ms 1s >second 3>&- &
    noiselab-record --duration 4s --json --out tenth.trace -- "$BUILD/bench/bench_busy" 1ms 100ms >tenth \
        3>&- &
    noiselab-record --duration 4s --json -- "$BUILD/bench/bench_busy" 1ms 10ms >hundredth 3>&- &
    wait
    FILE_DISTURBANCE=$(disturbance)
    export FILE_DISTURBANCE
}

setup() {
    left_out_or_go
    cd "$WORK" || return
}

# holds FILE CONDITION: of a summary in JSON
holds() {
    jq -c "[.source, .period_ns, .percent_of_cpu, .groups, .bursts, .cpu_ns, .account_ns, .lost, .cut]" "$1"
    jq -e "$2" "$1" >/dev/null
}

near='def near($a; $b; $share): ($a - $b | fabs) <= $share * $b;'

@test "the period of 1 ms per second, per 100 ms and per 10 ms is found within 1 percent" {
    judge holds second "$near near(.period_ns; 1e9; 0.01)"
    judge holds tenth "$near near(.period_ns; 1e8; 0.01)"
    judge holds hundredth "$near near(.period_ns; 1e7; 0.01)"
}

@test "the CPU time recorded is what the kernel accounts for, and no switch is lost" {
    for file in tenth hundredth; do
        holds $file '.lost == 0 and .cut == 0 and (.ins - .outs | fabs) <= 4'
    done
    for file in tenth hundredth; do judge holds $file "$near near(.cpu_ns; .account_ns; 0.05)"; done
    # 1 ms each time and what waking up takes
    judge holds tenth '.percent_of_cpu > 0.98 and .percent_of_cpu < 1.2'
}

# The generator prepares itself for a while: it is recorded from the moment at which it waits for its phase.
@test "a replay of the trace takes the same CPU time in the same rhythm" {
    noiselab-gen --replay tenth.trace --phase 2s --json 3>&- >certificate &
    generator=$!
    sleep 1
    noiselab-record --pid $generator --duration 20s --json --out again.trace 3>&- >again
    wait $generator || true
    total() { awk '!/^#/ { sum += $2 } END { print sum + 0 }' "$1"; }
    holds again '.lost == 0'
    judge holds again "$near near(.period_ns; 1e8; 0.01)"
    judge awk -v a="$(total again.trace)" -v b="$(total tenth.trace)" \
        'BEGIN { exit !(a > 0.95 * b && a < 1.05 * b) }'
}

#!/usr/bin/env bats
# Clocks are synchronised beside other work. No other suite may run then: two busy processes are what is
# tested, not more.

load sync

teardown() { tell; [ -z "${BUSY-}" ] || kill $BUSY; }

@test "busy processes on the same CPUs do not spoil the drift" {
    allowed_cpus
    for cpu in "${cpus[@]:0:2}"; do
        taskset -c "$cpu" sh -c 'while :; do :; done' >/dev/null 2>&1 3>&- &
        BUSY="${BUSY-} $!"
    done
    for _ in 1 2 3; do
        probe 2 --fake-clock 1h,50ppm
        all 'e(drift_ppm - true_drift_ppm) < 1'
    done
}

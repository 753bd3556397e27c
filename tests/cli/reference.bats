#!/usr/bin/env bats
# What noiselab project says of records whose truth is known from outside: tests/reference simulates the
# machines, and writes what a recorder sees of them.

load ../helpers

setup() { at_home; }

# truth_is_held NODES STEP MACHINE...: of 600 s of one node the interval holds the truth, and has two ends,
# the upper one of bursts like those recorded where the longest are all alike
truth_is_held() {
    local nodes=$1 step=$2 reference="$BUILD/tests/reference/reference" truth
    shift 2
    [ -x "$reference" ] || skip 'the reference simulator is not built here'
    truth=$("$reference" truth "$@" "nodes=$nodes" "step_s=${step}e-3" | tail -n 1 | cut -d , -f 4)
    "$reference" record "$@" seconds=600 seed=7 out=.
    noiselab project --trace 7-0.trace --nodes "$nodes" --every "${step}ms" --json >answer
    jq -r --argjson truth "$truth" \
        '.projections[] | select(.phase == "independent") | (.ci_high_recorded // .ci_high) as $high |
        "\(.ci_low) to \($high), truth \($truth)",
        ($high != null and .ci_low <= $truth and $truth <= $high)' \
        answer | tee said
    [ "$(tail -n 1 said)" = true ]
}

@test "16 CPUs of a node that are hit at once cost what one of them costs" { truth_is_held 1000 1 gap_s=1 \
    cost=fixed:1e-3 cpus=16; }

@test "bursts on CPUs of a node that follow each other cost what the rank loses that loses most" {
    truth_is_held 400 2 gap_s=0.7 cost=fixed:5e-4 cpus=4 lag_s=3e-4
}

@test "bursts of any length that are late and left out cost what they cost" { truth_is_held 100 1 \
    arrivals=periodic gap_s=0.2 cost=exponential:1e-3 late_s=0.05 left_out=0.2; }

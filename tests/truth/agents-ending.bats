#!/usr/bin/env bats
# Real agents from Debian's packages are started and end with the launch, whatever they do. What they cost is the business of agents.bats.

load ../cli/detect
load agents

@test "top runs and ends with the launch, whatever it writes" {
    needs top
    started 'top -b -d 0.1' --agent '--agent-name top' --agent-period 100ms --block 500ms --agent-settle 550ms --seconds 1
    used 1000 200000
    nothing_left 'top -b -d 0.1'
}

@test "sadc runs and ends with the launch, whatever it writes" {
    long_only
    sadc=/usr/lib/sysstat/sadc
    [ -x "$sadc" ] || sadc=/usr/lib64/sa/sadc
    [ -x "$sadc" ] || skip 'sadc is not installed (tests/deps.sh agents)'
    started "$sadc -F 1 1000000 $BATS_TEST_TMPDIR/sa" --agent '--agent-name sadc' --agent-period 1s --block 1s --agent-settle 1500ms --seconds 4
    used 50 50000
    nothing_left "$BATS_TEST_TMPDIR/sa"
    [ -s "$BATS_TEST_TMPDIR/sa" ]
}

#!/usr/bin/env bats
# Agents whose CPU time is hard to follow: children that live for milliseconds, hundreds of processes, threads and plugins. What they took from the ranks
# by the record of the CPUs is held against their own account.

load ../cli/detect
load agents

# anywhere COMMAND ARGUMENTS: an agent that may run on every CPU, and so moves between them
anywhere() {
    local command=$1
    shift
    needs_cpus 2
    on_rank --agent "--agent-cmd $(printf %q "$command")" --design blocks --block 500ms --agent-settle 500ms --seconds 8 "$@"
}

@test "a storm of children that live for a millisecond is all the agent's" {
    long_only
    anywhere "sh -c 'while :; do /bin/true; /bin/true; /bin/true; sleep 0.02; done'" --agent '--agent-name storm' --agent-period 20ms --seconds 20
    # of what it costs to make, load and end a process, some is in no process's account
    takes 0.2
}

@test "hundreds of processes are one agent" {
    long_only
    anywhere "sh -c 'for i in \$(seq 200); do ${BIN%/bin}/bench/bench_busy 50us 1s & done; wait'" --agent '--agent-name many' --agent-period 1s --block 1s --seconds 16
    [ "$(account processes | awk '{ print ($1 >= 200) }')" = 1 ]
    takes
    nothing_left "bench_busy 50us 1s"
}

@test "atop, which reads every process once a second and writes what it saw, takes what it used" {
    long_only
    needs atop
    anywhere "atop -w $BATS_TEST_TMPDIR/atop.raw 1" --agent '--agent-name atop' --agent-period 1s --block 1s --seconds 16
    takes
    nothing_left "atop.raw"
}

@test "netdata, with threads and plugins that it starts, takes what it used, and ends with all of them" {
    long_only
    needs netdata
    mkdir -p "$BATS_TEST_TMPDIR"/netdata/{cache,lib,log,conf}
    cat >"$BATS_TEST_TMPDIR/netdata/conf/netdata.conf" <<EOT
[global]
    run as user = $(id -un)
    cache directory = $BATS_TEST_TMPDIR/netdata/cache
    lib directory = $BATS_TEST_TMPDIR/netdata/lib
    log directory = $BATS_TEST_TMPDIR/netdata/log
    config directory = $BATS_TEST_TMPDIR/netdata/conf
[web]
    bind to = 127.0.0.1:$PORT
[ml]
    enabled = no
EOT
    anywhere "netdata -D -P $BATS_TEST_TMPDIR/netdata/pid -c $BATS_TEST_TMPDIR/netdata/conf/netdata.conf" --agent '--agent-name netdata' --agent-period 1s \
        --block 1s --agent-settle 2500ms --seconds 16
    takes
    nothing_left "$BATS_TEST_TMPDIR/netdata"
}

# What the tests on the test cluster share. A file's setup_file calls cluster_up.

load ../helpers

CLUSTER="$BATS_TEST_DIRNAME/cluster.sh"
BIN="$(cd "$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/bin" && pwd)"

# cluster_up NODES [OPTION]...: sets DIR, or leaves out what needs it if this machine cannot have a cluster.
# One that could and does not come up is a failure.
cluster_up() {
    local option=''
    [[ " $* " != *' --no-slurm '* ]] || option=--no-slurm
    export DIR=''
    leave_out "$("$CLUSTER" why-not $option | head -n 1)"
    [ -z "$LEFT_OUT" ] || return 0
    # a short path: sockets lie in it
    DIR=$(mktemp -d /tmp/noiselab-cluster.XXXXXX)
    "$CLUSTER" up --nodes "$1" --tag "t$$" "${@:2}" "$DIR" || {
        head -n 20 "$DIR"/log/*
        return 1
    } >&2
}

teardown_file() { cluster_down; }

setup() {
    left_out_or_go
    # campaigns lie where all nodes see them, which the folder of a test is
    OUT="$BATS_TEST_TMPDIR/campaign" TEXT="$BATS_TEST_TMPDIR/text" ERR="$BATS_TEST_TMPDIR/stderr"
}

cluster_down() {
    [ -n "${DIR-}" ] || return 0
    "$CLUSTER" down "$DIR"
    rm -rf "$DIR"
}

# run_on_login COMMAND..., with bats's descriptor closed: bats waits for whoever holds it
on_login() { "$CLUSTER" run "$DIR" "$@" 3>&-; }

# to ask takes 20 ms of CPU time, and a job ten seconds: not ten times a second
queue_is_empty() { sleep 0.4 && [ -z "$(on_login squeue --noheader)" ]; }

# job_is_over JOB: no other one waits or runs, either; its exit status is in status. sbatch --wait would look
# only after 2, 10, 42 and 74 s
job_is_over() {
    wait_until 240 queue_is_empty
    status=$(on_login scontrol show --oneliner job "$1" | sed -n 's/.* ExitCode=\([0-9]*\):0 .*/\1/p')
    [ -n "$status" ]
}

is_over() { ! kill -0 "$1" 2>/dev/null; }

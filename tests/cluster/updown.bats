#!/usr/bin/env bats
# The test cluster itself: it comes up, goes down whatever happened, and nothing of it stays.

load cluster

setup() {
    leave_out "$("$CLUSTER" why-not | head -n 1)"
    left_out_or_go
    DIR=$(mktemp -d /tmp/noiselab-cluster.XXXXXX)
    ERR="$BATS_TEST_TMPDIR/stderr"
    machine >"$BATS_TEST_TMPDIR/before"
}

teardown() {
    tell
    [ -z "${UP-}" ] || kill -9 "$UP" 2>/dev/null || true
    [ -z "${SECOND-}" ] || "$CLUSTER" down "$SECOND"
    [ -z "${DIR-}" ] || cluster_down
}

# machine: what a cluster could leave on it (shared memory, journals and disks of other tests come and go)
machine() {
    ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/link \1/'
    sed '/bats-run-/d; s/^[^ ]* /mount /' /proc/self/mounts
    find /dev/shm /run /var/log /var/spool /var/lib/munge /var/lib/slurm /etc/munge -maxdepth 2 \
        -not -path '/dev/shm/noiselab[.-]*' -not -path '/run/noiselab*' -not -path '/dev/shm/*_segment.*' \
        2>/dev/null
    find /sys/fs/cgroup -maxdepth 3 -type d -iname '*slurm*' 2>/dev/null
    find /tmp /var/tmp -maxdepth 1 \( -name '*node[0-9]*' -o -name '*login*' -o -name '*slurm*' -o \
        -name '*munge*' \)
    cksum /etc/hosts
}

# networks: of the cluster's nodes, as the kernel names them
networks() {
    local node
    for node in login node1 node2 node3; do
        readlink "/proc/$(cut -d' ' -f1 "$DIR/pids/$node")/ns/net"
    done
}

# nothing_is_left: no process with this cluster's folder in its words or environment or in its networks; the
# machine as before; logs alone in DIR
nothing_is_left() {
    local in_words in_environment in_networks
    in_words=$(pgrep -f -- "$DIR" | grep -vx $$ || true)
    in_environment=$(grep -lzxsF "NOISELAB_CLUSTER=$DIR" /proc/[0-9]*/environ || true)
    in_networks=$([ ! -s "$BATS_TEST_TMPDIR/networks" ] || readlink /proc/[0-9]*/ns/net |
        grep -xFf "$BATS_TEST_TMPDIR/networks" || true)
    echo "processes: by their words: $in_words; by their environment: $in_environment;" \
        "in its networks: $in_networks"
    [ -z "$in_words$in_environment$in_networks" ]
    machine | sort >"$BATS_TEST_TMPDIR/after"
    comm -13 <(sort "$BATS_TEST_TMPDIR/before") "$BATS_TEST_TMPDIR/after" >"$BATS_TEST_TMPDIR/new"
    [ ! -s "$BATS_TEST_TMPDIR/new" ]
    [ "$(ls "$DIR")" = "${1-log}" ]
}

# up_in_background: `up` with a slurmd that is slow to start on node2, halted there; sets UP. ^C reaches it as
# from a terminal
up_in_background() {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/slurmd" <<END
#!/bin/sh
[ "\$2" = node1 ] || sleep 60
exec $(command -v slurmd) "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/slurmd"
    PATH="$BATS_TEST_TMPDIR/bin:$PATH" setsid env --default-signal=INT "$CLUSTER" up "$DIR" >/dev/null \
        2>"$ERR" 3>&- &
    UP=$!
    wait_until 30 slurmd_is_late
    networks >"$BATS_TEST_TMPDIR/networks"
}

slurmd_is_late() {
    [ -e "$DIR/run/node1.slurmd" ] && pgrep -f "$BATS_TEST_TMPDIR/bin/slurmd -N node2" >/dev/null
}

@test "three nodes with Slurm come up, go down with all that runs, and leave nothing" {
    "$CLUSTER" up --tag updown "$DIR" 3>&-
    networks >"$BATS_TEST_TMPDIR/networks"
    [ "$(on_login sinfo -h -p main -t idle -o '%D %N')" = '3 node[1-3]' ]
    # a job and its steps, a command on the login node, and one on a node that left its parents
    on_login sbatch -Q -N3 -o /dev/null --wrap 'srun sleep 100'
    on_login sleep 100 &
    "$CLUSTER" on "$DIR" node2 setsid -f sleep 100 3>&-
    wait_until 10 steps_run
    for _ in 1 2; do
        "$CLUSTER" down "$DIR"
        nothing_is_left
    done
}

steps_run() { "$CLUSTER" on "$DIR" node3 pgrep -x sleep >/dev/null 3>&-; }

@test "a cluster is taken down when ^C is pressed before it is up, and later when its maker was killed" {
    up_in_background
    kill -INT -- "-$UP"
    ends 2 wait "$UP"
    [ "$(cat "$ERR")" = 'cluster.sh: interrupted; everything is taken down' ]
    nothing_is_left
    up_in_background
    kill -9 -- "-$UP"
    [ -n "$(pgrep -f -- "$DIR")" ]
    "$CLUSTER" down "$DIR"
    nothing_is_left
}

@test "two clusters at once know nothing of each other" {
    SECOND=$(mktemp -d /tmp/noiselab-cluster.XXXXXX)
    "$CLUSTER" up --nodes 1 --tag first "$DIR" 3>&-
    "$CLUSTER" up --nodes 2 --tag second "$SECOND" 3>&-
    on_login sbatch -Q -o /dev/null --wrap 'sleep 100'
    [ "$(on_login squeue -h | wc -l)" -eq 1 ]
    [ "$("$CLUSTER" run "$SECOND" squeue -h | wc -l)" -eq 0 ]
    [ "$(on_login sinfo -h -p main -o %N)" = node1 ]
    "$CLUSTER" down "$DIR"
    [ "$("$CLUSTER" run "$SECOND" srun -N2 hostname 3>&- | sort | paste -sd' ')" = 'node1 node2' ]
    "$CLUSTER" down "$SECOND"
    rm -rf "$SECOND"
    SECOND=''
    nothing_is_left
}

# says WANTED COMMAND...: status 2 and one line with WANTED
says() { run_refused "$1" "$CLUSTER" "${@:2}" >/dev/null 2>"$ERR" 3>&-; }

@test "bad input is one clear line" {
    says "'x' is not a number of nodes" up --nodes x "$DIR"
    says "is not empty" up "$BATS_TEST_TMPDIR"
    says "'A;b' is not a tag" up --tag 'A;b' "$DIR"
    says "'--slurm' is not an option" up --slurm "$DIR"
    says 'wants one folder' up
    says 'holds no cluster' run "$DIR" true
    says "'restart' is not a command" restart "$DIR"
    says 'too long a path' up "$DIR/log/$(printf '%060d' 0)"
    "$CLUSTER" up --no-slurm --nodes 1 "$DIR"
    says 'has a cluster' up "$DIR"
    says "'node2' is not a node" on "$DIR" node2 true
    says 'wants a command' run "$DIR"
    says 'fail: wants a node' fail "$DIR" node9
    NOISELAB_MPIRUN=true says 'is none of Open MPI 4, Open MPI 5 and MPICH' mpirun "$DIR" true
    "$CLUSTER" down "$DIR"
    nothing_is_left
}
